//! `sordino fpe`, from the outside and from within.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use proptest::prelude::*;
use sordino_cli::fpe::{Column, Error, Table, Transform, transform_csv, transform_lines};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Output, Stdio},
};

#[path = "search/command.rs"]
mod command;

fn transform(format: &str, encrypt: bool) -> Transform {
    let format: sordino_fpe::Format = format.parse().unwrap();
    Transform {
        cipher: format.cipher(&[7; 32]).unwrap(),
        encrypt,
        tweak: b"tweak".to_vec(),
        keep_empty: false,
    }
}

fn table(column: Column) -> Table {
    let header = matches!(column, Column::Name(_));
    Table {
        column,
        tweak_column: None,
        header,
        delimiter: b',',
    }
}

fn lines(transform: &Transform, input: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    transform_lines(transform, &mut &*input, &mut out)?;
    Ok(out)
}

fn csv(transform: &Transform, table: &Table, input: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    transform_csv(transform, table, &mut &*input, &mut out)?;
    Ok(out)
}

#[test]
fn lines_come_back_with_their_ends() {
    let input = b"123456\n000000\r\n9999999";
    let hidden = lines(&transform("digits", true), input).unwrap();
    assert_ne!(hidden, input);
    assert_eq!(hidden.len(), input.len());
    assert_eq!(lines(&transform("digits", false), &hidden).unwrap(), input);
}

#[test]
fn only_the_column_changes() {
    let input = "id,card,note\n1,4111111111111111,\"a, \"\"b\"\"\"\n2,4012888888881881,\n";
    let table = table(Column::Name("card".into()));
    let hidden = csv(&transform("pan", true), &table, input.as_bytes()).unwrap();
    let text = String::from_utf8(hidden.clone()).unwrap();
    assert!(
        text.starts_with("id,card,note\n1,411111") && text.contains(",\"a, \"\"b\"\"\"\n2,401288")
    );
    assert_eq!(
        csv(&transform("pan", false), &table, &hidden).unwrap(),
        input.as_bytes()
    );
}

#[test]
fn a_tweak_column_tells_equal_values_apart() {
    let mut table = table(Column::Number(1));
    let same = csv(&transform("digits", true), &table, b"1,123456\n2,123456\n").unwrap();
    table.tweak_column = Some(Column::Number(0));
    let apart = csv(&transform("digits", true), &table, b"1,123456\n2,123456\n").unwrap();
    let fields = |out: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(out)
            .lines()
            .map(|line| line[2..].to_owned())
            .collect()
    };
    assert_eq!(fields(&same)[0], fields(&same)[1]);
    assert_ne!(fields(&apart)[0], fields(&apart)[1]);
    assert_eq!(
        csv(&transform("digits", false), &table, &apart).unwrap(),
        b"1,123456\n2,123456\n"
    );
}

#[test]
fn errors_name_the_place_and_never_the_value() {
    let digits = transform("digits", true);
    let error = lines(&digits, b"123456\n12secret\n").unwrap_err();
    assert!(matches!(
        error,
        Error::Value {
            line: 2,
            column: 1,
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "line 2, column 1: symbol 2 does not belong to the alphabet or format"
    );
    let error = lines(&digits, b"123456\n\xff\xfe3456\n").unwrap_err();
    assert!(matches!(error, Error::NotUtf8 { line: 2, column: 1 }));
    assert!(lines(&digits, b"123456\n\n").is_err());
    let mut keep = transform("digits", true);
    keep.keep_empty = true;
    assert!(lines(&keep, b"123456\n\n").is_ok());
    let long = vec![b'1'; (1 << 20) + 1];
    assert!(matches!(
        lines(&digits, &long),
        Err(Error::LineLength { line: 1, .. })
    ));

    let named = table(Column::Name("x".into()));
    let error = csv(&digits, &named, b"a,x\n1,123456\n2,12345x\n").unwrap_err();
    assert!(matches!(
        error,
        Error::Value {
            line: 3,
            column: 2,
            ..
        }
    ));
    let error = csv(&digits, &named, b"a,x\n1,123456\n2\n").unwrap_err();
    assert!(
        matches!(
            error,
            Error::Fields {
                line: 3,
                found: 1,
                expected: 2
            }
        ),
        "{error}"
    );
    let error = csv(&digits, &named, b"a,b\n1,123456\n").unwrap_err();
    assert!(matches!(error, Error::NoColumn { .. }));
    let error = csv(&digits, &named, b"a,x\n1,\xff23456\n").unwrap_err();
    assert!(matches!(error, Error::NotUtf8 { line: 2, column: 2 }));
    let error = csv(&digits, &table(Column::Number(5)), b"1,123456\n").unwrap_err();
    assert_eq!(error.to_string(), "the input has no column 6");
    assert!(Column::new("0", false).is_err() && Column::new("x", false).is_err());
}

proptest! {
    #[test]
    fn no_bytes_panic_and_what_passes_comes_back(
        input in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "([0-9]{0,9}[,\"\n\r]{0,2}){0,20}".prop_map(String::into_bytes),
            "([0-9]{6,8},\"?[0-9]{6,8}\"?\n){0,5}".prop_map(String::into_bytes),
        ],
    ) {
        let (encrypt, decrypt) = (transform("digits", true), transform("digits", false));
        if let Ok(hidden) = lines(&encrypt, &input) {
            prop_assert_eq!(lines(&decrypt, &hidden).unwrap(), input.clone());
        }
        let table = table(Column::Number(1));
        if let Ok(hidden) = csv(&encrypt, &table, &input) {
            let shown = csv(&decrypt, &table, &hidden).unwrap();
            // Quotes that are not needed go; from then on nothing changes.
            let again = csv(&decrypt, &table, &csv(&encrypt, &table, &shown).unwrap()).unwrap();
            prop_assert_eq!(again, shown);
        }
    }
}

fn sordino(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = command::sordino()
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that refuses its arguments does not read.
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
    // A key is not written over.
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

    fs::write(folder.join("in.csv"), "n,ssn\n1,123-45-6789\n").unwrap();
    fs::write(
        folder.join("bad.csv"),
        "n,ssn\n1,123-45-6789\n2,000-45-6789\n",
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
        message.contains("line 3, column 2") && !message.contains("6789"),
        "{message}"
    );
    assert_eq!(fs::read(folder.join("out.csv")).unwrap(), good);
    // In place, and nothing is left beside the files.
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
    assert!(
        !out.status.success() && message.contains("not a key file") && !message.contains("secret")
    );
    fs::remove_dir_all(&folder).unwrap();
}
