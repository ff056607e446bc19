//! `sordino query`.

use crate::binary::{command, done, failed};
use crate::place::{DIM, Place, nearest, npy, part};
use crate::served::Served;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn vectors_come_as_text_too() {
    let place = Place::new();
    let index = place.build_mode("local");
    let row = place.base.row(5);
    let text: Vec<String> = row.iter().map(f32::to_string).collect();
    let args = ["query", "--index", &index, "--key", &place.at("reader.key")];
    let lines = done(&[&args[..], &["--vector", &text.join(",")]].concat());
    let first: Vec<&str> = lines.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[..3], ["0", "1", "5"], "{lines}");
    let mut child = command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}\n[{}]", text.join(" "), text.join(", ")).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.contains("\n1\t1\t5\t"), "{lines}");

    let wrong = failed(&[&args[..], &["--vector", "1,2,secret"]].concat(), 1);
    assert!(
        wrong.contains("number 3") && !wrong.contains("secret"),
        "{wrong}"
    );
    let short = failed(&[&args[..], &["--vector", "1,2,3"]].concat(), 1);
    assert!(short.contains("3 dimensions: expected 32"), "{short}");
}

#[test]
fn a_server_that_is_not_there_and_one_with_another_owner_have_exit_codes() {
    let place = Place::new();
    place.build_mode("local");
    let query = "query --key @reader.key --file @queries.npy";
    // A port that was free just now.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let gone = format!("{query} --connect http://{free} --wait 0");
    let gone = failed(&place.line(&gone), 4);
    assert!(gone.contains("connect"), "{gone}");

    done(&place.line("keys new owner @other.key"));
    let query = "query --key @other.key --file @queries.npy";
    failed(&place.line(&format!("{query} --index @local")), 3);
    let served = Served::plain(&place, "local");
    failed(
        &place.line(&format!("{query} --connect {}", served.url())),
        3,
    );
    // A server refuses an index that its owner did not sign.
    done(&place.line("keys new public @other.pub --from @other.key"));
    failed(
        &place.line("serve @local --key @other.pub --plaintext --anyone"),
        3,
    );
}

