//! Arrow IPC: a stream of messages. A file adds a magic number before and a footer after it.
//!
//! Both are read from front to back, so that a pipe can be read. Messages are checked here before `arrow-ipc` decodes them.
//! That library panics if buffers are not within their message, and allocates the size that a compressed buffer announces.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{Message, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema};

use super::pandas::Index;
use super::{Batch, Batches, Columns, caught};
use crate::{ColumnNames, Error};

const FORMAT: &str = "Arrow";

/// The bytes at the beginning and end of a file.
const MAGIC: &[u8; 6] = b"ARROW1";

/// The largest number of bytes before the first message of a file.
const MAX_START: usize = 128;

/// The bytes that begin a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The longest description of a message.
const MAX_HEAD: u64 = 1 << 24;

/// The longest message, before and after decompression.
const MAX_BODY: u64 = 1 << 31;

/// The error about rows that precede the values of their categories. A stream cannot have this order, and files are read like
/// streams.
const LATE: &str = "the values of its categories come after its rows, as Polars writes Arrow files: write Parquet or a stream (in Polars: \
    write_ipc_stream), or cast categories to texts (cast(pl.String))";

/// The error about a type that Polars has and the Arrow format does not have.
const WIDE: &str = "a column of whole numbers of 128 bits, which the Arrow format lacks: cast it to 64 bits or to texts (in Polars: \
    cast(pl.UInt64), cast(pl.String)), or write Parquet";

/// A stream's batches, and its columns.
pub(super) fn open(
    mut input: Box<dyn Read + Send>,
    names: &ColumnNames,
) -> Result<(Batches, Columns), Error> {
    let mut start = bytes(&mut input, 8)?;
    let framed = start.starts_with(MAGIC);
    if framed {
        // Writers pad to a multiple of 8 bytes, some of them of 64 bytes, before the first message.
        start = bytes(&mut input, 8)?;
        for _ in 2..MAX_START / 8 {
            if start != [0; 8] {
                break;
            }
            start = bytes(&mut input, 8)?;
        }
    }
    let bare = match start.starts_with(&CONTINUATION) {
        true => None,
        false if framed => {
            let (head, next) = bare_schema(&mut input, start)?;
            start = next;
            Some(head)
        }
        false => return Err(damaged("it begins neither with ARROW1 nor with a message")),
    };
    input = Box::new(Cursor::new(start).chain(input));
    let mut stream = Stream {
        input,
        framed,
        batches: 0,
        rows: 0,
        dictionaries: HashMap::new(),
    };
    let head = match bare {
        Some(head) => head,
        None => stream.head()?.ok_or(Error::NoVectors)?,
    };
    let message = message(&head)?;
    let schema = message
        .header_as_schema()
        .ok_or_else(|| damaged("its first message is no schema"))?;
    let schema = try_fb_to_schema(schema).map_err(|error| match error.to_string() {
        text if text.contains("bit width of 128") => damaged(WIDE),
        text => damaged(text),
    });
    let schema = Arc::new(schema?);
    bytes(&mut stream.input, body_len(&message)?)?;

    let said = schema.metadata().get("pandas");
    let index = said.and_then(|said| Index::of(said));
    let columns = Columns::new(schema.fields(), index, names)?;
    let wanted = columns.clone();
    let batches = std::iter::from_fn(move || stream.batch(&schema, &wanted).transpose());
    Ok((Box::new(batches), columns))
}

/// Reads the description of the columns if no length precedes it, as Polars writes it in files. Also returns the start of the
/// next message. A wrong end is detected, since the description is checked and a message must follow.
fn bare_schema(input: &mut impl Read, mut head: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>), Error> {
    loop {
        let next = bytes(input, 8)?;
        if next.starts_with(&CONTINUATION) {
            return Ok((head, next));
        }
        head.extend(next);
        if head.len() as u64 > MAX_HEAD {
            return Err(damaged("it does not begin with a message"));
        }
    }
}

