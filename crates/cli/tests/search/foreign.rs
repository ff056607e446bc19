//! Files in the forms that other programs write, and records that cannot be read.

use crate::binary::{command, done, failed, json, run};
use crate::place::Place;
use serde_json::Value;
use std::fs::{self, File};
use std::process::Stdio;

/// A `.npy` array of one or two dimensions, stored column by column.
fn by_columns(shape: &str, values: &[f64]) -> Vec<u8> {
    let head = format!("{{'descr': '>f8', 'fortran_order': True, 'shape': {shape}, }}\n");
    let len = u16::try_from(head.len()).unwrap().to_le_bytes();
    let values: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
    [b"\x93NUMPY\x01\0", &len[..], head.as_bytes(), &values].concat()
}

fn built(place: &Place, line: &str) -> Value {
    json(&place.line(&format!(
        "index build {line} --key @owner.key --mode local --k 1"
    )))
}

#[test]
fn arrays_of_pandas_are_read_and_one_vector_is_a_query() {
    let place = Place::new();
    // Two columns that hold the rows (1, 0) and (0, 1).
    let pandas = by_columns("(2, 2)", &[1.0, 0.0, 0.0, 1.0]);
    fs::write(place.path("DF.NPY"), pandas).unwrap();
    assert_eq!(built(&place, "@DF.NPY @i")["n"], 2);
    fs::write(place.path("q.npy"), by_columns("(2,)", &[0.1, 0.9])).unwrap();
    let found = done(&place.line("query --index @i --key @reader.key --file @q.npy"));
    assert!(found.starts_with("0\t1\t1\t"), "{found}");
    let error = failed(&place.line("index build @q.npy @j --key @owner.key"), 1);
    assert!(error.contains("of one vector save array[None]"), "{error}");
}

