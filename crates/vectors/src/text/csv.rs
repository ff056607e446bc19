//! CSV (RFC 4180) with a header, with a vector in one field or in several.

use std::io::{BufRead, BufReader, Read};

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{Found, MARK, MAX_FAULTS_FIRST, Record, Records, fault, parsed};
use crate::format::{cut, fitting, named, only_place};
use crate::id::{IdKind, decimal};
use crate::numbers::{is_list, parse};
use crate::{ColumnNames, Error};

mod dialect;
mod quotes;

pub(super) use dialect::Escapes;
use dialect::{check_head, listed, other_delimiter};
use quotes::Quotes;

const FORMAT: &str = "CSV";

/// The records of these columns. The column of vectors is named, or is the only one whose first field is a list in
/// brackets.
pub(super) fn records(
    bytes: Box<dyn Read + Send>,
    names: &ColumnNames,
    found: &Found,
    delimiter: u8,
    mut escapes: Escapes,
) -> Result<Records, Error> {
    let mut bytes = BufReader::with_capacity(1 << 16, bytes);
    let start = bytes.fill_buf().map_err(Error::Read)?;
    let marked = start.starts_with(MARK);
    bytes.consume(if marked { MARK.len() } else { 0 });
    let quotes = Quotes::default();
    let followed = quotes.clone();
    let wrong = move |error| wrong(&followed, error);
    let mut rows = ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(Trim::Headers)
        .from_reader(quotes.followed(bytes, delimiter));
    let head = rows.headers().map_err(&wrong)?.clone();
    quotes.check()?;
    check_head(&head)?;
    found.put(head.iter());
    let mut rows = rows.into_records();
    // Records at the start may be left out. The first complete record determines the columns.
    let mut before = Vec::new();
    let first = loop {
        match rows.next() {
            Some(Ok(first)) => break first,
            Some(Err(error)) => match other_delimiter(&head) {
                Some(hint) => return Err(fault(1, hint)),
                None if before.len() < MAX_FAULTS_FIRST => before.push(error),
                None => return Err(wrong(error)),
            },
            None => {
                quotes.check()?;
                let fault = before.into_iter().next();
                return Err(fault.map_or(Error::NoVectors, &wrong));
            }
        }
    };
    let find = |name: &String| place(&head, name);
    let vectors = Place::of(names, &head, &first)?;
    let ids = names.ids.as_ref().map(find).transpose()?;
    let values: Vec<usize> = names.values.iter().map(find).collect::<Result<_, _>>()?;
    let kind = names.id_kind;
    let mut decimals = Decimals::of(kind);
    let rows = before.into_iter().map(Err).chain([Ok(first)]).chain(rows);
    let records = rows.map(move |row| {
        quotes.check()?;
        let row = row.map_err(&wrong)?;
        let field = |at: usize| row.get(at).unwrap_or_default();
        let line = row.position().map_or(0, |at| quotes.line(at));
        let name = |at: usize| head.get(at).unwrap_or_default();
        let of_column =
            |(at, error): (usize, String)| fault(line, format!("column {}: {error}", name(at)));
        let used = vectors.columns().chain(&ids).chain(&values);
        // This is a fault of the whole file, because other records have escapes or ids like this one, too.
        let of_file = |at: usize, why: &str| Error::Table {
            format: FORMAT,
            why: format!("line {line}, column {}: {why}", name(at)),
        };
        let escaped = escapes.check(used.map(|&at| (at, field(at))));
        escaped.map_err(|(at, why)| of_file(at, why))?;
        let id = ids.map(|at| (at, decimals.check(field(at))));
        if let Some((at, Err(why))) = id {
            return Err(of_file(at, &why));
        }
        let vector = vectors.vector(&row, delimiter).map_err(of_column)?;
        // Databases and pandas write a missing value as an empty field.
        let written = values.iter().map(|&at| field(at));
        let values = written.map(|text| (!text.is_empty()).then(|| Box::from(text)));
        Ok(Record {
            line,
            vector,
            id: ids.map(|at| parsed(field(at), kind)),
            values: values.collect(),
        })
    });
    Ok(Box::new(records))
}

/// Refuses ids with a decimal point or an exponent, such as 17.0. After the first id that is a text, all ids are
/// taken as texts.
struct Decimals {
    kind: Option<IdKind>,
    are_texts: bool,
}

