//! Real fields: what of a text is encrypted, what is kept, and what is recomputed.
//!
//! The symbols to be encrypted, wherever they stand in the text, are one value: a numeral string
//! where they are all of one alphabet, else an integer of mixed radix that walks within FF1 over
//! bits. Everything kept is bound into the tweak.

mod calendar;
mod check;
mod name;

use crate::{Alphabet, Error, Ff1, Fpe, aes::Key};
use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
pub use check::Check;
use zeroize::Zeroizing;

/// A part of a [`Format::pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// This text, as it is.
    Literal(String),
    /// So many symbols of the alphabet, kept.
    Keep(Alphabet, usize),
    /// So many symbols of the alphabet, encrypted.
    Encrypt(Alphabet, usize),
}

/// The shape of a field.
///
/// ```
/// use sordino_fpe::Format;
///
/// let cards = Format::pan().cipher(&[7; 16])?;
/// let hidden = cards.encrypt(b"shop", "4111 1111 1111 1111")?;
/// assert!(hidden.starts_with("4111 11") && hidden.ends_with(" 1111"));
/// assert_eq!(cards.decrypt(b"shop", &hidden)?, "4111 1111 1111 1111");
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    shape: Shape,
    /// What tells this format from every other: bound into the tweak.
    identity: Vec<u8>,
    small: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Symbols of one alphabet among characters that pass.
    Text(Text),
    /// A fixed sequence of segments.
    Pattern(Vec<Segment>),
    /// Nine digits that the numbering of the United States allows.
    Ssn,
    /// Dates from a first day to a last.
    Date(u32, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    alphabet: Alphabet,
    /// Characters that stay where they are.
    pass: String,
    keep_prefix: usize,
    keep_suffix: usize,
    check: Option<Check>,
    /// Everything from the last of this character on is kept.
    until: Option<char>,
}

impl Format {
    /// A payment card number of 12 to 19 digits, grouped by spaces or hyphens or not at all: the
    /// first six digits (the issuer's) and the last four are kept.
    ///
    /// At least six digits must lie between them; so cards of 15 digits need
    /// [`Format::allow_small_domain`]. The result does not pass Luhn's check but for one in
    /// ten, and so is not taken for a card: where it is to pass, see [`Format::pan_luhn`].
    #[must_use]
    pub fn pan() -> Self {
        Self::text("pan", Alphabet::DECIMAL, " -").keep(6, 4)
    }

    /// A payment card number whose first six digits are kept and whose last is Luhn's check: it
    /// is verified, and recomputed for the result.
    #[must_use]
    pub fn pan_luhn() -> Self {
        let format = Self::text("pan-luhn", Alphabet::DECIMAL, " -").keep(6, 0);
        format.check(Check::Luhn)
    }

    /// A social security number of the United States, with hyphens or without: valid numbers
    /// (no area 000, 666 or above 899, no group 00, no serial 0000) become valid numbers.
    #[must_use]
    pub fn ssn() -> Self {
        Self::new(Shape::Ssn, &[b"ssn"])
    }

    /// A telephone number: its first `keep` digits (the country's and the area's) are kept, and
    /// so is everything that is not a digit: ` +-.()/`.
    #[must_use]
    pub fn phone(keep: usize) -> Self {
        Self::text("phone", Alphabet::DECIMAL, " +-.()/").keep(keep, 0)
    }

    /// A date written `YYYY-MM-DD`, from 0001-01-01 to 9999-12-31.
    #[must_use]
    pub fn date() -> Self {
        Self::days(0, 3_652_058)
    }

    /// A date of a narrower range, both ends in it. A range of fewer than a million days needs
    /// [`Format::allow_small_domain`].
    ///
    /// # Errors
    /// [`Error::Symbol`] if an end is no date, [`Error::Format`] if they are in the wrong order.
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

    /// A UUID in lower case with hyphens. Version and variant are kept.
    #[must_use]
    pub fn uuid() -> Self {
        let hex = |len| Segment::Encrypt(Alphabet::HEX, len);
        let keep = || Segment::Keep(Alphabet::HEX, 1);
        let hyphen = || Segment::Literal("-".into());
        Self::pattern(
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
        )
    }

    /// An e-mail address: the letters and digits of the local part are encrypted, its
    /// punctuation and the domain are kept. Four letters or digits are the least.
    #[must_use]
    pub fn email() -> Self {
        let mut format = Self::text("email", Alphabet::ALPHANUMERIC, ".!#$%&'*+-/=?^_`{|}~");
        if let Shape::Text(text) = &mut format.shape {
            text.until = Some('@');
        }
        format
    }

