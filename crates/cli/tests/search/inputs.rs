//! Inputs that have two readings, or of which a part would be lost, are refused with an error that names the fault. All
//! other inputs are read as intended.

use crate::binary::{done, failed, json, run};
use crate::place::Place;
use serde_json::{Value, json};
use std::fs;

impl Place {
    /// Builds from this file. The build must fail and leave nothing. Returns its message.
    fn refused(&self, name: &str, text: &str, options: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        let line = format!("index build @{name} @refused --key @owner.key --k 1 {options}");
        let error = failed(&self.line(&line), 1);
        assert!(!self.path("refused").exists(), "{error}");
        error
    }

    fn built(&self, name: &str, text: &str, options: &str) -> Value {
        fs::write(self.path(name), text).unwrap();
        json(&self.line(&format!(
            "index build @{name} @{name}.index --key @owner.key {options}"
        )))
    }
}

/// The words of a line, and further words that may have spaces.
fn words(place: &Place, line: &str, more: &[&str]) -> Vec<String> {
    let mut words = place.line(line);
    words.extend(more.iter().map(|&word| word.to_owned()));
    words
}

#[test]
fn numbers_have_one_separator() {
    let place = Place::new();
    for (cell, why) in [
        (
            "[0,12573; -0,1321]",
            "line 3: column v: semicolons between numbers with commas in them",
        ),
        ("0,1 0,2 0,3", "commas and, at number 2, white space"),
        ("[0,1, 0,2]", "may stand within numbers"),
        ("[1,,2]", "nothing where number 2 should be"),
        ("[1 2 ... 3 4]", "NumPy leaves out the middle"),
        ("", "line 3: column v: no numbers"),
    ] {
        let text = format!("id,v\n1,\"[1, 2]\"\n2,\"{cell}\"\n");
        let error = place.refused("bad.csv", &text, "--id-column id --vector-column v");
        assert!(
            error.contains(why) && error.contains("bad.csv: line 3"),
            "{cell}: {error}"
        );
    }
    place.built("four.csv", "v\n[1 2 3 4]\n[4 3 2 2]\n", "--k 1");
    let query = "query --index @four.csv.index --key @reader.key --vector";
    for text in ["0,1 0,2", "1,,2,3", "0,5; 0,25", "1,2,3,4,"] {
        let error = failed(&words(&place, query, &[text]), 1);
        assert!(error.contains("--vector: "), "{text}: {error}");
    }
    for text in ["{4, 3, 2, 2}", "4;3;2;2", "[4. 3.\n 2. 2.]"] {
        let found = done(&words(&place, query, &[text]));
        assert!(found.starts_with("0\t1\t1\t"), "{found}");
    }
}

/// `DataFrame.to_csv` writes arrays with spaces and line ends. Postgres' `COPY` writes arrays with
/// braces.
#[test]
fn arrays_of_pandas_and_postgres_are_read() {
    let place = Place::new();
    let numpy = "id,embedding\n1,\"[ 0.1  -0.2   0.3\n  0.4   1.   ]\"\n2,\"[1. 2. 3.\n 4. 5.]\"\n";
    let postgres = "id,embedding\n1,\"{0.1,-0.2,0.3,0.4,1}\"\n2,\"{1,2,3,4,5}\"\n";
    for (name, text) in [("pandas.csv", numpy), ("postgres.csv", postgres)] {
        let built = place.built(name, text, "--k 1 --id-column id --mode local");
        assert_eq!(
            (&built["n"], &built["dim"]),
            (&2.into(), &5.into()),
            "{name}"
        );
    }
}

