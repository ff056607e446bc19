//! CSV (RFC 4180) with a head: a vector is a field of numbers.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use csv::{ReaderBuilder, StringRecord};

use super::{Found, MARK, MAX_FAULTS_FIRST, MAX_RECORD, Record, Records, fault, parsed};
use crate::format::{fitting, only_place};
use crate::numbers::{is_list, parse};
use crate::{ColumnNames, Error};

const FORMAT: &str = "CSV";

/// The records of these columns. The column of vectors is named, or the only one whose first field is a list in
/// brackets.
pub(super) fn records(
    bytes: Box<dyn Read + Send>,
    names: &ColumnNames,
    found: &Found,
    delimiter: u8,
) -> Result<Records, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let start = bytes.fill_buf().map_err(Error::Read)?;
    let (ends, marked) = (Ends::of(start), start.starts_with(MARK));
    bytes.consume(if marked { MARK.len() } else { 0 });
    let wrong = move |error| ends.wrong(error);
    let quotes = Quotes::default();
    let bytes = quotes.followed(bytes, delimiter);
    let mut rows = ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
    let head = rows.headers().map_err(wrong)?.clone();
    quotes.check()?;
    if !head.is_empty() && head.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        let why = "numbers, where the names of columns are expected; a vector is one field, \"[0.1, 0.2]\", under such a \
                   name. An array of numbers alone is read from .npy";
        return Err(fault(1, why.to_owned()));
    }
    found.put(head.iter());
    let mut rows = rows.into_records();
    // Records at the start may be left out; the first that is whole tells the columns.
    let mut before = Vec::new();
    let first = loop {
        match rows.next() {
            Some(Ok(first)) => break first,
            Some(Err(fault)) if before.len() < MAX_FAULTS_FIRST => before.push(fault),
            Some(Err(fault)) => return Err(wrong(fault)),
            None => {
                quotes.check()?;
                let fault = before.into_iter().next();
                return Err(fault.map_or(Error::NoVectors, wrong));
            }
        }
    };
    let find = |name: &String| {
        let found = only_place(head.iter(), name)?;
        found.ok_or_else(|| Error::NoColumn {
            wanted: name.clone(),
            found: listed(&head),
        })
    };
    let vectors = match &names.vectors {
        _ if names.vectorless => Place::None,
        Some(name) => match fitting(head.iter(), name)? {
            several if !several.is_empty() && only_place(head.iter(), name)?.is_none() => {
                Place::Several(several)
            }
            _ => Place::One(find(name)?),
        },
        None => {
            let at = only_list(&head, &first)?;
            only_place(head.iter(), head.get(at).unwrap_or_default())?;
            Place::One(at)
        }
    };
    let ids = names.ids.as_ref().map(find).transpose()?;
    let values: Vec<usize> = names.values.iter().map(find).collect::<Result<_, _>>()?;
    let kind = names.id_kind;
    let before = before.into_iter().map(Err);
    let rows = before.chain([Ok(first)]).chain(rows);
    let records = rows.map(move |row| {
        quotes.check()?;
        let row = row.map_err(wrong)?;
        let field = |at: usize| row.get(at).unwrap_or_default();
        let line = row.position().map_or(0, |at| ends.line(at));
        let in_column = |at: usize, error: &dyn std::fmt::Display| {
            let column = head.get(at).unwrap_or_default();
            fault(line, format!("column {column}: {error}"))
        };
        let vector = match &vectors {
            Place::None => vec![0.0],
            Place::One(at) => parse(field(*at)).map_err(|error| in_column(*at, &error))?,
            Place::Several(columns) => {
                let numbers = columns.iter().map(|&at| {
                    let number = field(at).trim().parse::<f64>();
                    number.map_err(|_| in_column(at, &"expected a number"))
                });
                numbers.collect::<Result<_, _>>()?
            }
        };
        let values = values.iter().map(|&at| Some(Box::from(field(at))));
        Ok(Record {
            line,
            vector,
            id: ids.map(|at| parsed(field(at), kind)),
            values: values.collect(),
        })
    });
    Ok(Box::new(records))
}

/// Where a file stands in quotation marks, followed as its bytes are read.
#[derive(Clone, Default)]
struct Quotes {
    /// The line of the field whose quotation mark is open; 0 if none is.
    open: Arc<AtomicU64>,
    at_end: Arc<AtomicBool>,
}

impl Quotes {
    fn followed<R: Read>(&self, bytes: R, delimiter: u8) -> Followed<R> {
        Followed {
            bytes,
            delimiter,
            quotes: self.clone(),
            field: Field::Start,
            line: 1,
            record: 0,
        }
    }