#[test]
fn a_pinned_reader_does_not_go_back() {
    let place = Place::new();
    let index = place.build_mode("masked");
    let old = place.path("old");
    copy(&place.path("masked"), &old);
    fs::write(place.path("more.npy"), npy(&part(&place.base, 0..1))).unwrap();
    done(&place.line("index add @masked @more.npy --key @owner.key"));
    let pin = place.at("pin");
    place.query(&["--index", &index, "--pin", &pin]);
    let seen = fs::read_to_string(&pin).unwrap();
    let of = |index: &str| {
        let query = "query --key @reader.key --file @queries.npy --pin @pin";
        failed(&place.line(&format!("{query} --index @{index}")), 3)
    };
    let back = of("old");
    assert!(back.contains("already seen version 2"), "{back}");
    // An index that was changed differently after a restore has another history.
    done(&place.line("index delete @old --ids 5 --key @owner.key --restored"));
    of("old");
    place.build_mode("local");
    of("local");
    assert_eq!(fs::read_to_string(&pin).unwrap(), seen);
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A query file with two vectors of the index, a zero vector, and another vector of the index.
fn with_a_zero(place: &Place) {
    let mut rows = part(&place.base, 0..4).as_slice().to_vec();
    rows[2 * DIM..3 * DIM].fill(0.0);
    let rows = sordino_search::Vectors::new(DIM, rows).unwrap();
    fs::write(place.path("zero.npy"), npy(&rows)).unwrap();
}

#[test]
fn results_before_an_error_are_kept() {
    let place = Place::new();
    place.build_mode("local");
    with_a_zero(&place);
    let query = "query --index @local --key @reader.key --file @zero.npy";
    let run = |more: &str| {
        let output = command(&place.line(&format!("{query} {more}"))).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("zero vector"));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run("");
    assert_eq!(text.lines().count(), 20, "{text}");
    assert!(
        text.starts_with("0\t1\t0\t") && text.contains("\n1\t1\t1\t"),
        "{text}"
    );
    let object: Value = serde_json::from_str(&run("--json")).unwrap();
    assert_eq!(object["queries"].as_array().unwrap().len(), 2);
    let lines = run("--jsonl");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // A program that waits for a line per query gets a line for this query, and for the others.
    assert_eq!(lines.len(), 4);
    for at in [1, 3] {
        assert_eq!(
            (&lines[at]["query"], &lines[at]["hits"][0]["id"]),
            (&at.into(), &at.into())
        );
    }
    let error = lines[2]["error"].as_str().unwrap();
    assert!(error.contains("row 2: the zero vector"), "{error}");
}

#[test]
fn results_before_a_row_that_is_no_vector_are_kept() {
    let place = Place::new();
    place.build_mode("local");
    let mut bytes = npy(&part(&place.base, 0..4));
    let second = bytes.len() - 3 * DIM * 4;
    bytes[second..second + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(place.path("nan.npy"), bytes).unwrap();
    // With lines of JSON, the bad row has a line with an error, and the search continues.
    for (more, expected) in [("", 10), ("--jsonl", 4)] {
        let query = "query --index @local --key @reader.key --file @nan.npy";
        let output = command(&place.line(&format!("{query} {more}"))).output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("nan.npy: row 1"), "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), expected, "{text}");
        if let Some(second) = text.lines().nth(1).filter(|_| expected == 4) {
            let second: Value = serde_json::from_str(second).unwrap();
            let error = second["error"].as_str().unwrap();
            assert!(error.contains("nan.npy: row 1"), "{error}");
        }
    }
}

/// For each record of a file of queries there is a line with its number and, if known, its id.
#[test]
fn records_of_a_file_that_are_no_queries_have_lines_and_the_others_go_on() {
    let place = Place::new();
    place.build_mode("local");
    let row = |at: usize| {
        let row: Vec<String> = place.base.row(at).iter().map(f32::to_string).collect();
        row.join(", ")
    };
    let good = |id: &str, at: usize| format!("{{\"id\": \"{id}\", \"vector\": [{}]}}\n", row(at));
    let zero = format!(
        "{{\"id\": \"z\", \"vector\": [{}0]}}\n",
        "0, ".repeat(DIM - 1)
    );
    let bad = "nonsense\n{\"id\": \"s\", \"vector\": [1, 2]}\n";
    let text = format!("nonsense\n{}{bad}{zero}{}x\n", good("a", 3), good("b", 7));
    fs::write(place.path("mixed.jsonl"), text).unwrap();
    for jobs in ["1", "3"] {
        let line = format!(
            "query --index @local --key @reader.key --file @mixed.jsonl --jsonl --jobs {jobs}"
        );
        let output = command(&place.line(&line)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        assert_eq!(lines.len(), 7, "{text}");
        for (at, id, found, why) in [
            (0, None, None, "mixed.jsonl: line 1: "),
            (1, Some("a"), Some(3), ""),
            (2, None, None, "line 3: "),
            (
                3,
                None,
                None,
                "line 4: a vector of dimension 2: expected 32",
            ),
            (4, Some("z"), None, "the zero vector"),
            (5, Some("b"), Some(7), ""),
            (6, None, None, "line 7: "),
        ] {
            let line = &lines[at];
            assert_eq!(line["query"], at, "{line}");
            assert_eq!(line["query_id"].as_str(), id, "{line}");
            assert_eq!(line["hits"][0]["id"].as_u64(), found, "{line}");
            let error = line["error"].as_str().unwrap_or_default();
            assert!(
                error.contains(why) && error.is_empty() == why.is_empty(),
                "{line}"
            );
        }
    }
}

/// A pipe is read once, so its columns are found in what was read.
#[test]
fn queries_from_a_pipe_have_the_ids_that_they_have_in_a_file() {
    let place = Place::new();
    place.build_mode("local");
    // More than a pipe holds at once, with a second list that is not the vector.
    let (mut json, mut csv) = (String::new(), "id,note,embedding\n".to_owned());
    for at in 0..300 {
        let row: Vec<String> = place.base.row(at).iter().map(f32::to_string).collect();
        let row = row.join(", ");
        json += &format!(
            "{{\"note\": [1, 2], \"id\": {}, \"embedding\": [{row}]}}\n",
            at + 7000
        );
        csv += &format!("{},\"[1, 2]\",\"[{row}]\"\n", at + 7000);
    }
    for (format, text) in [("jsonl", json), ("csv", csv)] {
        let name = format!("queries.{format}");
        fs::write(place.path(&name), &text).unwrap();
        // A format alone is that of standard input.
        for (form, file) in [("", "--file -"), ("--jsonl", "")] {
            let query = format!("query --index @local --key @reader.key --k 1 {form}");
            let expected = done(&place.line(&format!("{query} --file @{name}")));
            let mut child = command(&place.line(&format!("{query} {file} --format {format}")))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            let bytes = text.clone();
            let writing = std::thread::spawn(move || input.write_all(bytes.as_bytes()));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap().unwrap();
            let found = String::from_utf8(output.stdout).unwrap();
            assert!(
                found == expected && found.lines().count() == 300,
                "{format}: {found}"
            );
            // CSV has no types, so its ids are texts.
            let ids = match (form, format) {
                ("", _) => "7000\t1\t0\t",
                (_, "csv") => "\"query_id\":\"7000\"",
                _ => "\"query_id\":7000",
            };
            assert!(found.lines().next().unwrap().contains(ids), "{found}");
        }
    }
}

/// A program that waits for the line of each query gets it, whatever the program sent, and its pipe stays open.
#[test]
fn a_line_that_is_no_vector_has_a_line_and_the_others_go_on() {
    let place = Place::new();
    place.build_mode("local");
    let mut child = command(&place.line("query --index @local --key @reader.key --jsonl"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let zero = "0 ".repeat(DIM);
    let long = "1 ".repeat(1 << 19);
    let sent = [
        ("1 2", "a vector of 2 dimensions: expected 32"),
        (&line(&place, 3), ""),
        ("1 x", "number 2 is not one"),
        (&zero, "the zero vector"),
        (&long, "longer than"),
        ("nan", "not a finite number"),
        (&line(&place, 7), ""),
    ];
    for (number, (text, wrong)) in sent.into_iter().enumerate() {
        writeln!(input, "{text}").unwrap();
        let reply: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(reply["query"], number);
        let error = reply["error"].as_str().unwrap_or_default();
        assert_eq!(reply["hits"].is_array(), wrong.is_empty(), "{reply}");
        assert!(error.contains(wrong), "{reply}");
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("standard input, line 1: "), "{errors}");
}

#[test]
fn results_come_in_order_from_several_jobs() {
    let place = Place::new();
    place.build_mode("local");
    let query = "query --index @local --key @reader.key --file @queries.npy --jobs 4 --jsonl";
    let lines = done(&place.line(query));
    let order: Vec<u64> = lines
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            assert_eq!(answer["query"], answer["hits"][0]["id"]);
            answer["query"].as_u64().unwrap()
        })
        .collect();
    assert!(
        order.len() > 4 && order.iter().copied().eq(0..order.len() as u64),
        "{order:?}"
    );
}

/// The input has far more searches than the command makes before the signal, which comes after the
/// first result.
#[cfg(unix)]
#[test]
fn an_interrupted_query_keeps_whole_results() {
    let place = Place::new();
    place.build_mode("local");
    let many: Vec<f32> = place.base.as_slice().repeat(100);
    let many = sordino_search::Vectors::new(DIM, many).unwrap();
    fs::write(place.path("many.npy"), npy(&many)).unwrap();
    let query = "query --index @local --key @reader.key --file @many.npy";
    let mut child = command(&place.line(query))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(first.starts_with("0\t1\t0\t"), "{first}");
    // Each query has ten lines, all complete.
    assert_eq!((rest.len() + 1) % 10, 0);
    assert!(rest.len() < many.len() * 10 - 1);
    assert!(rest.iter().all(|line| line.split('\t').count() == 4));
}

#[test]
fn a_query_waits_for_a_server_that_is_still_starting() {
    let place = Place::new();
    place.build_mode("local");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let query = "query --key @reader.key --file @queries.npy --wait 60 --connect";
    let query = command(&place.line(&format!("{query} http://{address}")))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The query begins to try before the server, started after it, has read its index.
    let serve = "serve @local --key @owner.pub --plaintext --anyone --listen";
    let serve = command(&place.line(&format!("{serve} {address}")))
        .stdout(Stdio::null())
        .spawn();
    let mut serve = serve.unwrap();
    let output = query.wait_with_output().unwrap();
    serve.kill().unwrap();
    serve.wait().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(output.stdout.starts_with(b"0\t1\t0\t"));
}

/// The client sends more requests per second than the server answers to one address. The client
/// repeats the refused requests.
#[test]
fn a_query_that_is_refused_for_its_rate_is_made_again() {
    let place = Place::new();
    place.build_mode("masked");
    let open = "@masked --key @owner.pub --plaintext --anyone --rate-per-address 10";
    let served = Served::new(&place.line(open));
    let many = part(&place.base, 0..30);
    fs::write(place.path("many.npy"), npy(&many)).unwrap();
    let query = format!(
        "query --key @reader.key --file @many.npy --connect {}",
        served.url()
    );
    let lines = done(&place.line(&query));
    assert_eq!(lines.lines().count(), 300);
    let hasty = failed(&place.line(&format!("{query} --wait 0")), 4);
    assert!(hasty.contains("too many requests"), "{hasty}");
}

#[test]
fn another_index_is_named_before_its_version() {
    let place = Place::new();
    place.build_mode("local");
    place.build_mode("masked");
    fs::write(place.path("more.npy"), npy(&part(&place.base, 0..1))).unwrap();
    done(&place.line("index add @masked @more.npy --key @owner.key"));
    let query = "query --key @reader.key --file @queries.npy --pin @pin --index";
    done(&place.line(&format!("{query} @masked")));
    let other = failed(&place.line(&format!("{query} @local")), 3);
    assert!(other.contains("this client knows index"), "{other}");
}

/// A vector as text on a line.
pub(crate) fn line(place: &Place, row: usize) -> String {
    let text: Vec<String> = place.base.row(row).iter().map(f32::to_string).collect();
    text.join(" ")
}

/// The command searches for a vector as soon as its line comes, not at the end of the input. While
/// it waits for the next line, a signal can end it.
#[test]
fn vectors_are_searched_for_as_they_come() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let query = format!("query --key @reader.key --connect {}", served.url());
    for (jobs, signal) in [("1", None), ("3", None), ("1", Some("-INT"))] {
        let mut child = command(&place.line(&query))
            .args(["--jobs", jobs])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for (number, row) in [7, 1999, 0].into_iter().enumerate() {
            writeln!(input, "{}", line(&place, row)).unwrap();
            for rank in 1..=10 {
                let found = lines.next().unwrap().unwrap();
                let start = format!("{number}\t{rank}\t");
                assert!(found.starts_with(&start), "{found}");
                assert!(rank > 1 || found.starts_with(&format!("{start}{row}\t")));
            }
        }
        let expected = match signal {
            Some(signal) => {
                let id = child.id().to_string();
                let sent = Command::new("kill").args([signal, &id]).status().unwrap();
                assert!(sent.success());
                130
            }
            None => {
                drop(input);
                0
            }
        };
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{errors}");
        assert!(errors.contains("3 searches"), "{errors}");
    }
}

/// The command searches for all vectors before a line that is no vector.
#[test]
fn results_before_a_wrong_line_are_kept() {
    let place = Place::new();
    place.build_mode("local");
    for jobs in ["1", "4"] {
        let mut child = command(&place.line("query --index @local --key @reader.key"))
            .args(["--jobs", jobs])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        write!(input, "{}\n\n{}\n1 2 x\n", line(&place, 3), line(&place, 4)).unwrap();
        // The command ends by itself, although its input is open.
        let output = child.wait_with_output().unwrap();
        drop(input);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("standard input, line 4: number 3"),
            "{errors}"
        );
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(
            lines.starts_with("0\t1\t3\t") && lines.contains("\n1\t1\t4\t"),
            "{lines}"
        );
    }
}

#[test]
fn a_second_run_downloads_only_the_manifest() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let (url, folder) = (served.url(), place.at("cache"));
    let run = |options: &[&str]| {
        let found = place.query(&[&["--connect", &url], options].concat());
        (found["bytes_once"].as_u64().unwrap(), nearest(&found))
    };
    let cached = ["--cache", &folder];
    let (first, found) = run(&cached);
    let (second, again) = run(&cached);
    assert_eq!(found, again);
    assert!(first > 8 * second, "{first} bytes, then {second}");
    assert!(second < 16_384, "{second} bytes beside the manifest");
    assert_eq!(run(&["--no-cache"]).0, first);
    // The client downloads a damaged file again, and also a file that the limit removed.
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(run(&cached).0, first);
    assert_eq!(run(&cached).0, second);
    let none = [&cached[..], &["--cache-limit", "0"]].concat();
    assert_eq!(run(&none).0, second);
    assert_eq!(run(&cached).0, first);
    // From the new version, the client downloads only the list of deletions.
    done(&place.line("index delete @masked --ids 0 --key @owner.key"));
    assert_eq!(served.line()["version"].as_u64(), Some(2));
    let (changed, found) = run(&cached);
    assert!(changed < first / 8, "{changed} of {first} bytes");
    assert_ne!(found[0], 0);
}