#[test]
fn a_name_that_comes_twice_is_refused_with_both_places() {
    let place = Place::new();
    for (head, row, options) in [
        ("v,t,v", "[1 2],a,[2 1]", "--vector-column v"),
        ("v,t,v", "[1 2],a,b", ""),
        ("t,v,t", "a,[1 2],b", "--id-column t"),
        ("t,v,t", "a,[1 2],b", "--payload-column t"),
        ("t,v,t", "a,[1 2],b", "--attribute t"),
    ] {
        let error = place.refused("two.csv", &format!("{head}\n{row}\n"), options);
        assert!(
            error.contains("the columns 1 and 3, counted from 1"),
            "{options}: {error}"
        );
    }
    let good = "{\"v\": [1, 2], \"t\": \"a\"}\n";
    for (line, why) in [
        (
            r#"{"v": [1, 2], "t": "a", "v": [2, 1]}"#,
            "line 2: two members are named \"v\", the members 1 and 3 of",
        ),
        (
            r#"{"v": [1, 2], "t": "a", "\u0074": "b"}"#,
            "\"t\", the members 2 and 3 of",
        ),
        (
            r#"{"v": [1, 2], "t": {"a": 1, "a": 2}}"#,
            "\"a\", the members 1 and 2 of their object, counted from 1 in member \"t\"",
        ),
    ] {
        let error = place.refused(
            "two.jsonl",
            &format!("{good}{line}\n"),
            "--payload-column t",
        );
        assert!(error.contains(why), "{line}: {error}");
    }
    place.built("good.jsonl", good, "--k 1 --mode local");
    fs::write(place.path("two.jsonl"), "{\"v\": [1, 2], \"v\": [2, 1]}\n").unwrap();
    for line in [
        "index add @good.jsonl.index @two.jsonl --key @owner.key",
        "query --index @good.jsonl.index --key @reader.key --file @two.jsonl",
        "plan --data @two.jsonl",
    ] {
        let error = failed(&place.line(line), 1);
        assert!(
            error.contains("two members are named \"v\""),
            "{line}: {error}"
        );
    }
    let error = place.refused("good.jsonl", good, "--payload-column t,t");
    assert!(error.contains("--payload-column names t twice"), "{error}");
}

#[test]
fn a_list_is_looked_into_and_nothing_else_is() {
    let place = Place::new();
    for (name, text) in [
        (
            "l.jsonl",
            "{\"v\": [1, 2], \"tags\": \"x\"}\n{\"v\": [1, 2], \"tags\": [\"x\", \"y\"]}\n",
        ),
        (
            "l.csv",
            "v,tags\n[1 2],x\n[1 2],\"[\"\"x\"\", \"\"y\"\"]\"\n",
        ),
    ] {
        place.built(name, text, "--k 2 --vector-column v --attribute tags:text");
        let query = format!("query --index @{name}.index --key @reader.key --vector 1,2 --where");
        for (condition, found) in [
            ("tags has 'x'", 2),
            ("tags has 'y'", 1),
            ("tags has 'z'", 0),
        ] {
            let found_ids = done(&words(&place, &query, &[condition]));
            assert_eq!(found_ids.lines().count(), found, "{name} {condition}");
        }
    }
    let advice = "column tags: expected one value, or a list of values as JSON";
    for (name, text) in [
        (
            "o.jsonl",
            "{\"v\": [1, 2], \"tags\": \"x\"}\n{\"v\": [1, 2], \"tags\": {\"x\": 1}}\n",
        ),
        ("n.csv", "v,tags\n[1 2],x\n[1 2],\"[[\"\"x\"\"]]\"\n"),
        ("p.csv", "v,tags\n[1 2],x\n[1 2],\"['x', 'y']\"\n"),
    ] {
        for attribute in ["tags:text", "tags"] {
            let options = format!("--vector-column v --attribute {attribute}");
            let error = place.refused(name, text, &options);
            let line = if name.ends_with("csv") { 3 } else { 2 };
            assert!(
                error.contains(&format!("line {line}: {advice}")),
                "{name}: {error}"
            );
        }
    }
    let text = "v,price\n[1 2],1.5\n[1 2],nan\n";
    let error = place.refused("nan.csv", text, "--attribute price:float");
    assert!(
        error.contains("line 3: column price: expected a finite number"),
        "{error}"
    );
}

const ODD: [&str; 8] = [
    "doc,7",
    "doc",
    "7",
    "a\nb",
    "c\td",
    "e\\tf",
    "\"g\"",
    "\u{feff}h\r",
];

/// Makes an index of records whose ids need quotation or escapes.
fn odd(place: &Place) {
    let lines = (0..).zip(ODD).map(|(at, id)| {
        let vector = [f64::from(at).cos(), f64::from(at).sin()];
        json!({ "name": id, "v": vector }).to_string() + "\n"
    });
    let text: String = lines.collect();
    let built = place.built("odd.jsonl", &text, "--id-column name --k 8 --mode local");
    assert_eq!(built["ids"], "text");
}

