//! A format under a key.

use super::{Format, Shape, push, slots::Slots};
use crate::{Alphabet, Error, Ff1, NumeralCipher};
use alloc::{string::String, vec, vec::Vec};
use sordino_aes::Key;
use zeroize::Zeroizing;

/// A [`Format`] under a key.
#[derive(Clone, Debug)]
pub struct FormatCipher {
    key: Key,
    format: Format,
}

impl FormatCipher {
    pub(super) fn new(key: Key, format: Format) -> Self {
        Self { key, format }
    }

    /// A description of the format's values for messages, such as `a UUID in small letters, with all hyphens or
    /// none`.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.format.expected
    }

    /// Encrypts a text of the format.
    ///
    /// # Errors
    /// [`Error::Symbol`] with the index of the first character that the format does not allow there.
    /// [`Error::CheckDigit`] for a wrong check. [`Error::Length`] or [`Error::Domain`] if too little of the text
    /// is to be encrypted.
    pub fn encrypt(&self, tweak: &[u8], text: &str) -> Result<String, Error> {
        self.run::<true>(tweak, text)
    }

    /// Decrypts a text of the format.
    ///
    /// # Errors
    /// The errors of [`FormatCipher::encrypt`].
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
        let Shape::Pattern(pattern) = &self.format.shape else {
            self.symbols::<ENCRYPT>(tweak, &mut text)?;
            return Ok(text.iter().collect());
        };
        let mut whole = pattern.separated(text);
        let done = self.symbols::<ENCRYPT>(tweak, &mut whole.text);
        done.map_err(|error| whole.place(error))?;
        whole.restore();
        Ok(whole.text.iter().collect())
    }

    /// Encrypts or decrypts, in place, the symbols of a text whose positions are known.
    fn symbols<const ENCRYPT: bool>(&self, tweak: &[u8], text: &mut [char]) -> Result<(), Error> {
        let slots = self.format.slots(text)?;
        if let Some(check) = &slots.check {
            let expected = check.system.compute(check.body.iter().map(|&i| text[i]))?;
            if !check.tail.iter().map(|&i| &text[i]).eq(expected.iter()) {
                return Err(Error::CheckDigit);
            }
        }
        let tweak = self.tweak(tweak, text, &slots);
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
            let done = match ENCRYPT {
                true => ff1.encrypt_numerals(&tweak, &mut numerals),
                false => ff1.decrypt_numerals(&tweak, &mut numerals),
            };
            done.map_err(|error| self.of_whole(error, first))?;
        } else {
            let radices: Vec<u32> = slots.encrypted.iter().map(|(_, a)| a.radix()).collect();
            self.mixed::<ENCRYPT>(&tweak, &radices, &mut numerals)?;
        }
        for (&(i, alphabet), &numeral) in slots.encrypted.iter().zip(numerals.iter()) {
            text[i] = char::from_u32(alphabet.symbol(numeral)).unwrap_or_default();
        }
        if let Some(check) = &slots.check {
            let computed = check.system.compute(check.body.iter().map(|&i| text[i]))?;
            for (&i, &symbol) in check.tail.iter().zip(computed.iter()) {
                text[i] = symbol;
            }
        }
        Ok(())
    }

    /// Adds the kept symbols to the lengths in an error, since a user counts all symbols of a value.
    fn of_whole(&self, error: Error, radix: u32) -> Error {
        let values =
            |len: usize| u128::from(radix).saturating_pow(u32::try_from(len).unwrap_or(u32::MAX));
        let small = |found| !self.format.small && values(found) >= crate::LEGACY_MIN_DOMAIN;
        match (&self.format.shape, error) {
            // Most characters of an e-mail address do not count, so the error says which characters count.
            (Shape::Text(text), Error::Length { found, min, .. })
                if found < min && (small(found) || text.until.is_some()) =>
            {
                Error::FewSymbols {
                    found: found.saturating_add(text.kept()),
                    encrypted: found,
                    min: min.saturating_add(text.kept()),
                    hint: self.format.hint,
                    small: small(found),
                }
            }
            (Shape::Text(text), Error::Length { found, min, max }) => Error::Length {
                found: found.saturating_add(text.kept()),
                min: min.saturating_add(text.kept()),
                max: max.saturating_add(text.kept()),
            },
            (_, error) => error,
        }
    }

    /// Treats symbols of several alphabets as one integer, most significant first.
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

    /// Encrypts or decrypts an integer below `size`, in the wire format of radix 2.
    pub(super) fn integer<const ENCRYPT: bool>(
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

    /// The tweak of the cipher, as the documentation of [`Format`] defines it.
    pub(super) fn tweak(&self, tweak: &[u8], text: &[char], slots: &Slots<'_>) -> Vec<u8> {
        let mut counts = vec![Counts::Kept; text.len()];
        for &(i, _) in &slots.encrypted {
            counts[i] = Counts::Open;
        }
        for &i in slots.check.iter().flat_map(|check| &check.tail) {
            counts[i] = Counts::Open;
        }
        let mut caseless = text.len();
        if !self.format.spelling {
            slots.spelling.iter().for_each(|&i| counts[i] = Counts::Not);
            caseless = slots.caseless.unwrap_or(caseless);
        }
        let mut template = Vec::with_capacity(4 * text.len());
        let mut put = |code: u32| template.extend_from_slice(&code.to_be_bytes());
        for (i, (&c, counts)) in text.iter().zip(counts).enumerate() {
            match counts {
                Counts::Not => {}
                Counts::Open => put(0),
                Counts::Kept if i >= caseless => {
                    c.to_lowercase().for_each(|c| put(u32::from(c) + 1));
                }
                Counts::Kept => put(u32::from(c) + 1),
            }
        }
        let mut out = Vec::new();
        push(&mut out, b"sordino-fpe format 1");
        push(&mut out, &self.format.identity);
        push(&mut out, tweak);
        push(&mut out, &template);
        out
    }
}

/// A character's part in the template of the tweak.
#[derive(Clone, Copy)]
enum Counts {
    /// The template has the character itself.
    Kept,
    /// The template has only the character's position, because encryption changes the character.
    Open,
    /// The template leaves the character out, because the character is not part of the value.
    Not,
}
