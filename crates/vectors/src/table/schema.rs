//! Finds the wanted columns in a table's schema.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::Batch;
use super::dictionary::value_type;
use super::pandas::{Index, Range};
use super::spark;
use super::strings::is_bytes;
use super::values::{is_id, is_value};
use super::vectors::{is_list, is_number, is_vector};
use crate::format::{cut, fitting, only_place};
use crate::input::check_dim;
use crate::{ColumnNames, Error};

/// The name that pandas gives its extension type for periods.
const PERIODS: &str = "pandas.period";

/// The largest number of structures within one another in which a column is searched.
const MAX_DEPTH: usize = 16;

/// The positions of columns in the file's schema, each once, and the order in which they are wanted.
#[derive(Clone)]
pub(super) struct Columns {
    /// The positions of columns in the order of the file.
    pub(super) read: Vec<usize>,
    /// For each wanted column, its position in `read` and the positions within structures there. The vectors come
    /// first, then the ids if they are wanted, then other columns.
    order: Vec<(usize, Vec<usize>)>,
    /// The number of columns that hold the vectors.
    pub(super) vectors: usize,
    /// The names of the wanted columns.
    pub(super) names: Vec<String>,
    /// The names of all columns of the file.
    pub(super) all: Vec<String>,
    /// The column that pandas marked as the table's index.
    pub(super) index: Option<String>,
    /// The index of pandas, if it is wanted and no column of the file holds it.
    pub(super) range: Option<Range>,
    /// True if the vectors are in bytes.
    pub(super) blobs: bool,
}

impl Columns {
    /// Finds the columns in a file's schema, to which the index of pandas may add one.
    pub(super) fn new(
        held: &Fields,
        index: Option<Index>,
        names: &ColumnNames,
    ) -> Result<Self, Error> {
        let range = index.as_ref().and_then(Index::range);
        let range = range.filter(|range| held.find(&range.name).is_none());
        let added = range.map(|range| Arc::new(Field::new(&range.name, DataType::Int64, false)));
        let fields = &held.iter().cloned().chain(added).collect::<Fields>();
        let mut wanted = vectors(fields, names)?;
        let vectors = wanted.len();
        let blobs =
            !names.vectorless && wanted.iter().any(|found| is_bytes(value_type(&found.kind)));
        if let Some(name) = &names.ids {
            let expected = "whole numbers, texts or UUIDs (in pandas, astype('Int64') keeps numbers whole where some are missing; \
                            DuckDB writes HUGEINT, which sum() makes, as DOUBLE: id::UBIGINT, or id::VARCHAR for texts)";
            wanted.push(find(fields, name, is_id, expected)?);
        }
        for name in &names.values {
            let expected =
                "numbers, truth values, texts, bytes, dates, or lists and structures of them";
            wanted.push(find(fields, name, is_value, expected)?);
        }
        let mut read: Vec<usize> = wanted.iter().map(|found| found.path[0]).collect();
        read.sort_unstable();
        read.dedup();
        let order = wanted.iter().map(|found| {
            let place = read.binary_search(&found.path[0]).unwrap_or_default();
            (place, found.path[1..].to_vec())
        });
        let order = order.collect();
        // The place of the range is the last one.
        let range = range.filter(|_| read.pop_if(|at| *at == held.len()).is_some());
        Ok(Self {
            order,
            vectors,
            blobs,
            names: wanted.into_iter().map(|found| found.name).collect(),
            all: field_names(fields).map(str::to_owned).collect(),
            range: range.cloned(),
            index: index.map(|index| index.name().to_owned()),
            read,
        })
    }

    /// The wanted columns of a batch whose first row is row `first` of the table.
    pub(super) fn of(&self, batch: &RecordBatch, first: u64) -> Result<Batch, ArrowError> {
        let range = self.range.as_ref();
        let range = range.map(|range| range.numbers(first, batch.num_rows()));
        let columns = self.order.iter().map(|(place, within)| {
            let column = batch.columns().get(*place).or(range.as_ref());
            let column =
                column.ok_or_else(|| ArrowError::SchemaError("a column is missing".to_owned()))?;
            within
                .iter()
                .try_fold(column.clone(), |column, at| inner(&column, *at))
        });
        columns.collect()
    }

