//! A record a line, a JSON object.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Record, Records, fault, id, lines};
use crate::id::{Id, IdKind};
use crate::{ColumnNames, Error};

type Object<'a> = BTreeMap<String, &'a RawValue>;

/// The records of these members. Where the vectors' is not named, it is the only list of numbers of the first
/// record.
pub(super) fn records(bytes: Box<dyn Read + Send>, names: &ColumnNames) -> Result<Records, Error> {
    let mut names = names.clone();
    let full = lines(bytes).filter(|line| {
        let blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
        !matches!(line, Ok((_, line)) if blank(line))
    });
    let records = full.map(move |line| {
        let (number, line) = line?;
        let wrong = |why: String| fault(number, why);
        let object: Object<'_> =
            serde_json::from_slice(&line).map_err(|error| wrong(why(&error)))?;
        let vectors = match &names.vectors {
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

/// The fault of a line that is no object, without the line that the decoder counts, which is always the first.
fn why(error: &serde_json::Error) -> String {
    let (text, at) = (error.to_string(), error.column());
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("{text}, at byte {at}; expected one JSON object a line")
}

fn record(
    line: u64,
    object: &Object<'_>,
    vectors: &str,
    names: &ColumnNames,
) -> Result<Record, Error> {
    let nested = |name: &str| {
        let (outer, inner) = name.split_once('.')?;
        let inside: Object<'_> = serde_json::from_str(object.get(outer)?.get()).ok()?;
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
    let vector = member(vectors).ok_or_else(|| missing(vectors))?;
    let vector = serde_json::from_str(vector).map_err(|_| Error::Value {
        row: 0,
        column: vectors.to_owned(),
        expected: "a list of numbers",
    })?;
    let id = match &names.ids {
        Some(name) => Some(read_id(member(name).ok_or_else(|| missing(name))?, names)),
        None => None,
    };
    let values = names.values.iter().map(|name| {
        let value = member(name).filter(|raw| *raw != "null");
        value.map(Box::from)
    });
    Ok(Record {
        line,
        vector,
        id,
        values: values.collect(),
    })
}

/// An id: a number, or a text of the kind asked for.
fn read_id(raw: &str, names: &ColumnNames) -> Result<Id, Error> {
    match serde_json::from_str(raw) {
        Ok(Value::Number(number)) if names.id_kind.is_none_or(|kind| kind == IdKind::Number) => {
            id(Some(&number.to_string()), Some(IdKind::Number))
        }
        Ok(Value::String(text)) => id(Some(&text), names.id_kind),
        _ => id(None, names.id_kind),
    }
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
