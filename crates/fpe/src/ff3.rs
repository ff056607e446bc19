//! FF3 (SP 800-38G of 2016, Algorithms 9 and 10) and FF3-1 (its Revision 1's first draft).
//!
//! | symbol | meaning |
//! |---|---|
//! | `u`, `v` | lengths of the halves `A` and `B`: `ceil(n / 2)` and `n - u` |
//! | `T_L`, `T_R` | the halves of the tweak: 8 bytes for FF3, 56 bits for FF3-1 |
//! | `W` | the tweak's half of a round: `T_R` in even rounds, `T_L` in odd ones |
//!
//! The least significant numeral comes first, and the block and the key go through AES with their bytes in reverse
//! order.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;
#[cfg(test)]
pub(crate) mod definition; // Algorithms 9 and 10, step by step
mod half;
mod plan;

pub use plan::Ff3Plan;

use crate::{
    AesKey, Error, LEGACY_MIN_DOMAIN, MIN_DOMAIN, NumeralCipher,
    block::{BlockCipher, NativeAes},
};
use sordino_aes::Key;

/// FF3, whose tweak has 8 bytes.
///
/// # Security
/// FF3 is broken: Durak and Vaudenay (eprint 2017/521) recover messages by means of the tweak's schedule. NIST has
/// withdrawn it. Use it only to read old data.
pub type Ff3<C = NativeAes> = Ff3Cipher<8, C>;

/// FF3-1, whose tweak has 7 bytes.
///
/// # Security
/// NIST removed FF3-1 from the second draft of SP 800-38G Revision 1 (February 2025). Beyne (eprint 2021/815)
/// distinguishes it from a random permutation, and recovers messages, with about `2^23` to `2^24` queries at a
/// million values. Use it only to read old data.
pub type Ff3_1<C = NativeAes> = Ff3Cipher<7, C>;

/// FF3 ([`Ff3`]) or FF3-1 ([`Ff3_1`]), depending on the number of tweak bytes.
///
/// ```
/// use sordino_fpe::{AesKey, Ff3_1, NumeralCipher};
///
/// let ff3_1 = Ff3_1::new(&AesKey::new_128(&[7; 16]), 10)?;
/// let mut numerals = [8, 9, 0, 1, 2, 1];
/// ff3_1.encrypt_numerals(&[0; 7], &mut numerals)?;
/// ff3_1.decrypt_numerals(&[0; 7], &mut numerals)?;
/// assert_eq!(numerals, [8, 9, 0, 1, 2, 1]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone)]
pub struct Ff3Cipher<const TWEAK: usize, C = NativeAes> {
    pub(crate) cipher: C,
    radix: u32,
    min_domain: u128,
}

impl<const TWEAK: usize, C> core::fmt::Debug for Ff3Cipher<TWEAK, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff3Cipher")
            .field("radix", &self.radix)
            .finish_non_exhaustive()
    }
}

impl<const TWEAK: usize> Ff3Cipher<TWEAK> {
    /// A cipher with AES of the key's size. `radix` is from 2 to 65536.
    ///
    /// # Errors
    /// [`Error::Radix`] if the algorithm does not support the radix.
    pub fn new(key: &AesKey, radix: u32) -> Result<Self, Error> {
        let key = Key::new(key.reversed().bytes());
        Self::with_cipher(NativeAes(key), radix)
    }
}

impl<const TWEAK: usize, C: BlockCipher> Ff3Cipher<TWEAK, C> {
    /// A cipher with a block cipher of 128 bits that already has its key. `radix` is from 2 to 65536. The block
    /// cipher's key must be FF3's key with its bytes in reverse order.
    ///
    /// # Errors
    /// [`Error::Radix`] if the algorithm does not support the radix.
    ///
    /// # Security
    /// The given cipher determines whether the code is constant-time and whether the key is erased.
    pub fn with_cipher(cipher: C, radix: u32) -> Result<Self, Error> {
        if !(2..=65536).contains(&radix) {
            return Err(Error::Radix {
                found: radix,
                min: 2,
                max: 65536,
            });
        }
        Ok(Self {
            cipher,
            radix,
            min_domain: MIN_DOMAIN,
        })
    }

    /// Also accepts strings of 100 to 999,999 possible values.
    ///
    /// # Security
    /// An attacker can find the plaintexts in such a small domain, with fewer ciphertexts than for FF1: see
    /// [`crate::Ff1::allow_small_domain`].
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.min_domain = LEGACY_MIN_DOMAIN;
        self
    }

    /// The smallest and the largest number of numerals that a string may have. The largest is `2 floor(log_radix
    /// 2^96)`.
    #[must_use]
    pub fn lengths(&self) -> core::ops::RangeInclusive<usize> {
        let radix = u128::from(self.radix);
        let (mut min, mut domain) = (0, 1);
        while domain < self.min_domain || min < 2 {
            domain *= radix;
            min += 1;
        }
        let (mut half, mut power) = (0, radix);
        while power <= 1 << 96 {
            half += 1;
            power *= radix;
        }
        min..=2 * half
    }

    /// Prepares strings of `len` numerals.
    ///
    /// # Errors
    /// [`Error::Length`] if `len` is not one of [`Ff3Cipher::lengths`].
    pub fn plan(&self, len: usize) -> Result<Ff3Plan<TWEAK, C>, Error> {
        let lengths = self.lengths();
        if !lengths.contains(&len) {
            return Err(Error::Length {
                found: len,
                min: *lengths.start(),
                max: *lengths.end(),
            });
        }
        Ok(Ff3Plan::new(self, len))
    }
}

impl<const TWEAK: usize, C: BlockCipher> NumeralCipher for Ff3Cipher<TWEAK, C> {
    fn radix(&self) -> u32 {
        self.radix
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.plan(x.len())?.encrypt_numerals(tweak, x)
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.plan(x.len())?.decrypt_numerals(tweak, x)
    }
}