#[test]
fn standard_input_and_other_names_are_read_by_their_format() {
    let place = Place::new();
    fs::write(place.path("base.txt"), "id;v\n1;[1 0]\n2;[0 1]\n").unwrap();
    let options = "--format csv --delimiter semicolon --id-column id --id-type number --no-guess";
    let report = built(&place, &format!("@base.txt @named {options}"));
    assert_eq!(
        (&report["n"], &report["ids"]),
        (&2.into(), &"number".into())
    );
    let line = format!("index build - @piped --key @owner.key --mode local --k 1 {options}");
    let mut build = command(&place.line(&line));
    build.stdin(Stdio::from(File::open(place.path("base.txt")).unwrap()));
    let built = build.output().unwrap();
    let said = String::from_utf8_lossy(&built.stdout);
    assert!(
        built.status.success() && said.contains("2 x 2, cosine, ids of kind number"),
        "{said}"
    );
    for (line, why) in [
        (
            "- @j",
            "that names the format (on the command line --format)",
        ),
        ("@base.txt @j", "--format csv"),
        ("@base.txt @j --format csv", "--delimiter semicolon"),
        ("@set.hdf5 @j", "import h5py, numpy"),
        ("@set.fvecs.gz @j", "gunzip -k"),
    ] {
        let error = failed(
            &place.line(&format!("index build {line} --key @owner.key")),
            1,
        );
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn records_that_cannot_be_read_are_left_out_where_that_is_asked_for() {
    let place = Place::new();
    let mut text = "id,v,year\n".to_owned();
    for at in 0..40 {
        text += &match at {
            3 => format!("{at},[1 NaN],2000\n"),
            7 => format!("{at},[1],2000\n"),
            11 => format!("{at},[0 0],2000\n"),
            19 => format!("{at},[1 1],none\n"),
            23 => "x,[1 1],2000\n".to_owned(),
            _ => format!("{at},[1 {at}],2000\n"),
        };
    }
    fs::write(place.path("base.csv"), text).unwrap();
    let options = "--id-column id --id-type number --attribute year:int";
    let line = format!("@base.csv @i {options}");
    let error = failed(
        &place.line(&format!("index build {line} --key @owner.key")),
        1,
    );
    assert!(error.contains("line 5"), "{error}");
    let bad_report = format!("--on-error report={}", place.at("bad.jsonl"));
    let report = built(&place, &format!("{line} {bad_report}"));
    assert_eq!((&report["n"], &report["left_out"]), (&35.into(), &5.into()));
    let bad = fs::read_to_string(place.path("bad.jsonl")).unwrap();
    let bad = bad
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    // The report's last line has the number of left-out records.
    let lines: Vec<u64> = bad.filter_map(|bad| bad["line"].as_u64()).collect();
    assert_eq!(lines, [5, 9, 13, 21, 25]);
    // The report exists already, so the command refuses to write it.
    let again = format!("index build @base.csv @j {options} --key @owner.key {bad_report}");
    assert!(failed(&place.line(&again), 1).contains("bad.jsonl"));
    let columns = "--id-column id --attribute year:int";
    let add = format!("index add @i @base.csv {columns} --key @owner.key --on-error skip");
    let added = json(&place.line(&add));
    assert_eq!(
        (&added["replaced"], &added["left_out"]),
        (&35.into(), &5.into())
    );
    // Left-out rows keep their numbers. Further rows continue after the index's rows.
    let rows = "v\n[1 0]\n[x]\n[0 1]\n";
    fs::write(place.path("rows.csv"), rows).unwrap();
    let skip = "--key @owner.key --on-error skip";
    json(&place.line(&format!("index build @rows.csv @rows --k 1 {skip}")));
    json(&place.line(&format!("index add @rows @rows.csv {skip}")));
    let got = done(&place.line("index get @rows --key @reader.key --ids 0,2,3,5 --json"));
    assert!(got.contains('5'), "{got}");
    failed(&place.line("index get @rows --key @reader.key --ids 1"), 1);
    let update = format!("index update @i @base.csv {columns} --key @owner.key --on-error skip");
    // An update does not read vectors. The rows with bad vectors have no records, so they are left
    // out.
    let updated = json(&place.line(&update));
    assert_eq!(
        (&updated["updated"], &updated["left_out"]),
        (&35.into(), &5.into())
    );
}

/// Lines of JSON may hold numbers and texts. The first record decides the kind of the ids. Records with
/// the other kind are reported.
#[test]
fn ids_of_another_kind_than_the_first_are_told_with_the_kind() {
    let place = Place::new();
    let row = |id: &str, at: usize| format!("{{\"id\": {id}, \"vector\": [1, {at}]}}\n");
    let number_first = row("1", 1) + &row("\"a\"", 2) + &row("3", 3) + &row("4", 4);
    let text_first = row("\"a\"", 1) + &row("2", 2) + &row("\"c\"", 3);
    for (text, kept, kind, why) in [
        (
            &number_first,
            3,
            "number",
            "line 2: the text \"a\" is not an id: expected a whole number, as the first record has",
        ),
        (
            &text_first,
            2,
            "text",
            "line 2: the number \"2\" is not an id: expected a text, as the first record has",
        ),
    ] {
        fs::write(place.path("mixed.jsonl"), text).unwrap();
        for (name, id_column) in [("guessed", ""), ("named", "--id-column id")] {
            let index = format!("{kind}-{name}");
            let line = format!(
                "index build @mixed.jsonl @{index} --key @owner.key --mode local --k 1 {id_column}"
            );
            let error = failed(&place.line(&line), 1);
            assert!(
                error.contains(why) && error.contains("--id-kind text"),
                "{error}"
            );
            let skipped = run(&place.line(&format!("{line} --on-error skip")));
            let said = String::from_utf8(skipped.stderr).unwrap();
            assert!(skipped.status.success() && said.contains(why), "{said}");
            let report = String::from_utf8(skipped.stdout).unwrap();
            let built = format!("{kept} x 2, cosine, ids of kind {kind}");
            assert!(report.contains(&built), "{report}");
        }
    }
    // As texts, all ids are accepted, also in a later addition.
    let line = "@mixed.jsonl @texts --id-kind text";
    assert_eq!(built(&place, line)["n"], 3);
    fs::write(place.path("more.jsonl"), row("2", 5) + &row("7", 1)).unwrap();
    let added = json(&place.line("index add @texts @more.jsonl --key @owner.key"));
    assert_eq!(
        (&added["added"], &added["replaced"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn messages_show_the_value_and_the_command() {
    let place = Place::new();
    let text = "id,v,new,price\n1,[1 0],true,1\n2,[0 1],yes,\"1,5\"\n";
    fs::write(place.path("base.csv"), text).unwrap();
    for (attribute, why) in [
        (
            "new:bool",
            "line 3: column new: \"yes\", expected true or false",
        ),
        (
            "price:float",
            "line 3: column price: \"1,5\", expected a number",
        ),
    ] {
        let line =
            format!("index build @base.csv @i --key @owner.key --k 1 --attribute {attribute}");
        let error = failed(&place.line(&line), 1);
        assert!(error.contains(why), "{error}");
    }
    // Spark writes a folder of parts, whose name may lack an ending.
    for folder in ["parts", "parts.parquet"] {
        fs::create_dir(place.path(folder)).unwrap();
        fs::write(place.path(folder).join("_SUCCESS"), "").unwrap();
        for line in [
            format!("index build @{folder} @i --key @owner.key"),
            format!("plan --data @{folder}"),
        ] {
            let error = failed(&place.line(&line), 1);
            assert!(
                error.contains("it is a folder: expected a file") && error.contains("duckdb -c"),
                "{error}"
            );
        }
    }
}
