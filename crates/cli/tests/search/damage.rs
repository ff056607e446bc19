//! Random damage to files: a command refuses them with their name, or gives the same answers as before.

use crate::binary::{command, done, json};
use crate::documents;
use crate::place::Place;
use crate::served::Served;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

/// A command that takes longer than this is stuck.
const LONGEST: Duration = Duration::from_secs(120);

/// A condition that all records pass. With it the expected records are found, whatever the noise.
const EVERYTHING: &str = "not year = 1";

/// The indexes that the tests damage.
const INDEXES: [&str; 5] = ["masked", "open", "sealed", "local", "docs"];

/// The exit code and the output of a command that ended.
struct Ended {
    code: Option<i32>,
    out: String,
    error: String,
}

/// Runs a command to its end. If it `serves`, runs it to its first line.
fn ended(args: &[String], serves: bool) -> Ended {
    let mut command = command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let reading = |mut pipe: Box<dyn Read + Send>| {
        let (send, text) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 1 << 14];
            while let Ok(len @ 1..) = pipe.read(&mut bytes) {
                let _ = send.send(String::from_utf8_lossy(&bytes[..len]).into_owned());
            }
        });
        text
    };
    let out = reading(Box::new(child.stdout.take().unwrap()));
    let error = reading(Box::new(child.stderr.take().unwrap()));
    let (start, mut said) = (Instant::now(), String::new());
    let code = loop {
        said.extend(out.try_iter());
        if serves && said.contains('\n') {
            break Some(0);
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(start.elapsed() < LONGEST, "stuck: {args:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let _ = child.kill();
    let _ = child.wait();
    said.extend(out.iter());
    Ended {
        code,
        out: said,
        error: error.iter().collect(),
    }
}

/// Undamaged files, and the search results that they give.
struct Bench {
    place: Place,
    served: Served,
    expected: Vec<Vec<Value>>,
}

impl Bench {
    fn new() -> Self {
        let place = Place::new();
        for mode in &INDEXES[..4] {
            place.build_mode(mode);
        }
        fs::write(place.path("docs.jsonl"), documents::jsonl(&place)).unwrap();
        let columns = documents::COLUMNS;
        json(&place.line(&format!(
            "index build @docs.jsonl @docs --key @owner.key {columns}"
        )));
        // Makes several segments, versions and deletions.
        json(&place.line("index delete @docs --ids doc-299 --key @owner.key"));
        json(&place.line(&format!(
            "index add @docs @docs.jsonl --key @owner.key {columns}"
        )));
        done(&place.line("keys new client @alice.key"));
        done(&place.line("keys new client-public @alice.pub --from @alice.key"));
        let served = Served::plain(&place, "docs");
        let config = format!(
            "# A server.\nindex = {:?}\nkey = {:?}\nlisten = \"127.0.0.1:0\"\nplaintext = true\nclient = [{:?}]\n\
             rate = 100.5\nbatch = 8\nmax-connections = 100\nlog-level = \"warn\"\n",
            place.at("masked"),
            place.at("owner.pub"),
            place.at("alice.pub")
        );
        fs::create_dir(place.path("files")).unwrap();
        fs::write(place.path("files/serve.toml"), config).unwrap();
        fs::copy(place.path("reader.key"), place.path("files/reader.key")).unwrap();
        let mut bench = Self {
            place,
            served,
            expected: Vec::new(),
        };
        // The cache and the pin belong to a client that has searched.
        let found = bench.asked("--cache @cache --pin @files/pin", "@reader.key");
        assert_eq!(found.code, Some(0), "{}", found.error);
        for index in INDEXES {
            let found = bench.query(index, index);
            assert_eq!(found.code, Some(0), "{}", found.error);
            bench.expected.push(answers(&found.out));
        }
        assert_eq!(answers(&found.out), bench.expected[4]);
        bench
    }

    /// Searches for some of the records, in an index in a folder.
    fn query(&self, index: &str, folder: &str) -> Ended {
        let mut line = self.place.line(&format!(
            "query --json --index @{folder} --key @reader.key --file @queries.npy --k 1"
        ));
        if index == "docs" {
            line.extend(["--where".to_owned(), EVERYTHING.to_owned()]);
        }
        ended(&line, false)
    }

    /// Runs the same search at the server.
    fn asked(&self, more: &str, key: &str) -> Ended {
        let url = self.served.url();
        let mut line = self.place.line(&format!(
            "query --json --connect {url} --key {key} --file @queries.npy --k 1 {more}"
        ));
        line.extend(["--where".to_owned(), EVERYTHING.to_owned()]);
        ended(&line, false)
    }

    /// Damages a copy of a file, and runs a command on it. Returns true if the command refused the
    /// copy.
    fn case(&self, seed: u64) -> bool {
        let rng = &mut StdRng::seed_from_u64(seed);
        let kind = rng.random_range(0..10usize);
        let source = match kind {
            0..=4 => INDEXES[kind],
            5 | 6 => "cache",
            _ => "files",
        };
        let folder = self.place.path("dmg");
        let _ = fs::remove_dir_all(&folder);
        copy(&self.place.path(source), &folder);
        let only = ["serve.toml", "reader.key", "pin"].get(kind.wrapping_sub(7));
        let what = damage(rng, &folder, only.copied());
        let what = format!("seed {seed}, {source}: {what}");
        match kind {
            0..=4 => self.index(kind, &what),
            // The client downloads damaged cached parts again.
            5 | 6 => {
                let found = self.asked("--cache @dmg", "@reader.key");
                assert_eq!(found.code, Some(0), "{what}: {}", found.error);
                self.judge(&found, 4, true, &what)
            }
            7 => {
                let serve = self.place.line("serve --json --config @dmg/serve.toml");
                let found = ended(&serve, true);
                // The damaged configuration may name another file. The error is then that this file
                // is missing.
                sound(&found, &[1, 2, 3], false, &what)
            }
            8 => self.judge(&self.asked("--no-cache", "@dmg/reader.key"), 4, true, &what),
            _ => {
                let found = self.asked("--no-cache --pin @dmg/pin", "@reader.key");
                // A damaged pin may name another version. The error is then that the server has
                // gone back.
                self.judge(&found, 4, false, &what)
            }
        }
    }

    /// Reads a damaged index in all ways.
    fn index(&self, kind: usize, what: &str) -> bool {
        let verify = "index verify @dmg --key @reader.key --deep";
        let verified = ended(&self.place.line(verify), false);
        let bad = sound(&verified, &[1, 3], true, what);
        let refused = self.judge(&self.query(INDEXES[kind], "dmg"), kind, true, what);
        assert!(bad || !refused, "{what}: verified, and refused");
        let serve = "serve @dmg --json --key @owner.pub --plaintext --anyone --listen 127.0.0.1:0";
        sound(&ended(&self.place.line(serve), true), &[1, 3], true, what);
        let info = "index info @dmg --key @owner.pub";
        sound(&ended(&self.place.line(info), false), &[1, 3], true, what);
        bad || refused
    }

    /// Checks that an answer is right, or refused. Returns true if it was refused.
    fn judge(&self, found: &Ended, index: usize, named: bool, what: &str) -> bool {
        let refused = sound(found, &[1, 3], named, what);
        if !refused {
            assert_eq!(answers(&found.out), self.expected[index], "{what}: wrong");
        }
        refused
    }
}

/// The records found, without their scores, which have noise.
fn answers(out: &str) -> Vec<Value> {
    let mut found: Value = serde_json::from_str(out).unwrap();
    let queries = found["queries"].as_array_mut().unwrap();
    for hit in queries
        .iter_mut()
        .flat_map(|query| query["hits"].as_array_mut().unwrap())
    {
        hit.as_object_mut().unwrap().remove("score");
    }
    queries.clone()
}

/// True if a command refused properly: with one of these codes and, if `named`, with the name of the damaged
/// file.
fn sound(found: &Ended, codes: &[i32], named: bool, what: &str) -> bool {
    let Ended { code, error, .. } = found;
    assert!(!error.contains("panicked"), "{what}: {error}");
    match code {
        Some(0) => false,
        Some(code) if codes.contains(code) => {
            assert!(
                !named || error.contains("dmg"),
                "{what}: not named: {error}"
            );
            assert!(error.len() > 20, "{what}: {error}");
            true
        }
        _ => panic!("{what}: {code:?}: {error}"),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, all),
            false => all.push(path),
        }
    }
}

