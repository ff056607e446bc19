//! `sordino keys`, `index`, `serve` and `query`, from the outside: the binary, its files, its exit
//! codes, and what is left when it is killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use serde_json::Value;
use sordino_search::{Vectors, synthetic};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const N: usize = 2000;
const DIM: usize = 32;
const QUERIES: usize = 20;
const MODES: [&str; 4] = ["masked", "open", "sealed", "local"];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    command.args(args);
    command
}

fn run(args: &[&str]) -> Output {
    command(args).stdin(Stdio::null()).output().unwrap()
}

/// What a command printed; it must succeed.
fn done(args: &[&str]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    let text = done(&[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
}

/// Why a command failed; it must fail with this code.
fn failed(args: &[&str], code: i32) -> String {
    let output = run(args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    errors
}

fn npy(vectors: &Vectors) -> Vec<u8> {
    let (rows, dim) = (vectors.len(), vectors.dim());
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(head.len()).unwrap().to_le_bytes());
    bytes.extend(head.as_bytes());
    bytes.extend(vectors.as_slice().iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

fn part(vectors: &Vectors, rows: std::ops::Range<usize>) -> Vectors {
    let dim = vectors.dim();
    let data = vectors.as_slice()[rows.start * dim..rows.end * dim].to_vec();
    Vectors::new(dim, data).unwrap()
}

/// A folder with keys and vectors.
struct Place {
    folder: TempDir,
    base: Vectors,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, _) = synthetic::clustered(N, 1, DIM, 7);
        let place = Self { folder, base };
        fs::write(place.path("base.npy"), npy(&place.base)).unwrap();
        // Searching for vectors of the index: the nearest is known.
        fs::write(
            place.path("queries.npy"),
            npy(&part(&place.base, 0..QUERIES)),
        )
        .unwrap();
        done(&["keys", "new", "owner", &place.at("owner.key")]);
        let owner = place.at("owner.key");
        done(&[
            "keys",
            "new",
            "reader",
            &place.at("reader.key"),
            "--from",
            &owner,
        ]);
        done(&[
            "keys",
            "new",
            "public",
            &place.at("owner.pub"),
            "--from",
            &owner,
        ]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn build(&self, index: &str, more: &[&str]) -> Value {
        let (base, index, key) = (self.at("base.npy"), self.at(index), self.at("owner.key"));
        json(&[&["index", "build", &base, &index, "--key", &key], more].concat())
    }

    /// Builds, trusting sealed mode's builder with what these vectors allow.
    fn build_mode(&self, mode: &str) -> String {
        self.build(mode, &["--mode", mode, "--recall", "0.9"]);
        self.at(mode)
    }

    fn verify(&self, index: &str) -> Value {
        json(&[
            "index",
            "verify",
            &self.at(index),
            "--key",
            &self.at("owner.key"),
        ])
    }

    fn query(&self, more: &[&str]) -> Value {
        let (key, file) = (self.at("reader.key"), self.at("queries.npy"));
        json(&[&["query", "--key", &key, "--file", &file], more].concat())
    }
}

/// The first hit of each query.
fn nearest(found: &Value) -> Vec<u64> {
    let queries = found["queries"].as_array().unwrap().iter();
    queries
        .map(|query| query["hits"][0]["id"].as_u64().unwrap())
        .collect()
}

/// Whether each query found itself; sealed mode may miss a few.
fn assert_found(found: &Value, mode: &str) {
    let right = (0..)
        .zip(nearest(found))
        .filter(|(row, id)| row == id)
        .count();
    let least = if mode == "sealed" {
        QUERIES * 8 / 10
    } else {
        QUERIES
    };
    assert!(right >= least, "{mode}: {right} of {QUERIES}");
}

/// A server in a process of its own, killed when dropped.
struct Served {
    child: Child,
    address: String,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Served {
    fn new(args: &[&str]) -> Self {
        let fixed = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut child = command(&[&fixed[..], args].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut served = Self {
            child,
            address: String::new(),
            lines,
        };
        let first = served.line();
        served.address = first["address"].as_str().unwrap().to_owned();
        served
    }

    fn plain(place: &Place, index: &str) -> Self {
        Self::new(&[
            &place.at(index),
            "--key",
            &place.at("owner.pub"),
            "--plaintext",
            "--anyone",
        ])
    }

    /// What it says next.
    fn line(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_are_made_once_for_their_owner_alone_and_shown_without_their_secrets() {
    let place = Place::new();
    done(&["keys", "new", "client", &place.at("alice.key")]);
    let from = place.at("alice.key");
    done(&[
        "keys",
        "new",
        "client-public",
        &place.at("alice.pub"),
        "--from",
        &from,
    ]);
    let mut digests = Vec::new();
    for (name, kind, secret) in [
        ("owner.key", "owner-key", true),
        ("reader.key", "reader-key", true),
        ("owner.pub", "owner-public-key", false),
        ("alice.key", "client-key", true),
        ("alice.pub", "client-public-key", false),
    ] {
        let shown = json(&["keys", "show", &place.at(name)]);
        assert_eq!(
            (shown["kind"].as_str(), shown["secret"].as_bool()),
            (Some(kind), Some(secret))
        );
        digests.push(shown["public_key_digest"].clone());
        let text = fs::read_to_string(place.path(name)).unwrap();
        let hidden = &text.trim_end()[text.find(':').unwrap() + 1..];
        assert!(!shown.to_string().contains(&hidden[..32]), "{name}");
        assert!(
            !done(&["keys", "show", &place.at(name)]).contains(&hidden[..32]),
            "{name}"
        );
        #[cfg(unix)]
        if secret {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(place.path(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        // Nothing is written over.
        let again = failed(&["keys", "new", "owner", &place.at(name)], 1);
        assert!(again.contains(name), "{again}");
        assert_eq!(fs::read_to_string(place.path(name)).unwrap(), text);
    }
    assert!(digests[0] == digests[1] && digests[1] == digests[2] && digests[3] == digests[4]);
    assert_ne!(digests[2], digests[3]);
}

#[test]
fn a_key_of_the_wrong_kind_is_named_for_what_it_is() {
    let place = Place::new();
    let (base, public) = (place.at("base.npy"), place.at("owner.pub"));
    let error = failed(
        &["index", "build", &base, &place.at("i"), "--key", &public],
        1,
    );
    assert!(
        error.contains("an owner's public key; expected the owner's key"),
        "{error}"
    );
    assert!(!place.path("i").exists());
    fs::write(place.path("noise"), [0xff; 100]).unwrap();
    assert!(failed(&["keys", "show", &place.at("noise")], 1).contains("not a key file"));
    let missing = failed(&["keys", "show", &place.at("nowhere")], 1);
    assert!(missing.contains("nowhere"), "{missing}");
    // A damaged key is not another key.
    let mut text = fs::read(place.path("owner.key")).unwrap();
    let at = text.len() - 30;
    text[at] = if text[at] == b'0' { b'1' } else { b'0' };
    fs::write(place.path("damaged.key"), text).unwrap();
    assert!(failed(&["keys", "show", &place.at("damaged.key")], 1).contains("damaged"));
}

#[test]
fn an_index_is_built_changed_and_verified() {
    let place = Place::new();
    let built = place.build("index", &[]);
    assert_eq!(
        (built["mode"].as_str(), built["n"].as_u64()),
        (Some("masked"), Some(2000))
    );
    let (index, key) = (place.at("index"), place.at("owner.key"));
    let exists = [
        "index",
        "build",
        &place.at("base.npy"),
        &index,
        "--key",
        &key,
    ];
    assert!(failed(&exists, 1).contains("holds an index already"));

    let info = json(&["index", "info", &index, "--key", &place.at("owner.pub")]);
    assert_eq!(
        (info["version"].as_u64(), info["dim"].as_u64()),
        (Some(1), Some(32))
    );
    assert_eq!(info["id"], built["id"]);

    // Ids that go on from the highest, and ids that are given.
    let more = part(&place.base, 0..3);
    fs::write(place.path("more.npy"), npy(&more)).unwrap();
    let added = json(&["index", "add", &index, &place.at("more.npy"), "--key", &key]);
    assert_eq!(
        (added["first_id"].as_u64(), added["records"].as_u64()),
        (Some(2000), Some(2003))
    );
    fs::write(place.path("ids.txt"), "7\n9\n100000\n").unwrap();
    let with_ids = ["--ids", &place.at("ids.txt")];
    let replaced = ["index", "add", &index, &place.at("more.npy"), "--key", &key];
    let replaced = json(&[&replaced[..], &with_ids].concat());
    assert_eq!(
        (replaced["replaced"].as_u64(), replaced["records"].as_u64()),
        (Some(2), Some(2004))
    );

    // Vector 0 is there thrice now: under 0, 2000 and 7.
    let found = place.query(&["--index", &index]);
    let first: Vec<u64> = found["queries"][0]["hits"].as_array().unwrap()[..3]
        .iter()
        .map(|hit| hit["id"].as_u64().unwrap())
        .collect();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 7, 2000], "{first:?}");

    done(&["index", "delete", &index, "--ids", "0,2000", "--key", &key]);
    assert_eq!(nearest(&place.query(&["--index", &index]))[0], 7);
    let unknown = failed(&["index", "delete", &index, "--ids", "0", "--key", &key], 1);
    assert!(unknown.contains("no record 0"), "{unknown}");

    let before = place.verify("index");
    assert_eq!(
        (before["records"].as_u64(), before["versions"].as_u64()),
        (Some(2002), Some(4))
    );
    assert_eq!(before["deleted"], 4);
    done(&["index", "compact", &index, "--key", &key]);
    let after = place.verify("index");
    assert_eq!(
        (after["records"].as_u64(), after["deleted"].as_u64()),
        (Some(2002), Some(0))
    );
    assert_eq!(nearest(&place.query(&["--index", &index]))[0], 7);
    // As far as a server can see.
    let public = json(&["index", "verify", &index, "--key", &place.at("owner.pub")]);
    assert_eq!(
        (public["full"].as_bool(), public["version"].as_u64()),
        (Some(false), Some(5))
    );
    let nothing = done(&["index", "compact", &index, "--key", &key]);
    assert!(nothing.contains("nothing to compact"), "{nothing}");
}

#[test]
fn every_metric_and_format_builds() {
    let place = Place::new();
    // The same vectors as .fvecs.
    let dim = u32::try_from(DIM).unwrap().to_le_bytes();
    let rows = place.base.rows().flat_map(|row| {
        let values = row.iter().flat_map(|x| x.to_le_bytes());
        dim.into_iter().chain(values).collect::<Vec<u8>>()
    });
    fs::write(place.path("base.fvecs"), rows.collect::<Vec<u8>>()).unwrap();
    let key = place.at("owner.key");
    for metric in ["cosine", "inner-product", "euclidean"] {
        let index = place.at(metric);
        let built = [
            "index",
            "build",
            &place.at("base.fvecs"),
            &index,
            "--key",
            &key,
        ];
        json(&[&built[..], &["--metric", metric, "--k", "3"]].concat());
        let found = place.query(&["--index", &index]);
        assert_eq!(found["queries"][0]["hits"].as_array().unwrap().len(), 3);
        // The vectors are of unit length, so all metrics agree on the nearest.
        assert_found(&found, metric);
    }
}

#[test]
fn a_changed_byte_anywhere_is_found_with_its_own_exit_code() {
    let place = Place::new();
    place.build("index", &["--packing", "4"]);
    let mut files = vec![place.path("index").join("CURRENT")];
    for folder in ["manifests", "parts"] {
        let folder = place.path("index").join(folder);
        files.extend(
            fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path()),
        );
    }
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            fs::write(&file, damaged).unwrap();
            let key = place.at("owner.key");
            let output = run(&["index", "verify", &place.at("index"), "--key", &key]);
            let code = output.status.code();
            let why = String::from_utf8_lossy(&output.stderr);
            // A name in CURRENT that is no version any more is a file that is not there.
            let named = file.ends_with("CURRENT") && code == Some(1);
            assert!(
                code == Some(3) || named,
                "{} {at}: {code:?} {why}",
                file.display()
            );
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let truncated = run(&[
            "index",
            "verify",
            &place.at("index"),
            "--key",
            &place.at("owner.key"),
        ]);
        let code = truncated.status.code();
        assert!(
            code == Some(3) || file.ends_with("CURRENT"),
            "{} {code:?}",
            file.display()
        );
        fs::write(&file, &bytes).unwrap();
    }
    place.verify("index");
    // Another owner's key is no better than a damaged file.
    done(&["keys", "new", "owner", &place.at("other.key")]);
    failed(
        &[
            "index",
            "verify",
            &place.at("index"),
            "--key",
            &place.at("other.key"),
        ],
        3,
    );
}

#[test]
fn every_mode_is_served_to_another_process() {
    let place = Place::new();
    for mode in MODES {
        place.build_mode(mode);
        let served = Served::plain(&place, mode);
        let found = place.query(&["--connect", &served.url()]);
        assert_eq!(found["mode"].as_str(), Some(mode));
        assert_found(&found, mode);
        // The same from several connections at a time, and in this process.
        let jobs = place.query(&["--connect", &served.url(), "--jobs", "3"]);
        assert_eq!(nearest(&jobs), nearest(&found), "{mode}");
        let here = place.query(&["--index", &place.at(mode)]);
        assert_eq!(nearest(&here), nearest(&found), "{mode}");
    }
}

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
fn clients_prove_who_they_are() {
    let place = Place::new();
    place.build_mode("open");
    for name in ["alice", "mallory"] {
        let key = place.at(&format!("{name}.key"));
        done(&["keys", "new", "client", &key]);
        let public = place.at(&format!("{name}.pub"));
        done(&["keys", "new", "client-public", &public, "--from", &key]);
    }
    let (index, owner, alice) = (
        place.at("open"),
        place.at("owner.pub"),
        place.at("alice.pub"),
    );
    let served = Served::new(&[&index, "--key", &owner, "--plaintext", "--client", &alice]);
    let url = served.url();
    let found = place.query(&["--connect", &url, "--client-key", &place.at("alice.key")]);
    assert_found(&found, "open");
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file, "--connect", &url];
    assert!(failed(&args, 4).contains("not signed"));
    let mallory = place.at("mallory.key");
    let unknown = failed(&[&args[..], &["--client-key", &mallory]].concat(), 4);
    assert!(unknown.contains("not known"), "{unknown}");
}

#[test]
fn tls_is_checked_against_the_given_roots() {
    let place = Place::new();
    place.build_mode("local");
    let made = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        fs::write(place.path(&format!("{name}.pem")), made.cert.pem()).unwrap();
        fs::write(
            place.path(&format!("{name}.pk")),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
    };
    made("server");
    made("other");
    let served = Served::new(&[
        &place.at("local"),
        "--key",
        &place.at("owner.pub"),
        "--anyone",
        "--cert",
        &place.at("server.pem"),
        "--cert-key",
        &place.at("server.pk"),
    ]);
    let url = format!("https://{}", served.address);
    let tls = ["--connect", &url, "--server-name", "localhost"];
    let found = place.query(&[&tls[..], &["--roots", &place.at("server.pem")]].concat());
    assert_found(&found, "local");
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file];
    failed(
        &[&args[..], &tls, &["--roots", &place.at("other.pem")]].concat(),
        4,
    );
    // No TLS where there is some.
    failed(
        &[
            &args[..],
            &["--connect", &format!("http://{}", served.address)],
        ]
        .concat(),
        4,
    );
}

#[test]
fn a_server_that_is_not_there_and_one_with_another_owner_have_exit_codes() {
    let place = Place::new();
    place.build_mode("local");
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file];
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let gone = failed(
        &[&args[..], &["--connect", &format!("http://{free}")]].concat(),
        4,
    );
    assert!(gone.contains("connect"), "{gone}");

    done(&["keys", "new", "owner", &place.at("other.key")]);
    let other = place.at("other.key");
    failed(
        &[
            "query",
            "--key",
            &other,
            "--file",
            &file,
            "--index",
            &place.at("local"),
        ],
        3,
    );
    let served = Served::plain(&place, "local");
    failed(
        &[
            "query",
            "--key",
            &other,
            "--file",
            &file,
            "--connect",
            &served.url(),
        ],
        3,
    );
    // A server does not serve what its owner did not sign.
    let wrong = [
        "serve",
        &place.at("local"),
        "--key",
        &other,
        "--plaintext",
        "--anyone",
    ];
    failed(&wrong, 3);
}

#[test]
fn a_pinned_reader_does_not_go_back() {
    let place = Place::new();
    let index = place.build_mode("masked");
    let old = place.path("old");
    copy(&place.path("masked"), &old);
    fs::write(place.path("more.npy"), npy(&part(&place.base, 0..1))).unwrap();
    done(&[
        "index",
        "add",
        &index,
        &place.at("more.npy"),
        "--key",
        &place.at("owner.key"),
    ]);
    let pin = place.at("pin");
    place.query(&["--index", &index, "--pin", &pin]);
    let seen = fs::read_to_string(&pin).unwrap();
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file, "--pin", &pin];
    let back = failed(&[&args[..], &["--index", &place.at("old")]].concat(), 3);
    assert!(back.contains("already seen version 2"), "{back}");
    // An index that was changed in another way after a restore is another history.
    let fork = [
        "index",
        "delete",
        &place.at("old"),
        "--ids",
        "5",
        "--key",
        &place.at("owner.key"),
    ];
    done(&fork);
    failed(&[&args[..], &["--index", &place.at("old")]].concat(), 3);
    place.build_mode("local");
    failed(&[&args[..], &["--index", &place.at("local")]].concat(), 3);
    assert_eq!(fs::read_to_string(&pin).unwrap(), seen);
}

fn copy(from: &Path, to: &Path) {
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

#[test]
fn a_running_server_follows_the_index() {
    let place = Place::new();
    let index = place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    assert_eq!(nearest(&place.query(&["--connect", &served.url()]))[0], 0);
    let (key, owner) = (place.at("owner.key"), &place);
    done(&["index", "delete", &index, "--ids", "0", "--key", &key]);
    let now = served.line();
    assert_eq!(
        (now["event"].as_str(), now["version"].as_u64()),
        (Some("following"), Some(2))
    );
    let found = owner.query(&["--connect", &served.url()]);
    assert_eq!(found["version"].as_u64(), Some(2));
    assert_ne!(nearest(&found)[0], 0);
}

#[cfg(unix)]
#[test]
fn a_server_stops_when_it_is_told() {
    let place = Place::new();
    place.build_mode("local");
    let mut served = Served::plain(&place, "local");
    let id = served.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let start = Instant::now();
    let status = served.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Starts a command and kills it, as by `kill -9`, after some time. Whether it had ended by itself.
fn killed(args: &[&str], after: Duration) -> Option<Output> {
    let mut child = command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    output.status.success().then_some(output)
}

#[test]
fn a_killed_builder_leaves_no_index_or_a_whole_one() {
    let place = Place::new();
    let (base, key) = (place.at("base.npy"), place.at("owner.key"));
    let build = |index: &str| -> Vec<String> {
        let args = [
            "index", "build", &base, index, "--key", &key, "--mode", "sealed", "--recall",
        ];
        args.iter()
            .map(|arg| (*arg).to_owned())
            .chain(["0.9".to_owned()])
            .collect()
    };
    let start = Instant::now();
    let args = build(&place.at("timed"));
    done(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let whole = start.elapsed();
    let (mut cut, mut complete) = (0, 0);
    for tenth in 0..14u32 {
        let index = place.at("index");
        let args = build(&index);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = killed(&args, whole * tenth / 11);
        if place.path("index").join("CURRENT").exists() {
            place.verify("index");
            complete += 1;
        } else {
            assert!(ended.is_none(), "a build that was reported is there");
            // What was left does not stand in the way of another build.
            done(&args);
            place.verify("index");
            cut += 1;
        }
        fs::remove_dir_all(place.path("index")).unwrap();
    }
    assert!(cut > 0, "no build was killed in time: {whole:?}");
    eprintln!("{cut} builds cut short, {complete} complete");
}

#[test]
fn a_killed_change_is_made_or_not_and_an_acknowledged_one_is_made() {
    let place = Place::new();
    let index = place.build_mode("masked");
    fs::write(place.path("more.npy"), npy(&part(&place.base, 0..500))).unwrap();
    let add = [
        "index",
        "add",
        &index,
        &place.at("more.npy"),
        "--key",
        &place.at("owner.key"),
    ];
    let start = Instant::now();
    done(&add);
    let whole = start.elapsed();
    let mut records = place.verify("masked")["records"].as_u64().unwrap();
    assert_eq!(records, 2500);
    let mut cut = 0;
    for tenth in 0..12u32 {
        let ended = killed(&add, whole * tenth / 10);
        let now = place.verify("masked")["records"].as_u64().unwrap();
        match ended {
            Some(_) => assert_eq!(now, records + 500),
            None => {
                cut += 1;
                assert!(
                    now == records || now == records + 500,
                    "{records}, then {now}"
                );
            }
        }
        records = now;
    }
    assert!(cut > 0, "no change was killed in time: {whole:?}");
    // There are several copies of what is searched for by now: any of them is right.
    let found = place.query(&["--index", &index]);
    for query in found["queries"].as_array().unwrap() {
        assert!(
            query["hits"][0]["score"].as_f64().unwrap() > 0.999,
            "{query}"
        );
    }
}

#[test]
fn a_killed_server_loses_nothing() {
    let place = Place::new();
    place.build_mode("masked");
    for wait in [0u64, 20, 60, 150] {
        let served = Served::plain(&place, "masked");
        let url = served.url();
        let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
        let args = [
            "query",
            "--json",
            "--key",
            &key,
            "--file",
            &file,
            "--connect",
            &url,
        ];
        let child = command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        // As by `kill -9`, while it answers.
        drop(served);
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => assert_found(&serde_json::from_slice(&output.stdout).unwrap(), "masked"),
            code => assert_eq!(code, Some(4), "{}", String::from_utf8_lossy(&output.stderr)),
        }
        place.verify("masked");
    }
    let served = Served::plain(&place, "masked");
    assert_found(&place.query(&["--connect", &served.url()]), "masked");
}

#[test]
fn bad_vectors_are_refused_and_leave_nothing() {
    let place = Place::new();
    let key = place.at("owner.key");
    let whole = fs::read(place.path("base.npy")).unwrap();
    let mut nan = whole.clone();
    let at = whole.len() - 4 * (DIM * 3 - 2);
    nan[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut zero = whole.clone();
    let at = whole.len() - 4 * DIM;
    zero[at..].fill(0);
    for (name, bytes, why) in [
        ("cut.npy", &whole[..whole.len() - 1], "another length"),
        ("nan.npy", &nan, "row 1997, column 2"),
        ("zero.npy", &zero, "zero vector"),
        ("noise.npy", &whole[3..], "damaged .npy header"),
        ("empty.npy", &[], "it ends early"),
        ("base.txt", &whole, "unknown format .txt"),
        ("noise.parquet", &whole, "Parquet"),
        ("noise.arrow", &whole, "Arrow"),
    ] {
        fs::write(place.path(name), bytes).unwrap();
        let error = failed(
            &[
                "index",
                "build",
                &place.at(name),
                &place.at("i"),
                "--key",
                &key,
            ],
            1,
        );
        assert!(error.contains(why), "{name}: {error}");
        assert!(!place.path("i").join("CURRENT").exists(), "{name}");
    }
    // After all that, a good file still builds there.
    place.build("i", &["--mode", "local"]);
    let base = place.at("base.npy");
    let many = [
        "index",
        "build",
        &base,
        &place.at("j"),
        "--key",
        &key,
        "--k",
        "5000",
    ];
    assert!(failed(&many, 1).contains("k = 5000"));
    fs::write(place.path("ids.txt"), "1\n2\n").unwrap();
    let ids = [
        "index",
        "build",
        &base,
        &place.at("j"),
        "--key",
        &key,
        "--ids",
        &place.at("ids.txt"),
    ];
    assert!(failed(&ids, 1).contains("2 record ids for"));
    assert!(!place.path("j").join("CURRENT").exists());
}

#[test]
fn usage_is_refused_with_its_own_code() {
    for args in [
        &["query", "--key", "k"][..],
        &["index", "build", "only-one"],
        &["serve", "i", "--key", "k", "--anyone"],
        &["serve", "i", "--key", "k", "--plaintext"],
        &["plan", "--n", "5"],
        &["nonsense"],
    ] {
        failed(args, 2);
    }
    let error = command(&["keys", "show", "/nowhere", "--json"])
        .output()
        .unwrap();
    let error: Value = serde_json::from_slice(&error.stderr).unwrap();
    assert_eq!(error["exit_code"], 1);
    assert!(error["error"].as_str().unwrap().contains("/nowhere"));
}

#[test]
fn help_has_examples_and_completions_are_scripts() {
    for command in [
        &["--help"][..],
        &["index", "build", "--help"],
        &["serve", "--help"],
        &["query", "--help"],
    ] {
        let help = done(command);
        assert!(
            help.contains("Examples:") && help.contains("sordino"),
            "{help}"
        );
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = done(&["completions", shell]);
        assert!(
            script.contains("sordino") && script.contains("compact"),
            "{shell}"
        );
    }
}

#[test]
fn the_plan_weighs_all_modes() {
    let place = Place::new();
    let plan = json(&["plan", "--n", "100000", "--dim", "128", "--queries", "10"]);
    assert_eq!(plan["recommended"].as_str(), Some("masked"));
    assert_eq!(plan["modes"].as_array().unwrap().len(), 4);
    let of_file = json(&["plan", "--data", &place.at("base.npy")]);
    assert_eq!(
        (of_file["n"].as_u64(), of_file["dim"].as_u64()),
        (Some(2000), Some(32))
    );
    assert!(done(&["plan", "--n", "100000", "--dim", "128"]).contains("masked"));
}

#[test]
fn the_bench_measures_every_mode() {
    let place = Place::new();
    let args = [
        "bench",
        "--n",
        "2000",
        "--dim",
        "32",
        "--searches",
        "8",
        "--recall",
        "0.9",
    ];
    let report = json(&args);
    let rows = report["measured"].as_array().unwrap();
    // Masked and open mode in both packings.
    assert_eq!(rows.len(), 6);
    for row in rows {
        let recall = row["recall"].as_f64().unwrap();
        let sealed = row["mode"] == "sealed";
        assert!(recall > if sealed { 0.6 } else { 0.95 }, "{row}");
        assert_eq!(row["identical_messages"], true, "{row}");
        assert!(
            row["search_ms"].as_f64().unwrap() > 0.0 && row["bytes_once"].as_u64().unwrap() > 0
        );
    }
    let (data, queries) = (place.at("base.npy"), place.at("queries.npy"));
    let text = done(&[
        "bench",
        "--data",
        &data,
        "--queries",
        &queries,
        "--mode",
        "local,open",
    ]);
    assert!(
        text.contains("recall@10") && text.contains("downloading everything"),
        "{text}"
    );
}