fn got(place: &Place, options: &[&str]) -> Vec<String> {
    let lines = done(&words(
        place,
        "index get @odd.jsonl.index --key @owner.key",
        options,
    ));
    let id = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["id"].as_str().unwrap().to_owned()
    };
    lines.lines().map(id).collect()
}

#[test]
fn every_id_can_be_named() {
    let place = Place::new();
    odd(&place);
    // Takes ids from the output of `query`, through a file.
    let found = done(&place.line("query --index @odd.jsonl.index --key @reader.key --vector 1,0"));
    let column = found
        .lines()
        .map(|line| line.split('\t').nth(2).unwrap().to_owned() + "\n");
    fs::write(place.path("ids.txt"), column.collect::<String>()).unwrap();
    let mut ids = got(&place, &["--ids-file", &place.at("ids.txt")]);
    ids.sort();
    let mut all = ODD.map(str::to_owned);
    all.sort();
    assert_eq!(ids, all);
    // Takes ids from a quoted list.
    let list = "\"doc,7\",a\\nb,c\\td,e\\\\tf,\"\"\"g\"\"\",\\u{feff}h\\r";
    assert_eq!(
        got(&place, &["--ids", list]),
        ["doc,7", "a\nb", "c\td", "e\\tf", "\"g\"", "\u{feff}h\r"]
    );
    assert_eq!(
        got(&place, &["--ids", "a\nb", "--ids", "c\td"]),
        ["a\nb", "c\td"]
    );

    let delete = "index delete @odd.jsonl.index --key @owner.key --ids";
    for (list, code, why) in [
        ("doc,7", 1, "doc,7 may be one record"),
        ("a\\nb,doc,7", 1, "doc,7 may be one record"),
        ("e\\xf", 2, "where a backslash stands"),
        ("\"g\"x", 2, "goes on after its closing quote"),
        ("doc,,7", 2, "number 2 is empty"),
    ] {
        let error = failed(&words(&place, delete, &[list]), code);
        assert!(error.contains(why), "{list}: {error}");
    }
    done(&words(&place, delete, &["\"doc,7\""]));
    assert_eq!(got(&place, &["--ids", "doc,7"]), ["doc", "7"]);
    done(&words(&place, delete, &["doc", "--ids", "7"]));
    let left = done(&place.line("index export @odd.jsonl.index --key @owner.key"));
    assert_eq!(left.lines().count(), 5, "{left}");
}

#[test]
fn columns_with_commas_can_be_named() {
    let place = Place::new();
    let text = "\"a,b\",v,a,b\n7,[1 2],1,2\n";
    let options = [
        "--payload-column",
        "\"a,b\",a",
        "--attribute",
        "\"a,b:int\",b",
        "--k",
        "1",
    ];
    fs::write(place.path("t.csv"), text).unwrap();
    done(&words(
        &place,
        "index build @t.csv @t --vector-column v --key @owner.key",
        &options,
    ));
    let shown = done(&place.line("index get @t --ids 0 --key @owner.key"));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["payload"], json!({ "a,b": "7", "a": "1" }));
    assert_eq!(shown["attributes"], json!({ "a,b": 7, "b": "2" }));
}

#[test]
fn what_an_exported_file_has_is_not_left_out_unsaid() {
    let place = Place::new();
    let text = "{\"id\": 7, \"payload\": \"x\", \"payload_form\": \"text\", \"vector\": [1, 2]}\n{\"id\": 5, \"payload\": \"y\", \
                \"payload_form\": \"text\", \"vector\": [2, 1]}\n";
    place.built("first.jsonl", text, "--exported --k 1");
    for file in ["again.jsonl", "again.parquet"] {
        let export = "index export @first.jsonl.index --vectors --key @owner.key --output";
        done(&place.line(&format!("{export} @{file}")));
        let command = format!("index build @{file} @new --key @owner.key --k 1");
        let error = failed(&place.line(&command), 1);
        for option in ["--exported", "--id-column id", "--vector-column vector"] {
            assert!(error.contains(option), "{command}: {error}");
        }
        let command = format!("index add @first.jsonl.index @{file} --key @owner.key");
        let error = failed(&place.line(&command), 1);
        for option in ["--exported", "--payload-column", "--leave-empty"] {
            assert!(error.contains(option), "{command}: {error}");
        }
        let build = format!("index build @{file} @{file}.index --key @owner.key --k 1");
        let built = json(&place.line(&format!("{build} --vector-column vector")));
        assert_eq!(built["n"], 2);
    }
    let bare = "{\"id\": 7, \"vector\": [1, 2]}\n";
    let error = place.refused("bare.jsonl", bare, "--no-guess");
    assert!(error.contains("and id would be lost"), "{error}");
}

