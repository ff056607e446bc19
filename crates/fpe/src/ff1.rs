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
pub(crate) mod half;
mod long;

use crate::{Alphabet, Error, aes::Key, decimal, numerals::Fpe};
use alloc::boxed::Box;
use half::{DECRYPT, Direction, ENCRYPT, Feistel, Half32, Half64, Half128, Mac};

/// Fewest values that a string may take, by the draft of SP 800-38G Revision 1.
pub const MIN_DOMAIN: u128 = 1_000_000;

/// Fewest values that a string may take, by SP 800-38G of 2016.
pub const LEGACY_MIN_DOMAIN: u128 = 100;

/// FF1 under one key, over one radix.
///
/// [`Ff1::plan`] prepares one length and is what to keep where many strings are encrypted; the
/// methods of [`Fpe`] make a plan for each call.
///
/// ```
/// use sordino_fpe::{Ff1, Fpe};
///
/// let ff1 = Ff1::new(&[7; 16], 10)?;
/// let mut numerals = [4, 1, 1, 1, 0, 0, 9];
/// ff1.encrypt_numerals(b"tweak", &mut numerals)?;
/// ff1.decrypt_numerals(b"tweak", &mut numerals)?;
/// assert_eq!(numerals, [4, 1, 1, 1, 0, 0, 9]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
///
/// # Security
/// Length and radix are public. Where a half is below `2^128`, time and memory access depend on
/// neither the key, nor the numerals, nor the tweak's content. Longer halves use integers of
/// many limbs, whose time depends slightly on their values.
#[derive(Clone)]
pub struct Ff1 {
    key: Key,
    radix: u32,
    min_domain: u128,
}

impl core::fmt::Debug for Ff1 {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff1")
            .field("radix", &self.radix)
            .finish_non_exhaustive()
    }
}

impl Ff1 {
    /// FF1 with AES-128, AES-192 or AES-256, by the length of the key; `radix` from 2 to 65536.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Radix`].
    pub fn new(key: &[u8], radix: u32) -> Result<Self, Error> {
        Self::with_key(Key::new(key)?, radix)
    }

    pub(crate) fn with_key(key: Key, radix: u32) -> Result<Self, Error> {
        if !(2..=65536).contains(&radix) {
            return Err(Error::Radix {
                found: radix,
                min: 2,
                max: 65536,
            });
        }
        Ok(Self {
            key,
            radix,
            min_domain: MIN_DOMAIN,
        })
    }

