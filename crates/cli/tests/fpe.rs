//! `sordino fpe`, from the outside and from within.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use arrow_array::{
    Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
};
use parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::Compression,
    file::{metadata::KeyValue, properties::WriterProperties},
};
use proptest::prelude::*;
use sordino_cli::fpe::{
    Column, Error, Members, OnError, Table, Transform, transform_csv, transform_json_lines,
    transform_lines, transform_parquet,
};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Output, Stdio},
    sync::Arc,
};

#[path = "search/command.rs"]
mod command;

fn transform(format: &str, encrypt: bool) -> Transform {
    let format: sordino_fpe::Format = format.parse().unwrap();
    Transform {
        cipher: format
            .cipher(&sordino_fpe::AesKey::new_256(&[7; 32]))
            .unwrap(),
        encrypt,
        tweak: b"tweak".to_vec(),
        keep_empty: false,
        on_error: OnError::Stop,
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
    transform_lines(transform, &mut &*input, &mut out, &mut |_| ())?;
    Ok(out)
}

fn csv(transform: &Transform, table: &Table, input: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    transform_csv(transform, table, &mut &*input, &mut out, &mut |_| ())?;
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
fn every_other_byte_comes_back() {
    let table = table(Column::Name("card".into()));
    let mark = "\u{feff}";
    for input in [
        "id,card\r\n1,4111111111111111\r\n2,4012888888881881\r\n".to_owned(),
        format!("{mark}card,id\n4111111111111111,1\n"),
        format!("{mark}\"card\",id\r\n\"4111111111111111\",\"1\"\r\n\r\n"),
        "\n\nid,card\r\"1\",4111111111111111\r\r'2',\"4012888888881881\"".to_owned(),
        "\"a\nb\",card\n\"x\"y,4111111111111111\n \"z\" ,4111111111111111\n".to_owned(),
    ] {
        let hidden = csv(&transform("pan", true), &table, input.as_bytes()).unwrap();
        assert_ne!(hidden, input.as_bytes());
        assert_eq!(hidden.len(), input.len());
        let shown = csv(&transform("pan", false), &table, &hidden).unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), input);
    }
    let input = format!("{mark}123456\r\n654321");
    let hidden = lines(&transform("digits", true), input.as_bytes()).unwrap();
    let shown = lines(&transform("digits", false), &hidden).unwrap();
    assert_eq!(String::from_utf8(shown).unwrap(), input);
}

/// A result with a separator in it must get quotation marks, and keeps them: the value comes back,
/// the marks remain.
#[test]
fn results_are_quoted_where_they_must_be() {
    let table = table(Column::Number(0));
    let mut added = 0;
    for i in 0..200 {
        let input = format!("value {i:03},next\n");
        let hidden = csv(&transform("printable", true), &table, input.as_bytes()).unwrap();
        let shown = csv(&transform("printable", false), &table, &hidden).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        if shown != input {
            assert_eq!(shown, format!("\"value {i:03}\",next\n"));
            added += 1;
        }
    }
    assert!((1..100).contains(&added), "{added}");
}

#[test]
fn refused_values_are_reported_and_kept_or_left_out() {
    let input = b"n,x\n1,123456\n2,12a456\n3\n4,654321\n5,\"1\"2\n6,\xff\n";
    let table = table(Column::Name("x".into()));
    let run = |on_error, encrypt, input: &[u8]| {
        let transform = Transform {
            on_error,
            ..transform("digits", encrypt)
        };
        let (mut out, mut reports) = (Vec::new(), Vec::new());
        let mut report = |error: Error| reports.push(error.to_string());
        let done = transform_csv(&transform, &table, &mut &*input, &mut out, &mut report);
        (done, out, reports)
    };
    let expected = [
        "line 3, column 2: symbol 2 does not belong to the alphabet or format",
        "line 4: 1 fields, expected 2",
        "line 6, column 2: text after the closing quotation mark",
        "line 7, column 2: not UTF-8",
    ];
    let (done, kept, reports) = run(OnError::Keep, true, input);
    assert!(done.is_ok());
    assert_eq!(reports, expected);
    assert!(kept.windows(8).any(|part| part == b"2,12a456") && kept.len() == input.len());
    assert_eq!(run(OnError::Keep, false, &kept).1, input);
    for on_error in [OnError::Skip, OnError::Report] {
        let (done, left, reports) = run(on_error, true, input);
        assert!(done.is_ok());
        assert_eq!(reports, expected);
        let shown = run(OnError::Stop, false, &left).1;
        assert_eq!(shown, b"n,x\n1,123456\n4,654321\n");
    }
    let (done, _, reports) = run(OnError::Stop, true, input);
    assert!(matches!(
        done,
        Err(Error::Value {
            line: 3,
            column: 2,
            ..
        })
    ));
    assert!(reports.is_empty());
    // From an open quotation mark on no record can be told, so that nothing passes.
    let open = b"n,x\n1,123456\n2,\"654321\n3,123456\n";
    for on_error in [OnError::Stop, OnError::Keep, OnError::Skip] {
        let (done, _, _) = run(on_error, true, open);
        let message = done.unwrap_err().to_string();
        let expected = "line 3, column 2: the quotation mark that opens the field is not closed";
        assert_eq!(message, expected);
    }
}

