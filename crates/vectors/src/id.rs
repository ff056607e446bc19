//! Record ids, as their owner chooses them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;

/// The size in bytes of the longest text id.
pub const MAX_TEXT: usize = 512;

/// The kind of all ids of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IdKind {
    /// Whole numbers from 0 to 2^64 - 1.
    #[default]
    Number,
    /// Texts of 1 to 512 bytes.
    Text,
    /// UUIDs (RFC 9562).
    Uuid,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Number, Self::Text, Self::Uuid];

    /// The kind's name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Text => "text",
            Self::Uuid => "UUID",
        }
    }

    /// Reads an id of this kind. A number must consist of digits only.
    ///
    /// ```
    /// use sordino_vectors::id::{Id, IdKind};
    ///
    /// assert_eq!(IdKind::Number.parse("7")?, Id::Number(7));
    /// assert_eq!(IdKind::Text.parse("7")?.to_string(), "7");
    /// assert!(IdKind::Uuid.parse("7").is_err());
    /// # Ok::<(), sordino_vectors::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Id`] if the text is not an id of this kind.
    pub fn parse(self, text: &str) -> Result<Id, Error> {
        let digits = || text.bytes().all(|byte| byte.is_ascii_digit());
        let id = match self {
            Self::Number => text.parse().ok().filter(|_| digits()).map(Id::Number),
            Self::Text => (1..=MAX_TEXT)
                .contains(&text.len())
                .then(|| Id::Text(text.into())),
            Self::Uuid => Uuid::try_parse(text).ok().map(Id::Uuid),
        };
        id.ok_or_else(|| Error::Id {
            found: shown(text),
            expected: match text {
                "" => "one of at least one sign: give each record an id, or leave the record out",
                _ => self.expected(),
            },
        })
    }

    /// The ids of this kind, in words.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Number => {
                "a whole number from 0 to 18446744073709551615; other ids, such as negative numbers, are texts (on the command line \
                 --id-kind text when the index is built)"
            }
            Self::Text => {
                "a text of 1 to 512 bytes: of a longer one take a hash, such as the digits of its SHA-256, and keep the id in the payload"
            }
            Self::Uuid => "a UUID, such as 67e55044-10b1-426f-9247-bb680e5fe0c8",
        }
    }
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The id of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A number.
    Number(u64),
    /// A text of 1 to 512 bytes.
    Text(Box<str>),
    /// A UUID.
    Uuid(Uuid),
}

impl Id {
    /// The kind of the id.
    #[must_use]
    pub fn kind(&self) -> IdKind {
        match self {
            Self::Number(_) => IdKind::Number,
            Self::Text(_) => IdKind::Text,
            Self::Uuid(_) => IdKind::Uuid,
        }
    }

    /// The number, if the id is one.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Uuid(uuid) => uuid.fmt(f),
        }
    }
}

/// Writes a number as a JSON number, and other ids as texts.
impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            other => serializer.collect_str(other),
        }
    }
}