#[test]
fn replaced_records_do_not_lose_what_they_had_unsaid() {
    let place = Place::new();
    let text = "{\"n\": 7, \"v\": [1, 2], \"t\": \"x\", \"year\": 2000, \"lang\": \"en\"}\n";
    let all = "--id-column n --payload-column t --attribute year:int,lang --k 1";
    place.built("all.jsonl", text, all);
    let add = |options: &str| {
        let line = format!("index add @all.jsonl.index @all.jsonl --key @owner.key {options}");
        run(&place.line(&line))
    };
    for (options, why) in [
        (
            "--id-column n",
            "have payloads (--payload-column) and attributes lang, year (--attribute)",
        ),
        (
            "--id-column n --payload-column t",
            "have attributes lang, year (--attribute)",
        ),
        (
            "--id-column n --payload-column t --attribute lang",
            "have attributes year (--attribute)",
        ),
        (
            "--id-column n --attribute year:int,lang",
            "have payloads (--payload-column)",
        ),
    ] {
        let output = add(options);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{options}");
        assert!(
            error.contains(why) && error.contains("--leave-empty"),
            "{options}: {error}"
        );
    }
    let year = || {
        let shown = done(&place.line("index get @all.jsonl.index --ids 7 --key @owner.key"));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        (
            shown["payload"].clone(),
            shown["attributes"]["year"].clone(),
        )
    };
    assert_eq!(year(), ("x".into(), 2000.into()));
    assert!(
        add("--id-column n --payload-column t --attribute year:int,lang")
            .status
            .success()
    );
    assert_eq!(year(), ("x".into(), 2000.into()));
    assert!(add("--id-column n --leave-empty").status.success());
    assert_eq!(year(), ("".into(), Value::Null));
}

#[test]
fn one_of_several_columns_of_vectors_can_be_named() {
    let place = Place::new();
    let text = "a,b\n[1 2],[2 1]\n[2 1],[1 2]\n";
    place.built("two.csv", text, "--vector-column a --k 1");
    for (line, column) in [
        (
            "query --index @two.csv.index --key @reader.key --file @two.csv",
            "b",
        ),
        ("plan --k 1 --data @two.csv", "a"),
        (
            "bench --mode local --k 1 --data @two.csv --queries @two.csv",
            "b",
        ),
    ] {
        let error = failed(&place.line(line), 1);
        assert!(error.contains("name one of a, b"), "{error}");
        done(&place.line(&format!("{line} --vector-column {column}")));
    }
    let query = "query --index @two.csv.index --key @reader.key --file @two.csv --vector-column b";
    let found = done(&place.line(query));
    let ids: Vec<&str> = found
        .lines()
        .map(|line| line.split('\t').nth(2).unwrap())
        .collect();
    assert_eq!(ids, ["1", "0"]);
}

#[test]
fn ids_that_are_none_are_shown_as_they_are() {
    let place = Place::new();
    let long = format!("\"{}\"", "x".repeat(600));
    for (id, why) in [
        (
            "true",
            "line 1: true is not an id: expected a whole number or a text",
        ),
        ("null", "line 1: null is not an id: expected"),
        ("[7]", "line 1: a list is not an id: expected"),
        ("-7", "line 1: \"-7\" is not an id: expected a whole number"),
        (
            "18446744073709551616",
            "\"18446744073709551616\" is not an id: expected",
        ),
        (
            &long,
            "xxx\"... of 600 bytes is not an id: expected a text of 1 to 512 bytes: of a longer one take a hash",
        ),
    ] {
        let text = format!("{{\"v\": [1, 2], \"n\": {id}}}\n");
        let error = place.refused("ids.jsonl", &text, "--id-column n --vector-column v");
        assert!(error.contains(why), "{id}: {error}");
    }
    fs::write(place.path("ids.txt"), "a\nC:\\docs\n").unwrap();
    let error = place.refused(
        "two.csv",
        "v\n[1 2]\n[2 1]\n",
        &format!("--id-kind text --ids {}", place.at("ids.txt")),
    );
    assert!(
        error.contains("ids.txt: line 2 is not an id")
            && error.contains("where a backslash stands"),
        "{error}"
    );
}