    /// Any number of symbols of one alphabet; the characters of `pass` stay where they are. The
    /// name is part of the format's identity.
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
        };
        Self::new(Shape::Text(text), &parts.each_ref().map(Vec::as_slice))
    }

    /// Segments one after another. The name is part of the format's identity.
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
        Self::new(Shape::Pattern(segments), &parts)
    }

    fn new(shape: Shape, parts: &[&[u8]]) -> Self {
        let mut identity = Vec::new();
        parts.iter().for_each(|part| push(&mut identity, part));
        Self {
            shape,
            identity,
            small: false,
        }
    }

    /// Keeps the first and the last symbols of a [`Format::text`]; of any other format nothing.
    #[must_use]
    pub fn keep(mut self, prefix: usize, suffix: usize) -> Self {
        if let Shape::Text(text) = &mut self.shape {
            (text.keep_prefix, text.keep_suffix) = (prefix, suffix);
            push(&mut self.identity, &(prefix as u64).to_be_bytes());
            push(&mut self.identity, &(suffix as u64).to_be_bytes());
        }
        self
    }

    /// The last symbols of a [`Format::text`] are a check of those before: it is verified, and
    /// recomputed for the result.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        if let Shape::Text(text) = &mut self.shape {
            text.check = Some(check);
            push(&mut self.identity, format!("{check:?}").as_bytes());
        }
        self
    }

    /// Also takes texts with 100 to 999,999 possible values.
    ///
    /// # Security
    /// As for [`Ff1::allow_small_domain`].
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.small = true;
        self
    }

    /// The format under a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn cipher(self, key: &[u8]) -> Result<FormatCipher, Error> {
        Ok(FormatCipher {
            key: Key::new(key)?,
            format: self,
        })
    }

    /// Which characters of a text are encrypted, and which are a check.
    fn slots<'a>(&'a self, text: &[char]) -> Result<Slots<'a>, Error> {
        match &self.shape {
            Shape::Text(shape) => shape.slots(text),
            Shape::Pattern(segments) => pattern_slots(segments, text),
            Shape::Ssn | Shape::Date(..) => Ok(Slots::default()),
        }
    }
}

/// Positions in a text.
#[derive(Default)]
struct Slots<'a> {
    /// Encrypted, each with its alphabet.
    encrypted: Vec<(usize, &'a Alphabet)>,
    /// Symbols that a check is computed over, then the check's own.
    checked: Vec<usize>,
    check: Option<Check>,
}

impl Text {
    fn slots(&self, text: &[char]) -> Result<Slots<'_>, Error> {
        let end = match self.until {
            None => text.len(),
            Some(until) => {
                let last = text.iter().rposition(|&c| c == until);
                last.ok_or(Error::Symbol { index: text.len() })?
            }
        };
        let is_symbol = |c: char| self.alphabet.numeral(c.into()).is_some();
        // A check may have a symbol of its own, where the last symbol stands: passed characters
        // may follow it, as they may follow a check that is a digit.
        let own = self.check.filter(|check| check.len() == 1).and_then(|_| {
            text[..end]
                .iter()
                .rposition(|&c| is_symbol(c) || !self.pass.contains(c))
        });
        let mut symbols = Vec::with_capacity(end);
        for (index, &c) in text[..end].iter().enumerate() {
            if is_symbol(c) || (own == Some(index) && !self.pass.contains(c)) {
                symbols.push(index);
            } else if !self.pass.contains(c) {
                return Err(Error::Symbol { index });
            }
        }
        let found = symbols.len();
        let drop = self
            .keep_suffix
            .saturating_add(self.check.map_or(0, Check::len));
        if found <= self.keep_prefix.saturating_add(drop) {
            return Err(Error::Length {
                found,
                min: self.keep_prefix.saturating_add(drop).saturating_add(1),
                max: usize::MAX,
            });
        }
        let encrypted = &symbols[self.keep_prefix..found - drop];
        Ok(Slots {
            encrypted: encrypted.iter().map(|&i| (i, &self.alphabet)).collect(),
            check: self.check,
            checked: if self.check.is_some() {
                symbols
            } else {
                Vec::new()
            },
        })
    }
}

fn pattern_slots<'a>(segments: &'a [Segment], text: &[char]) -> Result<Slots<'a>, Error> {
    let mut slots = Slots::default();
    let mut at = 0;
    for segment in segments {
        match segment {
            Segment::Literal(literal) => {
                for expected in literal.chars() {
                    if text.get(at) != Some(&expected) {
                        return Err(Error::Symbol { index: at });
                    }
                    at += 1;
                }
            }
            Segment::Keep(alphabet, len) | Segment::Encrypt(alphabet, len) => {
                let encrypt = matches!(segment, Segment::Encrypt(..));
                for _ in 0..*len {
                    let symbol = text.get(at).copied().map(u32::from);
                    if symbol.and_then(|symbol| alphabet.numeral(symbol)).is_none() {
                        return Err(Error::Symbol { index: at });
                    }
                    if encrypt {
                        slots.encrypted.push((at, alphabet));
                    }
                    at += 1;
                }
            }
        }
    }
    if at < text.len() {
        return Err(Error::Symbol { index: at });
    }
    Ok(slots)
}

