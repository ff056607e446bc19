//! Records that are left out: which records they are, how they are reported, and how many are refused.

use crate::binary::{done, failed, json, run};
use crate::place::Place;
use std::fs;

const KEY: &str = "--key @owner.key --mode local";

/// JSON lines of records 0, 1 and so on, after the text `first`.
fn lines(first: &str, count: usize) -> String {
    let line = |at: usize| format!("{{\"id\": {at}, \"vector\": [{at}, 1, 2], \"text\": \"t\"}}\n");
    first.to_owned() + &(0..count).map(line).collect::<String>()
}

/// The first record alone does not decide which records are kept.
#[test]
fn a_first_record_of_another_dimension_is_left_out() {
    let place = Place::new();
    let odd = "{\"id\": 100, \"vector\": [1, 2], \"text\": \"odd\"}\n";
    fs::write(place.path("odd.jsonl"), lines(odd, 30)).unwrap();
    let csv = (0..30).map(|at| format!("{at},\"[{at}, 1, 2]\"\n"));
    let csv = format!("id,vector\n100,\"[1, 2]\"\n{}", csv.collect::<String>());
    fs::write(place.path("odd.csv"), csv).unwrap();
    for file in ["odd.jsonl", "odd.csv"] {
        let line = format!("index build @{file} @{file}.index {KEY}");
        let error = failed(&place.line(&line), 1);
        assert!(
            error.contains("dimension 3: expected 2, like the first"),
            "{error}"
        );
        let built = json(&place.line(&format!("{line} --on-error skip")));
        assert_eq!(
            (&built["n"], &built["dim"], &built["left_out"]),
            (&30.into(), &3.into(), &1.into())
        );
    }
    // The rest of a file may be larger than the part that determines the dimension.
    fs::write(place.path("more.jsonl"), lines(odd, 3000)).unwrap();
    let added = json(&place.line(&format!(
        "index add @odd.jsonl.index @more.jsonl --id-column id --key @owner.key --on-error report={}",
        place.at("bad.jsonl")
    )));
    assert_eq!(
        (&added["added"], &added["left_out"]),
        (&3000.into(), &1.into())
    );
    let report = fs::read_to_string(place.path("bad.jsonl")).unwrap();
    assert!(
        report.starts_with("{\"line\":1,\"why\":\"a vector of dimension 2"),
        "{report}"
    );
}

/// If most records of a file would be lost, the user probably meant another file.
#[test]
fn a_change_that_leaves_out_most_records_is_refused() {
    let place = Place::new();
    fs::write(place.path("good.jsonl"), lines("", 10)).unwrap();
    done(&place.line(&format!("index build @good.jsonl @i {KEY}")));
    let none = "{\"id\": 50, \"vector\": null, \"text\": \"t\"}\n";
    for (bad, refused) in [(10, false), (11, true)] {
        let text = lines("", 10) + &none.repeat(bad);
        fs::write(place.path("half.jsonl"), text).unwrap();
        for line in [
            format!("index build @half.jsonl @half{bad} {KEY}"),
            "index add @i @half.jsonl --id-column id --key @owner.key".to_owned(),
        ] {
            let line = place.line(&format!("{line} --on-error skip"));
            if !refused {
                assert_eq!(json(&line)["left_out"], 10);
                continue;
            }
            let error = failed(&line, 1);
            let why = "11 of 21 records would be left out, more than half, so nothing was changed";
            assert!(error.contains(why), "{error}");
            assert!(
                error.contains("line 11: member vector: null, expected a list"),
                "{error}"
            );
        }
    }
    assert!(!place.path("half11").exists());
    assert_eq!(
        json(&place.line("index info @i --key @owner.pub"))["version"],
        2
    );
    // A build is also refused if most ids have the wrong kind.
    let ids = "id,vector\nx,\"[1, 2]\"\ny,\"[1, 2]\"\n7,\"[1, 2]\"\n";
    fs::write(place.path("ids.csv"), ids).unwrap();
    let line = format!("index build @ids.csv @ids --id-kind number --on-error skip {KEY}");
    let error = failed(&place.line(&line), 1);
    assert!(
        error.contains("2 of 3 records would be left out"),
        "{error}"
    );
}

#[test]
fn an_update_leaves_out_records_that_are_not_there() {
    let place = Place::new();
    fs::write(place.path("good.jsonl"), lines("", 10)).unwrap();
    done(&place.line(&format!("index build @good.jsonl @i {KEY}")));
    fs::write(place.path("new.csv"), "id,text\n1,one\n999,x\n2,two\n").unwrap();
    let line = place.line("index update @i @new.csv --payload-column text --key @owner.key");
    let error = failed(&line, 1);
    let why = "new.csv: line 3: column id: 999 is not in the index, expected ids of its records: `sordino index add`";
    assert!(error.contains(why), "{error}");
    let skip = ["--on-error", "skip"].map(str::to_owned);
    let skipped = run(&[&line[..], &skip].concat());
    let said = String::from_utf8(skipped.stderr).unwrap();
    assert!(skipped.status.success(), "{said}");
    assert!(
        said.contains("new.csv: 1 left out") && said.contains("line 3: column id: 999 is not"),
        "{said}"
    );
    let shown = done(&place.line("index get @i --ids 1,2 --key @owner.key"));
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
    fs::write(place.path("new.csv"), "id,text\n998,one\n999,x\n2,two\n").unwrap();
    let error = failed(&[&line[..], &skip].concat(), 1);
    assert!(
        error.contains("2 of 3 records would be left out"),
        "{error}"
    );
}

