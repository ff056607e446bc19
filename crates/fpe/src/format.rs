//! Real fields: a format encrypts a part of a text, keeps a part, and recomputes a check digit.
//!
//! The symbols to be encrypted, wherever they stand in the text, are one value. If all of them belong to one alphabet, the value
//! is a numeral string. Otherwise it is an integer of mixed radix, encrypted by cycle walking within FF1 over bits. The tweak
//! binds the kept part of the value, but not its spelling.

mod calendar; // days and dates
mod check; // check digits
mod cipher; // a format under a key
mod contradiction; // formats that cannot work
mod first; // no zero in front
mod name; // formats by name
mod notation; // patterns in one line
mod pattern; // texts of segments
mod preset; // well-known fields
mod range; // fields that are integers of a range
mod slots; // the places that are encrypted

use crate::{AesKey, Alphabet, Error};
use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
pub use check::{Check, CheckSymbols};
pub use cipher::FormatCipher;
use pattern::Pattern;
use slots::Text;
use sordino_aes::Key;

/// A part of a [`Format::pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// This text, unchanged.
    Literal(String),
    /// This number of symbols of the alphabet, which are kept.
    Keep(Alphabet, usize),
    /// This number of symbols of the alphabet, which are encrypted.
    Encrypt(Alphabet, usize),
}

/// The shape of a field.
///
/// Equal values have equal ciphertexts in every spelling: separators stay where they are, and do not count. So a ciphertext whose
/// separators were changed or removed decrypts to the value that was encrypted.
///
/// ```
/// use sordino_fpe::{AesKey, Format};
///
/// let cards = Format::pan().cipher(&AesKey::new_256(&[7; 32]))?;
/// let hidden = cards.encrypt(b"shop", "4111 1111 1111 1111")?;
/// assert!(hidden.starts_with("4111 11") && hidden.ends_with(" 1111"));
/// assert_eq!(cards.decrypt(b"shop", &hidden)?, "4111 1111 1111 1111");
/// assert_eq!(cards.decrypt(b"shop", &hidden.replace(' ', ""))?, "4111111111111111");
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
///
/// | format | how a value may be written |
/// |---|---|
/// | [`Format::text`], cards, telephone numbers, ORCIDs | with any of the characters that pass, anywhere |
/// | [`Format::email`] | the domain in capitals or small letters, white space in or behind it |
/// | [`Format::pattern`], UUIDs | with all separators of the pattern, or without any |
/// | [`Format::ssn`] | with hyphens, with spaces, or without |
/// | [`Format::date`], [`Format::date_range`] | with hyphens, slashes or dots, or without |
///
/// All other characters count, and so does the case of letters. A UUID in lower case has no symbol `F`, so `F` is refused.
///
/// # The tweak of the cipher
///
/// The tweak of FF1 consists of four byte strings, each after its length. Every length and number here has 8 bytes, most
/// significant first:
///
/// 1. `sordino-fpe format 1`;
/// 2. the identity of the format: several strings, each again after its length.
///    - A text has `text`, its name, the symbols of its alphabet and the characters that pass. Then come, for each call of
///      [`Format::keep`], the two numbers, each as a string of 8 bytes. Each call of [`Format::check`] adds the name in
///      [`Check`], and a call of [`Format::first_nonzero`] adds `first-nonzero`.
///    - A pattern has `pattern` and its name. Each segment adds `literal`, `keep` or `encrypt`, then the literal or the
///      symbols of the alphabet, then the number of symbols (0 for a literal).
///    - The others have `ssn`, or `date` and one string of the first and the last day, counted from 0001-01-01 in 4 bytes
///      each;
/// 3. the caller's tweak;
/// 4. the template: 4 bytes for each character that counts, 0 if it is encrypted or of a check, and else its code point
///    plus 1.
///
/// In the template of a text, the characters that pass do not count. In the template of an e-mail address, the passing
/// characters of the local part count. The domain, with the last `@`, counts in small letters and without white space.
/// A pattern has the template of its text with all separators. Social security numbers and dates have an empty
/// template. With [`Format::bind_spelling`] every character of the text counts as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    shape: Shape,
    /// A string that identifies the format. The tweak binds it.
    identity: Vec<u8>,
    small: bool,
    /// True if the tweak binds the spelling, too.
    spelling: bool,
    /// A description of the format's values.
    expected: &'static str,
    /// A text that says which symbols the format counts, or which format serves values that are too short.
    hint: &'static str,
    /// An option that the caller set although this shape lacks it.
    misplaced: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Symbols of one alphabet between characters that pass.
    Text(Text),
    /// A fixed sequence of segments.
    Pattern(Pattern),
    /// A valid social security number of the United States: nine digits.
    Ssn,
    /// Dates from a first day to a last day.
    Date(u32, u32),
}

impl Shape {
    /// The format's name in messages.
    fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Pattern(_) => "a pattern",
            Self::Ssn => "a social security number",
            Self::Date(..) => "a date",
        }
    }

    /// The description of the format's values in messages.
    fn expected(&self) -> &'static str {
        match self {
            Self::Text(_) => {
                "symbols of the alphabet (alphabet:SYMBOLS names your own), and characters that pass"
            }
            Self::Pattern(_) => "the symbols of the pattern, with all of its separators or none",
            Self::Ssn => {
                "a number as 123-45-6789, without area 000, 666 or 900 and above, group 00 or serial 0000"
            }
            Self::Date(..) => "a day as YYYY-MM-DD, of the range of the format",
        }
    }
}

