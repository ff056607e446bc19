//! Arrow IPC: a stream of messages, which a file frames with a magic and a footer.
//!
//! Both are read from front to back, so that pipes will do. Messages are checked here before
//! `arrow-ipc` decodes them: it asserts that buffers lie within their message, and allocates what a
//! compressed buffer says it holds.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{ArrowError, Schema};

use super::{Batches, Columns, caught, columns};
use crate::{ColumnNames, Error};

const FORMAT: &str = "Arrow";

/// The bytes that begin and end a file.
const MAGIC: &[u8; 6] = b"ARROW1";

/// The most bytes before the first message of a file.
const MAX_START: usize = 128;

/// The bytes that begin a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The longest description of a message.
const MAX_HEAD: u64 = 1 << 24;

/// The longest message, before and after decompression.
const MAX_BODY: u64 = 1 << 31;

/// A stream's batches, and the names of all its columns.
pub(super) fn open(
    mut input: Box<dyn Read + Send>,
    names: &ColumnNames,
) -> Result<(Batches, Vec<String>), Error> {
    let mut start = bytes(&mut input, 8)?;
    let framed = start.starts_with(MAGIC);
    if framed {
        // Writers fill up to a multiple of 8 bytes, some of them of 64, before the first message.
        start = bytes(&mut input, 8)?;
        for _ in 2..MAX_START / 8 {
            if start != [0; 8] {
                break;
            }
            start = bytes(&mut input, 8)?;
        }
    }
    if !start.starts_with(&CONTINUATION) {
        return Err(damaged("it begins neither with ARROW1 nor with a message"));
    }
    input = Box::new(Cursor::new(start).chain(input));
    let mut stream = Stream { input, framed };
    let head = stream.head()?.ok_or(Error::NoVectors)?;
    let message = message(&head)?;
    let schema = message
        .header_as_schema()
        .ok_or_else(|| damaged("its first message is no schema"))?;
    let schema = Arc::new(try_fb_to_schema(schema).map_err(damaged)?);
    bytes(&mut stream.input, body_len(&message)?)?;

    let Columns { read, order, all } = columns(&schema, names)?;
    let batches = std::iter::from_fn(move || {
        let batch = stream.batch(&schema, &read).transpose()?;
        Some(batch.and_then(|batch| batch.project(&order).map_err(damaged)))
    });
    Ok((Box::new(batches), all))
}

/// The messages that are left.
struct Stream {
    input: Box<dyn Read + Send>,
    /// True for a file, where a footer follows the last message.
    framed: bool,
}

impl Stream {
    /// The description of the next message; `None` at the end mark.
    ///
    /// The standard lets a stream end without one. That would look like a truncated stream, so it
    /// is refused.
    fn head(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let start = bytes(&mut self.input, 8)?;
        let (mark, len) = start.split_at(4);
        if mark != CONTINUATION {
            return Err(damaged("what should be a message does not begin like one"));
        }
        let len = len.first_chunk().map_or(0, |len| u32::from_le_bytes(*len));
        if len > 0 {
            return bytes(&mut self.input, u64::from(len)).map(Some);
        }
        if self.framed {
            let mut footer = Vec::new();
            let mut rest = (&mut self.input).take(MAX_HEAD);
            rest.read_to_end(&mut footer).map_err(Error::Read)?;
            if !footer.ends_with(MAGIC) {
                return Err(damaged("it does not end with ARROW1: it is truncated"));
            }
        }
        Ok(None)
    }

    /// The next batch's columns of these numbers.
    fn batch(
        &mut self,
        schema: &Arc<Schema>,
        order: &[usize],
    ) -> Result<Option<RecordBatch>, Error> {
        loop {
            let Some(head) = self.head()? else {
                return Ok(None);
            };
            let message = message(&head)?;
            let body = bytes(&mut self.input, body_len(&message)?)?;
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = caught(FORMAT, || decode(&message, body, schema, order))?;
                    return batch.map(Some).map_err(damaged);
                }
                // None of the columns is coded by a dictionary.
                MessageHeader::DictionaryBatch => (),
                _ => return Err(damaged("a message that is no batch")),
            }
        }
    }
}

/// Exactly `len` bytes; memory grows with what arrives.
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

/// Checks a batch's buffers, and decodes it.
fn decode(
    message: &Message<'_>,
    body: Vec<u8>,
    schema: &Arc<Schema>,
    order: &[usize],
) -> Result<RecordBatch, ArrowError> {
    let wrong = |why: &str| ArrowError::IpcError(why.to_owned());
    let batch = message
        .header_as_record_batch()
        .ok_or_else(|| wrong("a batch without a description"))?;
    let compressed = batch.compression().is_some();
    // The decoder multiplies lengths, and asserts that nothing overflows.
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
            // -1 says that this buffer is not compressed after all.
            let len = u64::try_from(i64::from_le_bytes(*len).max(0)).unwrap_or(0);
            unpacked = unpacked.saturating_add(len);
        }
    }
    if unpacked > MAX_BODY {
        return Err(wrong("a batch of more than 2 GiB: write smaller batches"));
    }
    let (body, none) = (Buffer::from_vec(body), HashMap::new());
    RecordBatchDecoder::try_new(&body, batch, schema.clone(), &none, &message.version())?
        .with_projection(Some(order))
        .read_record_batch()
}

fn damaged(why: impl ToString) -> Error {
    Error::Table {
        format: FORMAT,
        why: why.to_string(),
    }
}
