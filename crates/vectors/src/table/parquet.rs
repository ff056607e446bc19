//! Parquet files.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;

use super::{Batches, Columns, caught};
use crate::input::MAX_BYTES;
use crate::{ColumnNames, Error};

const FORMAT: &str = "Parquet";

/// Rows that are decoded at a time.
const BATCH: usize = 1024;

/// A file's batches, its columns, and the number of rows it says it has.
pub(super) fn open<R>(file: R, names: &ColumnNames) -> Result<(Batches, Columns, u64), Error>
where
    R: ChunkReader + 'static,
{
    let builder = builder(file)?;
    let rows = builder.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).map_err(damaged)?;

    let columns = Columns::new(builder.schema(), names)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.read.iter().copied());
    // Fewer long values are decoded at a time, by what the file says of its pages.
    let groups = builder.metadata().row_groups().iter();
    let bytes: i64 = groups
        .map(|group| group.total_byte_size().max(0))
        .fold(0, i64::saturating_add);
    let row = u64::try_from(bytes).unwrap_or(0) / rows.max(1);
    let most = MAX_BYTES as u64 / row.max(1);
    let batch = usize::try_from(most).unwrap_or(BATCH).clamp(1, BATCH);
    let builder = builder.with_projection(mask).with_batch_size(batch);
    let mut reader = caught(FORMAT, || builder.build())?.map_err(damaged)?;

    let wanted = columns.clone();
    let batches = std::iter::from_fn(move || {
        let batch = match caught(FORMAT, || reader.next()) {
            Ok(batch) => batch?,
            Err(error) => return Some(Err(error)),
        };
        let batch = batch.and_then(|batch| wanted.of(&batch));
        Some(batch.map_err(damaged))
    });
    Ok((Box::new(batches), columns, rows))
}

/// The names of a file's columns.
pub(super) fn names<R>(file: R) -> Result<Vec<String>, Error>
where
    R: ChunkReader + 'static,
{
    let builder = builder(file)?;
    let fields = builder.schema().fields().iter();
    Ok(fields.map(|field| field.name().clone()).collect())
}

fn builder<R>(file: R) -> Result<ParquetRecordBatchReaderBuilder<R>, Error>
where
    R: ChunkReader + 'static,
{
    // Columns are read by the types that Parquet gives them, so that categories are texts.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let open = || ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
    caught(FORMAT, open)?.map_err(damaged)
}

fn damaged(error: impl ToString) -> Error {
    let text = error.to_string();
    let why = match text.split_once("Disabled feature at compile time: ") {
        Some((_, codec)) => {
            format!("pages compressed by {codec}: expected zstd, snappy, gzip, brotli, lz4 or none")
        }
        None => text,
    };
    Error::Table {
        format: FORMAT,
        why,
    }
}
