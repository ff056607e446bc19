//! Parquet files.

mod instants;
mod levels;
mod types;

use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::ChunkReader;

use super::pandas::Index;
use super::{Batches, Columns, caught};
use crate::input::MAX_BYTES;
use crate::{ColumnNames, Error};

use levels::{Shared, bytes_of_rows};
use types::Types;

const FORMAT: &str = "Parquet";

/// The largest number of rows that are decoded at a time.
const BATCH: usize = 1024;

/// The key of the metadata that pandas stores in a table.
const PANDAS: &str = "pandas";

/// A file's batches, its columns, and the number of rows that it announces.
pub(super) fn open<R>(file: R, names: &ColumnNames) -> Result<(Batches, Columns, u64), Error>
where
    R: ChunkReader + 'static,
{
    let file = Arc::new(file);
    let metadata = metadata(&*file)?;
    let types = Types::of(&metadata)?;
    let rows = metadata.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).map_err(damaged)?;

    // If another program changed the number of rows, this code ignores a range, as pandas does.
    let index = said(&metadata, PANDAS).and_then(Index::of);
    let index = index.filter(|index| !matches!(index, Index::Range(range) if range.len != rows));
    let columns = Columns::new(types.schema().fields(), index, names)?;
    // Fewer rows are decoded at a time if values are long, according to the sizes of the file's
    // pages.
    let row = bytes_of_rows(&file, metadata.metadata(), &columns.read)?;
    let most = MAX_BYTES as u64 / row.max(1);
    let batch = usize::try_from(most).unwrap_or(BATCH).clamp(1, BATCH);
    let far = instants::far(&file, metadata.metadata(), (&columns.read, batch))?;
    let metadata = types.read(metadata, &far)?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(Shared(file), metadata);
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.read.iter().copied());
    let builder = builder.with_projection(mask).with_batch_size(batch);
    let mut reader = caught(FORMAT, || builder.build())?.map_err(damaged)?;

    let (wanted, mut first) = (columns.clone(), 0);
    let batches = std::iter::from_fn(move || {
        let batch = match caught(FORMAT, || reader.next()) {
            Ok(batch) => batch?,
            Err(error) => return Some(Err(error)),
        };
        let batch = batch.and_then(|batch| {
            let columns = wanted.of(&batch, first);
            first += batch.num_rows() as u64;
            columns
        });
        Some(batch.map_err(damaged))
    });
    Ok((Box::new(batches), columns, rows))
}

/// The names of a file's columns.
pub(super) fn names<R>(file: R) -> Result<Vec<String>, Error>
where
    R: ChunkReader + 'static,
{
    let metadata = metadata(&file)?;
    let fields = metadata.schema().fields().iter();
    Ok(fields.map(|field| field.name().clone()).collect())
}

/// Reads a file's metadata.
fn metadata<R: ChunkReader>(file: &R) -> Result<ArrowReaderMetadata, Error> {
    // Columns are read with the types that Parquet gives them, so that categories become texts.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    caught(FORMAT, || ArrowReaderMetadata::load(file, options))?.map_err(damaged)
}

/// The value under a key of the writer's metadata.
fn said<'a>(metadata: &'a ArrowReaderMetadata, key: &str) -> Option<&'a str> {
    let all = metadata.metadata().file_metadata().key_value_metadata()?;
    all.iter().find(|it| it.key == key)?.value.as_deref()
}

fn damaged(error: impl ToString) -> Error {
    let text = error.to_string();
    let why = match text.split_once("Disabled feature at compile time: ") {
        Some((_, codec)) => {
            format!("pages compressed by {codec}: expected zstd, snappy, gzip, brotli, lz4 or none")
        }
        // The footer is at the end of a file.
        None if text.contains("Corrupt footer") || text.contains("size of file") => {
            "it does not end like one: it was cut short, or is of another format".to_owned()
        }
        None => text,
    };
    Error::Table {
        format: FORMAT,
        why,
    }
}