/// Damages a file of a folder, or the file `only` if there is one. Returns a description of the
/// damage.
fn damage(rng: &mut StdRng, folder: &Path, only: Option<&str>) -> String {
    let mut all = Vec::new();
    files(folder, &mut all);
    all.retain(|path| only.is_none_or(|only| path.ends_with(only)));
    all.sort();
    let path = &all[rng.random_range(0..all.len())];
    let other = &all[rng.random_range(0..all.len())];
    let mut bytes = fs::read(path).unwrap();
    let len = bytes.len();
    let at = rng.random_range(0..len.max(1));
    let end = len.min(at + rng.random_range(1..200usize));
    let how = match rng.random_range(0..8) {
        _ if len == 0 => {
            bytes.push(0);
            "filled"
        }
        0 | 1 => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            "a bit flipped"
        }
        2 => {
            bytes[at..end].fill(0);
            "zeros"
        }
        3 => {
            rng.fill(&mut bytes[at..end]);
            "noise"
        }
        4 => {
            bytes.truncate(at);
            "cut"
        }
        5 => {
            let more = bytes[at..end].to_vec();
            bytes.splice(at..at, more);
            "grown"
        }
        6 => {
            bytes = fs::read(other).unwrap();
            "another file"
        }
        _ => {
            fs::remove_file(path).unwrap();
            return format!("{} removed", path.display());
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{} {how} at {at}", path.display())
}

#[test]
fn some_random_damage_is_refused_by_name_or_changes_nothing() {
    let bench = Bench::new();
    let refused = (0..40).filter(|&seed| bench.case(seed)).count();
    assert!((10..40).contains(&refused), "{refused}");
}

/// Takes ten minutes. Run it before a release: `cargo test --workspace --test search -- --ignored
/// a_thousand`.
#[test]
#[ignore = "ten minutes"]
fn a_thousand_random_damages_are_refused_by_name_or_change_nothing() {
    let bench = Bench::new();
    let refused = (1000..2000).filter(|&seed| bench.case(seed)).count();
    println!("{refused} of 1000 refused, the others without effect");
}