impl From<u32> for Id {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Id {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<Uuid> for Id {
    fn from(uuid: Uuid) -> Self {
        Self::Uuid(uuid)
    }
}

/// True if the id is this number.
impl PartialEq<u32> for Id {
    fn eq(&self, other: &u32) -> bool {
        *self == u64::from(*other)
    }
}

/// True if the id is this number.
impl PartialEq<u64> for Id {
    fn eq(&self, other: &u64) -> bool {
        self.number() == Some(*other)
    }
}

/// The reason why a decimal number such as `17.0` or `1e3` is no id. As a text it would be an id that no owner chose, and
/// other programs write the number differently. Digits with an `e` are texts if the number is too large for an id.
#[cfg(feature = "text")]
pub(crate) fn decimal(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let mut bytes = digits.bytes();
    let signs =
        bytes.all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let number: f64 = text.parse().ok().filter(|_| first && signs)?;
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole || number.abs() > 1e20 {
        return None;
    }
    Some(format!(
        "{text} is a decimal number, and ids are whole numbers, texts or UUIDs: write whole numbers to the file (in pandas, \
         df['id'].astype('Int64') keeps them whole where some are missing), or take ids as texts, as they are written (on the command \
         line --id-kind text when the index is built)"
    ))
}

/// A text that is not an id, or not another kind of value, as messages show it: in quotes, or the beginning of a long
/// text in quotes, with its length.
#[must_use]
pub fn shown(text: &str) -> String {
    const MOST: usize = 64;
    if text.len() <= MOST {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(MOST).collect();
    format!("{start:?}... of {} bytes", text.len())
}

/// Reads an id in the form that Sordino's command prints in columns. There `\t`, `\n`, `\r` and `\\` stand for the
/// characters that would end a column or line, and for the backslash. Invisible characters are written with their
/// hexadecimal number, such as `\u{7f}`.
///
/// ```
/// use sordino_vectors::id::unescaped;
///
/// assert_eq!(unescaped(r"a\tb\\")?, "a\tb\\");
/// assert!(unescaped(r"C:\files").is_err());
/// # Ok::<(), sordino_vectors::Error>(())
/// ```
///
/// # Errors
/// [`Error::Id`] if a backslash begins another sequence.
pub fn unescaped(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.contains('\\') {
        return Ok(text.into());
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let (sign, after) = escape(after).ok_or_else(|| Error::Id {
            found: shown(text),
            expected: r"\t, \n, \r or \u{7f} where a backslash stands, and \\ for one of its own",
        })?;
        plain.push(sign);
        rest = after;
    }
    plain.push_str(rest);
    Ok(plain.into())
}

/// The character that an escape stands for, and the text after it.
fn escape(text: &str) -> Option<(char, &str)> {
    let mut signs = text.chars();
    let sign = match signs.next()? {
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        '\\' => '\\',
        'u' => {
            let (digits, after) = signs.as_str().strip_prefix('{')?.split_once('}')?;
            let hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u32::from_str_radix(digits, 16).ok().filter(|_| hex)?;
            return Some((char::from_u32(number)?, after));
        }
        _ => return None,
    };
    Some((sign, signs.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_with_a_mark() {
        let error = IdKind::Text
            .parse(&"x".repeat(600))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("x\"... of 600 bytes is not an id: expected"),
            "{error}"
        );
        let error = IdKind::Number.parse("-7").unwrap_err().to_string();
        assert!(
            error.starts_with("\"-7\" is not an id: expected"),
            "{error}"
        );
    }

    #[cfg(feature = "text")]
    #[test]
    fn decimal_numbers_are_told_from_whole_ones_and_texts() {
        for text in ["17.0", "17.5", "-0.5", "1e3", "1E+18", "1.7e1", ".5", "17."] {
            assert!(decimal(text).is_some(), "{text}");
        }
        for text in [
            "17", "-17", "007", "a", "1.2.3", "1e", "12345e67", "e5", "1,5", "", "inf", "NaN",
            "0x1p3",
        ] {
            assert!(decimal(text).is_none(), "{text}");
        }
    }

    #[test]
    fn escapes_are_read_or_refused() {
        for (text, plain) in [
            (r"doc,7", "doc,7"),
            (r"a\tb\nc\rd\\", "a\tb\nc\rd\\"),
            (r"\u{feff}\u{1}", "\u{feff}\u{1}"),
            (r"\\n", r"\n"),
        ] {
            assert_eq!(unescaped(text).unwrap(), plain);
        }
        for text in [
            r"a\",
            r"\x",
            r"C:\docs",
            r"\u",
            r"\u{}",
            r"\u{+7}",
            r"\u{d800}",
            r"\u{7",
        ] {
            let error = unescaped(text).unwrap_err().to_string();
            assert!(
                error.contains("where a backslash stands"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn ids_of_each_kind_are_read_and_others_named() {
        for (kind, text) in [
            (IdKind::Number, "0"),
            (IdKind::Number, "18446744073709551615"),
            (IdKind::Text, "x"),
            (IdKind::Text, &"é".repeat(256)),
            (IdKind::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8"),
        ] {
            let id = kind.parse(text).unwrap();
            assert_eq!((id.kind(), id.to_string().as_str()), (kind, text));
        }
        for (kind, text) in [
            (IdKind::Number, ""),
            (IdKind::Number, "+1"),
            (IdKind::Number, "-1"),
            (IdKind::Number, "18446744073709551616"),
            (IdKind::Text, ""),
            (IdKind::Text, &"x".repeat(513)),
            (IdKind::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c"),
        ] {
            let error = kind.parse(text).unwrap_err().to_string();
            assert!(error.contains("expected "), "{error}");
        }
    }
}
