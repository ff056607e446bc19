//! CSV (RFC 4180) with a head: a vector is a field of numbers.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use csv::{ReaderBuilder, StringRecord};

use super::{Found, Record, Records, fault, parsed};
use crate::format::{fitting, only_place};
use crate::numbers::{is_list, parse};
use crate::{ColumnNames, Error};

/// The records of these columns. The column of vectors is named, or the only one whose first field is a list in
/// brackets.
pub(super) fn records(
    bytes: Box<dyn Read + Send>,
    names: &ColumnNames,
    found: &Found,
    delimiter: u8,
) -> Result<Records, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let ends = Ends::of(bytes.fill_buf().map_err(Error::Read)?);
    let wrong = move |error| ends.wrong(error);
    let marks = Marks::default();
    let bytes = marks.counted(bytes);
    let mut rows = ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
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
            found: listed(&head),
        })
    };
    let vectors = match &names.vectors {
        _ if names.vectorless => Place::None,
        Some(name) => match fitting(head.iter(), name) {
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
    let rows = std::iter::once(Ok(first)).chain(rows);
    let records = rows.map(move |row| {
        let row = row.map_err(wrong)?;
        marks.check(&row, ends)?;
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

/// The quotation marks of a file, counted as it is read.
#[derive(Clone, Default)]
struct Marks(Arc<AtomicU64>, Arc<AtomicBool>);

impl Marks {
    fn counted<R: Read>(&self, bytes: R) -> Counted<R> {
        Counted {
            bytes,
            marks: self.clone(),
        }
    }

    /// Refuses the last record of a file whose last quotation mark is not closed, if it took lines that are records of their own.
    fn check(&self, row: &StringRecord, ends: Ends) -> Result<(), Error> {
        let Self(count, at_end) = self;
        let open = at_end.load(Ordering::Relaxed) && count.load(Ordering::Relaxed) % 2 == 1;
        let last = row.iter().next_back().unwrap_or_default();
        if open && last.contains('\n') {
            let line = row.position().map_or(0, |at| ends.line(at));
            let why =
                "a quotation mark that no other one closes: all lines after it would be one field";
            return Err(fault(line, why.to_owned()));
        }
        Ok(())
    }
}

struct Counted<R> {
    bytes: R,
    marks: Marks,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.bytes.read(into)?;
        let Marks(count, at_end) = &self.marks;
        let marks = into[..len].iter().filter(|&&byte| byte == b'"').count();
        count.fetch_add(marks as u64, Ordering::Relaxed);
        at_end.fetch_or(len == 0 && !into.is_empty(), Ordering::Relaxed);
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