    /// Adds the row to an error about a vector.
    pub(super) fn in_row(&self, error: Error, row: u64) -> Error {
        match error {
            Error::Numbers { found, expected } => Error::Text {
                row,
                column: shortened(&self.names[0]),
                found,
                expected,
            },
            other => other,
        }
    }

    /// The error of a row that lacks something in one of the wanted columns.
    pub(super) fn null(&self, column: usize, row: u64) -> Error {
        let column = shortened(&self.names[column]);
        Error::Null { row, column }
    }
}

/// The field of a structure. It has no value in rows that have no structure.
fn inner(column: &ArrayRef, at: usize) -> Result<ArrayRef, ArrowError> {
    let outer = column
        .as_struct_opt()
        .ok_or_else(|| ArrowError::SchemaError("a column is no structure".to_owned()))?;
    let inner = outer.column(at);
    spark::check(outer, at)?;
    let nulls = NullBuffer::union(outer.nulls(), inner.nulls());
    let data = inner.to_data().into_builder().nulls(nulls).build()?;
    Ok(make_array(data))
}

/// A column that was found.
struct Found {
    name: String,
    /// The column's position, and the positions of fields within it.
    path: Vec<usize>,
    kind: DataType,
}

fn vectors(fields: &Fields, names: &ColumnNames) -> Result<Vec<Found>, Error> {
    let of = |at: usize| Found {
        name: fields[at].name().clone(),
        path: vec![at],
        kind: fields[at].data_type().clone(),
    };
    let Some(name) = &names.vectors else {
        return Ok(vec![match names.vectorless {
            // Some column must take the place of the vectors. Its values are not read.
            true => match names.ids.iter().chain(&names.values).next() {
                Some(name) => find(fields, name, |_| true, "any")?,
                None if fields.is_empty() => return Err(Error::NoVectors),
                None => of(0),
            },
            false => of(only_vectors(fields)?),
        }]);
    };
    if names.vectorless {
        let unnamed = ColumnNames {
            vectors: None,
            ..names.clone()
        };
        return vectors(fields, &unnamed);
    }
    let mut several = fitting(field_names(fields), name)?;
    several.retain(|&at| !names.takes(fields[at].name()));
    if !several.is_empty() && only_place(field_names(fields), name)?.is_none() {
        check_dim(several.len() as u64)?;
        for &at in &several {
            let field = &fields[at];
            if !is_number(field.data_type()) {
                return Err(wrong_type(field.name(), field.data_type(), "numbers"));
            }
        }
        return Ok(several.into_iter().map(of).collect());
    }
    let expected = "lists of numbers, texts such as [0.1, 0.2], or bytes of 32-bit floats; of a column for each coordinate \
                    name all with a * (on the command line --vector-column 'f*'), of a structure a field (a.b), and make floats \
                    of decimals, truth values and texts in lists (in SQL: v::float[]; in Polars: cast(pl.List(pl.Float32)))";
    let found = find(fields, name, is_vector, expected)?;
    check_fixed(&found.kind)?;
    Ok(vec![found])
}

/// The only column of lists of numbers.
fn only_vectors(fields: &Fields) -> Result<usize, Error> {
    let mut lists = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| is_list(field.data_type()));
    let (first, field) = lists.next().ok_or_else(|| {
        let all = listed(fields, |_| true);
        let spark = fields
            .iter()
            .find(|field| matches!(field.data_type(), DataType::Struct(within) if spark::is_vector(within)));
        let advice = match spark {
            Some(field) => format!("name Spark's vectors {}.values", shortened(field.name())),
            None => "name one of texts such as [0.1, 0.2], one of bytes of 32-bit floats, or several with a coordinate each, \
                     such as 'f*'"
                .to_owned(),
        };
        Error::NoColumn {
            wanted: "of vectors (lists of numbers)".to_owned(),
            found: format!("{all}; {advice} (on the command line --vector-column)"),
        }
    })?;
    if lists.next().is_some() {
        let found = listed(fields, is_list);
        return Err(Error::SeveralColumns { found });
    }
    only_place(field_names(fields), field.name())?;
    check_fixed(field.data_type())?;
    Ok(first)
}

