//! Checks the lengths of lists that the pages of a file announce: a few bytes can encode a billion equal numbers.

use std::sync::Arc;

use bytes::Bytes;
use parquet::column::page::PageReader;
use parquet::errors::Result as Parquet;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::{FORMAT, damaged};
use crate::Error;
use crate::table::caught;

/// The number of values of a list column in a row group that need not take any bytes: 2^25 zeros, say, in a run.
const FREE: u64 = 1 << 25;

/// The number of further values of a list column for each byte of the column. Sparse vectors have about 100.
const PER_BYTE: u64 = 256;

/// The size in bytes of a list value and of its position in the list.
const VALUE: u64 = 8;

/// A file that is inspected before it is read.
pub(super) struct Shared<R>(pub(super) Arc<R>);

impl<R: Length> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Parquet<R::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Parquet<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// The mean bytes of a row of these columns, in the row group where the mean is largest.
///
/// # Errors
/// [`Error::Table`] if a column announces many more values than its bytes can encode.
pub(super) fn bytes_of_rows<R>(
    file: &Arc<R>,
    metadata: &ParquetMetaData,
    roots: &[usize],
) -> Result<u64, Error>
where
    R: ChunkReader + 'static,
{
    let schema = metadata.file_metadata().schema_descr();
    let leaves = 0..schema.num_columns();
    let lists = leaves.filter(|&leaf| {
        let wanted = roots.contains(&schema.get_column_root_idx(leaf));
        wanted && schema.column(leaf).max_rep_level() > 0
    });
    let lists: Vec<usize> = lists.collect();
    let mut most = 0;
    for (at, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        let written = u64::try_from(group.total_byte_size()).unwrap_or(0);
        let mut bytes = written;
        for &leaf in &lists {
            let values = values(file, group, leaf)?;
            let held = u64::try_from(group.column(leaf).compressed_size()).unwrap_or(0);
            let held = held.min(file.len());
            if values > FREE.saturating_add(held.saturating_mul(PER_BYTE)) {
                let name = schema.column(leaf).path().string();
                let name: String = name.chars().take(60).collect();
                return Err(damaged(format!(
                    "column {name} promises {values} values in {held} bytes of row group {at}: expected at most {PER_BYTE} for each \
                     byte, beyond the first {FREE}"
                )));
            }
            bytes = bytes.max(values.saturating_mul(VALUE));
        }
        most = most.max(bytes / rows);
    }
    Ok(most)
}

/// The number of values that the pages of a column announce.
fn values<R>(file: &Arc<R>, group: &RowGroupMetaData, leaf: usize) -> Result<u64, Error>
where
    R: ChunkReader + 'static,
{
    let count = || {
        let rows = usize::try_from(group.num_rows())?;
        let chunk = group.column(leaf);
        let mut pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None)?;
        let mut values = 0_usize;
        while let Some(page) = pages.peek_next_page()? {
            values = page.num_levels.unwrap_or(0).saturating_add(values);
            pages.skip_next_page()?;
        }
        Ok(u64::try_from(values)?)
    };
    let counted: Parquet<u64> = caught(FORMAT, count)?;
    counted.map_err(damaged)
}
