//! CSV (RFC 4180) with a head: a vector is a field of numbers.

use std::io::{BufRead, BufReader, Read};

use csv::{Reader, StringRecord};

use super::{Found, Record, Records, fault, parsed};
use crate::format::only_place;
use crate::numbers::{is_list, parse};
use crate::{ColumnNames, Error};

/// The records of these columns. The column of vectors is named, or the only one whose first field is a list in
/// brackets.
pub(super) fn records(
    bytes: Box<dyn Read + Send>,
    names: &ColumnNames,
    found: &Found,
) -> Result<Records, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let ends = Ends::of(bytes.fill_buf().map_err(Error::Read)?);
    let wrong = move |error| ends.wrong(error);
    let mut rows = Reader::from_reader(bytes);
    let head = rows.headers().map_err(wrong)?.clone();
    if !head.is_empty() && head.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        let why = "numbers, where the names of columns are expected; a vector is one field, \"[0.1, 0.2]\", under such a \
                   name. An array of numbers alone is read from .npy";
        return Err(fault(1, why.to_owned()));
    }
    found.put(head.iter());
    let mut rows = rows.into_records();
    let first = rows.next().ok_or(Error::NoVectors)?.map_err(wrong)?;
    let find = |name: &String| {
        let found = only_place(head.iter(), name)?;
        found.ok_or_else(|| Error::NoColumn {
            wanted: name.clone(),
            found: head.iter().take(20).collect::<Vec<_>>().join(", "),
        })
    };
    let vectors = match &names.vectors {
        _ if names.vectorless => None,
        Some(name) => Some(find(name)?),
        None => {
            let at = only_list(&head, &first)?;
            only_place(head.iter(), head.get(at).unwrap_or_default())?;
            Some(at)
        }
    };
    let ids = names.ids.as_ref().map(find).transpose()?;
    let values: Vec<usize> = names.values.iter().map(find).collect::<Result<_, _>>()?;
    let kind = names.id_kind;
    let rows = std::iter::once(Ok(first)).chain(rows);
    let records = rows.map(move |row| {
        let row = row.map_err(wrong)?;
        let field = |at: usize| row.get(at).unwrap_or_default();
        let line = row.position().map_or(0, |at| ends.line(at));
        let vector = match vectors {
            None => vec![0.0],
            Some(at) => parse(field(at)).map_err(|error| {
                let column = head.get(at).unwrap_or_default();
                fault(line, format!("column {column}: {error}"))
            })?,
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
            found: head.iter().take(20).collect::<Vec<_>>().join(", "),
        }),
        _ => Err(Error::SeveralColumns {
            found: names(&lists),
        }),
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
                let why = "as many as the first line names, separated by commas; a field with a comma, a quotation mark, \
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
