//! CSV (RFC 4180) with a head: a vector is a field of numbers.

use std::io::{BufRead, BufReader, Read};

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{Found, MARK, MAX_FAULTS_FIRST, Record, Records, fault, parsed};
use crate::format::{fitting, only_place};
use crate::numbers::{is_list, parse};
use crate::{ColumnNames, Error};

mod quotes;

use quotes::Quotes;

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
    let mut rows = ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(Trim::Headers)
        .from_reader(bytes);
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
    let find = |name: &String| place(&head, name);
    let vectors = Place::of(names, &head, &first)?;
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
        let vector = vectors.vector(&row).map_err(|(at, error)| {
            let column = head.get(at).unwrap_or_default();
            fault(line, format!("column {column}: {error}"))
        })?;
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

/// The columns of a record's vector.
enum Place {
    None,
    One(usize),
    /// A coordinate each.
    Several(Vec<usize>),
}

impl Place {
    fn of(names: &ColumnNames, head: &StringRecord, first: &StringRecord) -> Result<Self, Error> {
        if names.vectorless {
            return Ok(Self::None);
        }
        let Some(name) = &names.vectors else {
            let at = only_list(head, first)?;
            only_place(head.iter(), head.get(at).unwrap_or_default())?;
            return Ok(Self::One(at));
        };
        let several = fitting(head.iter(), name)?;
        match several.is_empty() || only_place(head.iter(), name)?.is_some() {
            true => place(head, name).map(Self::One),
            false => Ok(Self::Several(several)),
        }
    }

    /// The numbers of a record, or the place of a field that has none, and its fault.
    fn vector(&self, row: &StringRecord) -> Result<Vec<f64>, (usize, String)> {
        let field = |at: usize| row.get(at).unwrap_or_default();
        match self {
            Self::None => Ok(vec![0.0]),
            Self::One(at) => parse(field(*at)).map_err(|error| (*at, error.to_string())),
            Self::Several(columns) => {
                let numbers = columns.iter().map(|&at| {
                    let number = field(at).trim().parse::<f64>();
                    number.map_err(|_| (at, "expected a number".to_owned()))
                });
                numbers.collect()
            }
        }
    }
}

/// The place of the column of this name.
fn place(head: &StringRecord, name: &str) -> Result<usize, Error> {
    let found = only_place(head.iter(), name)?;
    found.ok_or_else(|| Error::NoColumn {
        wanted: name.to_owned(),
        found: listed(head),
    })
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
    /// The ends of the first line, if it is here.
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
                let why = "the number that the first line names. Put a field with a comma, a quotation mark, \
                           a line feed or a carriage return in quotation marks";
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