#[test]
fn delimiters_are_ascii_and_separate() {
    for delimiter in [b'"', b'\r', b'\n', 0xe9] {
        let table = Table {
            delimiter,
            ..table(Column::Number(0))
        };
        let error = csv(&transform("digits", true), &table, b"123456\n");
        assert!(matches!(error, Err(Error::Delimiter)));
    }
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
            prop_assert_eq!(csv(&decrypt, &table, &hidden).unwrap(), input.clone());
        }
        // Refused values that are kept come back too, and everything around them.
        let keep = |encrypt| Transform { on_error: OnError::Keep, ..transform("digits", encrypt) };
        let (encrypt, decrypt) = (keep(true), keep(false));
        let hidden = lines(&encrypt, &input).unwrap();
        prop_assert_eq!(lines(&decrypt, &hidden).unwrap(), input.clone());
        if let Ok(hidden) = csv(&encrypt, &table, &input) {
            prop_assert_eq!(csv(&decrypt, &table, &hidden).unwrap(), input);
        }
    }
}

fn json_lines(transform: &Transform, input: &[u8]) -> Result<(Vec<u8>, Vec<String>), Error> {
    let members = Members {
        value: "card".to_owned(),
        tweak: None,
    };
    let (mut out, mut refused) = (Vec::new(), Vec::new());
    let note = &mut |error: Error| refused.push(error.to_string());
    transform_json_lines(transform, &members, &mut &*input, &mut out, note)?;
    Ok((out, refused))
}

#[test]
fn json_lines_change_one_member_alone() {
    let input = "\u{feff}{\"a\": [1, {\"card\":\"keep\"}],  \"card\" :\t\"123456\" , \"ü\":1.50e3}\r\n\n  \r\n\
        {\"card\":\"0000007\",\"c\\u0061rd \":null}";
    let (hidden, refused) = json_lines(&transform("digits", true), input.as_bytes()).unwrap();
    assert_eq!((hidden.len(), refused.len()), (input.len(), 0));
    let text = str::from_utf8(&hidden).unwrap();
    assert!(!text.contains("123456") && !text.contains("0000007"));
    let unchanged = |text: &str| -> String { text.replace(|c: char| c.is_ascii_digit(), "#") };
    assert_eq!(unchanged(text), unchanged(input));
    let (back, _) = json_lines(&transform("digits", false), &hidden).unwrap();
    assert_eq!(back, input.as_bytes());
}

#[test]
fn json_lines_that_cannot_be_worked_on_are_named() {
    let keep = Transform {
        on_error: OnError::Keep,
        ..transform("digits", true)
    };
    let input = b"{\"card\":\"123456\",\"c\\u0061rd\":\"1\"}\n[1]\n{\"card\":123456}\n{\"b\":1}\n{\"card\":null}\n\
        {\"card\":\"x\"}\n{\"card\":\"123456\"} {}\n{\"card\":\"\xff\"}\n";
    let (out, refused) = json_lines(&keep, input).unwrap();
    assert_eq!(out, input);
    let expected = [
        "line 1, character 33: expected one JSON object, no member twice",
        "line 2, character 0: expected one JSON object",
        "line 3: member \"card\" is no string",
        "line 4: the object has no member \"card\"",
        "line 5, column 9: ",
        "line 6, column 9: ",
        "line 7, character 19: expected one",
        "line 8, column 1: not UTF-8",
    ];
    for (found, expected) in refused.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}, expected {expected}");
    }
    assert_eq!(refused.len(), expected.len());
    assert!(refused.iter().all(|line| !line.contains("123456")));
    let empty = Transform {
        keep_empty: true,
        ..transform("digits", true)
    };
    let input = b"{\"card\":null}\n{\"card\": \"\"}\n";
    assert_eq!(json_lines(&empty, input).unwrap().0, input);
}

