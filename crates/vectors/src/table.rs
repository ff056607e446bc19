//! Tables: vectors are a column of lists of one length, ids a column of integers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, Schema};

use crate::input::{MAX_VALUES, check_dim};
use crate::{ColumnNames, Error, to_f32};

mod ipc;
mod parquet;

/// The batches of a table, of two columns at most: the vectors, then the ids.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// The rest of a table, to be read.
pub(super) struct Table {
    batches: Batches,
    dim: usize,
    len: Option<u64>,
    /// The batch being read, never an empty one, and how many of its rows have been.
    current: Option<(RecordBatch, usize)>,
    /// Rows that have been read.
    read: u64,
}

/// Where the two columns are in the file's schema.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Columns {
    vectors: usize,
    ids: Option<usize>,
}

impl Table {
    /// A Parquet file.
    pub(super) fn parquet<R>(file: R, names: &ColumnNames) -> Result<Self, Error>
    where
        R: ::parquet::file::reader::ChunkReader + 'static,
    {
        let (batches, len) = parquet::open(file, names)?;
        Self::new(batches, Some(len))
    }

    /// An Arrow IPC file or stream.
    pub(super) fn ipc(
        bytes: Box<dyn std::io::Read + Send>,
        names: &ColumnNames,
    ) -> Result<Self, Error> {
        Self::new(ipc::open(bytes, names)?, None)
    }

    /// The first vector tells the dimension: a type of lists need not.
    fn new(mut batches: Batches, len: Option<u64>) -> Result<Self, Error> {
        let current = next_rows(&mut batches)?;
        let (first, _) = current.as_ref().ok_or(Error::NoVectors)?;
        let dim = check_dim(list(first.column(0), 0, 0)?.len() as u64)?;
        Ok(Self {
            batches,
            dim,
            len,
            current,
            read: 0,
        })
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn len_hint(&self) -> Option<u64> {
        self.len
    }

    /// The next rows' coordinates, no more than fit a chunk and none at the end, and their ids.
    pub(super) fn next(&mut self) -> Result<(Vec<f32>, Option<Vec<u32>>), Error> {
        if self.current.is_none() {
            self.current = next_rows(&mut self.batches)?;
        }
        let Some((batch, start)) = self.current.take() else {
            return Ok((Vec::new(), None));
        };
        let rows = (MAX_VALUES / self.dim).max(1).min(batch.num_rows() - start);
        let mut data = Vec::with_capacity(rows * self.dim);
        for at in start..start + rows {
            let row = self.read + (at - start) as u64;
            let values = list(batch.column(0), at, row)?;
            if values.len() != self.dim {
                return Err(Error::RowDimension {
                    row,
                    found: values.len() as u64,
                    expected: self.dim as u64,
                });
            }
            if values.null_count() > 0 {
                return Err(Error::Null { row });
            }
            coordinates(&values, &mut data);
        }
        let ids = match batch.columns().get(1) {
            Some(column) => {
                let column = column.slice(start, rows);
                if let Some(at) = (0..rows).find(|&at| column.is_null(at)) {
                    let row = self.read + at as u64;
                    return Err(Error::Null { row });
                }
                Some(ids(&column).ok_or(Error::IdRange)?)
            }
            None => None,
        };
        self.read += rows as u64;
        if start + rows < batch.num_rows() {
            self.current = Some((batch, start + rows));
        }
        Ok((data, ids))
    }
}

/// The next batch that has rows.
fn next_rows(batches: &mut Batches) -> Result<Option<(RecordBatch, usize)>, Error> {
    for batch in batches {
        let batch = batch?;
        if batch.num_rows() > 0 {
            return Ok(Some((batch, 0)));
        }
    }
    Ok(None)
}

/// The result of `decode`, or an error if it panics.
///
/// The decoders of these formats have a history of assertions that a damaged file can reach, and a
/// file must not stop the program. What panicked is not used again.
fn caught<T>(format: &'static str, decode: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(|_| Error::Table {
        format,
        why: "it is damaged".to_owned(),
    })
}

