//! Instants of 96 bits, as Spark and Hive write them: a day and the nanoseconds within it. They may lie outside the years
//! 1677 to 2262. Nanoseconds in 64 bits hold only these years.

use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::Result as Parquet;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::{FORMAT, damaged};
use crate::Error;
use crate::table::caught;

/// The Julian day of 1970-01-01.
const EPOCH: i128 = 2_440_588;

const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;

/// For each leaf of these columns, true if it holds instants that are to be read as microseconds.
///
/// # Errors
/// [`Error::Table`] if a leaf also holds parts of a microsecond, or instants that 64 bits of microseconds do not hold.
pub(super) fn far<R>(
    file: &Arc<R>,
    metadata: &ParquetMetaData,
    (roots, batch): (&[usize], usize),
) -> Result<Vec<bool>, Error>
where
    R: ChunkReader + 'static,
{
    let schema = metadata.file_metadata().schema_descr();
    let leaves = (0..schema.num_columns()).map(|leaf| {
        let column = schema.column(leaf);
        let wanted = roots.contains(&schema.get_column_root_idx(leaf));
        if !wanted || column.physical_type() != Type::INT96 {
            return Ok(false);
        }
        let (mut far, mut fine) = (false, false);
        let mut note = |value: &Int96| {
            let nanoseconds = nanoseconds(value);
            far |= i64::try_from(nanoseconds).is_err();
            fine |= nanoseconds % 1000 != 0 || i64::try_from(nanoseconds / 1000).is_err();
        };
        let scan = || -> Parquet<()> {
            for group in metadata.row_groups() {
                let (rows, chunk) = (usize::try_from(group.num_rows())?, group.column(leaf));
                let pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None)?;
                let mut reader =
                    ColumnReaderImpl::<Int96Type>::new(Arc::clone(&column), Box::new(pages));
                loop {
                    let (mut present, mut repeated, mut values) = (vec![], vec![], vec![]);
                    let levels = (Some(&mut present), Some(&mut repeated));
                    let (read, ..) =
                        reader.read_records(batch, levels.0, levels.1, &mut values)?;
                    if read == 0 {
                        break;
                    }
                    values.iter().for_each(&mut note);
                }
            }
            Ok(())
        };
        caught(FORMAT, scan)?.map_err(damaged)?;
        match far && fine {
            true => Err(damaged(format!(
                "column {} has INT96 timestamps outside the years 1677 to 2262, and parts of a microsecond: write it as 64-bit timestamps",
                column.path().string().chars().take(60).collect::<String>()
            ))),
            false => Ok(far),
        }
    });
    leaves.collect()
}

/// The nanoseconds since 1970.
fn nanoseconds(value: &Int96) -> i128 {
    let [low, high, day] = [0, 1, 2].map(|at| value.data()[at]);
    let within = (i128::from(high) << 32) + i128::from(low);
    (i128::from(day.cast_signed()) - EPOCH) * NANOSECONDS_OF_DAY + within
}
