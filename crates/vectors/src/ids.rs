//! Files of ids: one for each vector of another file.

use std::path::Path;

use crate::Error;
use crate::id::{Id, IdKind};
use crate::{extension, npy, read};

/// Reads ids of this kind from `.npy` (one dimension of u32, i32, u64 or i64) or else from text, one id a line.
///
/// # Errors
/// If the file cannot be read, or holds something else.
pub fn open(path: impl AsRef<Path>, kind: IdKind) -> Result<Vec<Id>, Error> {
    let path = path.as_ref();
    let bytes = read(path)?;
    match (extension(path), kind) {
        ("npy", IdKind::Number) => npy::ids(&bytes),
        ("npy", _) => Err(Error::Id {
            found: "an array of numbers".to_owned(),
            expected: kind.expected(),
        }),
        _ => lines(&bytes, kind),
    }
}

/// Reads ids from text, one a line.
///
/// # Errors
/// [`Error::IdLine`] if a line is no id of this kind.
pub fn lines(text: &[u8], kind: IdKind) -> Result<Vec<Id>, Error> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let ids = (1..).zip(text.split(|&byte| byte == b'\n'));
    ids.map(|(line, id)| {
        let id = id.strip_suffix(b"\r").unwrap_or(id);
        let id = std::str::from_utf8(id).ok();
        let id = id.and_then(|id| kind.parse(id).ok());
        id.ok_or(Error::IdLine {
            line,
            expected: kind.expected(),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let error = lines(text).unwrap_err();
            assert!(
                matches!(error, Error::IdLine { line: found, .. } if found == line),
                "{error}"
            );
        }
    }
}