/// Finds the two columns in a file's schema.
fn columns(schema: &Schema, names: &ColumnNames) -> Result<Columns, Error> {
    let vectors = match &names.vectors {
        Some(name) => find(schema.fields(), name, is_vector)?,
        None => {
            let fields = schema.fields().iter().enumerate();
            let mut lists = fields.filter(|(_, field)| is_vector(field.data_type()));
            let (first, _) = lists.next().ok_or_else(|| Error::NoColumn {
                wanted: "of vectors".to_owned(),
                found: listed(schema.fields(), |_| true),
            })?;
            if lists.next().is_some() {
                let found = listed(schema.fields(), is_vector);
                return Err(Error::SeveralColumns { found });
            }
            first
        }
    };
    if let DataType::FixedSizeList(_, dim) = schema.field(vectors).data_type() {
        check_dim(u64::try_from(*dim).unwrap_or(0))?;
    }
    let ids = names.ids.as_ref();
    let ids = ids.map(|name| find(schema.fields(), name, is_id));
    let ids = ids.transpose()?;
    Ok(Columns { vectors, ids })
}

fn find(fields: &Fields, name: &str, suits: fn(&DataType) -> bool) -> Result<usize, Error> {
    let found = fields
        .find(name)
        .filter(|(_, field)| suits(field.data_type()));
    let found = found.map(|(at, _)| at);
    found.ok_or_else(|| Error::NoColumn {
        wanted: shortened(name),
        found: listed(fields, |_| true),
    })
}

/// The names and types of columns, for a message: a table may have thousands.
fn listed(fields: &Fields, suits: fn(&DataType) -> bool) -> String {
    const MOST: usize = 20;
    let suiting = fields.iter().filter(|field| suits(field.data_type()));
    let mut names: Vec<String> = suiting
        .take(MOST)
        .map(|field| {
            let kind = field.data_type().to_string();
            format!("{} ({})", shortened(field.name()), shortened(&kind))
        })
        .collect();
    if names.is_empty() {
        names.push("none".to_owned());
    } else if names.len() == MOST {
        names.push("...".to_owned());
    }
    names.join(", ")
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn is_vector(kind: &DataType) -> bool {
    let (DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item)) =
        kind
    else {
        return false;
    };
    matches!(
        item.data_type(),
        DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::UInt8
            | DataType::Int8
    )
}

fn is_id(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::UInt32 | DataType::Int32 | DataType::UInt64 | DataType::Int64
    )
}

/// The list at `at` of a column, which is `row` of the table.
fn list(column: &ArrayRef, at: usize, row: u64) -> Result<ArrayRef, Error> {
    if column.is_null(at) {
        return Err(Error::Null { row });
    }
    Ok(match column.data_type() {
        DataType::FixedSizeList(..) => column.as_fixed_size_list().value(at),
        DataType::List(_) => column.as_list::<i32>().value(at),
        _ => column.as_list::<i64>().value(at),
    })
}

/// Appends an array of numbers without nulls.
fn coordinates(values: &ArrayRef, out: &mut Vec<f32>) {
    match values.data_type() {
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            out.extend(values.iter().map(|&x| to_f32(x)));
        }
        DataType::Float16 => {
            let values = values.as_primitive::<Float16Type>().values();
            out.extend(values.iter().map(|x| x.to_f32()));
        }
        DataType::UInt8 => {
            let values = values.as_primitive::<UInt8Type>().values();
            out.extend(values.iter().map(|&x| f32::from(x)));
        }
        DataType::Int8 => {
            let values = values.as_primitive::<Int8Type>().values();
            out.extend(values.iter().map(|&x| f32::from(x)));
        }
        _ => out.extend_from_slice(values.as_primitive::<Float32Type>().values()),
    }
}

/// A column without nulls as ids; `None` if one is negative or beyond 32 bits.
fn ids(column: &ArrayRef) -> Option<Vec<u32>> {
    match column.data_type() {
        DataType::UInt32 => Some(column.as_primitive::<UInt32Type>().values().to_vec()),
        DataType::Int32 => {
            let values = column.as_primitive::<Int32Type>().values();
            values.iter().map(|&id| u32::try_from(id).ok()).collect()
        }
        DataType::UInt64 => {
            let values = column.as_primitive::<UInt64Type>().values();
            values.iter().map(|&id| u32::try_from(id).ok()).collect()
        }
        _ => {
            let values = column.as_primitive::<Int64Type>().values();
            values.iter().map(|&id| u32::try_from(id).ok()).collect()
        }
    }
}
