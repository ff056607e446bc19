//! Arguments, help and completions.

use crate::binary::{command, done, failed};
use crate::place::Place;
use serde_json::Value;
use std::{io::Write, process::Stdio};

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
    // The message tells a beginner both ways.
    let both = failed(&["serve", "i", "--key", "k"], 2);
    for way in ["--cert", "--plaintext", "--client", "--anyone"] {
        assert!(both.contains(way), "{way}: {both}");
    }
    let both = failed(&["query", "--key", "k"], 2);
    assert!(
        both.contains("--connect") && both.contains("--index"),
        "{both}"
    );
    let error = command(&["query", "--json"]).output().unwrap();
    assert_eq!(error.status.code(), Some(2));
    let error: Value = serde_json::from_slice(&error.stderr).unwrap();
    assert_eq!(error["exit_code"], 2);
    assert!(
        error["error"].as_str().unwrap().contains("--key"),
        "{error}"
    );
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

/// Standard output is closed at once, as by `head -0`. Every command ends without an error message.
#[test]
fn a_closed_output_is_no_error() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("fpe keygen --output @fpe.key"));
    for line in [
        "query --index @local --key @reader.key --file @queries.npy",
        "query --index @local --key @reader.key --file @queries.npy --json",
        "query --index @local --key @reader.key --file @queries.npy --jsonl",
        "index info @local --key @owner.pub",
        "index verify @local --key @owner.key",
        "index compact @local --key @owner.key",
        "keys show @owner.pub",
        "keys new client @new.key",
        "plan --n 1000 --dim 16",
        "bench --n 300 --dim 16 --searches 2 --k 3 --mode local",
        "completions bash",
        "fpe encrypt --key-file @fpe.key --format digits",
        "query --help",
    ] {
        let mut child = command(&place.line(line))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut input = child.stdin.take().unwrap();
        // The input is larger than a pipe's buffer, so the command writes results before the input
        // ends.
        let _ = input.write_all("123456789012\n".repeat(20_000).as_bytes());
        drop(input);
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {errors}");
        assert!(!errors.contains("roken pipe"), "{line}: {errors}");
    }
}