/// A `.npy` file of 64-bit floats, two per row.
fn doubles(rows: impl Iterator<Item = [f64; 2]>) -> Vec<u8> {
    let rows: Vec<[f64; 2]> = rows.collect();
    let shape = format!("({}, 2)", rows.len());
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(head.len()).unwrap().to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
    bytes
}

#[test]
fn what_rounding_to_32_bits_takes_is_refused_or_said() {
    let place = Place::new();
    let scattered = |at: u32| f64::from(at.wrapping_mul(2_654_435_769)) / f64::from(u32::MAX);
    let pair = |at: u32| [scattered(at), scattered(at ^ 0x5555)];
    let far = (1..400).map(|at| {
        let [x, y] = pair(at);
        [1.7e9 + 3600.0 * x, y]
    });
    fs::write(place.path("far.npy"), doubles(far)).unwrap();
    fs::write(place.path("near.npy"), doubles((1..400).map(pair))).unwrap();
    let build = |name: &str| {
        place.line(&format!(
            "index build @{name}.npy @{name}.index --key @owner.key --metric euclidean --mode local"
        ))
    };
    let built = run(&build("far"));
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(
        said.contains("far.npy: numbers are kept in 32 bits")
            && said.contains("Coordinate 0, counted from 0, lies"),
        "{said}"
    );
    let added = json(&place.line("index add @far.index @far.npy --key @owner.key"));
    assert!(
        added["rounding"]["error"].as_f64().unwrap() > 60.0,
        "{added}"
    );
    let near = json(&build("near"));
    assert!(near["rounding"].is_null(), "{near}");
    let lines = r#"{"v": [1, 2]}
{"v": [1, 1e-46]}
"#;
    let error = place.refused("small.jsonl", lines, "");
    assert!(
        error.contains("small.jsonl: line 2: number 1 of the vector"),
        "{error}"
    );
    let tiny = doubles([[1.0, 2.0], [0.0, 1e-46]].into_iter());
    fs::write(place.path("tiny.npy"), tiny).unwrap();
    let error = failed(&build("tiny"), 1);
    assert!(
        error.contains("tiny.npy: row 1, column 1 is not"),
        "{error}"
    );
}

/// A record of JSON without its text would empty the text of the record that it replaces.
#[test]
fn a_record_brings_the_payload_that_it_replaces() {
    let place = Place::new();
    let full = "{\"id\": \"a\", \"vector\": [1, 2], \"text\": \"A\"}\n{\"id\": \"b\", \"vector\": [2, 1], \"text\": \"B\"}\n";
    place.built("full.jsonl", full, "--k 1");
    let add = |text: &str, option: &str| {
        fs::write(place.path("more.jsonl"), text).unwrap();
        place.line(&format!(
            "index add @full.jsonl.index @more.jsonl --key @owner.key {option}"
        ))
    };
    let lacking = full.replace(", \"text\": \"B\"", "");
    let error = failed(&add(&lacking, ""), 1);
    assert!(
        error.contains("line 2: member text") && error.contains("--leave-empty"),
        "{error}"
    );
    let payloads = || {
        let line = done(&place.line("index get @full.jsonl.index --ids a,b --key @owner.key"));
        (line.contains("\"A\""), line.contains("\"B\""))
    };
    assert_eq!(payloads(), (true, true));
    done(&add(&full.replace("\"B\"", "null"), ""));
    assert_eq!(payloads(), (true, false));
    done(&add(&lacking.replace("\"A\"", "\"C\""), "--leave-empty"));
    assert_eq!(payloads(), (false, false));
}
