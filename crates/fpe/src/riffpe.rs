//! Riffpe and RiffpeX, after the reference's source at revision 7d46a7d of 14 December 2025
//! (github.com/filipzz/riffpe). There is no paper, and earlier revisions have other wire formats.
//!
//! | symbol | meaning |
//! |---|---|
//! | `n_i`, `l` | digit `i` is below `n_i`; there are `l` digits |
//! | `w` | bytes that a digit has in a message: 1 below radix 256, 2 below 65536, else 4 |
//! | `T` | the digits but one, and the index of that one, padded as PKCS #7 does |
//! | `bytes_per_value` | bytes of a card's label |
//!
//! Two phases, absorb and squeeze, each go over all digits. In a digit's step, the CBC-MAC of `T` keys a stream of
//! labels, one label for each of `n_i` cards. The digit selects a card by its position in the order of the labels.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512; // one string, and sixteen in step
mod bases; // the best bases of a domain
mod definition; // by sorting, as specified
mod integer; // integers from and to digits
mod mac; // CBC-MAC, and the tweak's state
mod message; // the digits that key a step
mod portable8; // eight strings in step
mod select; // one step by the first bytes of labels
mod steps; // all steps, on the quickest backend
mod uniform; // all digits of one radix

use crate::{AesKey, Error};
use alloc::vec::Vec;
use mac::Prefix;
use sordino_aes::Key;

pub use bases::find_best_bases;
pub use uniform::Riffpe;

/// The largest radix of a digit. A step takes at least one AES block for each card.
pub const MAX_RIFFPE_RADIX: u32 = 1 << 20;

/// The largest number of bytes per value.
pub const MAX_BYTES_PER_VALUE: usize = 64;

/// The order of an integer's digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitOrder {
    /// The most significant digit comes first.
    Big,
    /// The least significant digit comes first. This is the default of the reference's command line.
    Little,
}

/// RiffpeX: each digit has its own radix.
///
/// # Security
/// This is a research cipher without a published proof; FF1 is the standard. Use it to read data that was written with
/// it, and for comparisons. Its known security is weak for short strings. The simple argument gives
/// indistinguishability for well below `n^((l - 1) / 2)` messages: some hundreds for six digits of radix 10. The
/// reference itself calls radix 10 potentially insecure. A label of 8 `bytes_per_value` bits makes a permutation of `n`
/// cards uniform up to `n^2 / 2^(8 bytes_per_value + 1)`, so few bytes make a biased cipher.
///
/// The tweak of RiffpeX is not separated from its list of radices, so use each key for one list only.
///
/// Time and memory access do not depend on digits of a radix up to 48. For a larger radix, a table look-up selects a
/// digit.
#[derive(Clone)]
pub struct RiffpeX {
    key: Key,
    bases: Vec<u32>,
    width: usize,
    bytes_per_value: usize,
    /// True if all digits have the same radix, and the tweak's state is the one that Riffpe defines.
    uniform: bool,
    /// The part of the tweak's state that is absorbed before the tweak.
    prefix: Prefix,
    divisors: Option<integer::Divisors>,
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    one: Option<avx512::one::Token>,
}

impl core::fmt::Debug for RiffpeX {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RiffpeX")
            .field("bases", &self.bases)
            .field("bytes_per_value", &self.bytes_per_value)
            .finish_non_exhaustive()
    }
}

/// The width of a digit, for digits of radices from `least` to `most`.
fn check_shape(least: u32, most: u32, digits: usize) -> Result<usize, Error> {
    for radix in [least, most] {
        if !(2..=MAX_RIFFPE_RADIX).contains(&radix) {
            return Err(Error::Radix {
                found: radix,
                min: 2,
                max: MAX_RIFFPE_RADIX,
            });
        }
    }
    let (width, max) = match most {
        0..256 => (1, 1 << 8),
        256..65536 => (2, 1 << 16),
        // The reference would accept 2^32, but no machine can process that many.
        _ => (4, 1 << 20),
    };
    // A digit's index must fit into a digit's width, or two digits would share a step.
    if !(1..=max).contains(&digits) {
        return Err(Error::Length {
            found: digits,
            min: 1,
            max,
        });
    }
    Ok(width)
}

