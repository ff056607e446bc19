//! Describes members of records that are not vectors. Numbers are not quoted, since they may belong to
//! a secret query.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::value::RawValue;

use crate::Error;
use crate::format::named;
use crate::json::members;
use crate::numbers::parse;

/// The length of the shortest text that may be bytes in base64.
const LEAST_LETTERS: usize = 16;

/// The advice for a list of objects, as services of embeddings return it.
const OBJECTS: &str = "a list of numbers: take one object's, with `python3 -c \"import functools, json; \
    [print(json.dumps(r | {'vector': functools.reduce(dict.get, 'MEMBER'.split('.'), r)[0]['embedding']})) \
    for r in map(json.loads, open('FILE', encoding='utf-8'))]\" > base.jsonl`";

/// Reads a vector's numbers from JSON: a list, or a text with a list.
///
/// # Errors
/// A description of what was found and what is expected.
pub(super) fn numbers(raw: &str) -> Result<Vec<f64>, (String, &'static str)> {
    const LIST: &str = "a list of numbers";
    if let Ok(list) = serde_json::from_str(raw) {
        return Ok(list);
    }
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        // Databases write columns of their own vector types as texts: "[0.1, 0.2]".
        return parse(&text).map_err(|error| match error {
            Error::Numbers { found, expected } if !is_base64(&text) => {
                (format!("a text, and in it {found}"), expected)
            }
            _ => {
                let expected = "a list of numbers (in Python: numpy.frombuffer(base64.b64decode(text), 'float32').tolist())";
                ("a text that may be bytes in base64".to_owned(), expected)
            }
        });
    }
    let parts: Result<Vec<&RawValue>, _> = serde_json::from_str(raw);
    let parts = match parts {
        Ok(parts) => parts,
        Err(_) if raw.starts_with('[') => {
            return Err(("a list that is not JSON".to_owned(), LIST));
        }
        Err(_) => Vec::new(),
    };
    let number = |part: &RawValue| serde_json::from_str::<f64>(part.get()).is_ok();
    Err(match parts.iter().position(|part| !number(part)) {
        Some(at) => {
            let found = kind(parts[at].get());
            let expected = match parts[at].get().starts_with('{') {
                true => OBJECTS,
                false => LIST,
            };
            (
                format!("a list with {found} as number {}", at + 1),
                expected,
            )
        }
        None if raw.starts_with('{') => (
            kind(raw).to_owned(),
            "a list of numbers; one within an object is named with a point, such as vector.dense (on the command line --vector-column)",
        ),
        None if serde_json::from_str::<f64>(raw).is_ok() => ("a single number".to_owned(), LIST),
        None => (kind(raw).to_owned(), LIST),
    })
}

/// True for a text that may be bytes in base64.
fn is_base64(text: &str) -> bool {
    text.len() >= LEAST_LETTERS && BASE64_STANDARD.decode(text).is_ok()
}

/// Describes an object that is no id, and names a member of it that may be one, as in the exports of MongoDB.
pub(super) fn object(raw: &str, name: &str) -> String {
    let inside = members(raw.as_bytes()).unwrap_or_default();
    let mut single = inside
        .iter()
        .filter(|(_, raw)| !raw.get().starts_with(['{', '[']));
    match single.next() {
        Some((member, _)) => {
            let member = named(&format!("{name}.{member}"));
            format!(
                "an object, of which a member is named '{member}' (on the command line --id-column '{member}'),"
            )
        }
        None => "an object".to_owned(),
    }
}

/// The kind of a JSON value, in words.
fn kind(raw: &str) -> &'static str {
    match raw.as_bytes().first() {
        Some(b'"') => "a text",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a truth value",
        _ => "a number beyond 64 bits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_an_id_in_it_is_explained() {
        let said = object("{\"v\": [1], \"$oid\": \"66\"}", "_id");
        assert!(
            said.ends_with("(on the command line --id-column '_id.$oid'),"),
            "{said}"
        );
        for raw in ["{}", "{\"a\": {\"b\": 1}}"] {
            assert_eq!(object(raw, "_id"), "an object");
        }
    }

    #[test]
    fn what_is_no_vector_is_said_without_its_numbers() {
        for (raw, why) in [
            ("null", "null, expected a list of numbers"),
            (
                "{\"a\": 1}",
                "an object, expected a list of numbers; one within",
            ),
            (
                "[1, \"2\", 3]",
                "a list with a text as number 2, expected a list",
            ),
            ("[1, null]", "a list with null as number 2, expected a list"),
            (
                "[{\"embedding\": [7]}]",
                "an object as number 1, expected a list of numbers: take one object's",
            ),
            (
                "[[1, 2]]",
                "a list with a list as number 1, expected a list",
            ),
            (
                "[7, 1e999]",
                "a list with a number beyond 64 bits as number 2",
            ),
            ("[1, 2", "a list that is not JSON, expected a list"),
            ("true", "a truth value, expected a list"),
            ("7", "a single number, expected a list"),
            (
                "\"7 x\"",
                "a text, and in it number 2 is not one, expected numbers such as",
            ),
            (
                "\"AAAAAAAAgD8AAABA\"",
                "may be bytes in base64, expected a list of numbers (in Python",
            ),
        ] {
            let (found, expected) = numbers(raw).unwrap_err();
            let said = format!("{found}, expected {expected}");
            assert!(said.contains(why), "{raw}: {said}");
            assert!(!said.contains('7'), "{said}");
        }
        assert_eq!(numbers("[1, 2.5]").unwrap(), [1.0, 2.5]);
        assert_eq!(numbers("\"{1,2.5}\"").unwrap(), [1.0, 2.5]);
    }
}
