//! Tests of the encryption of members of JSON lines.

use sordino_fpe_files::{Error, Members, OnError, Transform, transform_json_lines};

use crate::transform;

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
        "line 1: the object has member \"card\" twice, with values at character 9 and at character 30",
        "line 2, character 0: expected one JSON object",
        "line 3: member \"card\" is not a string",
        "line 4: the object has no member \"card\": expected it at the top level, or --keep-empty",
        "line 5, column 9 (card): the value is empty",
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
    let input = b"{\"b\":1}\n{\"card\":null}\n{\"card\": \"\"}\n";
    assert_eq!(json_lines(&empty, input).unwrap().0, input);
    // If all lines lack the member, its name is wrong, and all values would stay readable.
    let error = json_lines(&empty, b"\n{\"cart\":\"123456\"}\n").unwrap_err();
    assert!(matches!(error, Error::NoMember { line: 2, .. }), "{error}");
}

#[test]
fn a_member_is_not_its_own_tweak() {
    let members = Members {
        value: "card".to_owned(),
        tweak: Some("card".to_owned()),
    };
    let input = b"{\"card\":\"123456\"}\n";
    let transform = transform("digits", true);
    let done = transform_json_lines(
        &transform,
        &members,
        &mut &input[..],
        &mut Vec::new(),
        &mut |_| (),
    );
    assert!(matches!(done, Err(Error::OwnTweak { .. })));
}
