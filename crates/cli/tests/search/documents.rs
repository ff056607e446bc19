//! Documents from tables in text, with ids, payloads and attributes: search, display and export.

use crate::binary::{done, failed, json, run};
use crate::place::{DIM, Place};
use crate::served::Served;
use serde_json::{Value, json};
use std::fs;

const N: usize = 300;

fn lang(at: usize) -> &'static str {
    ["en", "de"][at % 2]
}

/// Documents as lines of JSON, with the vectors of the place.
pub(crate) fn jsonl(place: &Place) -> String {
    let lines = place.base.rows().take(N).enumerate().map(|(at, row)| {
        let document = json!({
            "name": format!("doc-{at}"),
            "title": format!("Title {at}\tof \"many\""),
            "year": if at.is_multiple_of(5) { Value::Null } else { json!(2000 + at % 30) },
            "lang": lang(at),
            "embedding": row,
        });
        document.to_string() + "\n"
    });
    lines.collect()
}

/// The same documents as CSV.
fn csv(place: &Place) -> String {
    let mut text = "name,title,year,lang,embedding\n".to_owned();
    for (at, row) in place.base.rows().take(N).enumerate() {
        let year = if at.is_multiple_of(5) {
            String::new()
        } else {
            (2000 + at % 30).to_string()
        };
        let numbers: Vec<String> = row.iter().map(f32::to_string).collect();
        let lang = lang(at);
        let vector = numbers.join(", ");
        text += &format!("doc-{at},\"Title {at}\tof \"\"many\"\"\",{year},{lang},\"[{vector}]\"\n");
    }
    text
}

pub(crate) const COLUMNS: &str =
    "--id-column name --payload-column title,lang --attribute year:int,lang";

#[test]
fn documents_are_built_from_text_and_found_by_what_they_are() {
    let place = Place::new();
    fs::write(place.path("docs.jsonl"), jsonl(&place)).unwrap();
    fs::write(place.path("docs.csv"), csv(&place)).unwrap();
    for format in ["jsonl", "csv"] {
        let built = json(&place.line(&format!(
            "index build @docs.{format} @{format} --key @owner.key {COLUMNS}"
        )));
        assert_eq!(
            (built["ids"].as_str(), built["n"].as_u64()),
            (Some("text"), Some(300))
        );
        let index = place.at(format);
        let condition = "year >= 2010 and lang = 'de'";
        let found = place.query(&["--index", &index, "--k", "4", "--where", condition]);
        for (query, answer) in found["queries"].as_array().unwrap().iter().enumerate() {
            let hits = answer["hits"].as_array().unwrap();
            assert_eq!(hits.len(), 4, "{format}");
            for hit in hits {
                let name = hit["id"].as_str().unwrap();
                let at: usize = name.strip_prefix("doc-").unwrap().parse().unwrap();
                assert!(
                    at % 2 == 1 && !at.is_multiple_of(5) && at % 30 >= 10,
                    "{name}"
                );
                let title = format!("Title {at}\tof \"many\"");
                assert_eq!(hit["payload"], json!({ "title": title, "lang": "de" }));
                assert_eq!(hit["payload_form"], "json");
                assert_eq!(
                    hit["attributes"],
                    json!({ "year": 2000 + at % 30, "lang": "de" })
                );
            }
            let itself = query % 2 == 1 && !query.is_multiple_of(5) && query % 30 >= 10;
            assert_eq!(
                hits[0]["id"] == format!("doc-{query}"),
                itself,
                "query {query}"
            );
        }
        let far = place.query(&["--index", &index, "--min-score", "0.999"]);
        for (query, answer) in far["queries"].as_array().unwrap().iter().enumerate() {
            assert_eq!(answer["hits"][0]["id"], format!("doc-{query}"));
        }
        check_text(&place, &index);
        check_records(&place, format);
    }
}

/// Each value of `--fetch`, and the word for it in reports.
const WAYS: [(&str, &str); 4] = [
    ("download", "downloaded"),
    ("pir", "PIR"),
    ("hintless", "no hint"),
    ("scan", "scan"),
];