/// The remaining messages.
struct Stream {
    input: Box<dyn Read + Send>,
    /// True for a file, which has a footer after the last message.
    framed: bool,
    /// The number of batches that have been read.
    batches: usize,
    /// The number of rows that have been read.
    rows: u64,
    /// The values of dictionary-coded columns.
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Stream {
    /// The description of the next message; `None` at the end. The standard lets a stream end without a mark. A file may do so
    /// too; its footer then tells the number of batches.
    fn head(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut start = Vec::new();
        let mut first = (&mut self.input).take(8);
        first.read_to_end(&mut start).map_err(Error::Read)?;
        if start.is_empty() && !self.framed {
            return Ok(None);
        }
        if start.starts_with(&CONTINUATION) && start.len() == 8 {
            let len = start[4..].first_chunk();
            let len = len.map_or(0, |len| u32::from_le_bytes(*len));
            if len > 0 {
                return bytes(&mut self.input, u64::from(len)).map(Some);
            }
            start.clear();
        } else if !self.framed {
            return Err(damaged(match start.len() {
                8 => "what should be a message does not begin like one",
                _ => "it is truncated",
            }));
        }
        if self.framed {
            self.check_footer(start)?;
        }
        Ok(None)
    }

    /// Checks that the footer ends the file and gives the number of batches that were read. `start` is the footer's beginning,
    /// which was already read.
    fn check_footer(&mut self, start: Vec<u8>) -> Result<(), Error> {
        let truncated = || damaged("it does not end with a footer and ARROW1: it is truncated");
        let mut end = start;
        let mut rest = (&mut self.input).take(MAX_HEAD);
        rest.read_to_end(&mut end).map_err(Error::Read)?;
        let end = end.strip_suffix(MAGIC).ok_or_else(truncated)?;
        let (footer, len) = end.split_last_chunk().ok_or_else(truncated)?;
        let len = u32::from_le_bytes(*len) as usize;
        let start = footer.len().checked_sub(len).ok_or_else(truncated)?;
        let footer = root_as_footer(&footer[start..]).map_err(damaged)?;
        let batches = footer.recordBatches().map_or(0, |blocks| blocks.len());
        match batches == self.batches {
            true => Ok(()),
            false => Err(damaged("its footer tells of other batches than it has")),
        }
    }

    /// The wanted columns of the next batch.
    fn batch(&mut self, schema: &Arc<Schema>, columns: &Columns) -> Result<Option<Batch>, Error> {
        loop {
            let Some(head) = self.head()? else {
                self.check_rows(columns, true)?;
                return Ok(None);
            };
            let message = message(&head)?;
            let body = bytes(&mut self.input, body_len(&message)?)?;
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    self.batches += 1;
                    let batch = caught(FORMAT, || {
                        let batch = self.decode(&message, body, schema, &columns.read)?;
                        let first = self.rows;
                        Ok((columns.of(&batch, first)?, batch.num_rows() as u64))
                    })?;
                    let batch = batch.map_err(|error: ArrowError| {
                        let fields = columns
                            .read
                            .iter()
                            .filter_map(|&at| schema.fields().get(at));
                        let mut kinds = fields.map(|field| field.data_type());
                        let coded = kinds.any(|kind| matches!(kind, DataType::Dictionary(..)));
                        match coded && self.dictionaries.is_empty() {
                            true => damaged(LATE),
                            false => damaged(error),
                        }
                    });
                    let (batch, rows) = batch?;
                    self.rows += rows;
                    self.check_rows(columns, false)?;
                    return Ok(Some(batch));
                }
                MessageHeader::DictionaryBatch => {
                    caught(FORMAT, || self.dictionary(&message, body, schema))?.map_err(damaged)?;
                }
                _ => return Err(damaged("a message that is no batch")),
            }
        }
    }

    /// Refuses a wrong number of rows, if the index of pandas is wanted: each row must have a number of this index.
    fn check_rows(&self, columns: &Columns, all: bool) -> Result<(), Error> {
        let range = columns.range.as_ref();
        range.map_or(Ok(()), |range| range.check(self.rows, all).map_err(damaged))
    }

    /// Checks a batch's buffers, and decodes it.
    fn decode(
        &self,
        message: &Message<'_>,
        body: Vec<u8>,
        schema: &Arc<Schema>,
        read: &[usize],
    ) -> Result<RecordBatch, ArrowError> {
        let batch = message
            .header_as_record_batch()
            .ok_or_else(|| wrong("a batch without a description"))?;
        check(&batch, &body)?;
        let body = Buffer::from_vec(body);
        let (dictionaries, version) = (&self.dictionaries, message.version());
        RecordBatchDecoder::try_new(&body, batch, schema.clone(), dictionaries, &version)?
            .with_projection(Some(read))
            .read_record_batch()
    }

    /// Checks the buffers of a dictionary's values, and stores the values.
    fn dictionary(
        &mut self,
        message: &Message<'_>,
        body: Vec<u8>,
        schema: &Schema,
    ) -> Result<(), ArrowError> {
        let batch = message
            .header_as_dictionary_batch()
            .ok_or_else(|| wrong("a dictionary without a description"))?;
        let values = batch
            .data()
            .ok_or_else(|| wrong("a dictionary without values"))?;
        check(&values, &body)?;
        let body = Buffer::from_vec(body);
        read_dictionary(
            &body,
            batch,
            schema,
            &mut self.dictionaries,
            &message.version(),
        )
    }
}

