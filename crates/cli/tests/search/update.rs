//! Updates of payloads and attributes without vectors.

use crate::binary::{done, failed, json};
use crate::place::Place;
use std::fs;

const ROWS: &str = "\
id,v,text,year
a,[1 0],first,2001
b,[0 1],second,2002
c,[1 1],\"third, last\",2003
";

fn index(place: &Place) -> &'static str {
    fs::write(place.path("rows.csv"), ROWS).unwrap();
    let columns = "--id-column id --payload-column text --attribute year:int";
    done(&place.line(&format!(
        "index build @rows.csv @index --key @owner.key --k 2 {columns}"
    )));
    "query --index @index --key @reader.key --vector"
}

#[test]
fn a_table_without_vectors_updates_payloads_and_attributes() {
    let place = Place::new();
    let query = index(&place);
    fs::write(
        place.path("texts.csv"),
        "text,id\nother,c\n\"two\nlines\",a\n",
    )
    .unwrap();
    let report = json(&place.line(
        "index update @index @texts.csv --key @owner.key --id-column id --payload-column text",
    ));
    assert_eq!(
        (&report["updated"], &report["version"]),
        (&2.into(), &2.into())
    );
    let years = "{\"id\": \"b\", \"year\": 1999}\n{\"id\": \"c\", \"year\": null}\n";
    fs::write(place.path("years.jsonl"), years).unwrap();
    done(&place.line(
        "index update @index @years.jsonl --key @owner.key --id-column id --attribute year:int",
    ));
    done(&place.line("index verify @index --key @owner.key"));
    let all = done(&place.line("index get @index --key @reader.key --ids a,b,c"));
    assert!(
        all.contains("two\\nlines") && all.contains("second") && all.contains("other"),
        "{all}"
    );
    assert!(
        all.contains("2001") && all.contains("1999") && !all.contains("2003"),
        "{all}"
    );
    let found = done(&place.line(&format!("{query} 1,1 --where year<2000")));
    assert!(
        found.contains("second") && found.lines().count() == 1,
        "{found}"
    );
    done(&place.line("index compact @index --key @owner.key"));
    done(&place.line("index verify @index --key @owner.key"));
    assert_eq!(
        done(&place.line("index get @index --key @reader.key --ids a,b,c")),
        all
    );
}

#[test]
fn updates_that_say_nothing_or_of_records_that_are_not_there_are_refused() {
    let place = Place::new();
    index(&place);
    fs::write(place.path("texts.csv"), "id,text\na,x\nd,y\n").unwrap();
    fs::write(place.path("head.csv"), "id,text\n").unwrap();
    fs::write(place.path("empty.csv"), "").unwrap();
    fs::write(place.path("empty.jsonl"), "").unwrap();
    fs::write(place.path("twice.csv"), "id,text\na,x\na,y\n").unwrap();
    fs::write(
        place.path("some.jsonl"),
        "{\"id\": \"a\", \"text\": null}\n{\"id\": \"b\", \"txt\": \"y\"}\n",
    )
    .unwrap();
    for (options, why) in [
        (
            "@some.jsonl --id-column id --payload-column text",
            "line 2: member text: expected a value, or null, which empties it",
        ),
        ("@texts.csv --no-guess --payload-column text", "--id-column"),
        (
            "@texts.csv --id-column id",
            "--payload-column or --attribute",
        ),
        (
            "@texts.csv --id-column id --payload-column text",
            "texts.csv: line 3: column id: d is not in the index, expected ids of its records",
        ),
        ("@twice.csv --id-column id --payload-column text", "twice"),
        (
            "@head.csv --id-column id --payload-column text",
            "head.csv: no records",
        ),
        (
            "@empty.csv --id-column id --payload-column text",
            "empty.csv: no records",
        ),
        (
            "@empty.jsonl --id-column id --payload-column text",
            "empty.jsonl: no records",
        ),
        ("@texts.csv --id-column id --payload-column body", "body"),
    ] {
        let error = failed(
            &place.line(&format!("index update @index {options} --key @owner.key")),
            1,
        );
        assert!(error.contains(why), "{options}: {error}");
    }
    let info = json(&place.line("index info @index --key @owner.pub"));
    assert_eq!(info["version"], 1);
}