#[test]
fn payloads_are_the_same_in_every_way() {
    let place = Place::new();
    fs::write(place.path("docs.jsonl"), jsonl(&place)).unwrap();
    for (option, way) in WAYS {
        let built = json(&place.line(&format!(
            "index build @docs.jsonl @{option} --key @owner.key {COLUMNS} --fetch {option}"
        )));
        assert_eq!(built["fetched"]["way"], way);
        let served = Served::plain(&place, option);
        let found = place.query(&["--connect", &served.url(), "--k", "3"]);
        for answer in found["queries"].as_array().unwrap() {
            for hit in answer["hits"].as_array().unwrap() {
                let at = hit["id"].as_str().unwrap().strip_prefix("doc-").unwrap();
                let at: usize = at.parse().unwrap();
                let title = format!("Title {at}\tof \"many\"");
                let expected = json!({ "title": title, "lang": lang(at) });
                assert_eq!(hit["payload"], expected, "{option}");
            }
        }
        let get = place.line(&format!(
            "index get --connect {} --key @reader.key --id doc-7,doc-299",
            served.url()
        ));
        for (line, at) in done(&get).lines().zip([7, 299]) {
            let shown: Value = serde_json::from_str(line).unwrap();
            let title = format!("Title {at}\tof \"many\"");
            assert_eq!(shown["payload"]["title"], title, "{option}");
        }
    }
}

/// An output line stays one line, whatever the payloads hold.
fn check_text(place: &Place, index: &str) {
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let lines = done(&[
        "query", "--key", &key, "--index", index, "--file", &file, "--k", "1",
    ]);
    let first = lines.lines().next().unwrap();
    let columns: Vec<&str> = first.split('\t').collect();
    assert_eq!((columns[2], columns.len()), ("doc-0", 5));
    let payload: Value = serde_json::from_str(columns[4]).unwrap();
    assert_eq!(payload["title"], "Title 0\tof \"many\"");
}

/// Shows records by id, exports them, and builds an index from the export.
fn check_records(place: &Place, index: &str) {
    let shown = done(&place.line(&format!(
        "index get @{index} --id doc-7,doc-5 --key @reader.key --vectors"
    )));
    let shown: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(shown[0]["id"], "doc-7");
    assert_eq!(
        shown[0]["attributes"],
        json!({ "year": 2007, "lang": "de" })
    );
    assert_eq!(shown[1]["attributes"]["year"], Value::Null);
    assert_eq!(shown[1]["vector"].as_array().unwrap().len(), DIM);
    // A server gives the same records, but without vectors.
    let served = Served::plain(place, index);
    let get = format!(
        "index get --connect {} --key @reader.key --cache @cache",
        served.url()
    );
    let fetched = done(&place.line(&format!("{get} --id doc-7,doc-5")));
    for (line, mut shown) in fetched.lines().zip(shown) {
        shown.as_object_mut().unwrap().remove("vector");
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), shown);
    }
    let missing = failed(&place.line(&format!("{get} --id doc-1,no")), 1);
    assert!(missing.contains("there is no record no"), "{missing}");
    // The command still prints the records that follow a missing one.
    let some = run(&place.line(&format!("{get} --id no,doc-1")));
    assert!(String::from_utf8_lossy(&some.stdout).contains("\"doc-1\""));
    let missing = failed(
        &place.line(&format!("index get @{index} --id no --key @reader.key")),
        1,
    );
    assert!(missing.contains("there is no record no"), "{missing}");

    let out = format!("{index}-out.jsonl");
    done(&place.line(&format!(
        "index export @{index} --key @reader.key --output @{out} --vectors"
    )));
    let again = failed(
        &place.line(&format!(
            "index export @{index} --key @reader.key --output @{out}"
        )),
        1,
    );
    assert!(again.contains("exists"), "{again}");
    let table = format!("{index}-out.parquet");
    done(&place.line(&format!(
        "index export @{index} --key @reader.key --output @{table} --vectors"
    )));
    for (out, more) in [(out, ""), (table, "--attribute year,lang")] {
        let columns = "--id-column id --vector-column vector --payload-column payload";
        let built = json(&place.line(&format!(
            "index build @{out} @{out}-again --key @owner.key {columns} {more}"
        )));
        assert_eq!(built["n"].as_u64(), Some(300));
        let mut query = vec!["--index", "", "--k", "1"];
        let again = place.at(&format!("{out}-again"));
        query[1] = &again;
        if !more.is_empty() {
            query.extend(["--where", "year = 2003"]);
        }
        let found = place.query(&query);
        let hit = &found["queries"][3]["hits"][0];
        assert_eq!(
            (&hit["id"], &hit["payload"]["lang"]),
            (&json!("doc-3"), &json!("de"))
        );
    }
}

