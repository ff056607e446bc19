//! Columns that commands find by their usual names, and ids of queries.

use crate::binary::{command, done, failed, json, run};
use crate::place::Place;
use std::fs;
use std::io::Write;
use std::process::Stdio;

const BOOKS: &str = "\
id,title,embedding,text
a7,One,\"[1, 0, 0]\",a first text
b8,Two,\"[0, 1, 0]\",a second text
c9,Three,\"[0, 0, 1]\",a third text
";

/// A build that succeeds. Returns the text on standard error.
fn built(place: &Place, name: &str, text: &str, options: &str) -> String {
    fs::write(place.path(name), text).unwrap();
    let line = format!("index build @{name} @{name}.index --key @owner.key {options}");
    let output = run(&place.line(&line));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn usual_columns_need_no_option_and_are_said() {
    let place = Place::new();
    let said = built(&place, "books.csv", BOOKS, "");
    let taken = "ids (text) from column id, vectors from embedding, payloads from text";
    assert!(said.contains(taken), "{said}");
    let query = "query --index @books.csv.index --key @reader.key --vector 0,1,0 --k 1";
    assert!(done(&place.line(query)).starts_with("0\t1\tb8\t1\ta second text"));
    // Adds records with the same columns.
    fs::write(place.path("more.csv"), BOOKS.replace("a7", "z7")).unwrap();
    let added = json(&place.line("index add @books.csv.index @more.csv --key @owner.key"));
    assert_eq!(
        (&added["added"], &added["replaced"]),
        (&3.into(), &2.into())
    );
    // If there are two lists, the one called `vector` has the vectors. An option names the payload,
    // so the command does not guess it.
    let two = "{\"id\": 5, \"sizes\": [1, 2], \"vector\": [3, 4, 5], \"content\": \"x\", \"note\": \"y\"}\n";
    let said = built(&place, "two.jsonl", two, "--payload-column note");
    assert!(
        said.contains("ids (number) from column id, vectors from vector, payloads from note"),
        "{said}"
    );
    assert!(done(&place.line("plan --data @two.jsonl --k 1")).contains("1 x 3"));
    // The columns are also found in a file with special options, and in one with bad records.
    let semicolons = BOOKS
        .replace(", ", " ")
        .replace(',', ";")
        .replace("id;", "ID;");
    let said = built(
        &place,
        "books.txt",
        &semicolons,
        "--format csv --delimiter ;",
    );
    assert!(
        said.contains(&taken.replace("column id", "column ID")),
        "{said}"
    );
    let bad = BOOKS.replace("a7,One,\"[1, 0, 0]\"", "a7,One,\"[1, x, 0]\"");
    let said = built(&place, "bad.csv", &bad, "--on-error skip");
    assert!(said.contains(taken), "{said}");
    let said = built(
        &place,
        "bad.jsonl",
        "nonsense\n{\"id\": 5, \"vector\": [3, 4, 5]}\n",
        "--k 1 --on-error skip",
    );
    assert!(said.contains("ids (number) from column id"), "{said}");
    // The columns of a pipe are not known.
    let error = failed(
        &place.line("index build /dev/stdin @piped --format csv --key @owner.key"),
        1,
    );
    assert!(
        error.contains("say --id-column and --payload-column"),
        "{error}"
    );
    // If two columns have usual names for payloads, neither is used.
    let both = "{\"id\": 5, \"v\": [3, 4, 5], \"content\": \"x\", \"text\": \"y\"}\n";
    let said = built(&place, "both.jsonl", both, "");
    assert!(
        said.contains("no payloads, because content and text could be them")
            && said.contains("--payload-column"),
        "{said}"
    );
    let said = built(
        &place,
        "none.csv",
        BOOKS,
        "--no-guess --vector-column embedding",
    );
    assert!(!said.contains("column id"), "{said}");
    // Payloads are added to an index without payloads only if an option says so.
    fs::write(place.path("ids.txt"), "7\n8\n9\n").unwrap();
    done(&place.line("index add @none.csv.index @books.csv --ids @ids.txt --key @owner.key"));
    let shown = done(&place.line("index get @none.csv.index --ids 0,7 --key @reader.key"));
    assert!(!shown.contains("text"), "{shown}");
}

/// If two names differ only in capitals, the name in small letters is used. If both have capitals, neither is.
#[test]
fn capitals_decide_between_two_columns() {
    let place = Place::new();
    let text = |a: &str, b: &str| {
        let row = |at| format!("{at},7{at},\"[{at}, 1]\"\n");
        format!("{a},{b},vector\n{}{}", row(1), row(2))
    };
    let said = built(&place, "a.csv", &text("Id", "id"), "--mode local");
    assert!(
        said.contains(
            "ids (text) from column id, vectors from vector, no payloads, nothing from Id ("
        ),
        "{said}"
    );
    let shown = done(&place.line("index get @a.csv.index --ids 71 --key @owner.key"));
    assert!(shown.contains("71"), "{shown}");
    let said = built(&place, "b.csv", &text("text", "Text"), "--mode local");
    assert!(
        said.contains(
            "ids from row numbers, vectors from vector, payloads from text, nothing from Text ("
        ),
        "{said}"
    );
    for (a, b, option) in [
        ("Id", "ID", "--id-column"),
        ("TEXT", "Text", "--payload-column"),
    ] {
        fs::write(place.path("c.csv"), text(a, b)).unwrap();
        let line = "index build @c.csv @c --key @owner.key --mode local";
        let error = failed(&place.line(line), 1);
        let why = format!(
            "the names of columns {a} and {b} differ in nothing but capitals: name the one that is meant with {option}"
        );
        assert!(error.contains(&why), "{error}");
        let name = format!("{line} {option} {b}");
        done(&place.line(&name));
        fs::remove_dir_all(place.path("c")).unwrap();
    }
    let two = "{\"VECTOR\": [1, 2], \"Vector\": [1, 2, 3]}\n";
    fs::write(place.path("c.jsonl"), two).unwrap();
    for line in [
        "index build @c.jsonl @c --key @owner.key",
        "plan --data @c.jsonl",
    ] {
        let error = failed(&place.line(line), 1);
        assert!(
            error.contains("VECTOR and Vector differ in nothing but capitals")
                && error.contains("--vector-column"),
            "{error}"
        );
    }
}

/// A list of other things is not reported as unreadable vectors.
#[test]
fn a_usual_column_that_is_wrong_is_named() {
    let place = Place::new();
    for (vector, why) in [
        (
            "[1, 1e999]",
            "member vector: a list with a number beyond 64 bits as number 2",
        ),
        (
            "\"ada-002\"",
            "member vector: a text, and in it number 1 is not one",
        ),
        (
            "{\"dense\": 1}",
            "member vector: an object, expected a list of numbers; one within an object",
        ),
    ] {
        let text = format!("{{\"id\": 1, \"vector\": {vector}, \"sizes\": [1, 2]}}\n");
        fs::write(place.path("odd.jsonl"), text).unwrap();
        for line in [
            "index build @odd.jsonl @odd --key @owner.key",
            "plan --data @odd.jsonl",
        ] {
            let error = failed(&place.line(line), 1);
            assert!(error.contains(why), "{error}");
        }
    }
    // A table in unsupported form is reported as such, and a missing file as missing.
    fs::write(
        place.path("odd.json"),
        "{\"vector\": {\"0\": [1, 2], \"1\": [3, 4]}}",
    )
    .unwrap();
    let error = failed(
        &place.line("index build @odd.json @odd --key @owner.key"),
        1,
    );
    assert!(
        error.contains("may be a whole table") && error.contains("orient='records'"),
        "{error}"
    );
    let error = failed(
        &place.line("index build @none.csv @odd --key @owner.key"),
        1,
    );
    assert!(error.contains("none.csv: No such file"), "{error}");
    let error = failed(
        &place.line("index build s3://bucket/base.parquet @new --key @owner.key"),
        1,
    );
    assert!(error.contains("download the file"), "{error}");
    // The options that the message about a pipe advises are enough.
    let mut child = command(&place.line(
        "index build - @piped --format csv --no-guess --vector-column vector --key @owner.key --mode local",
    ));
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(BOOKS.replace("embedding", "vector").as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
}

/// Hashes that are signed numbers of 64 bits can be ids as texts.
#[test]
fn negative_ids_are_named_with_their_rows() {
    let place = Place::new();
    let ids: Vec<u8> = [5_i64, -7].iter().flat_map(|x| x.to_le_bytes()).collect();
    let head = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n";
    let len = u16::try_from(head.len()).unwrap().to_le_bytes();
    let npy = [b"\x93NUMPY\x01\x00", &len[..], head.as_bytes(), &ids].concat();
    fs::write(place.path("ids.npy"), npy).unwrap();
    fs::write(place.path("ids.txt"), "5\n-7\n").unwrap();
    fs::write(place.path("a.csv"), "id,vector\n5,[1 2]\n-7,[2 1]\n").unwrap();
    fs::write(
        place.path("a.jsonl"),
        "{\"id\": 5, \"vector\": [1, 2]}\n{\"id\": -7, \"vector\": [2, 1]}\n",
    )
    .unwrap();
    for (options, row) in [
        ("@a.csv @a --id-kind number", "line 3: \"-7\""),
        ("@a.jsonl @a", "line 2: \"-7\""),
        (
            "@a.csv @a --no-guess --vector-column vector --ids @ids.npy",
            "row 1: -7",
        ),
        (
            "@a.csv @a --no-guess --vector-column vector --ids @ids.txt",
            "line 2 is not an id: \"-7\"",
        ),
    ] {
        let line = format!("index build {options} --key @owner.key --mode local");
        let error = failed(&place.line(&line), 1);
        assert!(
            error.contains(row)
                && error.contains("negative numbers, are texts")
                && error.contains("--id-kind text"),
            "{error}"
        );
    }
    done(&place.line("index build @a.jsonl @a --key @owner.key --mode local --id-kind text"));
    assert!(done(&place.line("index get @a --ids=-7 --key @owner.key")).contains("-7"));
}

#[test]
fn what_the_first_record_lacks_is_not_lost() {
    let place = Place::new();
    let late = "{\"id\": \"a\", \"vector\": [1, 2]}\n{\"id\": \"b\", \"vector\": [2, 2], \"Text\": \"hello\"}\n";
    let unnamed = "{\"vector\": [1, 2], \"text\": \"x\"}\n{\"id\": \"b\", \"vector\": [2, 2]}\n";
    for (text, member, named) in [
        (late, "Text", "--id-column id"),
        (unnamed, "id", "--vector-column vector"),
    ] {
        fs::write(place.path("late.jsonl"), text).unwrap();
        for skip in ["", " --on-error skip"] {
            let line = format!("index build @late.jsonl @late --key @owner.key{skip}");
            let said = failed(&place.line(&line), 1);
            let expected = format!("line 2: member {member}, which the first record lacks");
            assert!(said.contains(&expected), "{said}");
        }
        built(&place, "late.jsonl", text, &format!("--no-guess {named}"));
        fs::remove_dir_all(place.path("late.jsonl.index")).unwrap();
    }
    built(&place, "late.jsonl", late, "--payload-column Text");
    // Row numbers, ids and attributes are no coordinates.
    let table = ",id,year,0,1\n0,7,2020,0.5,1\n1,8,2021,1,0.5\n";
    fs::write(place.path("wide.csv"), table).unwrap();
    let line =
        "index build @wide.csv @wide --key @owner.key --vector-column * --attribute year:int";
    let words: Vec<String> = place.line(line);
    assert!(done(&words).contains("2 x 2"), "{line}");
    let half = "{\"vector\": [1, 2], \"text\": \"\\ud83d\"}\n";
    fs::write(place.path("half.jsonl"), half).unwrap();
    let said = failed(
        &place.line("index build @half.jsonl @half --key @owner.key"),
        1,
    );
    assert!(said.contains("half of a pair"), "{said}");
}

#[test]
fn ids_that_are_not_named_do_not_replace_records_that_rows_number() {
    let place = Place::new();
    let rows = "{\"id\": 900, \"vector\": [1, 2]}\n{\"id\": 901, \"vector\": [2, 1]}\n";
    fs::write(place.path("rows.jsonl"), rows).unwrap();
    done(&place.line(
        "index build @rows.jsonl @i --no-guess --vector-column vector --k 1 --key @owner.key",
    ));
    fs::write(
        place.path("more.jsonl"),
        "{\"id\": 1, \"vector\": [3, 4]}\n",
    )
    .unwrap();
    let line = "index add @i @more.jsonl --key @owner.key";
    let error = failed(&place.line(line), 1);
    assert!(
        error.contains("--id-column id") && error.contains("--no-guess"),
        "{error}"
    );
    let added = json(&place.line(&format!("{line} --no-guess --vector-column vector")));
    assert_eq!(
        (&added["replaced"], &added["first_id"]),
        (&0.into(), &2.into())
    );
    let added = json(&place.line(&format!("{line} --id-column id")));
    assert_eq!(added["replaced"], 1);
}

#[test]
fn queries_are_printed_by_their_ids() {
    let place = Place::new();
    built(&place, "books.csv", BOOKS, "--k 2");
    fs::write(
        place.path("asked.csv"),
        "id,name,vector\nq1,n1,\"[0, 0, 1]\"\nq2,n2,\"[1, 0, 0]\"\n",
    )
    .unwrap();
    let query = |more: &str| {
        let line =
            format!("query --index @books.csv.index --key @reader.key --file @asked.csv {more}");
        place.line(&line)
    };
    let first = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split('\t').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(first(&done(&query("--k 1"))), ["q1", "q2"]);
    assert_eq!(first(&done(&query("--k 1 --id-column name"))), ["n1", "n2"]);
    assert_eq!(first(&done(&query("--k 1 --no-guess"))), ["0", "1"]);
    let found = json(&query(""));
    let asked = &found["queries"][1];
    assert_eq!(
        (&asked["query"], &asked["query_id"]),
        (&1.into(), &"q2".into())
    );
    let error = failed(&query("--k 3"), 1);
    assert!(
        error.contains("build the index with a larger --k"),
        "{error}"
    );
}

#[test]
fn counts_are_written_as_people_do() {
    for n in ["1e5", "100_000", "100k", "0.1M"] {
        let plan = json(&["plan", "--n", n, "--dim", "128", "--queries", "1k"]);
        assert_eq!(
            (&plan["n"], &plan["queries"]),
            (&100_000.into(), &1000.into()),
            "{n}"
        );
    }
    failed(&["plan", "--n", "1,000", "--dim", "128"], 2);
    // If the cheapest mode gives readers the whole index, the plan names another mode as well.
    let plan = done(&["plan", "--n", "2000", "--dim", "32"]);
    assert!(
        plan.contains("--mode local") && plan.contains("Where they are not to"),
        "{plan}"
    );
}
