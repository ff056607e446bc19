//! Riffpe: all digits of one radix.

use super::{DigitOrder, RiffpeX};
use crate::{AesKey, Error, NumeralCipher};
use alloc::{vec, vec::Vec};
use zeroize::Zeroizing;

/// Riffpe: all digits have the same radix. See [`RiffpeX`] for the security of both ciphers.
///
/// ```
/// use sordino_fpe::{AesKey, Riffpe};
///
/// let riffpe = Riffpe::new(&AesKey::new_128(&[7; 16]), 10, 6)?;
/// let mut digits = [1, 2, 3, 4, 5, 6];
/// riffpe.encrypt(b"tweak", &mut digits)?;
/// riffpe.decrypt(b"tweak", &mut digits)?;
/// assert_eq!(digits, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Riffpe(RiffpeX);

impl Riffpe {
    /// A cipher with `digits` digits of radix `radix`, 16 bytes per value, and AES of the key's
    /// size.
    ///
    /// # Errors
    /// [`Error::Radix`] if `radix` is not supported; [`Error::Length`] if `digits` is 0 or too large.
    pub fn new(key: &AesKey, radix: u32, digits: usize) -> Result<Self, Error> {
        let width = super::check_shape(radix, radix, digits)?;
        let cipher = RiffpeX::with_shape(key, vec![radix; digits], width, true);
        Ok(Self(cipher))
    }

    /// The same cipher with labels of this many bytes.
    ///
    /// # Errors
    /// [`Error::BytesPerValue`] for 0 or more than [`crate::MAX_BYTES_PER_VALUE`].
    pub fn with_bytes_per_value(self, bytes_per_value: usize) -> Result<Self, Error> {
        self.0.with_bytes_per_value(bytes_per_value).map(Self)
    }

    /// Encrypts digits in place. After an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`] if there is another number of digits; [`Error::Numeral`] if a digit is not below the radix.
    pub fn encrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.0.encrypt(tweak, digits)
    }

    /// Decrypts digits in place. After an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`] if there is another number of digits; [`Error::Numeral`] if a digit is not below the radix.
    pub fn decrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.0.decrypt(tweak, digits)
    }

    /// Encrypts many strings of digits that lie one after another. The result equals
    /// [`Riffpe::encrypt`] of each string. After an error all strings are unchanged.
    ///
    /// # Errors
    /// [`Error::Batch`] if the strings are not whole; [`Error::Numeral`] if a digit is not below the radix.
    pub fn encrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.0.encrypt_batch(tweak, strings)
    }

    /// The inverse of [`Riffpe::encrypt_batch`].
    ///
    /// # Errors
    /// The errors of [`Riffpe::encrypt_batch`].
    pub fn decrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.0.decrypt_batch(tweak, strings)
    }

    /// Encrypts an integer below `radix^digits`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `x` is not below `radix^digits`; [`Error::Domain`] if `radix^digits` is above `2^128`.
    pub fn encrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.0.encrypt_integer(tweak, x, order)
    }

    /// Decrypts an integer below `radix^digits`.
    ///
    /// # Errors
    /// The errors of [`Riffpe::encrypt_integer`].
    pub fn decrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.0.decrypt_integer(tweak, x, order)
    }
}

impl NumeralCipher for Riffpe {
    fn radix(&self) -> u32 {
        self.0.bases[0]
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        numerals(x, |digits| self.encrypt(tweak, digits))
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        numerals(x, |digits| self.decrypt(tweak, digits))
    }
}

fn numerals(
    x: &mut [u16],
    cipher: impl FnOnce(&mut [u32]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut digits: Zeroizing<Vec<u32>> = Zeroizing::new(x.iter().map(|&x| x.into()).collect());
    cipher(&mut digits)?;
    for (x, &digit) in x.iter_mut().zip(digits.iter()) {
        // A radix above 65536 may give digits that do not fit a numeral; then nothing is changed.
        *x = u16::try_from(digit).map_err(|_| Error::OutOfRange)?;
    }
    Ok(())
}
