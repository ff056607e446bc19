//! Tests of the encryption of lines, and of columns of CSV.

use proptest::prelude::*;
use sordino_fpe_files::{Column, Error, OnError, Table, Transform, transform_csv};

use crate::{csv, lines, table, transform};

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

/// A result with a separator must be quoted. Decryption returns the value but keeps the quotation
/// marks.
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
        "line 3, column 2: symbol 2, counted from 0, does not belong to the alphabet or format: expected symbols of the alphabet (alphabet:SYMBOLS names your own), and \
         characters that pass",
        "line 4: 1 fields, expected 2",
        "line 6, column 2: text after the closing quotation mark",
        "line 7, column 2: not UTF-8: expected text in UTF-8, as `iconv -f WINDOWS-1252 -t UTF-8 FILE` gives it, or with the \
         encoding that the file has",
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
    // After an unclosed quotation mark, records cannot be told apart. So no record is written.
    let open = b"n,x\n1,123456\n2,\"654321\n3,123456\n";
    for on_error in [OnError::Stop, OnError::Keep, OnError::Skip] {
        let (done, _, _) = run(on_error, true, open);
        let message = done.unwrap_err().to_string();
        let expected = "line 3, column 2: the quotation mark that opens the field is not closed";
        assert_eq!(message, expected);
    }
}

#[test]
fn a_file_in_utf16_is_named_with_the_command_that_converts_it() {
    for big in [false, true] {
        let units = std::iter::once(0xfeff).chain("n,x\n1,123456\n".encode_utf16());
        let input: Vec<u8> = units
            .flat_map(|unit: u16| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect();
        let transform = Transform {
            on_error: OnError::Skip,
            ..transform("digits", true)
        };
        let table = table(Column::Name("x".into()));
        for error in [csv(&transform, &table, &input), lines(&transform, &input)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("iconv -f UTF-16 -t UTF-8"), "{error}");
        }
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
        "line 2, column 1: symbol 2, counted from 0, does not belong to the alphabet or format: expected symbols of the alphabet (alphabet:SYMBOLS names your own), \
         and characters that pass"
    );
    let error = lines(&digits, b"123456\n\xff\xfe3456\n").unwrap_err();
    assert!(matches!(error, Error::NotUtf8 { line: 2, column: 1 }));
    let words = "the value is empty: expected symbols of the alphabet (alphabet:SYMBOLS names your own), and characters that pass, or --keep-empty, which lets \
        empty values pass";
    let empty = lines(&digits, b"123456\n\n").unwrap_err();
    assert_eq!(empty.to_string(), format!("line 2, column 1: {words}"));
    let named = table(Column::Name("x".to_owned()));
    for value in ["", "\"\""] {
        let input = format!("n,x\n1,123456\n2,{value}\n");
        let empty = csv(&digits, &named, input.as_bytes()).unwrap_err();
        assert_eq!(empty.to_string(), format!("line 3, column 2 (x): {words}"));
    }
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
    assert_eq!(
        error.to_string(),
        "the input has no column x among its 2 columns: expected a name of the first line; if that line is no header, --no-header and \
         the column's number, from 1"
    );
    // Without a header, the names would be values.
    let error = csv(&digits, &named, b"7,4111111111111111\n").unwrap_err();
    assert!(!error.to_string().contains("4111"), "{error}");
    let error = csv(&digits, &named, b"[{\"card\":\"4111111111111111\"}]\n").unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("--input-format jsonl takes one object a line"),
        "{error}"
    );
    let error = csv(&digits, &named, b"a;x\n1;123456\n").unwrap_err();
    let hint = "the input has no column x among its 1 columns: is it separated otherwise? --delimiter semicolon";
    assert_eq!(error.to_string(), hint);
    let error = csv(&digits, &named, b"\x1f\x8b\x08a,x\n").unwrap_err();
    assert!(error.to_string().contains("gunzip"), "{error}");
    let error = csv(&digits, &named, b"PK\x03\x04\x14\0\x06\0").unwrap_err();
    assert!(matches!(error, Error::Archive), "{error}");
    let error = csv(&digits, &named, b"PAR1\x15\x04\x15").unwrap_err();
    assert!(matches!(error, Error::ParquetAsText), "{error}");
    let out = csv(&digits, &named, b"PAR1,x\n1,123456\n").unwrap();
    assert!(out.starts_with(b"PAR1,x\n1,"));
    let error = csv(&digits, &named, b"a,x\n1,\xff23456\n").unwrap_err();
    assert!(matches!(error, Error::NotUtf8 { line: 2, column: 2 }));
    let error = csv(&digits, &table(Column::Number(5)), b"1,123456\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the input has no column 6 among its 2 columns"
    );
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
        // With `Keep`, refused values also come back, and so does everything around them.
        let keep = |encrypt| Transform { on_error: OnError::Keep, ..transform("digits", encrypt) };
        let (encrypt, decrypt) = (keep(true), keep(false));
        let hidden = lines(&encrypt, &input).unwrap();
        prop_assert_eq!(lines(&decrypt, &hidden).unwrap(), input.clone());
        if let Ok(hidden) = csv(&encrypt, &table, &input) {
            prop_assert_eq!(csv(&decrypt, &table, &hidden).unwrap(), input);
        }
    }
}

/// If two columns had one name, only one would be encrypted, and the other would stay readable.
#[test]
fn a_name_that_two_columns_have_is_refused() {
    let digits = transform("digits", true);
    let input = b"x,card,y,card\n1,123456,2,654321\n";
    let error = csv(&digits, &table(Column::Name("card".into())), input).unwrap_err();
    let expected =
        "the input has column card twice, as number 2 and as number 4: rename one of them";
    assert_eq!(error.to_string(), expected);
    let mut tweaked = table(Column::Name("y".into()));
    tweaked.tweak_column = Some(Column::Name("card".into()));
    let error = csv(&digits, &tweaked, input).unwrap_err();
    assert!(matches!(
        error,
        Error::ColumnTwice {
            first: 2,
            second: 4,
            ..
        }
    ));
    // If another column's name comes twice, nothing is refused. A column's number is no name.
    assert!(
        csv(
            &digits,
            &table(Column::Name("card".into())),
            b"x,card,x\n1,123456,2\n"
        )
        .is_ok()
    );
    let number = Table {
        column: Column::Number(3),
        ..table(Column::Number(3))
    };
    assert!(csv(&digits, &number, b"1,123456,2,654321\n").is_ok());
}

/// A value that is its own tweak could not be decrypted.
#[test]
fn a_column_is_not_its_own_tweak() {
    for column in [Column::Name("x".into()), Column::Number(1)] {
        let mut table = table(column.clone());
        table.tweak_column = Some(column);
        let error = csv(&transform("digits", true), &table, b"a,x\n1,123456\n").unwrap_err();
        assert!(matches!(error, Error::OwnTweak { .. }), "{error}");
    }
}

/// A database that strips spaces gets ciphertexts that still decrypt to the right numbers.
#[test]
fn separators_that_are_stripped_do_not_change_the_value() {
    let input = b"4111 1111 1111 1111\n4012-8888-8888-1881\n";
    let hidden = lines(&transform("pan", true), input).unwrap();
    let stripped: Vec<u8> = hidden
        .iter()
        .copied()
        .filter(|byte| !b" -".contains(byte))
        .collect();
    let shown = lines(&transform("pan", false), &stripped).unwrap();
    assert_eq!(shown, b"4111111111111111\n4012888888881881\n");
}
