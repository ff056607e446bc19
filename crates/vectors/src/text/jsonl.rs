//! A record a line, a JSON object.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::value::RawValue;

use super::{Found, Record, Records, fault, lines, parsed};
use crate::id::{Id, IdKind};
use crate::json::members;
use crate::{ColumnNames, Error};

type Object<'a> = BTreeMap<String, &'a RawValue>;

/// The records of these members. Where the vectors' is not named, it is the only list of numbers of the first
/// record.
pub(super) fn records(
    bytes: Box<dyn Read + Send>,
    names: &ColumnNames,
    found: &Found,
) -> Result<Records, Error> {
    let (mut names, found) = (names.clone(), found.clone());
    let mut first = true;
    let full = lines(bytes).filter(|line| {
        let blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
        !matches!(line, Ok((_, line)) if blank(line))
    });
    let records = full.map(move |line| {
        let (number, line) = line?;
        let wrong = |why: String| fault(number, why);
        let object = members(&line).map_err(|error| {
            let hint = match error.to_string().starts_with("two members") {
                true => "",
                false => "; expected one JSON object a line",
            };
            wrong(format!("{error}{hint}"))
        })?;
        if std::mem::take(&mut first) {
            found.put(object.keys().map(String::as_str));
        }
        let vectors = match &names.vectors {
            _ if names.vectorless => String::new(),
            Some(name) => name.clone(),
            None => {
                let name = only_list(&object)?;
                names.vectors = Some(name.clone());
                name
            }
        };
        record(number, &object, &vectors, &names).map_err(|error| match error {
            Error::NoColumn { wanted, .. } => wrong(format!("no member {wanted}")),
            Error::Value {
                column, expected, ..
            } => wrong(format!("member {column}: expected {expected}")),
            other => other,
        })
    });
    Ok(Box::new(records))
}

fn record(
    line: u64,
    object: &Object<'_>,
    vectors: &str,
    names: &ColumnNames,
) -> Result<Record, Error> {
    let nested = |name: &str| {
        let (outer, inner) = name.split_once('.')?;
        let inside = members(object.get(outer)?.get().as_bytes()).ok()?;
        inside.get(inner).copied()
    };
    let member = |name: &str| {
        let found = object.get(name).copied();
        found.or_else(|| nested(name)).map(RawValue::get)
    };
    let missing = |name: &str| Error::NoColumn {
        wanted: name.to_owned(),
        found: String::new(),
    };
    let vector = match names.vectorless {
        true => vec![0.0],
        false => {
            let vector = member(vectors).ok_or_else(|| missing(vectors))?;
            serde_json::from_str(vector).map_err(|_| Error::Value {
                row: 0,
                column: vectors.to_owned(),
                expected: "a list of numbers",
            })?
        }
    };
    let id = match &names.ids {
        Some(name) => Some(read_id(member(name).ok_or_else(|| missing(name))?, names)),
        None => None,
    };
    let values = names.values.iter().map(|name| {
        let value = member(name);
        // Where values are all that is read, one that is missing is no value that is none.
        if names.vectorless && value.is_none() {
            return Err(missing(name));
        }
        Ok(value.filter(|raw| *raw != "null").map(Box::from))
    });
    Ok(Record {
        line,
        vector,
        id,
        values: values.collect::<Result<_, _>>()?,
    })
}

/// An id: a number, or a text of the kind asked for.
fn read_id(raw: &str, names: &ColumnNames) -> Result<Id, Error> {
    let kind = names.id_kind;
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        return parsed(&text, kind);
    }
    let is_number = raw.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if is_number && kind.is_none_or(|kind| kind == IdKind::Number) {
        return parsed(raw, Some(IdKind::Number));
    }
    let found = match raw.as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        // It is null, true, false or a number, and shown as it is written.
        _ => raw,
    };
    Err(Error::Id {
        found: found.chars().take(40).collect(),
        expected: kind.map_or(
            "a whole number or a text of 1 to 64 bytes",
            IdKind::expected,
        ),
    })
}

/// The only member that is a list of numbers.
fn only_list(object: &Object<'_>) -> Result<String, Error> {
    let is_list = |raw: &RawValue| {
        let list: Result<Vec<f64>, _> = serde_json::from_str(raw.get());
        list.is_ok_and(|list| !list.is_empty())
    };
    let lists = object.iter().filter(|(_, raw)| is_list(raw));
    let names: Vec<String> = lists.map(|(name, _)| name.clone()).collect();
    match &names[..] {
        [name] => Ok(name.clone()),
        [] => Err(Error::NoColumn {
            wanted: "of vectors".to_owned(),
            found: object
                .keys()
                .take(20)
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
        }),
        several => Err(Error::SeveralColumns {
            found: several.join(", "),
        }),
    }
}
