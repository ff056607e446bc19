//! The interface of every cipher of this crate: it encrypts numerals in place, and text over an alphabet.

use crate::{Alphabet, Error};
use alloc::{string::String, vec::Vec};
use zeroize::Zeroizing;

/// A cipher over strings of numerals, most significant first.
///
/// ```
/// use sordino_fpe::{AesKey, Alphabet, Ff1, NumeralCipher};
///
/// let ff1 = Ff1::new(&AesKey::new_128(&[1; 16]), 36)?;
/// let hidden = ff1.encrypt_str(&Alphabet::UPPER_ALPHANUMERIC, b"plates", "WX1234C")?;
/// let shown = ff1.decrypt_str(&Alphabet::UPPER_ALPHANUMERIC, b"plates", &hidden)?;
/// assert_eq!(shown, "WX1234C");
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
pub trait NumeralCipher {
    /// The radix: numerals are below it.
    fn radix(&self) -> u32;

    /// Encrypts `x` in place. After an error `x` is unchanged.
    ///
    /// # Errors
    /// - [`Error::Length`] if the string is too short or too long
    /// - [`Error::Numeral`] if a numeral is not below the radix
    /// - [`Error::TweakLength`] if the tweak has a length that the algorithm does not allow
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error>;

    /// Decrypts `x` in place. After an error `x` is unchanged.
    ///
    /// # Errors
    /// - [`Error::Length`] if the string is too short or too long
    /// - [`Error::Numeral`] if a numeral is not below the radix
    /// - [`Error::TweakLength`] if the tweak has a length that the algorithm does not allow
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error>;

    /// Encrypts a text over `alphabet`, whose number of symbols must be the radix.
    ///
    /// # Errors
    /// [`Error::Radix`] if the alphabet does not have this number of symbols; [`Error::Symbol`] if a symbol is not in
    /// the alphabet; the errors of [`NumeralCipher::encrypt_numerals`].
    fn encrypt_str(&self, alphabet: &Alphabet, tweak: &[u8], text: &str) -> Result<String, Error> {
        translate(self.radix(), alphabet, text, |x| {
            self.encrypt_numerals(tweak, x)
        })
    }

    /// Decrypts a text over `alphabet`, whose number of symbols must be the radix.
    ///
    /// # Errors
    /// [`Error::Radix`] if the alphabet does not have this number of symbols; [`Error::Symbol`] if a symbol is not in
    /// the alphabet; the errors of [`NumeralCipher::decrypt_numerals`].
    fn decrypt_str(&self, alphabet: &Alphabet, tweak: &[u8], text: &str) -> Result<String, Error> {
        translate(self.radix(), alphabet, text, |x| {
            self.decrypt_numerals(tweak, x)
        })
    }

    /// Encrypts a text over an ASCII alphabet in place. After an error the text is unchanged.
    ///
    /// # Errors
    /// The errors of [`NumeralCipher::encrypt_str`]; [`Error::Alphabet`] if the alphabet is not ASCII.
    fn encrypt_ascii(&self, alphabet: &Alphabet, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        in_place(self.radix(), alphabet, x, |x| {
            self.encrypt_numerals(tweak, x)
        })
    }

    /// Decrypts a text over an ASCII alphabet in place. After an error the text is unchanged.
    ///
    /// # Errors
    /// The errors of [`NumeralCipher::decrypt_str`]; [`Error::Alphabet`] if the alphabet is not ASCII.
    fn decrypt_ascii(&self, alphabet: &Alphabet, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        in_place(self.radix(), alphabet, x, |x| {
            self.decrypt_numerals(tweak, x)
        })
    }

    /// Encrypts bytes in place, each a numeral of radix 256.
    ///
    /// # Errors
    /// [`Error::Radix`] for any other radix, and the errors of [`NumeralCipher::encrypt_numerals`].
    fn encrypt_bytes(&self, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        bytes(self.radix(), x, |x| self.encrypt_numerals(tweak, x))
    }

    /// Decrypts bytes in place, each a numeral of radix 256.
    ///
    /// # Errors
    /// [`Error::Radix`] for any other radix, and the errors of [`NumeralCipher::decrypt_numerals`].
    fn decrypt_bytes(&self, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        bytes(self.radix(), x, |x| self.decrypt_numerals(tweak, x))
    }
}

/// The numerals that a cipher works on in place.
type Numerals<'a> = &'a mut [u16];

fn translate(
    radix: u32,
    alphabet: &Alphabet,
    text: &str,
    cipher: impl FnOnce(Numerals<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    alphabet.check_radix(radix)?;
    let mut x = Zeroizing::new(Vec::with_capacity(text.len()));
    alphabet.numerals(text.chars().map(u32::from), &mut *x)?;
    cipher(&mut x)?;
    let symbols = x.iter().map(|&x| alphabet.symbol(x));
    Ok(symbols.filter_map(char::from_u32).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "symbols are ASCII")]
pub(crate) fn in_place(
    radix: u32,
    alphabet: &Alphabet,
    text: &mut [u8],
    cipher: impl FnOnce(Numerals<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    alphabet.check_radix(radix)?;
    if !alphabet.is_ascii() {
        return Err(Error::Alphabet);
    }
    let mut x = Zeroizing::new(Vec::with_capacity(text.len()));
    alphabet.numerals(text.iter().map(|&x| x.into()), &mut *x)?;
    cipher(&mut x)?;
    for (out, &x) in text.iter_mut().zip(x.iter()) {
        *out = alphabet.symbol(x) as u8;
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "numerals are below 256")]
fn bytes(
    radix: u32,
    text: &mut [u8],
    cipher: impl FnOnce(Numerals<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if radix != 256 {
        return Err(Error::Radix {
            found: radix,
            min: 256,
            max: 256,
        });
    }
    let mut x: Zeroizing<Vec<u16>> = Zeroizing::new(text.iter().map(|&x| x.into()).collect());
    cipher(&mut x)?;
    for (out, &x) in text.iter_mut().zip(x.iter()) {
        *out = x as u8;
    }
    Ok(())
}

/// Checks that numerals are below `radix`. It searches for the position only after it has found a fault.
pub(crate) fn check(x: &[u16], radix: u32) -> Result<(), Error> {
    let bad = x
        .iter()
        .fold(false, |bad, &x| bad | (u32::from(x) >= radix));
    if bad {
        let index = x.iter().position(|&x| u32::from(x) >= radix);
        return Err(Error::Numeral {
            index: index.unwrap_or_default(),
        });
    }
    Ok(())
}
