//! `sordino bench`.

use crate::binary::{done, json};
use crate::place::Place;

#[test]
fn the_bench_measures_every_mode() {
    let place = Place::new();
    let report = json(&place.line("bench --n 2000 --dim 32 --searches 8 --recall 0.9"));
    let rows = report["measured"].as_array().unwrap();
    // Masked and open mode in both packings.
    assert_eq!(rows.len(), 7);
    for row in rows {
        let recall = row["recall"].as_f64().unwrap();
        let clustered = row["mode"] == "sealed" || row["mode"] == "routed";
        assert!(recall > if clustered { 0.6 } else { 0.95 }, "{row}");
        assert_eq!(row["identical_messages"], true, "{row}");
        assert!(
            row["search_ms"].as_f64().unwrap() > 0.0 && row["bytes_once"].as_u64().unwrap() > 0
        );
    }
    let args = "bench --data @base.npy --queries @queries.npy --mode local,open";
    let text = done(&place.line(args));
    assert!(
        text.contains("recall@10") && text.contains("downloading everything"),
        "{text}"
    );
}