impl Format {
    /// Any number of symbols of one alphabet. The characters of `pass` are separators, which stay where they are and do not
    /// count. The name is part of the format's identity.
    ///
    /// No symbol of the alphabet may be in `pass`: [`Format::cipher`] refuses such a format.
    #[must_use]
    pub fn text(name: &str, alphabet: Alphabet, pass: &str) -> Self {
        let parts = [
            b"text",
            name.as_bytes(),
            alphabet.to_string().as_bytes(),
            pass.as_bytes(),
        ]
        .map(<[u8]>::to_vec);
        let text = Text {
            alphabet,
            pass: pass.into(),
            keep_prefix: 0,
            keep_suffix: 0,
            check: None,
            until: None,
            first: None,
        };
        Self::new(Shape::Text(text), &parts.each_ref().map(Vec::as_slice))
    }

    /// Segments one after another. The name is part of the format's identity.
    ///
    /// Literals without a letter or digit are separators. A text has all of them or none, and its symbols have the same
    /// ciphertext either way.
    #[must_use]
    pub fn pattern(name: &str, segments: Vec<Segment>) -> Self {
        let mut parts = vec![b"pattern".to_vec(), name.into()];
        for segment in &segments {
            let (tag, text, len) = match segment {
                Segment::Literal(text) => ("literal", text.clone(), 0),
                Segment::Keep(alphabet, len) => ("keep", alphabet.to_string(), *len),
                Segment::Encrypt(alphabet, len) => ("encrypt", alphabet.to_string(), *len),
            };
            parts.push(tag.into());
            parts.push(text.into());
            parts.push((len as u64).to_be_bytes().into());
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Self::new(Shape::Pattern(Pattern(segments)), &parts)
    }

    fn new(shape: Shape, parts: &[&[u8]]) -> Self {
        let expected = shape.expected();
        let mut identity = Vec::new();
        parts.iter().for_each(|part| push(&mut identity, part));
        Self {
            shape,
            identity,
            small: false,
            spelling: false,
            expected,
            hint: "",
            misplaced: None,
        }
    }

    /// Keeps the first `prefix` and the last `suffix` symbols of a text. The symbols of a [`Format::check`] do not count: they
    /// come after the last kept ones. A later call replaces an earlier one.
    ///
    /// Only a [`Format::text`] and the presets made from one (cards, telephone numbers, e-mail addresses) have this option.
    /// [`Format::cipher`] refuses every other format with it.
    #[must_use]
    pub fn keep(mut self, prefix: usize, suffix: usize) -> Self {
        let Shape::Text(text) = &mut self.shape else {
            self.misplaced = Some("keep");
            return self;
        };
        (text.keep_prefix, text.keep_suffix) = (prefix, suffix);
        push(&mut self.identity, &(prefix as u64).to_be_bytes());
        push(&mut self.identity, &(suffix as u64).to_be_bytes());
        self
    }

    /// Declares that the last symbols of a text are a check of the symbols before them. The cipher verifies the check, and
    /// recomputes it for the result. A later call replaces an earlier one.
    ///
    /// The check must cover every symbol of the alphabet, and none of its own symbols may pass. Only a [`Format::text`] and the
    /// presets made from one have this option. [`Format::cipher`] refuses every other format with it.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        let Shape::Text(text) = &mut self.shape else {
            self.misplaced = Some("check");
            return self;
        };
        text.check = Some(check);
        push(&mut self.identity, format!("{check:?}").as_bytes());
        self
    }

    /// Also accepts texts with 100 to 999,999 possible values.
    ///
    /// # Security
    /// An attacker can find the plaintexts of such a small domain: see [`crate::Ff1::allow_small_domain`].
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.small = true;
        self
    }

    /// Binds the spelling of a text into the tweak: its separators, and the case of an e-mail address's domain. The same value
    /// with other separators then has another ciphertext. A ciphertext whose separators were changed decrypts to **another value,
    /// without an error**.
    ///
    /// Use it for data that were encrypted before this crate ignored the spelling. Some values have the same ciphertext with this
    /// option and without it. They are values without characters that pass, e-mail addresses with a domain in lower case, social
    /// security numbers, dates and all patterns.
    #[must_use]
    pub fn bind_spelling(mut self) -> Self {
        self.spelling = true;
        self
    }

    /// Applies the format under a key.
    ///
    /// ```
    /// use sordino_fpe::{AesKey, Alphabet, Check, Error, Format, SymbolSet};
    ///
    /// // MOD 11-2 ends in `X` one time in eleven, which the reader would take for a character
    /// // that passes.
    /// let isbn = Format::text("isbn", Alphabet::DECIMAL, "X-").check(Check::Mod11_2);
    /// let error = isbn.cipher(&AesKey::new_256(&[7; 32])).unwrap_err();
    /// let (first, second) = (SymbolSet::Check, SymbolSet::Pass);
    /// assert_eq!(error, Error::FormatOverlap { symbol: 'X', first, second });
    /// ```
    ///
    /// # Errors
    /// [`Error::FormatOverlap`] if a character that passes is also a symbol of the alphabet or of the check.
    /// [`Error::FormatUncovered`] if the check is not defined for a symbol of the alphabet. [`Error::FormatOption`] if the caller
    /// used `keep` or `check` on a format without that option. [`Error::Format`] if a pattern encrypts nothing.
    pub fn cipher(self, key: &AesKey) -> Result<FormatCipher, Error> {
        self.contradiction()?;
        Ok(FormatCipher::new(Key::new(key.bytes()), self))
    }
}

/// Appends `part` after its length.
fn push(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_be_bytes());
    out.extend_from_slice(part);
}
