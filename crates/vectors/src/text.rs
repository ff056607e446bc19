//! Tables in text formats. A record is a line of JSON, an element of a JSON array, or a line of CSV with a
//! header.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, OnceLock};

use crate::column::Column;
use crate::id::{Id, IdKind};
use crate::input::{FIRST, MAX_BYTES, MAX_VALUES, Rest, check_dim, usual_dim};
use crate::rounding::{Rounding, narrowed};
use crate::{ColumnNames, Error, FileOptions, Format};

mod array;
mod csv;
mod jsonl;
mod member;
mod packed;

/// The size in bytes of the longest record.
const MAX_RECORD: usize = 1 << 25;

/// The largest number of records that may be left out at the start of a file before the first record with
/// a vector.
const MAX_FAULTS_FIRST: usize = 1 << 12;

/// U+FEFF in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A record: its vector, its id if requested, and its other values.
struct Record {
    /// The line on which it begins, from 1.
    line: u64,
    vector: Vec<f64>,
    id: Option<Result<Id, Error>>,
    values: Vec<Option<Box<str>>>,
}

impl Record {
    /// The size in bytes of the record's other values.
    fn bytes(&self) -> usize {
        self.values.iter().flatten().map(|value| value.len()).sum()
    }
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

/// The rest of a table.
pub(super) struct Text {
    records: Records,
    dim: usize,
    columns: usize,
    found: Found,
    json: bool,
    read: u64,
    rounding: Rounding,
    /// True if records that cannot be read are left out.
    skip: bool,
}

impl Text {
    /// Opens a table in one of the text formats, compressed or not.
    pub(super) fn open(
        format: Format,
        bytes: Box<dyn Read + Send>,
        names: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Self, Error> {
        let (bytes, found) = (packed::unpacked(bytes)?, Found::default());
        let (records, json) = match format {
            Format::Csv | Format::Tsv => {
                let usual = if format == Format::Tsv { b'\t' } else { b',' };
                let delimiter = options.delimiter.unwrap_or(usual);
                let escapes = match (format, options.delimiter) {
                    (Format::Tsv, None) => csv::Escapes::Possible,
                    _ => csv::Escapes::None,
                };
                (
                    csv::records(bytes, names, &found, delimiter, escapes)?,
                    false,
                )
            }
            Format::Json => (jsonl::records(array::elements(bytes)?, names, &found), true),
            _ => (jsonl::records(Box::new(lines(bytes)), names, &found), true),
        };
        Self::new(records, names, found, (json, options.skip))
    }

    /// The first vector determines the dimension. If rows may be left out, most of the first vectors
    /// determine it.
    fn new(
        mut records: Records,
        names: &ColumnNames,
        found: Found,
        (json, skip): (bool, bool),
    ) -> Result<Self, Error> {
        let most = if skip && !names.vectorless { FIRST } else { 1 };
        let mut waiting: Vec<Result<Record, Error>> = Vec::new();
        let (mut dims, mut bytes, mut goes_on) = (Vec::new(), 0, true);
        // If more records are wrong, the file is not a table of vectors with a few faults.
        while goes_on && dims.len() < most && waiting.len() < MAX_FAULTS_FIRST && bytes < MAX_BYTES
        {
            let Some(next) = records.next() else {
                break;
            };
            match &next {
                Ok(record) => {
                    dims.push(record.vector.len());
                    bytes += record.bytes() + record.vector.len() * size_of::<f64>();
                }
                Err(error) => goes_on = skip && error.is_of_row(),
            }
            waiting.push(next);
        }
        let Some(dim) = usual_dim(&dims) else {
            return Err(match waiting.into_iter().next() {
                Some(Err(first)) => first,
                Some(Ok(record)) => match check_dim(record.vector.len() as u64) {
                    Err(error) => error,
                    Ok(_) => Error::NoVectors,
                },
                None => Error::NoVectors,
            });
        };
        Ok(Self {
            dim,
            rounding: Rounding::new(dim),
            records: Box::new(waiting.into_iter().chain(records)),
            columns: names.values.len(),
            found,
            json,
            read: 0,
            skip,
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

    /// The next records, at most a chunk; empty at the end. A record that is left out ends the chunk.
    pub(super) fn next(&mut self) -> Result<Rest, Error> {
        let most = (MAX_VALUES / self.dim).max(1);
        let mut rest = Rest::default();
        let (mut ids, mut lines) = (Vec::new(), Vec::new());
        let mut values: Vec<Vec<Option<Box<str>>>> = vec![Vec::new(); self.columns];
        let mut bytes = 0;
        for row in self.read..self.read + most as u64 {
            if bytes >= MAX_BYTES {
                break;
            }
            let Some(record) = self.records.next() else {
                break;
            };
            let record = match record.and_then(|record| self.checked(record, row)) {
                Ok(record) => record,
                Err(error) if self.skip && error.is_of_row() => {
                    rest.fault = Some(error);
                    self.read = row + 1;
                    break;
                }
                Err(error) => return Err(error),
            };
            bytes += record.bytes();
            self.rounding.row(record.vector.into_iter(), &mut rest.data);
            ids.extend(record.id.transpose()?);
            lines.push(record.line);
            let columns = values.iter_mut().zip(record.values);
            columns.for_each(|(column, value)| column.push(value));
            self.read = row + 1;
        }
        let column = |values| match self.json {
            true => Column::Json(values),
            false => Column::Text(values),
        };
        rest.ids = (!ids.is_empty()).then_some(ids);
        rest.values = values.into_iter().map(column).collect();
        rest.lines = Some(lines);
        Ok(rest)
    }

    /// Refuses a record that does not fit the others. The error names its line.
    fn checked(&self, mut record: Record, row: u64) -> Result<Record, Error> {
        let line = record.line;
        let (found, expected) = (record.vector.len() as u64, self.dim as u64);
        if found != expected {
            let wrong = match self.skip {
                true => Error::OddDimension {
                    row,
                    found,
                    expected,
                },
                false => Error::RowDimension {
                    row,
                    found,
                    expected,
                },
            };
            return Err(wrong.in_line(line));
        }
        let finite = |x: &f64| narrowed(*x).is_finite();
        if let Some(column) = record.vector.iter().position(|x| !finite(x)) {
            return Err(Error::NotFinite { row: 0, column }.in_line(line));
        }
        let id = record.id.take().transpose();
        let id = id.map_err(|error| in_row(error, row).in_line(line))?;
        record.id = id.map(Ok);
        Ok(record)
    }
}

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
        // Some editors begin a file with a byte-order mark.
        if number == 1 && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        if line.len() > MAX_RECORD {
            if !line.ends_with(b"\n")
                && let Err(error) = input.skip_until(b'\n')
            {
                return Some(Err(Error::Read(error)));
            }
            return Some(Err(fault(number, "longer than 32 MiB".to_owned())));
        }
        Some(Ok((number, line)))
    })
}

/// Records as written, each with the line on which it begins, from 1.
type Written = Box<dyn Iterator<Item = Result<(u64, Vec<u8>), Error>> + Send>;

fn fault(line: u64, why: String) -> Error {
    Error::Line { line, why }
}