/// Refuses lists whose type gives a length that is too long.
fn check_fixed(kind: &DataType) -> Result<(), Error> {
    if let DataType::FixedSizeList(_, dim) = kind {
        check_dim(u64::try_from(*dim).unwrap_or(0))?;
    }
    Ok(())
}

/// Finds a column with this name. If the name has dots, the parts before them may name structures that contain the
/// column.
fn find(
    fields: &Fields,
    name: &str,
    suits: fn(&DataType) -> bool,
    expected: &'static str,
) -> Result<Found, Error> {
    let (path, field) = match only_place(field_names(fields), name)? {
        Some(at) => (vec![at], fields[at].clone()),
        None => nested(fields, name, MAX_DEPTH)?.ok_or_else(|| Error::NoColumn {
            wanted: shortened(name),
            found: listed(fields, |_| true),
        })?,
    };
    if field.extension_type_name() == Some(PERIODS) {
        let found = "periods, which are numbers without their unit in the file";
        return Err(Error::ColumnType {
            column: shortened(name),
            found: found.to_owned(),
            expected: "instants or texts (in pandas: column.dt.to_timestamp() or column.astype(str))",
        });
    }
    if !suits(value_type(field.data_type())) {
        return Err(wrong_type(name, field.data_type(), expected));
    }
    Ok(Found {
        name: name.to_owned(),
        path,
        kind: field.data_type().clone(),
    })
}

/// Finds the field within structures that `outer.inner` names.
fn nested(
    fields: &Fields,
    name: &str,
    depth: usize,
) -> Result<Option<(Vec<usize>, FieldRef)>, Error> {
    if let Some(at) = only_place(field_names(fields), name)? {
        return Ok(Some((vec![at], Arc::clone(&fields[at]))));
    }
    let Some((outer, inner)) = name.split_once('.').filter(|_| depth > 0) else {
        return Ok(None);
    };
    let Some(at) = only_place(field_names(fields), outer)? else {
        return Ok(None);
    };
    let DataType::Struct(within) = fields[at].data_type() else {
        return Ok(None);
    };
    let found = nested(within, inner, depth - 1)?;
    Ok(found.map(|(mut path, field)| {
        path.insert(0, at);
        (path, field)
    }))
}

fn wrong_type(name: &str, found: &DataType, expected: &'static str) -> Error {
    // An interval of Parquet has months, days and milliseconds, of which readers of Arrow drop the months.
    if matches!(found, DataType::Interval(_)) {
        return Error::ColumnType {
            column: shortened(name),
            found: "intervals, which have months of no fixed length".to_owned(),
            expected: "texts or numbers of seconds (in DuckDB: span::VARCHAR, or epoch(span); in PostgreSQL: span::text, or extract(epoch \
                       from span))",
        };
    }
    let item = |kind: &DataType| match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type().clone())
        }
        _ => None,
    };
    let mut expected = expected;
    if item(found).as_ref().and_then(item).is_some() {
        expected = "lists of numbers; of lists within a list take one (in DuckDB: copy (select * replace (v[1] as v) from 'FILE') to \
                    'base.parquet')";
    }
    let mut found_type = shortened(&found.to_string());
    if let DataType::Struct(fields) = found
        && spark::is_vector(fields)
    {
        found_type = format!("Spark's vectors, which are in {}.values", shortened(name));
    } else if let DataType::Struct(fields) = found
        && let Some(field) = fields.first()
    {
        let field = shortened(&format!("{name}.{}", field.name()));
        found_type = format!("structures, of which a field is named '{field}'");
    }
    Error::ColumnType {
        column: shortened(name),
        found: found_type,
        expected,
    }
}

fn field_names(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.iter().map(|field| field.name().as_str())
}

/// The names and types of columns, cut short for a message, since a table may have thousands.
fn listed(fields: &Fields, suits: fn(&DataType) -> bool) -> String {
    let suiting = fields.iter().filter(|field| suits(field.data_type()));
    let names = cut(suiting.map(|field| {
        let kind = field.data_type().to_string();
        format!("{} ({})", shortened(field.name()), shortened(&kind))
    }));
    match names.is_empty() {
        true => "none".to_owned(),
        false => names,
    }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