    /// Also takes strings of 100 to 999,999 possible values, to read data of before Revision 1.
    ///
    /// # Security
    /// In so small a domain the messages can be recovered from some thousands of ciphertexts
    /// (Bellare, Hoang and Tessaro, eprint 2016/794; Hoang, Tessaro and Trieu, eprint 2018/556).
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.min_domain = LEGACY_MIN_DOMAIN;
        self
    }

    pub(crate) fn min_domain(&self) -> u128 {
        self.min_domain
    }

    /// Fewest numerals that a string may have.
    #[must_use]
    pub fn min_len(&self) -> usize {
        let (mut len, mut domain) = (0, 1u128);
        while domain < self.min_domain || len < 2 {
            domain *= u128::from(self.radix);
            len += 1;
        }
        len
    }

    /// Prepares strings of `len` numerals. Tweaks of `tweak_len` bytes will be the quickest;
    /// others are taken too.
    ///
    /// # Errors
    /// [`Error::Length`] if `len` is below [`Ff1::min_len`] or above `2^32 - 1`.
    pub fn plan(&self, len: usize, tweak_len: usize) -> Result<Ff1Plan, Error> {
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

impl Fpe for Ff1 {
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

/// FF1 for strings of one length: powers of the radix, their reciprocals and `E(P)` are ready.
///
/// Made by [`Ff1::plan`]; holds its own copy of the key, which is erased when dropped.
#[derive(Clone)]
pub struct Ff1Plan {
    pub(crate) key: Key,
    pub(crate) radix: u32,
    pub(crate) len: usize,
    pub(crate) mac: Mac,
    pub(crate) halves: Halves,
    /// The rounds of narrow halves in vector registers.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    pub(crate) rounds: Option<avx512::Rounds>,
}

/// The arithmetic of the two halves, `u` numerals then `v`, by the size of `radix^v`.
#[derive(Clone)]
pub(crate) enum Halves {
    /// `b <= 4`: `radix^v <= 2^32`, and `y` has 64 bits.
    Narrow([Half32; 2]),
    /// `radix^v < 2^64`.
    Word([Half64; 2]),
    /// `radix^v < 2^128`.
    Double([Half128; 2]),
    /// Anything longer.
    Long(Box<[long::Half; 2]>),
}

impl core::fmt::Debug for Ff1Plan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff1Plan")
            .field("radix", &self.radix)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Ff1Plan {
    /// `len` has been checked.
    #[expect(clippy::cast_possible_truncation, reason = "len and b are below 2^32")]
    fn new(ff1: &Ff1, len: usize, tweak_len: usize) -> Self {
        let (radix, u) = (u64::from(ff1.radix), len / 2);
        let v = len - u;
        let powers = || {
            let exponent = |n: usize| u32::try_from(n).ok();
            let u = u128::from(radix).checked_pow(exponent(u)?)?;
            Some((u, u128::from(radix).checked_pow(exponent(v)?)?))
        };
        let (halves, b) = match powers() {
            Some((u, v)) => {
                let b = (128 - (v - 1).leading_zeros()).div_ceil(8);
                match (u64::try_from(u), u64::try_from(v)) {
                    (Ok(u), Ok(v)) if b <= 4 => {
                        (Halves::Narrow([Half32::new(u), Half32::new(v)]), b)
                    }
                    (Ok(u), Ok(v)) => (Halves::Word([Half64::new(u), Half64::new(v)]), b),
                    _ => {
                        let half = |m| Half128::new(radix, m, b);
                        (Halves::Double([half(u), half(v)]), b)
                    }
                }
            }
            None => {
                let halves = Box::new([long::Half::new(radix, u), long::Half::new(radix, v)]);
                let b = halves[1].bytes();
                (Halves::Long(halves), b as u32)
            }
        };
        // Step 5. The two lengths are public and below 2^32.
        let p = (0x01_02_01 << 104)
            | (u128::from(ff1.radix) << 80)
            | (0x0a << 72)
            | (((len / 2) as u128 & 0xff) << 64)
            | ((len as u128) << 32);
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let rounds = match &halves {
            Halves::Narrow([u, v]) => avx512::Rounds::new([u.m, v.m]),
            _ => None,
        };
        Self {
            mac: Mac::new(&ff1.key, p, b, tweak_len),
            key: ff1.key.clone(),
            radix: ff1.radix,
            len,
            halves,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            rounds,
        }
    }

    /// Numerals of a string.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a plan is never for the empty string"
    )]
    pub fn len(&self) -> usize {
        self.len
    }

    fn check(&self, tweak: &[u8], len: usize) -> Result<(), Error> {
        if len != self.len {
            return Err(Error::Length {
                found: len,
                min: self.len,
                max: self.len,
            });
        }
        check_tweak(tweak)
    }

    /// The rounds on the integers of narrow halves.
    #[inline]
    fn narrow<const D: Direction>(
        &self,
        halves: &[Half32; 2],
        tweak: &[u8],
        number: (u64, u64),
    ) -> (u64, u64) {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let (Some(rounds), Key::AesNi(key)) = (&self.rounds, &self.key) {
            return rounds.run::<D>(key, &self.mac, tweak, number);
        }
        self.key
            .run(Feistel::<_, D>::new(&self.mac, halves, tweak, number))
    }

    /// Decimal digits straight to and from the halves; any other alphabet by way of numerals.
    fn ascii<const D: Direction>(
        &self,
        alphabet: &Alphabet,
        tweak: &[u8],
        x: &mut [u8],
    ) -> Result<(), Error> {
        let cipher = |x: &mut [u16]| self.numerals::<D>(tweak, x);
        if !(self.radix == 10 && self.len <= 2 * decimal::MAX_LEN && alphabet.is_decimal()) {
            return crate::numerals::in_place(self.radix, alphabet, x, cipher);
        }
        self.check(tweak, x.len())?;
        let (a, b) = x.split_at_mut(self.len / 2);
        let ((na, all_a), (nb, all_b)) = (decimal::parse(a), decimal::parse(b));
        if !(all_a & all_b) {
            let index = decimal::check(x).err().unwrap_or_default();
            return Err(Error::Symbol { index });
        }
        let (na, nb) = match &self.halves {
            Halves::Narrow(halves) => self.narrow::<D>(halves, tweak, (na, nb)),
            Halves::Word(halves) => {
                let feistel = Feistel::<_, D>::new(&self.mac, halves, tweak, (na, nb));
                self.key.run(feistel)
            }
            // 38 digits are halves below 2^64.
            _ => return crate::numerals::in_place(self.radix, alphabet, x, cipher),
        };
        decimal::format(na, a);
        decimal::format(nb, b);
        Ok(())
    }

    pub(crate) fn numerals<const D: Direction>(
        &self,
        tweak: &[u8],
        x: &mut [u16],
    ) -> Result<(), Error> {
        self.check(tweak, x.len())?;
        crate::numerals::check(x, self.radix)?;
        let (a, b) = x.split_at_mut(self.len / 2);
        let radix = self.radix;
        match &self.halves {
            Halves::Narrow(halves) => {
                let number = (half::number(a, radix), half::number(b, radix));
                let (na, nb) = self.narrow::<D>(halves, tweak, number);
                half::numerals(na, radix, a);
                half::numerals(nb, radix, b);
            }
            Halves::Word(halves) => {
                let number = (half::number(a, radix), half::number(b, radix));
                let (na, nb) = self
                    .key
                    .run(Feistel::<_, D>::new(&self.mac, halves, tweak, number));
                half::numerals(na, radix, a);
                half::numerals(nb, radix, b);
            }
            Halves::Double(halves) => {
                let number = (half::number_128(a, radix), half::number_128(b, radix));
                let (na, nb) = self
                    .key
                    .run(Feistel::<_, D>::new(&self.mac, halves, tweak, number));
                halves[0].numerals(na, a);
                halves[1].numerals(nb, b);
            }
            Halves::Long(halves) => self.key.run(long::Feistel::<D> {
                mac: &self.mac,
                halves,
                tweak,
                a,
                b,
            }),
        }
        Ok(())
    }
}

/// `P` has four bytes for the tweak's length.
pub(crate) fn check_tweak(tweak: &[u8]) -> Result<(), Error> {
    let expected = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
    if tweak.len() > expected {
        return Err(Error::TweakLength {
            found: tweak.len(),
            expected,
        });
    }
    Ok(())
}

impl Fpe for Ff1Plan {
    fn radix(&self) -> u32 {
        self.radix
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.numerals::<ENCRYPT>(tweak, x)
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.numerals::<DECRYPT>(tweak, x)
    }
    fn encrypt_ascii(&self, alphabet: &Alphabet, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        self.ascii::<ENCRYPT>(alphabet, tweak, x)
    }
    fn decrypt_ascii(&self, alphabet: &Alphabet, tweak: &[u8], x: &mut [u8]) -> Result<(), Error> {
        self.ascii::<DECRYPT>(alphabet, tweak, x)
    }
}
