//! Indexes built from exported records, which keep all contents.

use crate::binary::{done, failed, json};
use crate::place::{DIM, Place};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const N: usize = 120;

/// The id of a record.
fn id(kind: &str, at: usize) -> Value {
    match kind {
        "number" => json!(u64::MAX - at as u64),
        "text" => json!(format!("doc \"{at}\", of many")),
        _ => json!(format!("67e55044-10b1-426f-9247-bb680e5f{at:04x}")),
    }
}

/// A payload and its form, as an exported line has them.
fn payload(at: usize) -> (String, &'static str) {
    match at % 5 {
        0 => (format!("{{\"z\": {at}, \"a\":[1.50, 1e2]}}"), "json"),
        1 => (format!("\"a text, {at}\\nof two lines\""), "text"),
        2 => ("\"/wAB\"".to_owned(), "base64"),
        3 => ("\"\"".to_owned(), "text"),
        _ => ("\"17\"".to_owned(), "text"),
    }
}

/// Attributes of each type. Some have the names of other columns, and some values are missing.
fn attributes(at: usize) -> Value {
    let some = |value: Value| {
        if at.is_multiple_of(7) {
            Value::Null
        } else {
            value
        }
    };
    json!({
        "year": some(json!(-2000 - at as i64)),
        "price": some(json!(at as f64)),
        "new": some(json!(at.is_multiple_of(2))),
        "id": some(json!(at.to_string())),
        "payload": some(json!("")),
        "vector": some(json!("true")),
        "attributes.id": some(json!(7)),
        "none": null,
    })
}

/// A file with the form that `index export --vectors` writes.
fn file(place: &Place, kind: &str) -> String {
    let rows = place.base.rows().take(N).enumerate();
    let lines = rows.map(|(at, row)| {
        let (payload, form) = payload(at);
        format!(
            "{{\"id\":{},\"payload\":{payload},\"payload_form\":\"{form}\",\"attributes\":{},\"vector\":{}}}\n",
            id(kind, at),
            attributes(at),
            json!(row)
        )
    });
    lines.collect()
}

/// For each record, in the order of their texts: the line up to the vector, and the vector at length 1, because an
/// export does not keep lengths.
fn records(text: &str) -> Vec<(String, Vec<f64>)> {
    let lines = text.lines().map(|line| {
        // Takes the last `vector`, because an attribute has this name too.
        let (record, vector) = line.rsplit_once(",\"vector\":").unwrap();
        let vector: Vec<f64> = serde_json::from_str(vector.strip_suffix('}').unwrap()).unwrap();
        let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert_eq!(vector.len(), DIM);
        let (payload, attributes) = record.split_once(",\"attributes\":").unwrap();
        // The members of objects may change their order.
        let attributes: BTreeMap<String, Value> = serde_json::from_str(attributes).unwrap();
        let record = format!("{payload} {attributes:?}");
        (record, vector.iter().map(|x| x / norm).collect())
    });
    let mut records: Vec<_> = lines.collect();
    records.sort_by(|a, b| a.0.cmp(&b.0));
    records
}

fn assert_same(found: &str, expected: &str) {
    let (found, expected) = (records(found), records(expected));
    assert_eq!(found.len(), expected.len());
    for ((record, vector), (other, exact)) in found.iter().zip(&expected) {
        assert_eq!(record, other);
        let cosine: f64 = vector.iter().zip(exact).map(|(x, y)| x * y).sum();
        assert!(cosine > 0.9995, "{cosine}");
    }
}

#[test]
fn an_export_is_built_and_added_again_with_all_that_is_in_it() {
    let place = Place::new();
    for (mode, kind) in [("masked", "number"), ("local", "text"), ("open", "uuid")] {
        let first = file(&place, kind);
        fs::write(place.path("first.jsonl"), &first).unwrap();
        let mut input = "first.jsonl".to_owned();
        for (turn, format) in [(1, "parquet"), (2, "jsonl"), (3, "jsonl")] {
            let index = format!("{mode}-{turn}");
            let built = json(&place.line(&format!(
                "index build @{input} @{index} --exported --mode {mode} --key @owner.key"
            )));
            let ids = built["ids"].as_str().unwrap().to_lowercase();
            assert_eq!((ids.as_str(), &built["n"]), (kind, &N.into()));
            input = format!("{index}.{format}");
            done(&place.line(&format!(
                "index export @{index} --vectors --key @reader.key --output @{input}"
            )));
        }
        let last = fs::read_to_string(place.path(&input)).unwrap();
        assert_same(&last, &first);
        // Adds the records to an index that exists.
        let index = format!("{mode}-3");
        let added = json(&place.line(&format!(
            "index add @{index} @{mode}-1.parquet --exported --key @owner.key"
        )));
        assert_eq!(
            (&added["added"], &added["replaced"]),
            (&N.into(), &N.into())
        );
        let shown = done(&place.line(&format!(
            "index export @{index} --vectors --key @reader.key"
        )));
        assert_same(&shown, &first);
        let dash = format!("index export @{index} --vectors --output - --key @reader.key");
        assert_eq!(done(&place.line(&dash)), shown);
        fs::remove_file(place.path("first.jsonl")).unwrap();
    }
}

#[test]
fn what_is_no_export_with_vectors_is_refused() {
    let place = Place::new();
    place.build_mode("local");
    for name in ["bare.jsonl", "bare.parquet"] {
        done(&place.line(&format!(
            "index export @local --key @reader.key --output @{name}"
        )));
        let line = format!("index build @{name} @new --exported --key @owner.key");
        let why = failed(&place.line(&line), 1);
        assert!(
            why.contains(name) && why.contains("`index export --vectors` writes a file"),
            "{why}"
        );
    }
    let line = "index build @base.npy @new --exported --key @owner.key";
    let why = failed(&place.line(line), 1);
    assert!(why.contains("writes .jsonl and .parquet"), "{why}");
    for (line, expected) in [
        (
            r#"{"id":1,"attributes":{"a":1},"vector":[1,0]}
{"id":2,"attributes":{"a":"x"},"vector":[1,0]}"#,
            "line 2: attribute a has values of different types",
        ),
        (
            r#"{"id":1,"payload":"!","payload_form":"base64","vector":[1,0]}"#,
            "line 1: column payload,payload_form: expected a payload in the form",
        ),
        (
            r#"{"id":1,"attributes":[],"vector":[1,0]}"#,
            "line 1: member attributes is not an object",
        ),
    ] {
        fs::write(place.path("odd.jsonl"), line).unwrap();
        let why = failed(
            &place.line("index build @odd.jsonl @new --exported --key @owner.key"),
            1,
        );
        assert!(why.contains(expected), "{why}");
        assert!(!place.path("new").exists());
    }
}