    /// Refuses a file that ended within quotation marks: its last record may be many.
    fn check(&self) -> Result<(), Error> {
        let line = self.open.load(Ordering::Relaxed);
        if line == 0 || !self.at_end.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::Table {
            format: FORMAT,
            why: format!(
                "the quotation mark that opens a field in line {line} is not closed: all that follows it would be that field"
            ),
        })
    }
}

/// The place of a byte in a field, as RFC 4180 has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark within quotation marks: its end, or the first of two that stand for one.
    Closing,
}

struct Followed<R> {
    bytes: R,
    delimiter: u8,
    quotes: Quotes,
    field: Field,
    line: u64,
    /// Bytes of the record so far.
    record: usize,
}

impl<R: Read> Read for Followed<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.bytes.read(into)?;
        for &byte in &into[..len] {
            self.record += 1;
            self.field = match (self.field, byte) {
                (Field::Start, b'"') => {
                    self.quotes.open.store(self.line, Ordering::Relaxed);
                    Field::Quoted
                }
                (Field::Quoted, b'"') => Field::Closing,
                (Field::Closing, b'"') => Field::Quoted,
                (Field::Quoted, _) => Field::Quoted,
                (_, b'\r' | b'\n') => {
                    self.record = 0;
                    Field::Start
                }
                (_, byte) if byte == self.delimiter => Field::Start,
                _ => Field::Plain,
            };
            self.line += u64::from(byte == b'\n');
        }
        if self.record > MAX_RECORD {
            let why = format!(
                "the record before line {} is longer than 32 MiB",
                self.line + 1
            );
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        }
        if self.field != Field::Quoted {
            self.quotes.open.store(0, Ordering::Relaxed);
        }
        let end = len == 0 && !into.is_empty();
        self.quotes.at_end.fetch_or(end, Ordering::Relaxed);
        Ok(len)
    }
}

/// The columns of a record's vector.
enum Place {
    None,
    One(usize),
    /// A coordinate each.
    Several(Vec<usize>),
}

fn only_list(head: &StringRecord, first: &StringRecord) -> Result<usize, Error> {
    let lists = first.iter().enumerate().filter(|(_, field)| is_list(field));
    let lists: Vec<usize> = lists.map(|(at, _)| at).collect();
    let names = |columns: &[usize]| {
        let names = columns.iter().filter_map(|&at| head.get(at));
        names.collect::<Vec<_>>().join(", ")
    };
    match lists[..] {
        [at] => Ok(at),
        [] => Err(Error::NoColumn {
            wanted: "of vectors in brackets".to_owned(),
            found: listed(head),
        }),
        _ => Err(Error::SeveralColumns {
            found: names(&lists),
        }),
    }
}

/// The names of columns, for a message; of one column what it may be.
fn listed(head: &StringRecord) -> String {
    let names = head.iter().take(20).collect::<Vec<_>>().join(", ");
    let signs = [("tab", '\t'), ("semicolon", ';'), ("pipe", '|')];
    let sign = signs.iter().find(|(_, sign)| names.contains(*sign));
    match sign {
        Some((name, _)) if head.len() == 1 => {
            format!(
                "{names:?}, one column: if there is a {name} between fields, name it (on the command line --delimiter {name})"
            )
        }
        _ => names,
    }
}

/// The ends of a file's lines.
#[derive(Clone, Copy)]
enum Ends {
    Lf,
    CrLf,
}

impl Ends {
    /// Those of the first line, if it is here.
    fn of(start: &[u8]) -> Self {
        let end = start.iter().position(|&byte| byte == b'\n');
        match end {
            Some(end) if start[..end].ends_with(b"\r") => Self::CrLf,
            _ => Self::Lf,
        }
    }

    /// The line of a record after the head. Where lines end with two signs, a record begins for the decoder before
    /// the second of them.
    fn line(self, at: &csv::Position) -> u64 {
        at.line() + u64::from(matches!(self, Self::CrLf))
    }

    fn wrong(self, error: csv::Error) -> Error {
        let line = error.position().map_or(1, |at| self.line(at));
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Error::Read(error),
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                let why = "as many as the first line names; a field with a comma, a quotation mark, \
                           a line feed or a carriage return in it stands in quotation marks";
                fault(
                    line,
                    format!("{len} fields: expected {expected_len}, {why}"),
                )
            }
            csv::ErrorKind::Utf8 { .. } => fault(line, "it is not UTF-8".to_owned()),
            other => fault(line, format!("{other:?}")),
        }
    }
}