/// `part` after its length.
fn push(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_be_bytes());
    out.extend_from_slice(part);
}

/// A [`Format`] under a key.
#[derive(Clone, Debug)]
pub struct FormatCipher {
    key: Key,
    format: Format,
}

impl FormatCipher {
    /// Encrypts a text of the format.
    ///
    /// # Errors
    /// [`Error::Symbol`] with the index of the first character that the format does not have
    /// there, [`Error::CheckDigit`], and [`Error::Length`] or [`Error::Domain`] if too little of
    /// the text is to be encrypted.
    pub fn encrypt(&self, tweak: &[u8], text: &str) -> Result<String, Error> {
        self.run::<true>(tweak, text)
    }

    /// Decrypts a text of the format.
    ///
    /// # Errors
    /// As [`FormatCipher::encrypt`].
    pub fn decrypt(&self, tweak: &[u8], text: &str) -> Result<String, Error> {
        self.run::<false>(tweak, text)
    }

    fn run<const ENCRYPT: bool>(&self, tweak: &[u8], text: &str) -> Result<String, Error> {
        match self.format.shape {
            Shape::Ssn => return self.ssn::<ENCRYPT>(tweak, text),
            Shape::Date(first, last) => return self.date::<ENCRYPT>(tweak, text, first, last),
            _ => {}
        }
        let mut text: Zeroizing<Vec<char>> = Zeroizing::new(text.chars().collect());
        let slots = self.format.slots(&text)?;
        if let Some(check) = slots.check {
            let (body, tail) = slots.checked.split_at(slots.checked.len() - check.len());
            let expected = check.compute(body.iter().map(|&i| text[i]))?;
            if !tail
                .iter()
                .map(|&i| text[i])
                .eq(expected.into_iter().take(check.len()))
            {
                return Err(Error::CheckDigit);
            }
        }
        let tweak = self.tweak(tweak, &text, &slots);
        let numeral = |&(i, alphabet): &(usize, &Alphabet)| {
            let numeral = alphabet.numeral(u32::from(text[i]));
            numeral.ok_or(Error::Symbol { index: i })
        };
        let numerals: Result<Vec<u16>, Error> = slots.encrypted.iter().map(numeral).collect();
        let mut numerals = Zeroizing::new(numerals?);
        let first = slots
            .encrypted
            .first()
            .map_or(2, |(_, alphabet)| alphabet.radix());
        if slots
            .encrypted
            .iter()
            .all(|(_, alphabet)| alphabet.radix() == first)
        {
            let ff1 = self.ff1(first)?;
            if ENCRYPT {
                ff1.encrypt_numerals(&tweak, &mut numerals)?;
            } else {
                ff1.decrypt_numerals(&tweak, &mut numerals)?;
            }
        } else {
            let radices: Vec<u32> = slots.encrypted.iter().map(|(_, a)| a.radix()).collect();
            self.mixed::<ENCRYPT>(&tweak, &radices, &mut numerals)?;
        }
        for (&(i, alphabet), &numeral) in slots.encrypted.iter().zip(numerals.iter()) {
            text[i] = char::from_u32(alphabet.symbol(numeral)).unwrap_or_default();
        }
        if let Some(check) = slots.check {
            let (body, tail) = slots.checked.split_at(slots.checked.len() - check.len());
            let computed = check.compute(body.iter().map(|&i| text[i]))?;
            for (&i, c) in tail.iter().zip(computed) {
                text[i] = c;
            }
        }
        Ok(text.iter().collect())
    }

    /// Symbols of several alphabets as one integer, most significant first.
    fn mixed<const ENCRYPT: bool>(
        &self,
        tweak: &[u8],
        radices: &[u32],
        numerals: &mut [u16],
    ) -> Result<(), Error> {
        let product = |product: u128, &radix: &u32| product.checked_mul(radix.into());
        let size = radices.iter().try_fold(1, product).ok_or(Error::Domain {
            found: u128::MAX,
            min: crate::MIN_DOMAIN,
            max: u128::MAX,
        })?;
        let join =
            |x: u128, (&radix, &numeral): (&u32, &u16)| x * u128::from(radix) + u128::from(numeral);
        let x = radices.iter().zip(&*numerals).fold(0, join);
        let mut x = self.integer::<ENCRYPT>(tweak, size, x)?;
        for (numeral, &radix) in numerals.iter_mut().zip(radices).rev() {
            *numeral = u16::try_from(x % u128::from(radix)).unwrap_or_default();
            x /= u128::from(radix);
        }
        Ok(())
    }

