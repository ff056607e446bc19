//! Labels in exports: which readers get them, and how a build or an addition from an export uses
//! them.

use crate::binary::{done, failed, json, run};
use crate::place::Place;
use crate::readers::{first, place};
use serde_json::Value;
use std::fs;

fn labels(lines: &str) -> Vec<(u64, Option<String>)> {
    let lines = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let label = line
            .get("label")
            .map(|label| label.as_str().unwrap().to_owned());
        (line["id"].as_u64().unwrap(), label)
    });
    let mut labels: Vec<_> = lines.collect();
    labels.sort();
    labels
}

/// The labels of an index whose records 2000 to 2002 have one.
fn expected(label: Option<&str>) -> Vec<(u64, Option<String>)> {
    let of = |id| label.filter(|_| id >= 2000).map(str::to_owned);
    (0..2003).map(|id| (id, of(id))).collect()
}

fn export(place: &Place, index: &str, file: &str) {
    done(&place.line(&format!(
        "index export @{index} --vectors --key @owner.key --output @{file}"
    )));
}

#[test]
fn the_owners_export_is_built_and_added_again_with_its_labels() {
    let place = place();
    for (file, index) in [("i.jsonl", "lines"), ("i.parquet", "table")] {
        export(&place, "i", file);
        let line =
            format!("index build @{file} @{index} --exported --own-readers --key @owner.key");
        let built = json(&place.line(&line));
        // The build makes one version for the records without a label, and one for each label.
        assert_eq!((&built["n"], &built["version"]), (&2003.into(), &2.into()));
        export(&place, index, &format!("{index}.jsonl"));
        let lines = fs::read_to_string(place.path(&format!("{index}.jsonl"))).unwrap();
        assert_eq!(labels(&lines), expected(Some("finance")));
        let list = json(&place.line(&format!("keys list @{index} --key @owner.key")));
        assert_eq!(list["labels"][1]["label"], "finance");
        assert_eq!(list["labels"][1]["records"], 3);
    }
    // Readers of the built index find what they are granted, and nothing else.
    done(
        &place.line("keys grant @lines alice --public @alice.pub --label finance --key @owner.key"),
    );
    done(&place.line("keys grant @lines bob --public @bob.pub --key @owner.key"));
    fs::rename(place.path("i"), place.path("before")).unwrap();
    fs::rename(place.path("lines"), place.path("i")).unwrap();
    assert_eq!(first(&place, "alice.pair"), "2000");
    assert_ne!(first(&place, "bob.pair"), "2000");
    // Records that are already in the index keep their labels.
    for file in ["i.jsonl", "i.parquet"] {
        let added = json(&place.line(&format!(
            "index add @i @{file} --exported --key @owner.key --restored"
        )));
        assert_eq!(
            (&added["added"], &added["replaced"]),
            (&2003.into(), &2003.into())
        );
        assert_ne!(first(&place, "bob.pair"), "2000");
        assert_eq!(first(&place, "alice.pair"), "2000");
    }
    let one = done(&place.line("index get @i --ids 2001 --key @owner.key"));
    assert_eq!(labels(&one), [(2001, Some("finance".to_owned()))]);
}

#[test]
fn a_reader_is_told_that_labels_are_not_in_its_export() {
    let place = place();
    for (key, count, warned) in [("alice.pair", 2003, true), ("bob.pair", 2000, false)] {
        let output = run(&place.line(&format!("index export @i --key @{key}")));
        assert!(output.status.success());
        let found = labels(std::str::from_utf8(&output.stdout).unwrap());
        assert_eq!(found, expected(None)[..count]);
        let warnings = String::from_utf8(output.stderr).unwrap();
        let warning = "3 of 2003 records have labels, which are not written";
        assert_eq!(warnings.contains(warning), warned, "{warnings}");
    }
}

#[test]
fn labels_that_an_index_cannot_keep_are_refused_before_anything_is_written() {
    let place = place();
    export(&place, "i", "all.jsonl");
    export(&place, "i", "all.parquet");
    done(&place.line("index build @base.npy @open --key @owner.key --mode local"));
    let text = fs::read_to_string(place.path("all.jsonl")).unwrap();
    let some: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"label\""))
        .collect();
    fs::write(place.path("some.jsonl"), some.join("\n")).unwrap();
    let odd = text.replacen("\"finance\"", "7", 1);
    fs::write(place.path("odd.jsonl"), odd).unwrap();
    let empty = text.replacen("\"finance\"", "\"\"", 1);
    fs::write(place.path("empty.jsonl"), empty).unwrap();
    for (line, why) in [
        (
            "index build @all.jsonl @new --exported",
            "build it with --own-readers",
        ),
        (
            "index build @all.parquet @new --exported",
            "build it with --own-readers",
        ),
        (
            "index build @all.jsonl @new --exported --own-readers --mode sealed",
            "sealed mode",
        ),
        (
            "index build @some.jsonl @new --exported --own-readers",
            "all of its records have labels",
        ),
        (
            "index build @odd.jsonl @new --exported --own-readers",
            "column label: expected texts",
        ),
        (
            "index build @empty.jsonl @new --exported --own-readers",
            "a name has 1 to 64 bytes",
        ),
        (
            "index add @open @all.jsonl --exported",
            "no readers of its own",
        ),
        (
            "index add @i @all.parquet --exported --label board",
            "leave out --label",
        ),
    ] {
        let why_not = failed(&place.line(&format!("{line} --key @owner.key")), 1);
        assert!(why_not.contains(why), "{line}: {why_not}");
        assert!(!place.path("new").exists(), "{line}");
    }
    let versions = ["open", "i"].map(|index| {
        json(&place.line(&format!("index info @{index} --key @owner.key")))["version"].as_u64()
    });
    // The first index has only its build. The second has its build, a group, two grants and an
    // addition.
    assert_eq!(versions, [Some(1), Some(5)]);
}
