//! Tables: vectors are a column of lists of one length, ids and other values columns of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int8Type, UInt8Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, Schema};

use crate::format::only_place;
use crate::id::IdKind;
use crate::input::{MAX_BYTES, MAX_VALUES, Rest, check_dim};
use crate::rounding::Rounding;
use crate::{ColumnNames, Error};

mod ipc;
mod json;
mod parquet;
mod strings;
mod values;

/// The batches of a table, of the columns that were asked for, in their order: the vectors, the ids, others.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// The names of a Parquet file's columns.
pub(super) fn parquet_columns(file: std::fs::File) -> Result<Vec<String>, Error> {
    parquet::names(file)
}

/// The rest of a table, to be read.
pub(super) struct Table {
    batches: Batches,
    dim: usize,
    vectorless: bool,
    len: Option<u64>,
    /// The batch being read, never an empty one, and how many of its rows have been.
    current: Option<(RecordBatch, usize)>,
    /// Rows that have been read.
    read: u64,
    rounding: Rounding,
    /// The names of all columns of the file.
    all: Vec<String>,
    has_ids: bool,
    id_kind: Option<IdKind>,
    /// The names of the other columns.
    names: Vec<String>,
}

/// Where columns are in the file's schema, each once, and which of them are wanted in which order.
struct Columns {
    /// In the order of the file.
    read: Vec<usize>,
    /// Places in `read`: the vectors, the ids if they are wanted, others.
    order: Vec<usize>,
    /// The names of all columns of the file.
    all: Vec<String>,
}

impl Table {
    /// A Parquet file.
    pub(super) fn parquet<R>(file: R, names: &ColumnNames) -> Result<Self, Error>
    where
        R: ::parquet::file::reader::ChunkReader + 'static,
    {
        let (batches, all, len) = parquet::open(file, names)?;
        Self::new(batches, all, Some(len), names)
    }

    /// An Arrow IPC file or stream.
    pub(super) fn ipc(
        bytes: Box<dyn std::io::Read + Send>,
        names: &ColumnNames,
    ) -> Result<Self, Error> {
        let (batches, all) = ipc::open(bytes, names)?;
        Self::new(batches, all, None, names)
    }

    /// The first vector tells the dimension: a type of lists need not.
    fn new(
        mut batches: Batches,
        all: Vec<String>,
        len: Option<u64>,
        names: &ColumnNames,
    ) -> Result<Self, Error> {
        let current = next_rows(&mut batches)?;
        let (first, _) = current.as_ref().ok_or(Error::NoVectors)?;
        let dim = match names.vectorless {
            true => 1,
            false => {
                let one = list(first.column(0), 0).ok_or_else(|| null(first, 0, 0))?;
                check_dim(one.len() as u64)?
            }
        };
        Ok(Self {
            batches,
            dim,
            vectorless: names.vectorless,
            len,
            current,
            read: 0,
            rounding: Rounding::new(dim),
            all,
            has_ids: names.ids.is_some(),
            id_kind: names.id_kind,
            names: names.values.clone(),
        })
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn len_hint(&self) -> Option<u64> {
        self.len
    }

    pub(super) fn rounding(&self) -> &Rounding {
        &self.rounding
    }

    /// The names of all columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.all
    }

