//! Formats of well-known fields.

use super::{Check, Format, Segment, Shape, calendar};
use crate::{Alphabet, Error};
use alloc::vec;

/// The hint for cards with few digits.
const FEWER_OF_CARD: &str =
    ", or a format that keeps fewer of them (pan:4,4 for cards of 15 digits)";

impl Format {
    /// A payment card number of 12 to 19 digits. The first six digits (the issuer's) and the last four are kept. The text may
    /// have spaces or hyphens between digits.
    ///
    /// At least six digits must lie between the kept ones, so cards of 15 digits need [`Format::allow_small_domain`]. Nine of ten
    /// results fail Luhn's check, so a program does not accept them as cards. If results must pass, use [`Format::pan_luhn`].
    #[must_use]
    pub fn pan() -> Self {
        let format = Self::text("pan", Alphabet::DECIMAL, " -").keep(6, 4);
        format
            .expecting("digits of a card, with spaces, hyphens or neither")
            .hinting(FEWER_OF_CARD)
    }

    /// A payment card number that keeps its first six digits and ends with Luhn's check. The cipher verifies the check, and
    /// recomputes it for the result.
    #[must_use]
    pub fn pan_luhn() -> Self {
        let format = Self::text("pan-luhn", Alphabet::DECIMAL, " -").keep(6, 0);
        let format = format.check(Check::Luhn);
        format
            .expecting("digits of a card, with spaces, hyphens or neither")
            .hinting(FEWER_OF_CARD)
    }

    /// A social security number of the United States, with hyphens, spaces or neither. Valid numbers (no area 000, 666 or above
    /// 899, no group 00, no serial 0000) become valid numbers.
    #[must_use]
    pub fn ssn() -> Self {
        Self::new(Shape::Ssn, &[b"ssn"])
    }

    /// A telephone number whose first `keep` digits (country and area) are kept. Characters other than digits, ` +-.()/`, stay
    /// where they are and do not count. So `+1` and `1` are the same, and `001` is a different number. A text with other
    /// characters, such as an extension's `x`, is refused.
    #[must_use]
    pub fn phone(keep: usize) -> Self {
        Self::text("phone", Alphabet::DECIMAL, " +-.()/")
            .keep(keep, 0)
            .expecting("digits of a telephone number, with any of ` +-.()/`")
            .hinting(", or a format that keeps fewer of them (a smaller number in phone:KEPT)")
    }

    /// A date from 0001-01-01 to 9999-12-31, written as `YYYY-MM-DD`, or with slashes, dots or nothing instead of the hyphens.
    #[must_use]
    pub fn date() -> Self {
        Self::days(0, 3_652_058)
    }

    /// A date of a narrower range, which includes both ends. A range of fewer than a million days needs
    /// [`Format::allow_small_domain`].
    ///
    /// # Errors
    /// [`Error::Symbol`] if an end is not a date. [`Error::Format`] if the ends are in the wrong order.
    pub fn date_range(first: &str, last: &str) -> Result<Self, Error> {
        let day = |text| calendar::day_number(text).map_err(|index| Error::Symbol { index });
        let (first, last) = (day(first)?, day(last)?);
        if first > last {
            return Err(Error::Format {
                what: "the last day is before the first",
            });
        }
        Ok(Self::days(first, last))
    }

    fn days(first: u32, last: u32) -> Self {
        let days = [first.to_be_bytes(), last.to_be_bytes()];
        Self::new(Shape::Date(first, last), &[b"date", days.as_flattened()])
    }

    /// A UUID in lower case, with hyphens or without. Version and variant are kept. Upper case is refused, because a ciphertext
    /// without letters would not show which case to restore.
    #[must_use]
    pub fn uuid() -> Self {
        let hex = |len| Segment::Encrypt(Alphabet::HEX, len);
        let keep = || Segment::Keep(Alphabet::HEX, 1);
        let hyphen = || Segment::Literal("-".into());
        let format = Self::pattern(
            "uuid",
            vec![
                hex(8),
                hyphen(),
                hex(4),
                hyphen(),
                keep(),
                hex(3),
                hyphen(),
                keep(),
                hex(3),
                hyphen(),
                hex(12),
            ],
        );
        format.expecting("a UUID in small letters, with all hyphens or none")
    }

    /// An e-mail address. The letters and digits of the local part are encrypted. Its punctuation and the domain, which must not
    /// be empty, are kept. The local part needs at least four letters or digits.
    ///
    /// The case of the domain does not count, and decryption restores it. The case of the local part counts: its letters are
    /// encrypted, and an address with its local part in lower case is a different address.
    #[must_use]
    pub fn email() -> Self {
        Self::address("email", Alphabet::ALPHANUMERIC)
            .expecting("letters and digits of ASCII with punctuation, an @ and a domain")
    }

    /// An e-mail address whose local part is in lower case, as plaintext and as ciphertext. Use it for systems that convert
    /// addresses to lower case. An address with capitals in the local part is refused.
    #[must_use]
    pub fn email_lower() -> Self {
        Self::address("email-lower", Alphabet::LOWER_ALPHANUMERIC)
            .expecting("small letters and digits of ASCII with punctuation, an @ and a domain")
    }

    fn address(name: &str, alphabet: Alphabet) -> Self {
        let mut format = Self::text(name, alphabet, ".!#$%&'*+-/=?^_`{|}~");
        if let Shape::Text(text) = &mut format.shape {
            text.until = Some('@');
        }
        format.hinting(" (letters or digits before the @)")
    }

    /// The same format with another description of its values.
    fn expecting(self, expected: &'static str) -> Self {
        Self { expected, ..self }
    }

    /// The same format with another hint for values that are too short.
    fn hinting(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}
