//! Lines of JSON, with one object as a record on each line.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Found, Record, Records, Written, fault, member, parsed};
use crate::format::{cut, named};
use crate::id::{Id, IdKind, decimal};
use crate::input::SPARSE;
use crate::json::members;
use crate::{ColumnNames, Error};

type Object<'a> = BTreeMap<String, &'a RawValue>;

/// Reads the requested members of records. If the vectors' member is not named, it is the only list of numbers in the first
/// record. Records may also be the lists of numbers themselves.
pub(super) fn records(written: Written, names: &ColumnNames, found: &Found) -> Records {
    let (mut names, found) = (names.clone(), found.clone());
    let mut first = true;
    let full = written.filter(|line| {
        let blank = |line: &[u8]| line.iter().all(u8::is_ascii_whitespace);
        !matches!(line, Ok((_, line)) if blank(line))
    });
    let records = full.map(move |line| {
        let (number, line) = line?;
        let wrong = |why: String| fault(number, why);
        if line.trim_ascii_start().starts_with(b"[") && is_bare(&names) {
            let text = String::from_utf8_lossy(&line);
            let vector = member::numbers(text.trim()).map_err(|(found, expected)| {
                wrong(format!("{found}, expected {expected}{}", not_json(&line)))
            })?;
            return Ok(Record {
                line: number,
                vector,
                id: None,
                values: Vec::new(),
            });
        }
        let object = members(&line).map_err(|error| {
            let hint = match error.to_string().starts_with("two members") {
                true => "",
                false => hint(&line),
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
        let lost = |name: &&String| {
            let is = |absent: &String| absent.eq_ignore_ascii_case(name);
            names.absent.iter().any(is) && !names.takes(name)
        };
        if let Some(name) = object.keys().find(lost) {
            // This is a fault of the whole file, since it is unknown which records have the member.
            return Err(Error::Table {
                format: "JSON",
                why: format!(
                    "line {number}: member {name}, which the first record lacks, so it would be lost: name it (on the command line \
                     --id-column or --payload-column), or say --no-guess"
                ),
            });
        }
        record(number, &object, &vectors, &names).map_err(|error| match error {
            Error::NoColumn { wanted, .. } => wrong(format!("no member {wanted}")),
            Error::Value {
                column, expected, ..
            } => wrong(format!("member {column}: expected {expected}")),
            Error::Text {
                column,
                found,
                expected,
                ..
            } => wrong(format!("member {column}: {found}, expected {expected}")),
            other => other,
        })
    });
    Box::new(records)
}

/// The largest number of objects within one another in a member's name.
const MOST_DEPTH: u32 = 8;

/// True if no member is requested by name, so that records may be lists.
fn is_bare(names: &ColumnNames) -> bool {
    let named = names.vectors.is_some() || names.ids.is_some() || !names.values.is_empty();
    !named && !names.vectorless
}

/// The advice for a record that is not an object.
fn hint(line: &[u8]) -> &'static str {
    match not_json(line) {
        "" => "; expected one JSON object a line, or in a .json file an array of objects",
        hint => hint,
    }
}

/// The fault of a record with words that Python writes and JSON does not have.
pub(super) fn not_json(line: &[u8]) -> &'static str {
    let has = |word: &[u8]| line.windows(word.len()).any(|at| at == word);
    match has(b"NaN") || has(b"Infinity") {
        true => "; JSON has no NaN and no Infinity: write null, or leave the record out",
        false => "",
    }
}

/// True if the member is the values of a sparse vector of Spark, whose indices are in another member.
fn is_sparse(object: &Object<'_>, name: &str) -> bool {
    let outer = name
        .strip_suffix(".values")
        .filter(|_| !object.contains_key(name));
    let outer = outer.and_then(|outer| object.get(outer));
    let inside = outer.and_then(|outer| members(outer.get().as_bytes()).ok());
    inside.is_some_and(|inside| {
        let given = |name| inside.get(name).is_some_and(|raw| raw.get() != "null");
        let is_typed = inside.get("type").is_some_and(|raw| raw.get() == "0");
        inside.contains_key("indices") && (given("indices") || given("size") || is_typed)
    })
}

/// The member with this name, or within objects named by the parts before its dots.
fn nested<'a>(object: &Object<'a>, name: &str, depth: u32) -> Option<&'a RawValue> {
    if let Some(found) = object.get(name) {
        return Some(found);
    }
    let (outer, inner) = name.split_once('.').filter(|_| depth > 0)?;
    let inside = members(object.get(outer)?.get().as_bytes()).ok()?;
    nested(&inside, inner, depth - 1)
}

