//! Integers of a range, by cycle walking over FF1.
//!
//! The integer's distance from the start of the range is written as numerals, most significant first. Their number is
//! the smallest that can represent every such distance, and that FF1 accepts. The numerals are encrypted until the
//! result is again a distance within the range. This is the wire format: another implementation of FF1 that does the
//! same gets the same integers.
//!
//! Cycle walking keeps the permutation's security (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
//! 2002). The number of steps has a geometric distribution, and depends only on the intermediate values under the key.
//! On average it is the number of numeral strings over the length of the range. That is below two for radix 2, one if
//! the length is a power of the radix, and at worst the radix itself. So use small radices for integers.

use crate::{
    Error, Ff1, NumeralCipher,
    block::{BlockCipher, NativeAes},
    feistel::{DECRYPT, Direction, ENCRYPT},
    ff1::{
        half::Feistel8,
        plan::{Ff1Plan, Halves, check_tweak},
    },
    reciprocal::{Divisor64, Divisor128},
};
use core::ops::RangeInclusive;
use sordino_aes::LANES;

/// FF1 over the integers of a range. [`Ff1::range`] makes it.
///
/// ```
/// use sordino_fpe::{AesKey, Ff1};
///
/// let ids = Ff1::new(&AesKey::new_128(&[7; 16]), 2)?.range(1..=2_500_000)?;
/// let hidden = ids.encrypt_u64(b"rows", 1_234_567)?;
/// assert!((1..=2_500_000).contains(&hidden));
/// assert_eq!(ids.decrypt_u64(b"rows", hidden)?, 1_234_567);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ff1Range<C = NativeAes> {
    plan: Ff1Plan<C>,
    start: u128,
    /// The largest distance from `start`.
    last: u128,
    divisor: Divisor128,
    /// A divisor like `divisor` for 64-bit integers, if both halves are below `2^32`.
    divisor64: Option<Divisor64>,
}

impl<C: BlockCipher> Ff1<C> {
    /// A cipher for the integers of `range`, in the wire format of this radix. Radix 2 is fastest for a length near a
    /// power of two, and radix 10 for a length that is a power of ten.
    ///
    /// # Errors
    /// [`Error::Domain`] if the range has fewer values than [`crate::MIN_DOMAIN`] (or, with
    /// [`Ff1::allow_small_domain`], than [`crate::LEGACY_MIN_DOMAIN`]).
    pub fn range(&self, range: RangeInclusive<u128>) -> Result<Ff1Range<C>, Error> {
        let (start, end) = range.into_inner();
        let min = self.min_domain();
        let last = match end.checked_sub(start) {
            Some(last) if last >= min - 1 => last,
            other => {
                return Err(Error::Domain {
                    found: other.map_or(0, |last| last + 1),
                    min,
                    max: u128::MAX,
                });
            }
        };
        // Finds the smallest number of numerals that can represent `last`.
        let (mut len, mut rest) = (0, last);
        while rest > 0 {
            rest /= u128::from(self.radix());
            len += 1;
        }
        let plan = self.plan(len.max(self.min_len()), 0)?;
        let power = u128::from(self.radix())
            .pow(u32::try_from(plan.len().div_ceil(2)).map_err(|_| Error::OutOfRange)?);
        let divisor64 = match (&plan.halves, u64::try_from(power), u64::try_from(last)) {
            (Halves::Small(_), Ok(power), Ok(_)) => Some(Divisor64::new(power)),
            _ => None,
        };
        Ok(Ff1Range {
            plan,
            start,
            last,
            divisor: Divisor128::new(power),
            divisor64,
        })
    }
}

impl<C: BlockCipher> Ff1Range<C> {
    /// Encrypts an integer of the range.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the integer is outside the range; [`Error::TweakLength`] if the tweak has a length that
    /// the algorithm does not allow.
    pub fn encrypt(&self, tweak: &[u8], x: u128) -> Result<u128, Error> {
        self.permute::<ENCRYPT>(tweak, x)
    }

    /// Decrypts an integer of the range.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the integer is outside the range; [`Error::TweakLength`] if the tweak has a length that
    /// the algorithm does not allow.
    pub fn decrypt(&self, tweak: &[u8], x: u128) -> Result<u128, Error> {
        self.permute::<DECRYPT>(tweak, x)
    }

    /// Encrypts an integer of a range that ends below `2^64`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the integer is outside the range, or the range does not end below `2^64`;
    /// [`Error::TweakLength`] if the tweak has a length that the algorithm does not allow.
    #[inline]
    pub fn encrypt_u64(&self, tweak: &[u8], x: u64) -> Result<u64, Error> {
        u64::try_from(self.permute::<ENCRYPT>(tweak, x.into())?).map_err(|_| Error::OutOfRange)
    }

    /// Decrypts an integer of a range that ends below `2^64`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the integer is outside the range, or the range does not end below `2^64`;
    /// [`Error::TweakLength`] if the tweak has a length that the algorithm does not allow.
    #[inline]
    pub fn decrypt_u64(&self, tweak: &[u8], x: u64) -> Result<u64, Error> {
        u64::try_from(self.permute::<DECRYPT>(tweak, x.into())?).map_err(|_| Error::OutOfRange)
    }

