//! Records as lines of JSON.

use crate::index::values::attributes;
use crate::json_line::{ENDS, json_line};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sordino_search::{Id, Stored};

/// A record as a line of JSON holds it.
#[derive(Serialize)]
struct Line<'a> {
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Payload<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_form: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<&'a [f32]>,
}

/// A payload in a form from which each of its bytes can be restored.
#[derive(Serialize)]
#[serde(untagged)]
enum Payload<'a> {
    Json(&'a RawValue),
    Text(&'a str),
    Base64(String),
}

impl<'a> Payload<'a> {
    fn of(bytes: &'a [u8]) -> (Self, &'static str) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return (Self::Base64(BASE64_STANDARD.encode(bytes)), "base64");
        };
        match json(text) {
            Some(raw) => (Self::Json(raw), "json"),
            None => (Self::Text(text), "text"),
        }
    }
}

/// A payload as results show it, with its form: json, text or base64. Each byte of it can be restored.
pub(crate) fn shown(payload: &[u8]) -> (&'static str, Box<RawValue>) {
    let (payload, form) = Payload::of(payload);
    let line = json_line(&payload).ok();
    let value = line.and_then(|line| RawValue::from_string(line).ok());
    (form, value.expect("a text, or what is JSON already"))
}

/// The text as JSON, if it is an object or a list that a line may contain unchanged.
fn json(text: &str) -> Option<&RawValue> {
    if !text.starts_with(['{', '[']) || text.contains(['\n', '\r']) || text.contains(ENDS) {
        return None;
    }
    // The first parser limits how deep values are nested, as a reader of the line also does.
    serde_json::from_str::<Value>(text).ok()?;
    // A reader of the line refuses two members with the same name.
    sordino_search::vectors::json::check(text).ok()?;
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    (raw.get() == text).then_some(raw)
}

/// A record of an index on this disk.
pub(in crate::index) fn stored(some: &Stored, at: usize, vectors: bool) -> String {
    let payload = some.payloads.as_ref().map(|payloads| &payloads[at][..]);
    let vector = vectors.then(|| some.vectors.row(at));
    let attributes = attributes(&some.attributes, at);
    let beside = (some.label.as_deref(), vector);
    line(&some.ids[at], payload, attributes, beside)
}

/// A record, with its label and its vector if there are any.
pub(in crate::index) fn line(
    id: &Id,
    payload: Option<&[u8]>,
    attributes: Map<String, Value>,
    (label, vector): (Option<&str>, Option<&[f32]>),
) -> String {
    let (payload, payload_form) = payload.map(Payload::of).unzip();
    let line = Line {
        id: match id {
            Id::Number(number) => (*number).into(),
            other => other.to_string().into(),
        },
        payload,
        payload_form,
        attributes,
        label,
        vector,
    };
    json_line(&line).expect("maps with texts as keys, and no writer that fails")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_payload_is_in_its_line() {
        let shown = |payload: &[u8]| line(&Id::Number(7), Some(payload), Map::new(), (None, None));
        for (payload, expected) in [
            (
                &b"{\"b\": 1.0, \"a\":[]}"[..],
                r#"{"id":7,"payload":{"b": 1.0, "a":[]},"payload_form":"json"}"#,
            ),
            (b" {}", r#"{"id":7,"payload":" {}","payload_form":"text"}"#),
            (
                b"{\n}",
                r#"{"id":7,"payload":"{\n}","payload_form":"text"}"#,
            ),
            (
                "{\"a\":\"\u{2028}\"}".as_bytes(),
                r#"{"id":7,"payload":"{\"a\":\"\u2028\"}","payload_form":"text"}"#,
            ),
            (b"7", r#"{"id":7,"payload":"7","payload_form":"text"}"#),
            (
                b"{\"a\":1,\"a\":2}",
                r#"{"id":7,"payload":"{\"a\":1,\"a\":2}","payload_form":"text"}"#,
            ),
            (b"", r#"{"id":7,"payload":"","payload_form":"text"}"#),
            (
                b"\xff",
                r#"{"id":7,"payload":"/w==","payload_form":"base64"}"#,
            ),
        ] {
            assert_eq!(shown(payload), expected);
        }
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert!(shown(deep.as_bytes()).ends_with(r#""payload_form":"text"}"#));
        let whole = line(
            &Id::Text("x".into()),
            None,
            [("y".to_owned(), Value::Null)].into_iter().collect(),
            (Some("a \"b\""), Some(&[0.1])),
        );
        assert_eq!(
            whole,
            r#"{"id":"x","attributes":{"y":null},"label":"a \"b\"","vector":[0.1]}"#
        );
    }
}
