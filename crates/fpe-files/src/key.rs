//! Key files.

use crate::Error;
use rand::{TryRng, rngs::SysRng};
use sordino_fpe::{AesKey, AesSize};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};
use zeroize::Zeroizing;

/// The beginning of a key file; the key follows in lower-case hex.
pub const KEY_FILE_PREFIX: &str = "sordino-fpe-key-1:";

/// A length that no key file reaches.
const MAX_FILE: u64 = 128;

/// Reads the key from a key file.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, [`Error::KeyFile`] if it is not a key file.
pub fn read_key(path: &Path) -> Result<AesKey, Error> {
    let mut text = Zeroizing::new(Vec::with_capacity(256));
    let file = File::open(path).map_err(Error::at(path))?;
    file.take(MAX_FILE)
        .read_to_end(&mut text)
        .map_err(Error::at(path))?;
    parse_key(&text).map_err(|why| Error::KeyFile {
        path: path.into(),
        why,
    })
}

/// The key in a key file's text; the number of digits tells its size. White space at the end is ignored.
///
/// # Errors
/// The fault in words, without any part of the text.
pub fn parse_key(text: &[u8]) -> Result<AesKey, &'static str> {
    let text = text.trim_ascii_end();
    let digits = text.strip_prefix(KEY_FILE_PREFIX.as_bytes());
    let digits = digits.ok_or_else(|| unlike(text))?;
    let damaged = "a damaged key of format-preserving encryption: expected 32, 48 or 64 hex digits in lower case behind \
        \"sordino-fpe-key-1:\"; copy the line as a whole";
    let upper = digits.iter().any(u8::is_ascii_uppercase);
    let key = Zeroizing::new(hex::decode(digits).map_err(|_| damaged)?);
    let size = AesSize::from_bytes(key.len()).filter(|_| !upper);
    AesKey::from_slice(size.ok_or(damaged)?, &key).map_err(|_| damaged)
}

/// The reason why a text is no key, if it does not begin like one.
fn unlike(text: &[u8]) -> &'static str {
    match text {
        [0xef, 0xbb, 0xbf, ..] => {
            "the file begins with a byte-order mark: expected ASCII without one; `sed -i '1s/^\\xEF\\xBB\\xBF//' FILE` takes it off"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "the file is UTF-16, as `>` of PowerShell writes it: expected ASCII; `iconv -f UTF-16 -t ASCII FILE > NEW` converts it"
        }
        _ => {
            "not a key of format-preserving encryption: expected a line \"sordino-fpe-key-1:\" and the key in hexadecimal, as \
             `sordino fpe keygen` writes it"
        }
    }
}

/// Writes a new key of this size to a file, which must not exist.
///
/// # Errors
/// [`Error::KeyExists`] if the file exists. [`Error::File`] if the file cannot be written; then no file is left.
pub fn generate_key(path: &Path, size: AesSize) -> Result<(), Error> {
    let mut key = Zeroizing::new(vec![0; size.bytes()]);
    SysRng
        .try_fill_bytes(&mut key)
        .map_err(|error| Error::Stream(io::Error::other(error)))?;
    let digits = Zeroizing::new(hex::encode(&key));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::KeyExists { path: path.into() },
        _ => Error::at(path)(error),
    })?;
    let text = Zeroizing::new(format!("{KEY_FILE_PREFIX}{}\n", *digits));
    let written = file.write_all(text.as_bytes());
    written.and_then(|()| file.sync_all()).map_err(|error| {
        // This call created the file, so no other program uses it.
        let _ = std::fs::remove_file(path);
        Error::at(path)(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_documented_is_a_key_file() {
        for bytes in [16, 24, 32] {
            let text = format!("{KEY_FILE_PREFIX}{}", "0a".repeat(bytes));
            for end in ["", "\n", "\r\n"] {
                let key = parse_key(format!("{text}{end}").as_bytes()).unwrap();
                assert_eq!(key.size().bytes(), bytes);
            }
            for wrong in [
                text.to_uppercase(),
                text.replace('a', "A"),
                format!("{text}0"),
                format!("{text}0a"),
                format!(" {text}"),
                format!("{text}\n0a"),
                text.replace("-1:", "-2:"),
                format!("\u{feff}{text}"),
                "0a".repeat(bytes),
            ] {
                assert!(parse_key(wrong.as_bytes()).is_err(), "{wrong}");
            }
        }
    }
}