    /// The next rows, no more than fit a chunk and none at the end.
    pub(super) fn next(&mut self) -> Result<Rest, Error> {
        if self.current.is_none() {
            self.current = next_rows(&mut self.batches)?;
        }
        let Some((batch, start)) = self.current.take() else {
            return Ok(Rest::default());
        };
        // Values are copied a chunk at a time, however many rows a batch has.
        let row = batch.get_array_memory_size() / batch.num_rows();
        let most = (MAX_VALUES / self.dim).min(MAX_BYTES / row.max(1));
        let rows = most.max(1).min(batch.num_rows() - start);
        let mut data = Vec::with_capacity(rows * self.dim);
        if self.vectorless {
            data.resize(rows, 0.0);
        }
        let read = if self.vectorless { 0 } else { rows };
        for at in start..start + read {
            let row = self.read + (at - start) as u64;
            let values = list(batch.column(0), at).ok_or_else(|| null(&batch, 0, row))?;
            if values.len() != self.dim {
                return Err(Error::RowDimension {
                    row,
                    found: values.len() as u64,
                    expected: self.dim as u64,
                });
            }
            if values.null_count() > 0 {
                return Err(null(&batch, 0, row));
            }
            coordinates(&values, &mut self.rounding, &mut data);
        }
        let columns = batch.columns()[1..].iter();
        let mut columns = columns.map(|column| column.slice(start, rows));
        let mut ids = None;
        if self.has_ids
            && let Some(column) = columns.next()
        {
            if let Some(at) = (0..rows).find(|&at| column.is_null(at)) {
                return Err(null(&batch, 1, self.read + at as u64));
            }
            ids = Some(values::ids(&column, self.id_kind, self.read)?);
        }
        let values = columns.zip(&self.names);
        let values = values.map(|(column, name)| values::column(&column, name, self.read));
        let values = values.collect::<Result<_, Error>>()?;
        self.read += rows as u64;
        if start + rows < batch.num_rows() {
            self.current = Some((batch, start + rows));
        }
        Ok(Rest {
            data,
            ids,
            values,
            lines: None,
        })
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

/// Finds the columns in a file's schema.
fn columns(schema: &Schema, names: &ColumnNames) -> Result<Columns, Error> {
    let vectors = match &names.vectors {
        // A column has to stand in the vectors' place, which is not looked at.
        _ if names.vectorless => match names.ids.iter().chain(&names.values).next() {
            Some(name) => find(schema.fields(), name, |_| true, "any")?,
            None => 0,
        },
        Some(name) => find(schema.fields(), name, is_vector, "lists of numbers")?,
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
            only_place(field_names(schema.fields()), schema.field(first).name())?;
            first
        }
    };
    if let DataType::FixedSizeList(_, dim) = schema.field(vectors).data_type() {
        check_dim(u64::try_from(*dim).unwrap_or(0))?;
    }
    let mut wanted = vec![vectors];
    if let Some(name) = &names.ids {
        let expected = "whole numbers, texts or UUIDs";
        wanted.push(find(schema.fields(), name, values::is_id, expected)?);
    }
    for name in &names.values {
        let expected =
            "numbers, truth values, texts, bytes, dates, or lists and structures of them";
        wanted.push(find(schema.fields(), name, values::is_value, expected)?);
    }
    let mut read = wanted.clone();
    read.sort_unstable();
    read.dedup();
    let order = wanted.iter().filter_map(|at| read.binary_search(at).ok());
    Ok(Columns {
        order: order.collect(),
        all: field_names(schema.fields()).map(str::to_owned).collect(),
        read,
    })
}

fn find(
    fields: &Fields,
    name: &str,
    suits: fn(&DataType) -> bool,
    expected: &'static str,
) -> Result<usize, Error> {
    let at = only_place(field_names(fields), name)?;
    let at = at.ok_or_else(|| Error::NoColumn {
        wanted: shortened(name),
        found: listed(fields, |_| true),
    })?;
    let field = &fields[at];
    if suits(field.data_type()) {
        return Ok(at);
    }
    Err(Error::ColumnType {
        column: shortened(name),
        found: shortened(&field.data_type().to_string()),
        expected,
    })
}

fn field_names(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.iter().map(|field| field.name().as_str())
}

/// The error of a row of a batch's column that lacks something.
fn null(batch: &RecordBatch, column: usize, row: u64) -> Error {
    let column = shortened(batch.schema().field(column).name());
    Error::Null { row, column }
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

/// The list at `at` of a column, if there is one.
fn list(column: &ArrayRef, at: usize) -> Option<ArrayRef> {
    if column.is_null(at) {
        return None;
    }
    Some(match column.data_type() {
        DataType::FixedSizeList(..) => column.as_fixed_size_list().value(at),
        DataType::List(_) => column.as_list::<i32>().value(at),
        _ => column.as_list::<i64>().value(at),
    })
}

/// Appends a row, which is an array of numbers without nulls.
fn coordinates(values: &ArrayRef, rounding: &mut Rounding, out: &mut Vec<f32>) {
    match values.data_type() {
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>().values();
            rounding.row(values.iter().copied(), out);
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
