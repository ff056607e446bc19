//! `sordino query`.

use crate::binary::{command, done, failed};
use crate::place::{Place, npy, part};
use crate::served::Served;
use std::{fs, io::Write, path::Path, process::Stdio};

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
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let gone = failed(&place.line(&format!("{query} --connect http://{free}")), 4);
    assert!(gone.contains("connect"), "{gone}");

    done(&place.line("keys new owner @other.key"));
    let query = "query --key @other.key --file @queries.npy";
    failed(&place.line(&format!("{query} --index @local")), 3);
    let served = Served::plain(&place, "local");
    failed(
        &place.line(&format!("{query} --connect {}", served.url())),
        3,
    );
    // A server does not serve what its owner did not sign.
    failed(
        &place.line("serve @local --key @other.key --plaintext --anyone"),
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
    // An index that was changed in another way after a restore is another history.
    done(&place.line("index delete @old --ids 5 --key @owner.key"));
    of("old");
    place.build_mode("local");
    of("local");
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