fn wrong(why: &str) -> ArrowError {
    ArrowError::IpcError(why.to_owned())
}

/// Reads exactly `len` bytes; memory grows with the bytes that arrive.
fn bytes(input: &mut impl Read, len: u64) -> Result<Vec<u8>, Error> {
    if len > MAX_BODY {
        return Err(damaged(
            "a message of more than 2 GiB: write smaller batches",
        ));
    }
    let mut bytes = Vec::new();
    input
        .take(len)
        .read_to_end(&mut bytes)
        .map_err(Error::Read)?;
    if bytes.len() as u64 != len {
        return Err(damaged("it is truncated"));
    }
    Ok(bytes)
}

fn message(head: &[u8]) -> Result<Message<'_>, Error> {
    if head.len() as u64 > MAX_HEAD {
        return Err(damaged("a message's description of more than 16 MiB"));
    }
    root_as_message(head).map_err(damaged)
}

fn body_len(message: &Message<'_>) -> Result<u64, Error> {
    u64::try_from(message.bodyLength()).map_err(|_| damaged("a message of negative length"))
}

/// Refuses a batch whose buffers are not within its message, or decompress to more than the bound.
fn check(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), ArrowError> {
    let compressed = batch.compression().is_some();
    // The decoder multiplies lengths, and asserts that the products do not overflow.
    let possible = |len: i64| u64::try_from(len).is_ok_and(|len| len <= MAX_BODY);
    let nodes = batch.nodes();
    let mut nodes = nodes.iter().flatten();
    if !possible(batch.length()) || !nodes.all(|node| possible(node.length())) {
        return Err(wrong("a column of an impossible length"));
    }
    let mut unpacked = 0u64;
    for buffer in batch.buffers().iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let len = usize::try_from(buffer.length()).ok();
        let end = start
            .zip(len)
            .and_then(|(start, len)| start.checked_add(len));
        let bytes = start.zip(end).and_then(|(start, end)| body.get(start..end));
        let bytes = bytes.ok_or_else(|| wrong("a buffer outside its message"))?;
        if compressed && !bytes.is_empty() {
            let len = bytes
                .first_chunk()
                .ok_or_else(|| wrong("a buffer without its length"))?;
            // The length -1 means that this buffer is not compressed.
            let len = u64::try_from(i64::from_le_bytes(*len).max(0)).unwrap_or(0);
            unpacked = unpacked.saturating_add(len);
        }
    }
    if unpacked > MAX_BODY {
        return Err(wrong("a batch of more than 2 GiB: write smaller batches"));
    }
    Ok(())
}

fn damaged(why: impl ToString) -> Error {
    Error::Table {
        format: FORMAT,
        why: why.to_string(),
    }
}