    /// An integer below `size`, in the wire format of radix 2.
    fn integer<const ENCRYPT: bool>(
        &self,
        tweak: &[u8],
        size: u128,
        x: u128,
    ) -> Result<u128, Error> {
        let range = self.ff1(2)?.range(0..=size.saturating_sub(1))?;
        if ENCRYPT {
            range.encrypt(tweak, x)
        } else {
            range.decrypt(tweak, x)
        }
    }

    fn ff1(&self, radix: u32) -> Result<Ff1, Error> {
        let ff1 = Ff1::with_key(self.key.clone(), radix)?;
        Ok(if self.format.small {
            ff1.allow_small_domain()
        } else {
            ff1
        })
    }

    /// The tweak of the cipher: this scheme's name, the format's identity, the caller's tweak
    /// and the kept text, each after its length.
    fn tweak(&self, tweak: &[u8], text: &[char], slots: &Slots<'_>) -> Vec<u8> {
        let mut kept = vec![true; text.len()];
        slots.encrypted.iter().for_each(|&(i, _)| kept[i] = false);
        if let Some(check) = slots.check {
            let tail = slots.checked.len() - check.len();
            slots.checked[tail..].iter().for_each(|&i| kept[i] = false);
        }
        // A kept character as its code point and one, one not kept as zero.
        let mut template = Vec::with_capacity(4 * text.len());
        for (&c, kept) in text.iter().zip(kept) {
            let code = if kept { u32::from(c) + 1 } else { 0 };
            template.extend_from_slice(&code.to_be_bytes());
        }
        let mut out = Vec::new();
        push(&mut out, b"sordino-fpe format 1");
        push(&mut out, &self.format.identity);
        push(&mut out, tweak);
        push(&mut out, &template);
        out
    }

    /// A social security number as an index among the valid ones.
    fn ssn<const ENCRYPT: bool>(&self, tweak: &[u8], text: &str) -> Result<String, Error> {
        let (areas, groups, serials) = (898, 99, 9999);
        let mut digits = Zeroizing::new(Vec::with_capacity(9));
        let hyphens = text.len() == 11;
        for (index, c) in text.chars().enumerate() {
            match c.to_digit(10) {
                Some(digit) if digits.len() < 9 && !(hyphens && matches!(index, 3 | 6)) => {
                    digits.push(digit);
                }
                None if hyphens && matches!(index, 3 | 6) && c == '-' => {}
                _ => return Err(Error::Symbol { index }),
            }
        }
        if digits.len() != 9 {
            let index = text.chars().count();
            return Err(Error::Symbol { index });
        }
        let number = |x: &[u32]| x.iter().fold(0, |n, x| 10 * n + x);
        let place =
            |i: usize| i + usize::from(hyphens) * (usize::from(i >= 3) + usize::from(i >= 5));
        let (area, group, serial) = (
            number(&digits[..3]),
            number(&digits[3..5]),
            number(&digits[5..]),
        );
        // Areas 001 to 665 and 667 to 899.
        let area = match area {
            1..=665 => area - 1,
            667..=899 => area - 2,
            _ => return Err(Error::Symbol { index: 0 }),
        };
        for (part, index) in [(group, 3), (serial, 5)] {
            if part == 0 {
                return Err(Error::Symbol {
                    index: place(index),
                });
            }
        }
        let x = (area * groups + group - 1) * serials + serial - 1;
        let tweak = self.tweak(tweak, &[], &Slots::default());
        let size = u128::from(areas * groups * serials);
        let x = self.integer::<ENCRYPT>(&tweak, size, x.into())?;
        let x = u32::try_from(x).map_err(|_| Error::OutOfRange)?;
        let (area, group, serial) = (x / serials / groups, x / serials % groups, x % serials);
        let area = area + if area < 665 { 1 } else { 2 };
        let hyphen = if hyphens { "-" } else { "" };
        Ok(format!(
            "{area:03}{hyphen}{:02}{hyphen}{:04}",
            group + 1,
            serial + 1
        ))
    }

    fn date<const ENCRYPT: bool>(
        &self,
        tweak: &[u8],
        text: &str,
        first: u32,
        last: u32,
    ) -> Result<String, Error> {
        let day = calendar::day_number(text).map_err(|index| Error::Symbol { index })?;
        let x = day
            .checked_sub(first)
            .filter(|_| day <= last)
            .ok_or(Error::OutOfRange)?;
        let tweak = self.tweak(tweak, &[], &Slots::default());
        let size = u128::from(last - first) + 1;
        let x = self.integer::<ENCRYPT>(&tweak, size, x.into())?;
        let x = u32::try_from(x).map_err(|_| Error::OutOfRange)?;
        let (y, m, d) = calendar::date(first + x);
        Ok(format!("{y:04}-{m:02}-{d:02}"))
    }
}
