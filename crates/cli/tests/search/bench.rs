//! `sordino bench`.

use crate::binary::{done, json};
use crate::place::{Place, npy};
use sordino_search::{Vectors, synthetic};
use std::fs;

/// In single precision the constant hides all differences between these vectors.
#[test]
fn the_truth_is_computed_in_double_precision() {
    let place = Place::without_keys();
    for (name, n, seed) in [("far.npy", 3200, 1), ("asked.npy", 20, 2)] {
        let data = synthetic::uniform(n, 16, seed);
        let rows = data.rows().flat_map(|row| {
            let scaled = row[..15].iter().map(|x| 4.0 * x);
            scaled.chain([1e4])
        });
        let rows = Vectors::new(16, rows.collect()).unwrap();
        fs::write(place.path(name), npy(&rows)).unwrap();
    }
    let line = "bench --data @far.npy --queries @asked.npy --mode masked,local";
    let report = json(&place.line(line));
    for row in report["measured"].as_array().unwrap() {
        assert!(row["recall"].as_f64().unwrap() > 0.97, "{row}");
    }
}

#[test]
fn the_bench_measures_every_mode() {
    let place = Place::new();
    let report = json(&place.line("bench --n 2000 --dim 32 --searches 8 --recall 0.9"));
    let rows = report["measured"].as_array().unwrap();
    // Masked and open mode in both packings, after masked mode with texts.
    assert_eq!(rows.len(), 8);
    let with_texts: Vec<bool> = rows.iter().map(|row| !row["texts"].is_null()).collect();
    assert_eq!(
        with_texts,
        [true, false, false, false, false, false, false, false]
    );
    let first = &rows[0];
    assert_eq!(
        (&first["mode"], &first["texts"]["count"]),
        (&"masked".into(), &2000.into())
    );
    assert!(
        first["payloads"]["bytes_once"].as_u64().unwrap() > 1000,
        "{first}"
    );
    let same = rows[1..]
        .iter()
        .find(|row| (&row["mode"], &row["form"]) == (&first["mode"], &first["form"]));
    let (first, same) = (&first["bytes_once"], &same.unwrap()["bytes_once"]);
    assert!(first.as_u64() > same.as_u64());
    for row in rows {
        let recall = row["recall"].as_f64().unwrap();
        let clustered = row["mode"] == "sealed" || row["mode"] == "routed";
        // In 90 runs at least .75 of the 80 neighbours were found, and .95 by the modes that score all vectors.
        assert!(recall > if clustered { 0.6 } else { 0.9 }, "{row}");
        assert_eq!(row["identical_messages"], true, "{row}");
        assert!(
            row["search_ms"].as_f64().unwrap() > 0.0 && row["bytes_once"].as_u64().unwrap() > 0
        );
    }
    let look = "bench --n 2000 --dim 32 --searches 8 --mode masked,local --second-look=16";
    let report = json(&place.line(look));
    for row in report["measured"].as_array().unwrap() {
        assert_eq!(row["identical_messages"], true, "{row}");
        let look = &row["second_look"];
        assert_eq!(look.is_null(), row["mode"] == "local", "{row}");
        if !look.is_null() {
            assert_eq!(look["candidates"].as_u64(), Some(16));
            // So few vectors are downloaded.
            assert_eq!(look["bytes_up"].as_u64(), Some(0));
            assert!(row["recall"].as_f64().unwrap() > 0.999, "{row}");
        }
    }
    let args = "bench --data @base.npy --queries @queries.npy --mode local,open";
    let text = done(&place.line(args));
    assert!(
        text.contains("recall@10") && text.contains("downloading everything"),
        "{text}"
    );
    assert!(text.contains("with 2000 generated texts") && text.contains("of these payloads: "));
}
