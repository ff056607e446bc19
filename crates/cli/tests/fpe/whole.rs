//! Inputs, outputs and keys of the whole command.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::command;

fn sordino(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = command::sordino()
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn the_command_works_and_leaves_good_files_alone() {
    let folder = std::env::temp_dir().join(format!("sordino-fpe-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let run = |args: &[&str], input: &[u8]| {
        let args: Vec<&str> = ["fpe"].iter().chain(args).copied().collect();
        sordino(&folder, &args, input)
    };
    assert!(run(&["keygen", "--output", "k"], b"").status.success());
    let key = fs::read(folder.join("k")).unwrap();
    assert!(key.starts_with(b"sordino-fpe-key-1:") && key.len() == 18 + 64 + 1);
    // `keygen` does not overwrite a key.
    assert!(!run(&["keygen", "--output", "k"], b"").status.success());
    assert_eq!(fs::read(folder.join("k")).unwrap(), key);

    let common = ["--key-file", "k", "--format", "ssn", "--tweak", "t"];
    let with = |first: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [&[first][..], &common, more].concat()
    };
    let out = run(&with("encrypt", &[]), b"123-45-6789\n");
    assert!(out.status.success());
    let out = run(&with("decrypt", &[]), &out.stdout);
    assert_eq!(out.stdout, b"123-45-6789\n");
    let standard = with("encrypt", &["--input", "-", "--output", "-"]);
    let out = run(&standard, b"123-45-6789\n");
    assert!(out.stdout.len() == 12 && out.stdout != b"123-45-6789\n");

    let mut printed = with("decrypt", &[]);
    printed[2] = "command:cat k";
    let enciphered = run(&with("encrypt", &[]), b"123-45-6789\n").stdout;
    assert_eq!(run(&printed, &enciphered).stdout, b"123-45-6789\n");

    fs::write(folder.join("in.csv"), "n,ssn\n1,123-45-6789\n").unwrap();
    fs::write(
        folder.join("bad.csv"),
        "n,ssn\n1,123-45-6789\n2,000-45-6712\n",
    )
    .unwrap();
    let file = [
        "--column", "ssn", "--input", "in.csv", "--output", "out.csv",
    ];
    assert!(run(&with("encrypt", &file), b"").status.success());
    let good = fs::read(folder.join("out.csv")).unwrap();
    let bad = [
        "--column", "ssn", "--input", "bad.csv", "--output", "out.csv",
    ];
    let out = run(&with("encrypt", &bad), b"");
    assert_eq!(out.status.code(), Some(1));
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(
        message.contains("line 3, column 2") && !message.contains("6712"),
        "{message}"
    );
    assert_eq!(fs::read(folder.join("out.csv")).unwrap(), good);
    // Decrypts a file in place, and leaves no other file in the folder.
    let place = [
        "--column", "ssn", "--input", "out.csv", "--output", "out.csv",
    ];
    assert!(run(&with("decrypt", &place), b"").status.success());
    assert_eq!(
        fs::read_to_string(folder.join("out.csv")).unwrap(),
        "n,ssn\n1,123-45-6789\n"
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);

    fs::write(folder.join("k2"), "secret").unwrap();
    let out = run(&["encrypt", "--key-file", "k2", "--format", "ssn"], b"");
    let message = String::from_utf8(out.stderr).unwrap();
    let said = "k2: not a key of format-preserving encryption";
    assert!(!out.status.success() && message.contains(said) && !message.contains("secret"));
    // The form in which PowerShell and editors of Windows write a key file.
    let wide: Vec<u8> = std::iter::once(0xfeff)
        .chain(String::from_utf8(key.clone()).unwrap().encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let marked = [&b"\xef\xbb\xbf"[..], &key].concat();
    for (bytes, said) in [
        (wide, "iconv -f UTF-16 -t ASCII"),
        (marked, "byte-order mark"),
    ] {
        fs::write(folder.join("k2"), bytes).unwrap();
        let out = run(&["encrypt", "--key-file", "k2", "--format", "ssn"], b"");
        let message = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success() && message.contains(said), "{message}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_run_goes_on_over_refused_values_if_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let common = ["fpe", "encrypt", "--key-file", "k", "--format", "digits"];
        sordino(
            folder.path(),
            &[&common, args].concat(),
            b"123456\nx\n12\n654321\n",
        )
    };
    let made = sordino(folder.path(), &["fpe", "keygen", "--output", "k"], b"");
    assert!(made.status.success());
    let out = run(&["--on-error", "skip"]);
    let errors = String::from_utf8(out.stderr).unwrap();
    assert_eq!(
        (out.status.code(), out.stdout.len()),
        (Some(0), 14),
        "{errors}"
    );
    assert!(errors.contains("line 2, column 1") && errors.contains("line 3, column 1"));
    // What can be done with a value that is too short.
    let short = errors.lines().find(|line| line.contains("line 3"));
    assert!(
        short.is_some_and(|line| line.contains("--on-error keep leaves such values in clear")),
        "{errors}"
    );
    let out = run(&["--on-error", "report", "--output", "out"]);
    let errors = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(errors.contains("line 3, column 1") && errors.contains("2 values were refused"));
    assert!(!folder.path().join("out").exists());
    let out = run(&["--on-error", "keep", "--json", "--output", "out"]);
    assert_eq!(out.status.code(), Some(0));
    let errors = String::from_utf8(out.stderr).unwrap();
    assert!(
        errors
            .lines()
            .all(|line| line.starts_with("{\"refused\":\"line "))
    );
    let kept = fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(
        kept.lines().skip(1).take(2).collect::<Vec<_>>(),
        ["x", "12"]
    );
}

/// The reader of standard output closes it early, as `head` does.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let made = sordino(folder.path(), &["fpe", "keygen", "--output", "k"], b"");
    assert!(made.status.success());
    fs::write(folder.path().join("in"), "123456\n".repeat(300_000)).unwrap();
    let args = [
        "fpe",
        "encrypt",
        "--key-file",
        "k",
        "--format",
        "digits",
        "--input",
        "in",
    ];
    let mut child = command::sordino()
        .args(args)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    assert_eq!(out.status.code(), Some(0));
}

/// The name's ending says that a file has tabs as separators. An option takes precedence.
#[test]
fn tabs_stand_between_the_fields_of_a_file_that_is_named_so() {
    let folder = tempfile::tempdir().unwrap();
    let made = sordino(folder.path(), &["fpe", "keygen", "--output", "k"], b"");
    assert!(made.status.success());
    let text = "n\tcode\ttext\n1\t123456\ta,b\n";
    let common = ["fpe", "encrypt", "--key-file", "k", "--format", "digits"];
    for name in ["in.tsv", "IN.TSV", "in.tab"] {
        fs::write(folder.path().join(name), text).unwrap();
        let of_file = [&common[..], &["--column", "code", "--input", name]].concat();
        let out = sordino(folder.path(), &of_file, b"");
        let written = String::from_utf8(out.stdout).unwrap();
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {errors}");
        assert!(written.ends_with("\ta,b\n") && !written.contains("123456"));
        let comma = [&of_file[..], &["--delimiter", "comma"]].concat();
        assert!(!sordino(folder.path(), &comma, b"").status.success());
    }
}

#[test]
fn python_gives_the_same_ciphertexts() {
    let folder = tempfile::tempdir().unwrap();
    let digits: String = (0..32).map(|byte| format!("{byte:02x}")).collect();
    let key = format!("sordino-fpe-key-1:{digits}\n");
    fs::write(folder.path().join("k"), key).unwrap();
    let args =
        "fpe encrypt --key-file k --format pan --column card --tweak shop-7 --tweak-column row";
    let args: Vec<&str> = args.split(' ').collect();
    let out = sordino(
        folder.path(),
        &args,
        b"card,row\n4111 1111 1111 1111,row 1\n",
    );
    // python/tests/test_primitives.py has the same value.
    assert_eq!(out.stdout, b"card,row\n4111 1163 6011 1111,row 1\n");
}
