//! Files of ids, with one id for each vector of another file.

use std::path::Path;

use crate::Error;
use crate::id::{Id, IdKind, unescaped};
use crate::{extension, npy};

/// U+FEFF in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads ids of this kind. A `.npy` file must have one dimension of u32, i32, u64 or i64, whose numbers may become texts.
/// Other files are read as text with one id on each line.
///
/// # Errors
/// Fails if the file cannot be read, or has other content.
pub fn open(path: impl AsRef<Path>, kind: IdKind) -> Result<Vec<Id>, Error> {
    let path = path.as_ref();
    let bytes = crate::read(path)?;
    match (&*extension(path), kind) {
        ("npy", IdKind::Number) => npy::ids(&bytes, false),
        ("npy", IdKind::Text) => npy::ids(&bytes, true),
        ("npy", IdKind::Uuid) => Err(Error::Id {
            found: "an array of numbers".to_owned(),
            expected: kind.expected(),
        }),
        _ => lines(&bytes, kind),
    }
}

/// Reads ids from text with one id on each line, with the escapes of [`unescaped`].
///
/// # Errors
/// [`Error::IdLine`] if a line is not an id of this kind.
pub fn lines(text: &[u8], kind: IdKind) -> Result<Vec<Id>, Error> {
    // Some editors begin a file with a byte-order mark, which is not part of the first id.
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let ids = (1..).zip(text.split(|&byte| byte == b'\n'));
    ids.map(|(line, id)| {
        let id = id.strip_suffix(b"\r").unwrap_or(id);
        read(id, kind).map_err(|error| match error {
            Error::Id { found, expected } => Error::IdLine {
                line,
                found,
                expected,
            },
            other => other,
        })
    })
    .collect()
}

fn read(line: &[u8], kind: IdKind) -> Result<Id, Error> {
    let wrong = |found: &str, expected| Error::Id {
        found: found.to_owned(),
        expected,
    };
    let text = std::str::from_utf8(line).map_err(|_| wrong("it is not UTF-8", kind.expected()))?;
    // If two files were joined, there is an invisible byte-order mark in the middle.
    if text.as_bytes().starts_with(MARK) {
        let expected = r"\u{feff} if the mark of an encoding belongs to the id";
        return Err(wrong("the mark of an encoding", expected));
    }
    kind.parse(&unescaped(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_have_escapes_and_the_file_a_mark() {
        let ids = lines(
            b"\xef\xbb\xbfdoc,7\n\"a\"\na\\nb\n\\u{feff}\\\\\n",
            IdKind::Text,
        )
        .unwrap();
        let texts = ["doc,7", "\"a\"", "a\nb", "\u{feff}\\"];
        assert_eq!(ids, texts.map(|text| Id::Text(text.into())));
        for (text, line, why) in [
            (&b"a\nC:\\docs\n"[..], 2, "where a backslash stands"),
            (b"a\n\xef\xbb\xbfb\n", 2, "mark of an encoding"),
        ] {
            let error = lines(text, IdKind::Text).unwrap_err();
            assert!(matches!(error, Error::IdLine { line: found, .. } if found == line));
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn a_line_is_an_id() {
        let lines = |text: &[u8]| lines(text, IdKind::Number);
        assert!(lines(b"").unwrap().is_empty());
        let ids = lines(b"7\r\n0\n18446744073709551615").unwrap();
        assert_eq!(ids, [7, 0, u64::MAX].map(Id::Number));
        for (text, line) in [
            (&b"1\n\n2"[..], 2),
            (b"+1", 1),
            (b"-1", 1),
            (b"18446744073709551616", 1),
            (b"1\n2\n\xff\n", 3),
            (b"1\n\xef\xbb\xbf2\n", 2),
        ] {
            let error = lines(text).unwrap_err();
            assert!(
                matches!(error, Error::IdLine { line: found, .. } if found == line),
                "{error}"
            );
        }
    }
}