/// A Parquet file with a column of numbers and one of text.
fn parquet_of(texts: ArrayRef) -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..texts.len() as i64));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("n", numbers, false), ("card", texts, true)])
            .unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "made by".into(),
            "a test".to_owned(),
        )]))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn parquet(transform: &Transform, input: &[u8]) -> Result<(Vec<u8>, Vec<String>), Error> {
    let (mut out, mut refused) = (Vec::new(), Vec::new());
    let note = &mut |error: Error| refused.push(error.to_string());
    let input = bytes::Bytes::copy_from_slice(input);
    transform_parquet(transform, ("card", None), input, &mut out, note)?;
    Ok((out, refused))
}

/// All rows of a file, its compression and its metadata.
fn rows(file: &[u8]) -> (Vec<RecordBatch>, Compression, Option<String>) {
    let input = bytes::Bytes::copy_from_slice(file);
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).unwrap();
    let metadata = builder.metadata().clone();
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let made = pairs.iter().find(|pair| pair.key == "made by");
    (
        builder.build().unwrap().map(Result::unwrap).collect(),
        metadata.row_group(0).column(1).compression(),
        made.and_then(|pair| pair.value.clone()),
    )
}

#[test]
fn a_column_of_parquet_comes_back_with_all_others() {
    let texts = ["123456", "0000000", "99999999"].repeat(5000);
    let arrays: [ArrayRef; 3] = [
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from(texts)),
    ];
    for array in arrays {
        let file = parquet_of(array);
        let (hidden, refused) = parquet(&transform("digits", true), &file).unwrap();
        assert!(refused.is_empty());
        assert_ne!(rows(&hidden).0, rows(&file).0);
        assert_eq!(
            (rows(&hidden).1, rows(&hidden).2),
            (rows(&file).1, rows(&file).2)
        );
        let (back, _) = parquet(&transform("digits", false), &hidden).unwrap();
        assert_eq!(rows(&back), rows(&file));
    }
}

#[test]
fn rows_of_parquet_that_are_refused_are_left_out_or_kept() {
    let texts = vec![Some("123456"), None, Some("x"), Some("654321")];
    let file = parquet_of(Arc::new(StringArray::from(texts)));
    let with = |on_error| Transform {
        on_error,
        ..transform("digits", true)
    };
    let stop = parquet(&with(OnError::Stop), &file)
        .unwrap_err()
        .to_string();
    assert!(stop.starts_with("row 2: "), "{stop}");
    let (out, refused) = parquet(&with(OnError::Skip), &file).unwrap();
    assert_eq!(refused.len(), 2);
    assert_eq!(rows(&out).0[0].num_rows(), 2);
    let (out, _) = parquet(&with(OnError::Keep), &file).unwrap();
    let batch = rows(&out).0.remove(0);
    let kept = batch
        .column(1)
        .as_any()
        .downcast_ref::<StringArray>()
        .unwrap();
    assert_eq!((kept.is_null(1), kept.value(2)), (true, "x"));
    let numbers = Transform {
        ..transform("digits", true)
    };
    let error = transform_parquet(
        &numbers,
        ("n", None),
        bytes::Bytes::from(file),
        Vec::new(),
        &mut |_| (),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "column n holds Int64, expected text"
    );
}

#[test]
fn damaged_parquet_is_an_error() {
    let file = parquet_of(Arc::new(StringArray::from(vec!["123456"; 500])));
    let encrypt = transform("digits", true);
    for at in (0..file.len()).step_by(7) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x55;
        // Bytes that nothing depends on may pass.
        drop(parquet(&encrypt, &damaged));
        assert!(parquet(&encrypt, &file[..at]).is_err());
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
    let said = "k2: not a key of format-preserving encryption";
    assert!(!out.status.success() && message.contains(said) && !message.contains("secret"));
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

/// The reader of standard output goes away early, like `head`.
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
