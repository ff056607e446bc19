//! Refuses formats that cannot work before they get a key.
//!
//! A text of one alphabet is read in one pass. Every character either passes, or is a symbol of the alphabet, or is
//! among the last ones and belongs to the check. Decryption finds the positions that encryption filled only if a
//! character's kind does not depend on the plaintext. So the passing characters may share no symbol with the alphabet,
//! or with the symbols of the check. The check must also cover each symbol of the alphabet.

use super::{Format, Segment, Shape, slots::Text};
use crate::{Error, SymbolSet};

impl Format {
    /// Checks that this format can work.
    pub(super) fn contradiction(&self) -> Result<(), Error> {
        if let Some(option) = self.misplaced {
            return Err(Error::FormatOption {
                option,
                format: self.shape.name(),
            });
        }
        match &self.shape {
            Shape::Text(text) => text.contradiction(),
            Shape::Pattern(pattern) => {
                let encrypts = |segment: &Segment| matches!(segment, Segment::Encrypt(_, 1..));
                if pattern.0.iter().any(encrypts) {
                    return Ok(());
                }
                Err(Error::Format {
                    what: "no segment of the pattern is encrypted",
                })
            }
            Shape::Date(first, last) if !self.small => {
                let (found, min) = (u128::from(last - first) + 1, crate::MIN_DOMAIN);
                let max = u128::MAX;
                match found < min {
                    true => Err(Error::Domain { found, min, max }),
                    false => Ok(()),
                }
            }
            Shape::Ssn | Shape::Date(..) => Ok(()),
        }
    }
}

impl Text {
    fn contradiction(&self) -> Result<(), Error> {
        let in_alphabet = |symbol: &char| self.alphabet.numeral(u32::from(*symbol)).is_some();
        if let Some(symbol) = self.pass.chars().find(in_alphabet) {
            return Err(Error::FormatOverlap {
                symbol,
                first: SymbolSet::Alphabet,
                second: SymbolSet::Pass,
            });
        }
        if self.first.is_some() && self.keep_prefix > 0 {
            return Err(Error::FormatOption {
                option: "first_nonzero",
                format: "a text whose first symbols are kept",
            });
        }
        let Some(check) = self.check else {
            return Ok(());
        };
        if let Some(symbol) = self.pass.chars().find(|&symbol| check.ends_in(symbol)) {
            return Err(Error::FormatOverlap {
                symbol,
                first: SymbolSet::Check,
                second: SymbolSet::Pass,
            });
        }
        if let Some(symbol) = self
            .alphabet
            .symbols()
            .find(|&symbol| !check.covers(symbol))
        {
            return Err(Error::FormatUncovered { symbol });
        }
        Ok(())
    }
}