fn missing(name: &str) -> Error {
    Error::NoColumn {
        wanted: name.to_owned(),
        found: String::new(),
    }
}

/// Refuses a record without a member that each record must have. If only values are read, each record must have all
/// requested members.
fn check_there(name: &str, is_there: bool, names: &ColumnNames) -> Result<(), Error> {
    if is_there {
        return Ok(());
    }
    if names.vectorless {
        return Err(Error::Value {
            row: 0,
            column: name.to_owned(),
            expected: "a value, or null, which empties it; leave out a record that is to keep its own",
        });
    }
    match names.required.iter().any(|required| required == name) {
        true => Err(Error::Value {
            row: 0,
            column: name.to_owned(),
            expected: "a value, or null: a replaced record would lose its own without a word (on the command line --leave-empty allows it)",
        }),
        false => Ok(()),
    }
}

fn record(
    line: u64,
    object: &Object<'_>,
    vectors: &str,
    names: &ColumnNames,
) -> Result<Record, Error> {
    let member = |name: &str| nested(object, name, MOST_DEPTH).map(RawValue::get);
    let vector = match names.vectorless {
        true => vec![0.0],
        false => {
            if is_sparse(object, vectors) {
                return Err(fault(line, format!("member {vectors}: {SPARSE}")));
            }
            // If a list of objects is on the way to the member, the error is about that list.
            let of_objects = |raw: &&str| {
                let inner = raw.strip_prefix('[').unwrap_or_default();
                inner.trim_start().starts_with('{')
            };
            let mut ways = vectors.match_indices(['.', '[']);
            let list = || ways.find_map(|(at, _)| member(&vectors[..at]).filter(of_objects));
            let vector = member(vectors).or_else(list);
            let vector = vector.ok_or_else(|| missing(vectors))?;
            member::numbers(vector).map_err(|(found, expected)| Error::Text {
                row: 0,
                column: vectors.to_owned(),
                found,
                expected,
            })?
        }
    };
    let id = match &names.ids {
        Some(name) => {
            let raw = member(name).ok_or_else(|| missing(name))?;
            // This is a fault of the whole file, because other records have ids like this one.
            if names.id_kind != Some(IdKind::Text)
                && let Some(why) = decimal(raw)
            {
                let why = format!("line {line}, member {name}: {why}");
                return Err(Error::Table {
                    format: "JSON",
                    why,
                });
            }
            Some(read_id(raw, names))
        }
        None => None,
    };
    let values = names.values.iter().map(|name| {
        let value = member(name);
        check_there(name, value.is_some(), names)?;
        // In a surrogate pair, one escape alone is not a character.
        let is_half = |raw: &str| raw.starts_with('"') && serde_json::from_str::<String>(raw).is_err();
        if value.is_some_and(|raw| raw.contains("\\u") && is_half(raw)) {
            return Err(Error::Value {
                row: 0,
                column: name.clone(),
                expected: "a text of whole characters, and it has half of a pair such as \\ud83d\\ude00",
            });
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

/// An id: a number, or a text of the requested kind.
fn read_id(raw: &str, names: &ColumnNames) -> Result<Id, Error> {
    let kind = names.id_kind;
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        return parsed(&text, kind);
    }
    let is_number = raw.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if is_number && kind.is_none_or(|kind| kind == IdKind::Number) {
        return parsed(raw, Some(IdKind::Number));
    }
    // If ids are texts, the written form of a number is also a text.
    if is_number && kind == Some(IdKind::Text) {
        return parsed(raw, kind);
    }
    let found = match raw.as_bytes().first() {
        Some(b'[') => "a list".to_owned(),
        Some(b'{') => member::object(raw, names.ids.as_deref().unwrap_or_default()),
        // The value is null, true, false or a number, and is shown as written.
        _ => raw.chars().take(40).collect(),
    };
    Err(Error::Id {
        found,
        expected: kind.map_or(
            "a whole number or a text of 1 to 512 bytes",
            IdKind::expected,
        ),
    })
}

/// Describes a member that may be a column or a row of a whole table as pandas writes it. By default it is `{"vector": {"0":
/// [0.1], "1": [0.2]}}`; with options also `{"0": {"vector": [0.1]}}` or `{"data": [{"vector": [0.1]}]}`.
fn part_of_table(raw: &RawValue) -> Option<&'static str> {
    let has_parts = |values: &mut dyn Iterator<Item = &&RawValue>| {
        let mut parts = values.filter(|value| value.get().starts_with(['[', '{']));
        parts.next().is_some()
    };
    let object: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(raw.get());
    if let Ok(object) = object {
        return has_parts(&mut object.values()).then_some("an object of lists or objects");
    }
    let list: Result<Vec<&RawValue>, _> = serde_json::from_str(raw.get());
    let list = list.ok()?;
    has_parts(&mut list.iter()).then_some("a list of lists or objects")
}

/// The only member that is a list of numbers. An object of columns, as pandas writes with `orient="split"`, has a list of lists.
fn only_list(object: &Object<'_>) -> Result<String, Error> {
    let of_lists = |raw: &RawValue| {
        let lists: Result<Vec<Vec<&RawValue>>, _> = serde_json::from_str(raw.get());
        lists.is_ok_and(|lists| !lists.is_empty())
    };
    let table = |name: &str, what: &str, of_list: &str| Error::Table {
        format: "JSON",
        why: format!(
            "member {name} is {what}, so this object may be a whole table: expected an object for each record, as pandas \
             writes with to_json(orient='records'){of_list}; where it is one record, name the member of its vector (on the command \
             line --vector-column, such as vector.dense)"
        ),
    };
    if let Some((name, _)) = object.iter().find(|(_, raw)| of_lists(raw)) {
        return Err(table(name, "a list of lists", ""));
    }
    let is_list = |raw: &RawValue| {
        let list: Result<Vec<f64>, _> = serde_json::from_str(raw.get());
        list.is_ok_and(|list| !list.is_empty())
    };
    let lists = object.iter().filter(|(_, raw)| is_list(raw));
    let names: Vec<String> = lists.map(|(name, _)| name.clone()).collect();
    match &names[..] {
        [name] => Ok(name.clone()),
        [] => {
            let parts = object.iter();
            let mut parts = parts.filter_map(|(name, raw)| Some((name, part_of_table(raw)?)));
            // A message about the column of vectors explains the fault best.
            if let Some((name, what)) = parts.next_back() {
                let plain = name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
                let of_list = match plain && what.starts_with("a list") {
                    true => format!(
                        ", and `python3 -c \"import json; [print(json.dumps(r)) for r in json.load(open('FILE', encoding='utf-8'))['{name}']]\" \
                         > base.jsonl` makes them of a list of objects"
                    ),
                    false => String::new(),
                };
                return Err(table(name, what, &of_list));
            }
            Err(Error::NoColumn {
                wanted: "of vectors (lists of numbers)".to_owned(),
                found: format!(
                    "{} in the first record; name one that others have, or that is a text such as [0.1, 0.2] (on the command line \
                     --vector-column)",
                    cut(object.keys().map(|name| named(name)))
                ),
            })
        }
        several => Err(Error::SeveralColumns {
            found: cut(several.iter().map(|name| named(name))),
        }),
    }
}
