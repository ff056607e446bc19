//! Prints the example's results.

use std::time::Duration;

use serde_json::json;
use sordino_search::plan::{Bytes, break_even};

use crate::Set;
use crate::run::Measurement;

/// The reference's stages in milliseconds: Opaque-Go, batch search of 100,000 uniform vectors, 64
/// clusters, on 12 cores of an Apple M4 Pro. It fetches 54 to 158 MB a query in plain sight of the
/// server, with decoys; its figures contain no network either.
const REFERENCE: [(&str, &str); 7] = [
    ("encrypt", "17"),
    ("centroid scores", "28"),
    ("decrypt", "2"),
    ("bucket fetch", "50"),
    ("open", "45"),
    ("local scoring", "30"),
    ("total", "172"),
];

/// One object with everything that was measured.
pub(crate) fn json(set: &Set, measured: &Measurement) -> serde_json::Value {
    let stages = &measured.stages;
    json!({
        "set": set.name,
        "mode": measured.mode,
        "centroids": measured.centroids,
        "n": set.base.len(),
        "dim": set.base.dim(),
        "k": measured.k,
        "queries": measured.queries,
        "recall": measured.recall,
        "recall_expected": measured.expected_recall,
        "clusters": measured.clusters,
        "probes": measured.probes,
        "code": measured.code,
        "bytes_up": measured.bytes.up,
        "bytes_down": measured.bytes.down,
        "bytes_once": measured.bytes.once,
        "bytes_download_all": measured.download_all,
        "server_ms": ms(measured.server),
        "client_ms": ms(measured.total.saturating_sub(measured.server)),
        "total_ms": ms(measured.total),
        "encrypt_ms": ms(stages.encrypt),
        "centroid_scores_ms": ms(stages.scores),
        "decrypt_ms": ms(stages.decrypt),
        "fetch_ms": ms(stages.fetch),
        "open_ms": ms(stages.open),
        "rank_ms": ms(stages.rank),
        "connect_ms": ms(measured.connect),
        "build_s": measured.build.as_secs_f64(),
        "transcripts_identical": measured.identical,
        "peak_memory_bytes": peak_memory(),
    })
}

/// The table of all modes, and what the server could see.
pub(crate) fn print(set: &Set, all: &[Measurement]) {
    table(set, all);
    shortfalls(set, all);
    seen(all);
}

/// Prints a line for each set and mode, at the end.
pub(crate) fn summary(sets: &[(&str, Vec<Measurement>)]) {
    println!(
        "In short: milliseconds of the median search on this machine, and bytes of a search and once"
    );
    let (mode, recall, time) = ("mode", "recall", "ms");
    println!(
        "  {:<10} {mode:<8} {recall:>7} {time:>8} {:>10} {:>10}",
        "set", "a search", "once"
    );
    for (set, all) in sets {
        for it in all {
            let each = Bytes(it.bytes.up + it.bytes.down);
            println!(
                "  {set:<10} {:<8} {:>7.4} {:>8} {:>10} {:>10}",
                it.mode,
                it.recall,
                milliseconds(it.total),
                each.to_string(),
                Bytes(it.bytes.once).to_string()
            );
        }
    }
    println!(
        "The server saw no query and no result; of stored vectors, all in open mode, and means of clusters in sealed mode with encrypted routing."
    );
}

