//! JSON on one line, for readers that also end lines at other characters than a line feed.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

/// The characters above ASCII that end a line for some readers, such as Python's `splitlines`.
pub(crate) const ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// A value as JSON, with these characters escaped inside texts. Values that are JSON already stay
/// unchanged.
///
/// # Errors
/// Fails if the value cannot be JSON.
pub(crate) fn json_line<T: Serialize + ?Sized>(value: &T) -> io::Result<String> {
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, OneLine))?;
    String::from_utf8(line).map_err(io::Error::other)
}

struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for piece in fragment.split_inclusive(ENDS) {
            let end = piece.chars().next_back().filter(|c| ENDS.contains(c));
            let text = &piece[..piece.len() - end.map_or(0, char::len_utf8)];
            writer.write_all(text.as_bytes())?;
            if let Some(end) = end {
                write!(writer, "\\u{:04x}", u32::from(end))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_end_within() {
        let text = "a\u{2028}b\u{2029}\u{85}\"\n\u{e9}\u{2027}";
        let line = json_line(&[text, "\u{2028}"]).unwrap();
        assert_eq!(
            line,
            "[\"a\\u2028b\\u2029\\u0085\\\"\\n\u{e9}\u{2027}\",\"\\u2028\"]"
        );
        let read: Vec<String> = serde_json::from_str(&line).unwrap();
        assert_eq!(read, [text, "\u{2028}"]);
    }
}
