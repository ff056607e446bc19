//! Transforms values from a reader to a writer, one at a time.

use crate::Error;
use sordino_fpe::FormatCipher;
use std::io::{BufRead, Cursor, Read, Write};
use zeroize::Zeroizing;

/// The longest line that is read as a value, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// The byte-order mark of UTF-8, which some programs write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of gzip files; no text begins with them.
const GZIP: &[u8] = b"\x1f\x8b";

/// What to do with a value that the format refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// End the run at the first refused value.
    #[default]
    Stop,
    /// Report every refused value, leave its record out, and fail at the end.
    Report,
    /// Report every refused value and leave its record out.
    Skip,
    /// Report every refused value and write its record unchanged, so that the value stays unencrypted.
    Keep,
}

/// The transformation of every value.
#[derive(Debug)]
pub struct Transform {
    /// The format and its key.
    pub cipher: FormatCipher,
    /// True to encrypt, false to decrypt.
    pub encrypt: bool,
    /// The tweak of all values.
    pub tweak: Vec<u8>,
    /// True if empty values are allowed and stay empty.
    pub keep_empty: bool,
    /// What to do with a refused value.
    pub on_error: OnError,
}

impl Transform {
    /// Transforms one value, whose own tweak follows the common tweak. `name` is the column's name, or empty if it has
    /// none.
    pub(crate) fn value(
        &self,
        own: &[u8],
        value: &[u8],
        (line, column, name): (u64, usize, &str),
    ) -> Result<Zeroizing<String>, Error> {
        let value = str::from_utf8(value).map_err(|_| Error::NotUtf8 { line, column })?;
        let expected = self.cipher.expected();
        self.text(own, value).map_err(|source| match value {
            "" => {
                let name = match name {
                    "" => String::new(),
                    name => format!(" ({name})"),
                };
                let place = format!("line {line}, column {column}{name}");
                Error::Empty { place, expected }
            }
            _ => Error::Value {
                line,
                column,
                source,
                expected,
            },
        })
    }

    /// Transforms one value of text, whose own tweak follows the common tweak.
    pub(crate) fn text(
        &self,
        own: &[u8],
        value: &str,
    ) -> Result<Zeroizing<String>, sordino_fpe::Error> {
        if value.is_empty() && self.keep_empty {
            return Ok(Zeroizing::default());
        }
        // The length separates the common tweak from the record's own tweak.
        let mut tweak = (self.tweak.len() as u64).to_be_bytes().to_vec();
        tweak.extend_from_slice(&self.tweak);
        tweak.extend_from_slice(own);
        let result = if self.encrypt {
            self.cipher.encrypt(&tweak, value)
        } else {
            self.cipher.decrypt(&tweak, value)
        };
        result.map(Zeroizing::new)
    }

    /// Reports an error of one record, or returns it. The result is true if the record is to be written unchanged, and
    /// false if it is left out.
    pub(crate) fn refuse(
        &self,
        error: Error,
        refused: &mut dyn FnMut(Error),
    ) -> Result<bool, Error> {
        if self.on_error == OnError::Stop {
            return Err(error);
        }
        refused(error);
        Ok(self.on_error == OnError::Keep)
    }
}

/// The input after its byte-order mark. A mark is copied to the output.
pub(crate) fn after_mark<'a>(
    input: &'a mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<impl BufRead + 'a, Error> {
    let mut head = Vec::new();
    input.take(5).read_to_end(&mut head)?;
    match &head[..] {
        start if start.starts_with(GZIP) => return Err(Error::Compressed),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(Error::Utf16),
        [b'P', b'K', 3, ..] => return Err(Error::Archive),
        // A text may begin with these letters, but no control character follows them in it.
        [b'P', b'A', b'R', b'1', 0..=8] | [b'P', b'A', b'R', b'1', 14..=31] => {
            return Err(Error::ParquetAsText);
        }
        _ => (),
    }
    if head.starts_with(BYTE_ORDER_MARK) {
        output.write_all(BYTE_ORDER_MARK)?;
        head.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(Cursor::new(head).chain(input))
}

/// A line without its end, and the line end.
pub(crate) struct Line<'a> {
    pub(crate) content: &'a [u8],
    pub(crate) end: &'a [u8],
}

/// Replaces `buffer` with the next line; `None` at the end of the input.
pub(crate) fn read_line<'a>(
    input: &mut impl BufRead,
    buffer: &'a mut Zeroizing<Vec<u8>>,
    line: u64,
) -> Result<Option<Line<'a>>, Error> {
    buffer.clear();
    let mut longest = input.by_ref().take(MAX_LINE + 1);
    if longest.read_until(b'\n', buffer)? == 0 {
        return Ok(None);
    }
    if buffer.len() as u64 > MAX_LINE {
        return Err(Error::LineLength {
            line,
            max: MAX_LINE,
        });
    }
    let content = buffer.strip_suffix(b"\n").unwrap_or(buffer);
    let content = content.strip_suffix(b"\r").unwrap_or(content);
    let end = &buffer[content.len()..];
    Ok(Some(Line { content, end }))
}

/// Transforms a file in which every line is a value. Line ends and a byte-order mark stay unchanged. Errors of values
/// go to `refused`, unless [`Transform::on_error`] is [`OnError::Stop`].
///
/// # Errors
/// With the line: [`Error::Value`] or [`Error::Empty`] if the format refuses a value, [`Error::NotUtf8`] if a line is
/// not UTF-8, [`Error::LineLength`] if it is too long. [`Error::Stream`] if reading or writing fails.
pub fn transform_lines(
    transform: &Transform,
    input: &mut dyn BufRead,
    output: &mut impl Write,
    refused: &mut dyn FnMut(Error),
) -> Result<(), Error> {
    let mut input = after_mark(input, output)?;
    let mut buffer = Zeroizing::new(Vec::new());
    for line in 1.. {
        let Some(Line { content, end }) = read_line(&mut input, &mut buffer, line)? else {
            break;
        };
        match transform.value(b"", content, (line, 1, "")) {
            Ok(result) => {
                output.write_all(result.as_bytes())?;
                output.write_all(end)?;
            }
            Err(error) => {
                if transform.refuse(error, refused)? {
                    output.write_all(content)?;
                    output.write_all(end)?;
                }
            }
        }
    }
    Ok(output.flush()?)
}
