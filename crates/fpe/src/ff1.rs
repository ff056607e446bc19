//! FF1 (NIST SP 800-38G, Algorithms 7 and 8).
//!
//! | symbol | meaning |
//! |---|---|
//! | `radix`, `n` | numerals are below `radix`; the string has `n` of them |
//! | `u`, `v` | lengths of the halves `A` and `B`: `floor(n / 2)` and `n - u` |
//! | `b` | bytes of `NUM(B)`: of the integer `radix^v - 1`, in exact arithmetic |
//! | `d` | bytes of the round function's output: `4 ceil(b / 4) + 4` |
//! | `P`, `Q` | the fixed block and the tweak's blocks that the round function authenticates |
//! | `t` | bytes of the tweak `T` |

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;
#[cfg(test)]
pub(crate) mod definition; // Algorithms 7 and 8, step by step
pub(crate) mod half;
mod long;
pub(crate) mod mac;
pub(crate) mod plan;

pub use plan::Ff1Plan;

use sordino_aes::Key;

use crate::{
    AesKey, Error,
    block::{BlockCipher, NativeAes},
    numerals::NumeralCipher,
};

/// The smallest number of values that a string may have, by the draft of SP 800-38G Revision 1.
pub const MIN_DOMAIN: u128 = 1_000_000;

/// The smallest number of values that a string may have, by SP 800-38G of 2016.
pub const LEGACY_MIN_DOMAIN: u128 = 100;

/// FF1 under one key, over one radix, with the block cipher `C`: AES, or with [`Ff1::with_cipher`] a different
/// cipher.
///
/// [`Ff1::plan`] prepares one length. Keep the plan if you encrypt many strings; the methods of [`NumeralCipher`]
/// make a plan for each call.
///
/// ```
/// use sordino_fpe::{AesKey, Ff1, NumeralCipher};
///
/// let ff1 = Ff1::new(&AesKey::new_128(&[7; 16]), 10)?;
/// let mut numerals = [4, 1, 1, 1, 0, 0, 9];
/// ff1.encrypt_numerals(b"tweak", &mut numerals)?;
/// ff1.decrypt_numerals(b"tweak", &mut numerals)?;
/// assert_eq!(numerals, [4, 1, 1, 1, 0, 0, 9]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
///
/// # Security
/// Length and radix are public. If `radix^ceil(len / 2)` is below `2^128`, time and memory access do not depend on
/// the key, the numerals or the tweak's content. Longer halves use integers of many limbs, whose time depends
/// slightly on their values.
#[derive(Clone)]
pub struct Ff1<C = NativeAes> {
    cipher: C,
    radix: u32,
    min_domain: u128,
}

impl<C> core::fmt::Debug for Ff1<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff1")
            .field("radix", &self.radix)
            .finish_non_exhaustive()
    }
}

impl Ff1 {
    /// FF1 with AES of the key's size. `radix` is from 2 to 65536.
    ///
    /// # Errors
    /// [`Error::Radix`] if the algorithm does not support the radix.
    pub fn new(key: &AesKey, radix: u32) -> Result<Self, Error> {
        Self::with_key(Key::new(key.bytes()), radix)
    }

    pub(crate) fn with_key(key: Key, radix: u32) -> Result<Self, Error> {
        Self::with_cipher(NativeAes(key), radix)
    }
}

impl<C: BlockCipher> Ff1<C> {
    /// FF1 with a block cipher of 128 bits that already has its key. `radix` is from 2 to 65536. SP 800-38G
    /// requires AES, for which [`Ff1::new`] has faster code.
    ///
    /// ```
    /// use aes::{Aes128, cipher::KeyInit};
    /// use sordino_fpe::{AesKey, Ff1, NumeralCipher};
    ///
    /// let ff1 = Ff1::with_cipher(Aes128::new(&[7; 16].into()), 10)?;
    /// let (mut x, mut y) = ([4, 1, 1, 1, 0, 0, 9], [4, 1, 1, 1, 0, 0, 9]);
    /// ff1.encrypt_numerals(b"tweak", &mut x)?;
    /// Ff1::new(&AesKey::new_128(&[7; 16]), 10)?.encrypt_numerals(b"tweak", &mut y)?;
    /// assert_eq!(x, y);
    /// # Ok::<(), sordino_fpe::Error>(())
    /// ```
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

    /// Also accepts strings of 100 to 999,999 possible values. Use it to read data from before Revision 1.
    ///
    /// # Security
    /// In such a small domain, some thousands of ciphertexts reveal the messages (Bellare, Hoang and Tessaro,
    /// eprint 2016/794; Hoang, Tessaro and Trieu, eprint 2018/556).
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.min_domain = LEGACY_MIN_DOMAIN;
        self
    }

    pub(crate) fn min_domain(&self) -> u128 {
        self.min_domain
    }

    /// The smallest number of numerals that a string may have.
    #[must_use]
    pub fn min_len(&self) -> usize {
        let (mut len, mut domain) = (0, 1u128);
        while domain < self.min_domain || len < 2 {
            domain *= u128::from(self.radix);
            len += 1;
        }
        len
    }

    /// Prepares strings of `len` numerals. Tweaks of `tweak_len` bytes are fastest; the plan accepts others, too.
    ///
    /// # Errors
    /// [`Error::Length`] if `len` is below [`Ff1::min_len`] or above `2^32 - 1`.
    pub fn plan(&self, len: usize, tweak_len: usize) -> Result<Ff1Plan<C>, Error> {
        let min = self.min_len();
        let max = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
        if !(min..=max).contains(&len) {
            return Err(Error::Length {
                found: len,
                min,
                max,
            });
        }
        Ok(Ff1Plan::new(self, len, tweak_len))
    }
}

impl<C: BlockCipher> NumeralCipher for Ff1<C> {
    fn radix(&self) -> u32 {
        self.radix
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.plan(x.len(), tweak.len())?.encrypt_numerals(tweak, x)
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.plan(x.len(), tweak.len())?.decrypt_numerals(tweak, x)
    }
}