#[test]
fn mistakes_with_documents_name_the_line_and_what_to_do() {
    let place = Place::new();
    let good = "{\"v\": [1, 0], \"t\": \"a\", \"y\": 1}\n";
    for (name, text, options, expected) in [
        (
            "a.jsonl",
            "{\"v\": [1, 0]}\nx\n",
            "",
            "line 2: expected value",
        ),
        ("b.jsonl", good, "--id-column id", "line 1: no member id"),
        (
            "c.jsonl",
            "{\"v\": [1, 0], \"w\": [1]}\n",
            "",
            "name one of v, w",
        ),
        (
            "d.jsonl",
            good,
            "--attribute t:int",
            "line 1: column t: \"a\", expected a whole number",
        ),
        // A value that is kept as a text would match no condition on numbers.
        (
            "k.jsonl",
            "{\"v\": [1, 0], \"t\": \"a\"}\n{\"v\": [1, 0], \"t\": 7}\n",
            "--attribute t",
            "line 2: column t: expected a text: of numbers say int",
        ),
        (
            "l.jsonl",
            "{\"v\": [1, 0], \"t\": true}\n",
            "--attribute t",
            "line 1: column t: expected a text: of true and false say bool",
        ),
        (
            "e.jsonl",
            good,
            "--id-column t --id-kind uuid",
            "line 1: \"a\" is not an id: expected a UUID",
        ),
        (
            "f.csv",
            "v,t\n\"[1, 0]\",a\n\"[1, 0]\"\n",
            "",
            "line 3: 1 fields: expected 2",
        ),
        (
            "g.csv",
            "v,t\n\"[1, 0]\",a\n\"[1, x]\",b\n",
            "",
            "line 3: column v: number 2 is not one: expected numbers",
        ),
        (
            "h.csv",
            "v,t\n\"[1, 0]\",a\n",
            "--payload-column z",
            "no column z",
        ),
        ("i.fbin", "", "--attribute t", "none, as it is no table"),
        (
            "j.csv",
            "0.5,1\n1,2\n",
            "",
            "line 1: numbers, where the names of columns",
        ),
    ] {
        fs::write(place.path(name), text).unwrap();
        let line = format!("index build @{name} @{name}.index --key @owner.key --k 1 {options}");
        let error = failed(&place.line(&line), 1);
        assert!(error.contains(expected), "{name}: {error}");
    }
    place.build("index", &[]);
    let query = "query --index @index --key @reader.key --vector 1 --where";
    let mut words = place.line(query);
    words.push("year >=".to_owned());
    let error = failed(&words, 2);
    assert!(
        error.contains("filter, character 8: expected a number"),
        "{error}"
    );
    let line = "query --index @index --key @reader.key --file @queries.npy --k 11";
    let error = failed(&place.line(line), 1);
    assert!(error.contains("k = 11: expected 1 to 10"), "{error}");
    let error = failed(
        &place.line("index delete @index --ids x --key @owner.key"),
        1,
    );
    assert!(
        error.contains("\"x\" is not an id: expected a whole number"),
        "{error}"
    );
}