impl Decimals {
    fn of(kind: Option<IdKind>) -> Self {
        let are_texts = kind.is_some_and(|kind| kind != IdKind::Number);
        Self { kind, are_texts }
    }

    fn check(&mut self, id: &str) -> Result<(), String> {
        let why = decimal(id).filter(|_| !self.are_texts);
        let digits = id.bytes().all(|byte| byte.is_ascii_digit());
        self.are_texts |= self.kind.is_none() && !digits;
        why.map_or(Ok(()), Err)
    }
}

/// The columns of a record's vector.
enum Place {
    None,
    One(usize),
    /// One column for each coordinate.
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
        let mut several = fitting(head.iter(), name)?;
        several.retain(|&at| head.get(at).is_none_or(|name| !names.takes(name)));
        match several.is_empty() || only_place(head.iter(), name)?.is_some() {
            true => place(head, name).map(Self::One),
            false => Ok(Self::Several(several)),
        }
    }

    /// The positions of these columns.
    fn columns(&self) -> impl Iterator<Item = &usize> {
        match self {
            Self::None => [].iter(),
            Self::One(at) => std::slice::from_ref(at).iter(),
            Self::Several(columns) => columns.iter(),
        }
    }

    /// The numbers of a record. If a field has none, the error is its position and fault.
    fn vector(&self, row: &StringRecord, delimiter: u8) -> Result<Vec<f64>, (usize, String)> {
        let field = |at: usize| row.get(at).unwrap_or_default();
        match self {
            Self::None => Ok(vec![0.0]),
            Self::One(at) => parse(field(*at)).map_err(|error| (*at, error.to_string())),
            Self::Several(columns) => {
                let numbers = columns.iter().map(|&at| {
                    let number = field(at).trim().parse::<f64>();
                    number.map_err(|_| (at, not_a_number(field(at), delimiter)))
                });
                numbers.collect()
            }
        }
    }
}

/// The position of the column with this name.
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
    let names = |columns: &[usize]| cut(columns.iter().filter_map(|&at| head.get(at)).map(named));
    match lists[..] {
        [at] => Ok(at),
        [] => Err(Error::NoColumn {
            wanted: "of vectors in brackets".to_owned(),
            found: format!(
                "{}; name several with a coordinate each together, such as 'x*', or one of numbers without brackets (on the command \
                 line --vector-column)",
                listed(head)
            ),
        }),
        _ => {
            // Two columns of one name cannot be told apart by that name.
            for &at in &lists {
                only_place(head.iter(), head.get(at).unwrap_or_default())?;
            }
            Err(Error::SeveralColumns {
                found: names(&lists),
            })
        }
    }
}

/// The fault of a coordinate that is not a number. It does not quote the coordinate, which may belong to a secret
/// query.
fn not_a_number(text: &str, delimiter: u8) -> String {
    let pointed = text.trim().replacen(',', ".", 1);
    let sign = match delimiter {
        b'\t' => "\\t".to_owned(),
        sign => char::from(sign).to_string(),
    };
    match text.contains(',') && pointed.parse::<f64>().is_ok() {
        true => format!(
            "a decimal comma: expected a decimal point, as `python3 -c \"import pandas; t = pandas.read_csv('FILE', sep='{sign}', dtype=str, \
             keep_default_na=False); t.apply(lambda c: c.str.replace(',', '.') if c.str.fullmatch('([-+0-9.eE]*,?[-+0-9eE]*)').all() else \
             c).to_csv('base.csv', index=False)\"` writes it"
        ),
        false if pointed.is_empty() => "the field is empty: expected a number. Write the number, or leave the record out (on the command line \
                                        --on-error skip)"
            .to_owned(),
        false => "expected a number".to_owned(),
    }
}

/// The fault of a record that the decoder refuses.
fn wrong(quotes: &Quotes, error: csv::Error) -> Error {
    let line = error.position().map_or(1, |at| quotes.line(at));
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::Read(error),
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let why = "the number that the first line names. Put a field with a comma, a quotation mark, \
                       a line feed or a carriage return in quotation marks, without a space before them";
            fault(
                line,
                format!("{len} fields: expected {expected_len}, {why}"),
            )
        }
        csv::ErrorKind::Utf8 { .. } => {
            let why = "it is not UTF-8: convert the file, for instance with `iconv -f WINDOWS-1252 -t UTF-8 FILE > base.csv`";
            fault(line, why.to_owned())
        }
        other => fault(line, format!("{other:?}")),
    }
}