/// Prints a table with a column for each mode.
fn table(set: &Set, all: &[Measurement]) {
    println!(
        "{}: {} x {}, {} queries, medians; milliseconds",
        set.name,
        set.base.len(),
        set.base.dim(),
        all[0].queries
    );
    let row = |name: &str, reference: &str, cell: &dyn Fn(&Measurement) -> String| {
        print!("  {name:<26}{reference:>12}");
        all.iter()
            .for_each(|measured| print!("{:>14}", cell(measured)));
        println!();
    };
    row("mode", "reference", &|m| m.mode.to_owned());
    row("centroids", "plaintext", &|m| m.centroids.to_owned());
    let stages: [fn(&Measurement) -> Duration; 7] = [
        |m| m.stages.encrypt,
        |m| m.stages.scores,
        |m| m.stages.decrypt,
        |m| m.stages.fetch,
        |m| m.stages.open,
        |m| m.stages.rank,
        |m| m.total,
    ];
    for ((name, reference), stage) in REFERENCE.into_iter().zip(stages) {
        row(name, reference, &|m| milliseconds(stage(m)));
    }
    row("  of it in the server", "", &|m| milliseconds(m.server));
    row(&format!("recall@{}", all[0].k), "0.95", &|m| {
        format!("{:.4}", m.recall)
    });
    row("buckets fetched", "32-48 of 64", &|m| match m.clusters {
        0 => "-".to_owned(),
        clusters => format!("{} of {clusters}", m.probes),
    });
    row("code", "f64/f32", &|m| m.code.clone());
    row("bytes up", "1.6-2.1 MB", &|m| Bytes(m.bytes.up).to_string());
    row("bytes down", "54-158 MB", &|m| {
        Bytes(m.bytes.down).to_string()
    });
    row("bytes once", "", &|m| Bytes(m.bytes.once).to_string());
    row("to download everything", "", &|m| {
        Bytes(m.download_all).to_string()
    });
    row(
        "  cheaper from query",
        "",
        &|m| match (m.mode, break_even(&m.bytes, &download(m))) {
            ("local", _) => "-".to_owned(),
            (_, Some(queries)) => (queries + 1).to_string(),
            (_, None) => "never".to_owned(),
        },
    );
    row("connect, once", "", &|m| milliseconds(m.connect));
    row("build, s", "", &|m| format!("{:.1}", m.build.as_secs_f64()));
    if let Some(peak) = peak_memory() {
        println!(
            "  peak memory so far: {} (owner, server and client in one process)",
            Bytes(peak)
        );
    }
}

/// Explains why some modes find fewer neighbours than requested.
fn shortfalls(set: &Set, all: &[Measurement]) {
    for measured in all.iter().filter(|measured| !measured.reached) {
        println!(
            "\n  {} ({} centroids) stays below the recall asked for. A cluster holds what is \
             near its centre; where vectors are\n  spread evenly in {} dimensions nothing is, and \
             a query's nearest lie in nearly all clusters: {} of {} hold {:.0} %\n  of them. No \
             search that reads a part of such a set finds most of them; masked, open and local mode, which \
             score\n  everything, do.",
            measured.mode,
            measured.centroids,
            set.base.dim(),
            measured.probes,
            measured.clusters,
            100.0 * measured.recall,
        );
    }
}

/// The server's view of each mode, and whether it was the same for all queries.
fn seen(all: &[Measurement]) {
    println!("\n  what the server could see");
    for measured in all {
        let same = if measured.identical {
            "identical"
        } else {
            "NOT IDENTICAL"
        };
        let (saw, not) = saw(measured);
        let routing = match measured.centroids {
            "none" | "groups" => String::new(),
            centroids => format!(" ({centroids} centroids)"),
        };
        println!("  {}{routing}: saw {saw}; not {not}.", measured.mode);
        println!(
            "    messages of all {} queries in number, order and size: {same}",
            measured.queries
        );
    }
    println!("  in every mode: the number of vectors, their dimension, the sizes above.\n");
}

/// What a server sees in this mode, and what it does not see.
fn saw(measured: &Measurement) -> (&'static str, &'static str) {
    match (measured.mode, measured.centroids) {
        ("sealed", "downloaded") => (
            "that a search happened, and when",
            "the query, which buckets, the centroids, any vector, any score",
        ),
        ("sealed", _) => (
            "that a search happened, and when; the centroids (cluster means, quantised)",
            "the query, its scores, which buckets, any vector",
        ),
        ("open", _) => (
            "that a search happened, and when; all vectors (it holds them)",
            "the query, any score, what was found",
        ),
        ("routed", _) => (
            "that a search happened, and when; how large clusters and groups are",
            "the query, any vector, any score, which clusters, what was found",
        ),
        ("masked", _) => (
            "that a search happened, and when; versions of rows",
            "the query, any vector, any score, what was found",
        ),
        _ => ("one download", "that any search happened; any vector"),
    }
}

fn download(measured: &Measurement) -> sordino_search::plan::Cost {
    sordino_search::plan::Cost {
        once: measured.download_all,
        up: 0,
        down: 0,
    }
}

fn milliseconds(time: Duration) -> String {
    if time.is_zero() {
        "-".to_owned()
    } else {
        format!("{:.2}", ms(time))
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The peak memory of this process, if the system reports it (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}
