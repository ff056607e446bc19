//! Tables in text: a record a line of JSON, or of CSV with a head.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, OnceLock};

use crate::column::Column;
use crate::id::{Id, IdKind};
use crate::input::{MAX_BYTES, MAX_VALUES, Rest, check_dim};
use crate::rounding::Rounding;
use crate::{ColumnNames, Error};

mod csv;
mod jsonl;

/// Bytes of the longest record.
const MAX_RECORD: usize = 1 << 25;

/// U+FEFF in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A record: its vector, its id if one was asked for, its other values.
struct Record {
    /// The line that it begins in, from 1.
    line: u64,
    vector: Vec<f64>,
    id: Option<Result<Id, Error>>,
    values: Vec<Option<Box<str>>>,
}

/// The names of a file's columns, or of the first record's members, once they are known.
#[derive(Clone, Default)]
struct Found(Arc<OnceLock<Vec<String>>>);

impl Found {
    fn put<'a>(&self, names: impl Iterator<Item = &'a str>) {
        self.0.get_or_init(|| names.map(str::to_owned).collect());
    }
}

/// The records of a file, one after the other.
type Records = Box<dyn Iterator<Item = Result<Record, Error>> + Send>;

/// The rest of a table, to be read.
pub(super) struct Text {
    records: Records,
    dim: usize,
    columns: usize,
    found: Found,
    json: bool,
    /// The record being waited with.
    next: Option<Record>,
    read: u64,
    rounding: Rounding,
}

impl Text {
    /// Lines of JSON objects.
    pub(super) fn jsonl(bytes: Box<dyn Read + Send>, names: &ColumnNames) -> Result<Self, Error> {
        let found = Found::default();
        Self::new(jsonl::records(bytes, names, &found)?, names, found, true)
    }

    /// CSV with a head.
    pub(super) fn csv(bytes: Box<dyn Read + Send>, names: &ColumnNames) -> Result<Self, Error> {
        let found = Found::default();
        Self::new(csv::records(bytes, names, &found)?, names, found, false)
    }

    /// The first vector tells the dimension.
    fn new(
        mut records: Records,
        names: &ColumnNames,
        found: Found,
        json: bool,
    ) -> Result<Self, Error> {
        let next = records.next().ok_or(Error::NoVectors)??;
        let dim = check_dim(next.vector.len() as u64)?;
        Ok(Self {
            dim,
            rounding: Rounding::new(dim),
            records,
            columns: names.values.len(),
            found,
            json,
            next: Some(next),
            read: 0,
        })
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn rounding(&self) -> &Rounding {
        &self.rounding
    }

    /// The names of all columns, or of all members of the first record.
    pub(super) fn columns(&self) -> &[String] {
        self.found.0.get().map_or(&[], Vec::as_slice)
    }

    /// The next records, no more than fit a chunk and none at the end.
    pub(super) fn next(&mut self) -> Result<Rest, Error> {
        let most = (MAX_VALUES / self.dim).max(1);
        let (mut data, mut ids, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<Vec<Option<Box<str>>>> = vec![Vec::new(); self.columns];
        let mut bytes = 0;
        for row in self.read..self.read + most as u64 {
            if bytes >= MAX_BYTES {
                break;
            }
            let Some(record) = self.next.take().map(Ok).or_else(|| self.records.next()) else {
                break;
            };
            let record = record?;
            let line = record.line;
            let (found, expected) = (record.vector.len() as u64, self.dim as u64);
            if found != expected {
                let wrong = Error::RowDimension {
                    row,
                    found,
                    expected,
                };
                return Err(wrong.in_line(line));
            }
            let first = data.len();
            self.rounding.row(record.vector.into_iter(), &mut data);
            if let Some(column) = data[first..].iter().position(|x| !x.is_finite()) {
                return Err(Error::NotFinite { row: 0, column }.in_line(line));
            }
            let id = record.id.transpose();
            ids.extend(id.map_err(|error| in_row(error, row).in_line(line))?);
            lines.push(line);
            bytes += record
                .values
                .iter()
                .flatten()
                .map(|value| value.len())
                .sum::<usize>();
            let columns = values.iter_mut().zip(record.values);
            columns.for_each(|(column, value)| column.push(value));
            self.read = row + 1;
        }
        let column = |values| match self.json {
            true => Column::Json(values),
            false => Column::Text(values),
        };
        Ok(Rest {
            data,
            ids: (!ids.is_empty()).then_some(ids),
            values: values.into_iter().map(column).collect(),
            lines: Some(lines),
        })
    }
}

/// The id in a text.
fn parsed(text: &str, kind: Option<IdKind>) -> Result<Id, Error> {
    kind.unwrap_or(IdKind::Text).parse(text)
}

/// Names the row of an id.
fn in_row(error: Error, row: u64) -> Error {
    match error {
        Error::Id { found, expected } => Error::IdRow {
            row,
            found,
            expected,
        },
        other => other,
    }
}

/// Lines of bounded length, with their numbers from 1.
fn lines(
    bytes: Box<dyn Read + Send>,
) -> impl Iterator<Item = Result<(u64, Vec<u8>), Error>> + Send {
    let mut input = BufReader::with_capacity(1 << 16, bytes);
    let mut number = 0;
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let mut limited = (&mut input).take(MAX_RECORD as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => number += 1,
            Err(error) => return Some(Err(Error::Read(error))),
        }
        // Some editors begin a file with a mark of its encoding.
        if number == 1 && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        if line.len() > MAX_RECORD {
            return Some(Err(fault(number, "longer than 32 MiB".to_owned())));
        }
        Some(Ok((number, line)))
    })
}

/// The fault of a line.
fn fault(line: u64, why: String) -> Error {
    Error::Line { line, why }
}
