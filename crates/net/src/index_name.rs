//! The names of indexes, at a server that has several.

use std::fmt;
use std::sync::Arc;

use crate::Error;

/// The name of an index at a server that has several: 1 to 64 letters of ASCII, digits, `-` and `_`.
///
/// The server gives the name, which is no part of the index: the owner signs the index's id, not its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexName(Arc<str>);

impl IndexName {
    /// The size in bytes of the longest name.
    pub const MAX_LEN: usize = 64;

    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::IndexName`] if the name is not allowed.
    pub fn new(name: &str) -> Result<Self, Error> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match (1..=Self::MAX_LEN).contains(&name.len()) && name.bytes().all(good) {
            true => Ok(Self(name.into())),
            false => Err(Error::IndexName),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for good in ["a", "mail-2026_b", "7", "-", &"x".repeat(64)] {
            assert_eq!(IndexName::new(good).unwrap().as_str(), good);
        }
        for wrong in [
            "",
            ".",
            "..",
            "a.b",
            "a/b",
            "a b",
            "a%20b",
            "\u{e4}",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(IndexName::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