impl RiffpeX {
    /// A cipher with one digit for each of `bases`, 16 bytes per value, and AES of the key's size.
    ///
    /// # Errors
    /// [`Error::Radix`] if a base is not supported; [`Error::Length`] if there are no bases or too many.
    pub fn new(key: &AesKey, bases: &[u32]) -> Result<Self, Error> {
        let least = bases.iter().copied().min().unwrap_or(2);
        let most = bases.iter().copied().max().unwrap_or(2);
        let width = check_shape(least, most, bases.len())?;
        Ok(Self::with_shape(key, bases.to_vec(), width, false))
    }

    fn with_shape(key: &AesKey, bases: Vec<u32>, width: usize, uniform: bool) -> Self {
        let key = Key::new(key.bytes());
        Self {
            prefix: Prefix::new(&key, &bases, uniform),
            divisors: integer::Divisors::new(&bases),
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            one: avx512::one::Token::detect().filter(|_| avx512::one::fits(&bases)),
            key,
            bases,
            width,
            bytes_per_value: 16,
            uniform,
        }
    }

    /// The same cipher with labels of this many bytes.
    ///
    /// # Errors
    /// [`Error::BytesPerValue`] for 0 or more than [`MAX_BYTES_PER_VALUE`].
    pub fn with_bytes_per_value(mut self, bytes_per_value: usize) -> Result<Self, Error> {
        if !(1..=MAX_BYTES_PER_VALUE).contains(&bytes_per_value) {
            return Err(Error::BytesPerValue {
                found: bytes_per_value,
                max: MAX_BYTES_PER_VALUE,
            });
        }
        self.bytes_per_value = bytes_per_value;
        Ok(self)
    }

    /// The radices of the digits.
    #[must_use]
    pub fn bases(&self) -> &[u32] {
        &self.bases
    }

    /// Encrypts digits in place. After an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`] if there is another number of digits; [`Error::Numeral`] if a digit is not below its base.
    pub fn encrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.check(digits)?;
        self.run::<false>(tweak, digits);
        Ok(())
    }

    /// Decrypts digits in place. After an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`] if there is another number of digits; [`Error::Numeral`] if a digit is not below its base.
    pub fn decrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.check(digits)?;
        self.run::<true>(tweak, digits);
        Ok(())
    }

    /// Encrypts many strings of digits that lie one after another. The result equals [`RiffpeX::encrypt`] of each
    /// string. After an error all strings are unchanged.
    ///
    /// # Errors
    /// [`Error::Batch`] if the strings are not whole; [`Error::Numeral`] if a digit is not below its base.
    pub fn encrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.check_batch(strings)?;
        self.run_batch::<false>(tweak, strings);
        Ok(())
    }

    /// The inverse of [`RiffpeX::encrypt_batch`].
    ///
    /// # Errors
    /// The errors of [`RiffpeX::encrypt_batch`].
    pub fn decrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.check_batch(strings)?;
        self.run_batch::<true>(tweak, strings);
        Ok(())
    }

    fn check_batch(&self, strings: &[u32]) -> Result<(), Error> {
        let l = self.bases.len();
        if !strings.len().is_multiple_of(l) {
            return Err(Error::Batch {
                found: strings.len(),
                expected: strings.len().next_multiple_of(l),
            });
        }
        let bad = |(x, n): (&u32, &u32)| x >= n;
        match strings.iter().zip(self.bases.iter().cycle()).position(bad) {
            Some(index) => Err(Error::Numeral { index }),
            None => Ok(()),
        }
    }

    /// Encrypts an integer below the product of the bases.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `x` is not below the product of the bases; [`Error::Domain`] if the product is above
    /// `2^128`.
    pub fn encrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.integer(x, order, |digits| self.run::<false>(tweak, digits))
    }

    /// Decrypts an integer below the product of the bases.
    ///
    /// # Errors
    /// The errors of [`RiffpeX::encrypt_integer`].
    pub fn decrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.integer(x, order, |digits| self.run::<true>(tweak, digits))
    }

    fn check(&self, digits: &[u32]) -> Result<(), Error> {
        let l = self.bases.len();
        if digits.len() != l {
            return Err(Error::Length {
                found: digits.len(),
                min: l,
                max: l,
            });
        }
        let bad = |(x, n): (&u32, &u32)| x >= n;
        match digits.iter().zip(&self.bases).position(bad) {
            Some(index) => Err(Error::Numeral { index }),
            None => Ok(()),
        }
    }
}
