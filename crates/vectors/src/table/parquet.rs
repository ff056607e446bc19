//! Parquet files.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;

use super::{Batches, Columns, caught, columns};
use crate::{ColumnNames, Error};

const FORMAT: &str = "Parquet";

/// Rows that are decoded at a time.
const BATCH: usize = 1024;

/// A file's batches, and the number of rows it says it has.
pub(super) fn open<R>(file: R, names: &ColumnNames) -> Result<(Batches, u64), Error>
where
    R: ChunkReader + 'static,
{
    // Columns are read by the types that Parquet gives them, so that categories are texts.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let open = || ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
    let builder = caught(FORMAT, open)?.map_err(damaged)?;
    let rows = builder.metadata().file_metadata().num_rows();
    let rows = u64::try_from(rows).map_err(damaged)?;

    let Columns { read, order } = columns(builder.schema(), names)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), read);
    let builder = builder.with_projection(mask).with_batch_size(BATCH);
    let mut reader = caught(FORMAT, || builder.build())?.map_err(damaged)?;

    let batches = std::iter::from_fn(move || {
        let batch = match caught(FORMAT, || reader.next()) {
            Ok(batch) => batch?,
            Err(error) => return Some(Err(error)),
        };
        let batch = batch.and_then(|batch| batch.project(&order));
        Some(batch.map_err(damaged))
    });
    Ok((Box::new(batches), rows))
}

fn damaged(error: impl ToString) -> Error {
    let text = error.to_string();
    let why = match text.split_once("Disabled feature at compile time: ") {
        Some((_, codec)) => {
            format!("pages compressed by {codec}: expected zstd, snappy, gzip, lz4 or none")
        }
        None => text,
    };
    Error::Table {
        format: FORMAT,
        why,
    }
}