    /// Encrypts many integers in place under one tweak. After an error all integers are unchanged.
    ///
    /// # Errors
    /// - [`Error::Numeral`] with the index of the first integer outside the range
    /// - [`Error::OutOfRange`] if the range does not end below `2^64`
    /// - [`Error::TweakLength`] if the tweak has a length that the algorithm does not allow
    pub fn encrypt_batch(&self, tweak: &[u8], x: &mut [u64]) -> Result<(), Error> {
        self.batch::<ENCRYPT>(tweak, x)
    }

    /// Decrypts many integers in place under one tweak. After an error all integers are unchanged.
    ///
    /// # Errors
    /// The errors of [`Ff1Range::encrypt_batch`].
    pub fn decrypt_batch(&self, tweak: &[u8], x: &mut [u64]) -> Result<(), Error> {
        self.batch::<DECRYPT>(tweak, x)
    }

    fn distance(&self, x: u128) -> Result<u128, Error> {
        match x.checked_sub(self.start) {
            Some(x) if x <= self.last => Ok(x),
            _ => Err(Error::OutOfRange),
        }
    }

    fn permute<const D: Direction>(&self, tweak: &[u8], x: u128) -> Result<u128, Error> {
        let x = self.distance(x)?;
        check_tweak(tweak)?;
        let plan = &self.plan;
        let x = match (&plan.halves, self.divisor64) {
            (Halves::Small(halves), Some(divisor)) => {
                // Both casts are exact: `divisor64` exists only for `last < 2^64`.
                let low = |x: u128| u64::try_from(x).unwrap_or(u64::MAX);
                let (x, last) = (divisor.div_rem(low(x)), divisor.div_rem(low(self.last)));
                let (a, b) = walk(x, last, |x| plan.small_halves::<D>(halves, tweak, x));
                u128::from(a * halves[1].m + b)
            }
            (Halves::Small(halves), None) => {
                let (x, last) = (self.word(x), self.word(self.last));
                let (a, b) = walk(x, last, |x| plan.small_halves::<D>(halves, tweak, x));
                u128::from(a) * u128::from(halves[1].m) + u128::from(b)
            }
            (Halves::Word(halves), _) => {
                let (x, last) = (self.word(x), self.word(self.last));
                let (a, b) = walk(x, last, |x| plan.integers::<_, D>(halves, tweak, x));
                u128::from(a) * u128::from(halves[1].m()) + u128::from(b)
            }
            (Halves::Double(halves, _), _) => {
                let (x, last) = (self.divisor.div_rem(x), self.divisor.div_rem(self.last));
                let (a, b) = walk(x, last, |x| plan.integers::<_, D>(halves, tweak, x));
                a * halves[1].m() + b
            }
            // A half of an integer below 2^128 is below 2^128.
            (Halves::Long(_), _) => return Err(Error::OutOfRange),
        };
        Ok(self.start + x)
    }

    /// Both halves of an integer, if they are below `2^64`.
    #[inline]
    fn word(&self, x: u128) -> (u64, u64) {
        let (a, b) = self.divisor.div_rem(x);
        let low = |x: u128| u64::try_from(x).unwrap_or(u64::MAX);
        (low(a), low(b))
    }

    fn batch<const D: Direction>(&self, tweak: &[u8], x: &mut [u64]) -> Result<(), Error> {
        if u64::try_from(self.start + self.last).is_err() {
            return Err(Error::OutOfRange);
        }
        check_tweak(tweak)?;
        let bad = |&x: &u64| self.distance(x.into()).is_err();
        if let Some(index) = x.iter().position(bad) {
            return Err(Error::Numeral { index });
        }
        let one = |x: u64| -> Result<u64, Error> {
            u64::try_from(self.permute::<D>(tweak, x.into())?).map_err(|_| Error::OutOfRange)
        };
        let plan = &self.plan;
        let (Halves::Small(halves), Some(divisor), Ok(start), Ok(last)) = (
            &plan.halves,
            self.divisor64,
            u64::try_from(self.start),
            u64::try_from(self.last),
        ) else {
            for x in x {
                *x = one(*x)?;
            }
            return Ok(());
        };
        for chunk in x.chunks_mut(LANES) {
            let mut numbers = [[0; 2]; LANES];
            for (number, x) in numbers.iter_mut().zip(&*chunk) {
                *number = divisor.div_rem(x - start).into();
            }
            plan.cipher.run(Feistel8::<_, D> {
                mac: &plan.mac,
                halves,
                tweaks: [tweak; LANES],
                numbers: &mut numbers,
            });
            for (x, [a, b]) in chunk.iter_mut().zip(numbers) {
                let mut y = a * halves[1].m + b;
                // A result outside the range continues its walk by itself.
                if y > last {
                    let last = divisor.div_rem(last);
                    let (a, b) = walk((a, b), last, |x| plan.small_halves::<D>(halves, tweak, x));
                    y = a * halves[1].m + b;
                }
                *x = start + y;
            }
        }
        Ok(())
    }
}

/// Applies `cipher` to `x`, and again to each result until it is at most `last`.
#[inline]
fn walk<T: Copy + Ord>(mut x: (T, T), last: (T, T), cipher: impl Fn((T, T)) -> (T, T)) -> (T, T) {
    loop {
        x = cipher(x);
        if (x.0 < last.0) | ((x.0 == last.0) & (x.1 <= last.1)) {
            return x;
        }
    }
}
