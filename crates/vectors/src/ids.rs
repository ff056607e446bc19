//! Files of ids: one for each vector of another file.

use std::path::Path;

use crate::Error;
use crate::{extension, npy, read};

/// Reads ids from `.npy` (one dimension of u32, i32, u64 or i64) or else from text, one id a line.
///
/// # Errors
/// If the file cannot be read, or holds something else.
pub fn open(path: impl AsRef<Path>) -> Result<Vec<u32>, Error> {
    let path = path.as_ref();
    let bytes = read(path)?;
    match extension(path) {
        "npy" => npy::ids(&bytes),
        _ => lines(&bytes),
    }
}

/// Reads ids from text, one a line.
///
/// # Errors
/// If a line is no number of 32 bits.
pub fn lines(text: &[u8]) -> Result<Vec<u32>, Error> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let ids = (1..).zip(text.split(|&byte| byte == b'\n'));
    ids.map(|(line, id)| {
        let id = id.strip_suffix(b"\r").unwrap_or(id);
        // Digits only: `parse` would take a sign.
        let digits = id.iter().all(u8::is_ascii_digit);
        let id = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok());
        id.filter(|_| digits).ok_or(Error::IdLine { line })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_id() {
        assert_eq!(lines(b"").unwrap(), []);
        assert_eq!(lines(b"7\r\n0\n4294967295").unwrap(), [7, 0, u32::MAX]);
        for (text, line) in [
            (&b"1\n\n2"[..], 2),
            (b"+1", 1),
            (b"-1", 1),
            (b"4294967296", 1),
            (b"1\n2\n\xff\n", 3),
        ] {
            let error = lines(text).unwrap_err();
            assert!(
                matches!(error, Error::IdLine { line: found } if found == line),
                "{error}"
            );
        }
    }
}