/// Faults are found in more than one step, and the report has them as the file does.
#[test]
fn the_report_has_the_files_order_and_ends_with_the_number() {
    let place = Place::new();
    let mut text = lines("", 20);
    for bad in [
        "{\"id\": \"x\", \"vector\": [1, 1, 2], \"text\": \"kind\"}\n",
        "{\"id\": 21, \"vector\": [1, 2], \"text\": \"dimension\"}\n",
        "{\"id\": 22, \"vector\": [0, 0, 0], \"text\": \"zero\"}\n",
        "{\"id\": 23, \"vector\": [1, null, 2], \"text\": \"null\"}\n",
        "no JSON\n",
        "{\"id\": 25, \"vector\": [0, 0, 0], \"text\": \"zero\"}\n",
        "{\"vector\": [1, 2, 3], \"text\": \"no id\"}\n",
    ] {
        text = text + bad + "{\"id\": 4";
        let good = text.matches('\n').count();
        text += &format!("{good}, \"vector\": [{good}, 1, 2], \"text\": \"good\"}}\n");
    }
    fs::write(place.path("mixed.jsonl"), text).unwrap();
    let line = format!(
        "index build @mixed.jsonl @mixed --id-column id {KEY} --on-error report={}",
        place.at("bad.jsonl")
    );
    assert_eq!(json(&place.line(&line))["left_out"], 7);
    let report = fs::read_to_string(place.path("bad.jsonl")).unwrap();
    let report: Vec<serde_json::Value> = report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (total, rows) = report.split_last().unwrap();
    assert_eq!(*total, serde_json::json!({"left_out": 7, "kept": 27}));
    let lines: Vec<u64> = rows
        .iter()
        .map(|row| row["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [21, 23, 25, 27, 29, 31, 33]);
    assert!(
        rows.iter()
            .all(|row| row["why"].as_str().unwrap().len() > 10)
    );
}

/// If decimal numbers were ids, records would get ids that the file does not have, or all be left out.
#[test]
fn decimal_numbers_are_no_ids() {
    let place = Place::new();
    let csv = |ids: [&str; 3]| {
        let rows = ids
            .iter()
            .enumerate()
            .map(|(at, id)| format!("{id},\"[{at}, 1, 2]\"\n"));
        "id,vector\n".to_owned() + &rows.collect::<String>()
    };
    let jsonl = |ids: [&str; 3]| {
        let rows = ids.iter().enumerate();
        let rows = rows.map(|(at, id)| format!("{{\"id\": {id}, \"vector\": [{at}, 1, 2]}}\n"));
        rows.collect::<String>()
    };
    let all = [
        ["17.0", "18.0", "19.0"],
        ["1", "2", "3.5"],
        ["1e3", "2e3", "3e3"],
    ];
    for (at, ids) in all.into_iter().enumerate() {
        for (file, text) in [
            (format!("f{at}.csv"), csv(ids)),
            (format!("f{at}.jsonl"), jsonl(ids)),
        ] {
            fs::write(place.path(&file), text).unwrap();
            let line = format!("index build @{file} @{file}.index --id-column id {KEY}");
            for more in ["", " --on-error skip", " --id-kind number --on-error skip"] {
                let error = failed(&place.line(&format!("{line}{more}")), 1);
                assert!(
                    error.contains("is a decimal number, and ids are whole"),
                    "{error}"
                );
                assert!(
                    error.contains("astype('Int64')") && error.contains("--id-kind text"),
                    "{error}"
                );
            }
            done(&place.line(&format!("{line} --id-type text")));
            let shown = done(&place.line(&format!(
                "index get @{file}.index --ids {} --key @owner.key",
                ids[0]
            )));
            assert!(shown.contains(ids[0]), "{shown}");
        }
    }
    // Where one id is a text, ids such as 1.0 are texts too.
    fs::write(place.path("texts.csv"), csv(["v1", "1.0", "2e3"])).unwrap();
    done(&place.line(&format!(
        "index build @texts.csv @texts --id-column id {KEY}"
    )));
    // An index of CSV has texts. A program that made decimals of them later would double each record.
    fs::write(place.path("whole.csv"), csv(["1", "2", "3"])).unwrap();
    done(&place.line(&format!(
        "index build @whole.csv @whole --id-column id {KEY}"
    )));
    fs::write(place.path("decimal.csv"), csv(["9.0", "2.0", "3.0"])).unwrap();
    let add = "index add @whole @decimal.csv --id-column id --key @owner.key";
    let error = failed(&place.line(add), 1);
    assert!(
        error.contains("it has the id 2.0, and") && error.contains("has 2: write whole numbers"),
        "{error}"
    );
    fs::write(place.path("decimal.csv"), csv(["9.0", "8.0", "v3"])).unwrap();
    done(&place.line(add));
}

#[test]
fn a_report_is_not_overwritten() {
    let place = Place::new();
    fs::write(place.path("good.jsonl"), lines("", 10)).unwrap();
    fs::write(place.path("bad.jsonl"), "mine").unwrap();
    let report = format!("--on-error report={}", place.at("bad.jsonl"));
    let error = failed(
        &place.line(&format!("index build @good.jsonl @i {KEY} {report}")),
        1,
    );
    assert!(
        error.contains(
            "bad.jsonl: the file exists already, and --on-error overwrites none: name another"
        ),
        "{error}"
    );
    assert_eq!(fs::read_to_string(place.path("bad.jsonl")).unwrap(), "mine");
}
