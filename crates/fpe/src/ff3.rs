//! FF3 (SP 800-38G of 2016, Algorithms 9 and 10) and FF3-1 (its Revision 1's first draft).
//!
//! | symbol | meaning |
//! |---|---|
//! | `u`, `v` | lengths of the halves `A` and `B`: `ceil(n / 2)` and `n - u` |
//! | `T_L`, `T_R` | the halves of the tweak: 8 bytes for FF3, 56 bits for FF3-1 |
//! | `W` | the tweak's half of a round: `T_R` in even rounds, `T_L` in odd ones |
//!
//! Numerals count from the least significant, and the block and the key go through AES with
//! their bytes reversed.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;

use crate::{
    Alphabet, Error, Fpe, LEGACY_MIN_DOMAIN, MIN_DOMAIN,
    aes::{Aes, Key, Operation},
    decimal,
    ff1::half::{DECRYPT, Direction, ENCRYPT, chunk},
    numerals::{check, in_place},
    reciprocal::{
        Divisor64, Divisor128, Modulus64, Modulus128, add_mod, add_mod_128, sub_mod, sub_mod_128,
    },
    residue::Residue,
};
use zeroize::Zeroizing;

/// FF3, whose tweak has 8 bytes.
///
/// # Security
/// Broken: Durak and Vaudenay (eprint 2017/521) recover messages through the tweak's schedule.
/// Withdrawn by NIST. For reading old data only.
pub type Ff3 = Ff3Cipher<8>;

/// FF3-1, whose tweak has 7 bytes.
///
/// # Security
/// Removed from the second draft of SP 800-38G Revision 1 (February 2025): Beyne (eprint
/// 2021/815) distinguishes it, and recovers messages, with about `2^23` to `2^24` queries at a
/// million values. For reading old data only.
pub type Ff3_1 = Ff3Cipher<7>;

/// FF3 ([`Ff3`]) or FF3-1 ([`Ff3_1`]), by the tweak's bytes.
///
/// ```
/// use sordino_fpe::{Ff3_1, Fpe};
///
/// let ff3_1 = Ff3_1::new(&[7; 16], 10)?;
/// let mut numerals = [8, 9, 0, 1, 2, 1];
/// ff3_1.encrypt_numerals(&[0; 7], &mut numerals)?;
/// ff3_1.decrypt_numerals(&[0; 7], &mut numerals)?;
/// assert_eq!(numerals, [8, 9, 0, 1, 2, 1]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone)]
pub struct Ff3Cipher<const TWEAK: usize> {
    pub(crate) key: Key,
    radix: u32,
    min_domain: u128,
}

impl<const TWEAK: usize> core::fmt::Debug for Ff3Cipher<TWEAK> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff3Cipher")
            .field("radix", &self.radix)
            .finish_non_exhaustive()
    }
}

impl<const TWEAK: usize> Ff3Cipher<TWEAK> {
    /// With AES-128, AES-192 or AES-256, by the length of the key; `radix` from 2 to 65536.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Radix`].
    pub fn new(key: &[u8], radix: u32) -> Result<Self, Error> {
        if !(2..=65536).contains(&radix) {
            return Err(Error::Radix {
                found: radix,
                min: 2,
                max: 65536,
            });
        }
        let mut reversed = Zeroizing::new([0; 32]);
        let found = key.len();
        let reversed = reversed
            .get_mut(..found)
            .ok_or(Error::KeyLength { found })?;
        reversed.copy_from_slice(key);
        reversed.reverse();
        Ok(Self {
            key: Key::new(reversed)?,
            radix,
            min_domain: MIN_DOMAIN,
        })
    }

    /// Also takes strings of 100 to 999,999 possible values.
    ///
    /// # Security
    /// As for [`crate::Ff1::allow_small_domain`], and worse.
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.min_domain = LEGACY_MIN_DOMAIN;
        self
    }

    /// Fewest and most numerals that a string may have: at most `2 floor(log_radix 2^96)`.
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
    pub fn plan(&self, len: usize) -> Result<Ff3Plan<TWEAK>, Error> {
        let lengths = self.lengths();
        if !lengths.contains(&len) {
            return Err(Error::Length {
                found: len,
                min: *lengths.start(),
                max: *lengths.end(),
            });
        }
        let radix = u64::from(self.radix);
        let power = |n: usize| (0..n).fold(1, |power: u128, _| power * u128::from(radix));
        let u = len.div_ceil(2);
        let (u, v) = (power(u), power(len - u));
        let halves = match (u64::try_from(u), u64::try_from(v)) {
            (Ok(u), Ok(v)) if u.max(v) <= 1 << 30 => {
                Halves::Narrow([HalfNarrow::new(u), HalfNarrow::new(v)])
            }
            (Ok(u), Ok(v)) => Halves::Word([Modulus64::new(u), Modulus64::new(v)]),
            _ => {
                let (chunk, power) = chunk(radix);
                Halves::Double {
                    halves: [Modulus128::new(u), Modulus128::new(v)],
                    chunk,
                    power: Divisor128::new(power.into()),
                }
            }
        };
        Ok(Ff3Plan {
            key: self.key.clone(),
            radix: self.radix,
            divisor: Divisor64::new(radix),
            len,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            rounds: match &halves {
                Halves::Narrow([u, v]) => avx512::Rounds::new([u.m, v.m]),
                _ => None,
            },
            halves,
        })
    }
}

impl<const TWEAK: usize> Fpe for Ff3Cipher<TWEAK> {
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

/// FF3 or FF3-1 for strings of one length. Made by [`Ff3Cipher::plan`].
#[derive(Clone)]
pub struct Ff3Plan<const TWEAK: usize> {
    pub(crate) key: Key,
    radix: u32,
    divisor: Divisor64,
    len: usize,
    halves: Halves,
    /// The rounds of narrow halves in vector registers.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    pub(crate) rounds: Option<avx512::Rounds>,
}

/// The moduli `radix^u` and `radix^v`.
#[derive(Clone)]
enum Halves {
    /// Both at most `2^30`.
    Narrow([HalfNarrow; 2]),
    /// Both below `2^64`.
    Word([Modulus64; 2]),
    /// Both at most `2^96`, with the largest power of the radix below `2^64`.
    Double {
        halves: [Modulus128; 2],
        chunk: usize,
        power: Divisor128,
    },
}

impl<const TWEAK: usize> core::fmt::Debug for Ff3Plan<TWEAK> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff3Plan")
            .field("radix", &self.radix)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Step 3: `T_L` and `T_R`.
fn split(tweak: &[u8], expected: usize) -> Result<[u32; 2], Error> {
    let found = tweak.len();
    match (expected, tweak) {
        (8, &[a, b, c, d, e, f, g, h]) => Ok([
            u32::from_be_bytes([a, b, c, d]),
            u32::from_be_bytes([e, f, g, h]),
        ]),
        (7, &[a, b, c, d, e, f, g]) => Ok([
            u32::from_be_bytes([a, b, c, d & 0xf0]),
            u32::from_be_bytes([e, f, g, d << 4]),
        ]),
        _ => Err(Error::TweakLength { found, expected }),
    }
}

impl<const TWEAK: usize> Ff3Plan<TWEAK> {
    fn check(&self, len: usize) -> Result<(), Error> {
        if len != self.len {
            return Err(Error::Length {
                found: len,
                min: self.len,
                max: self.len,
            });
        }
        Ok(())
    }

    /// The rounds on the integers of narrow halves.
    #[inline]
    fn narrow<const D: Direction>(
        &self,
        halves: &[HalfNarrow; 2],
        tweak: [u32; 2],
        number: (u64, u64),
    ) -> (u64, u64) {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let (Some(rounds), Key::AesNi(key)) = (&self.rounds, &self.key) {
            return rounds.run::<D>(key, tweak, number);
        }
        self.key.run(Feistel::<_, D> {
            halves,
            tweak,
            number,
        })
    }

    fn numerals<const D: Direction>(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.check(x.len())?;
        check(x, self.radix)?;
        let tweak = split(tweak, TWEAK)?;
        let (a, b) = x.split_at_mut(self.len.div_ceil(2));
        match &self.halves {
            Halves::Narrow(halves) => {
                let number = (self.number(a), self.number(b));
                let (na, nb) = self.narrow::<D>(halves, tweak, number);
                self.write(na, a);
                self.write(nb, b);
            }
            Halves::Word(halves) => {
                let number = (self.number(a), self.number(b));
                let (na, nb) = self.key.run(Feistel::<_, D> {
                    halves,
                    tweak,
                    number,
                });
                self.write(na, a);
                self.write(nb, b);
            }
            Halves::Double {
                halves,
                chunk,
                power,
            } => {
                let number = (self.number_128(a), self.number_128(b));
                let (na, nb) = self.key.run(Feistel::<_, D> {
                    halves,
                    tweak,
                    number,
                });
                self.write_128(na, a, *chunk, *power);
                self.write_128(nb, b, *chunk, *power);
            }
        }
        Ok(())
    }

    /// `NUM_radix(REV(x))`, below `2^64`.
    fn number(&self, x: &[u16]) -> u64 {
        let radix = u64::from(self.radix);
        let join = |n: u64, &x: &u16| n.wrapping_mul(radix).wrapping_add(x.into());
        x.iter().rev().fold(0, join)
    }

    /// `NUM_radix(REV(x))`, below `2^128`.
    fn number_128(&self, x: &[u16]) -> u128 {
        let radix = u128::from(self.radix);
        let join = |n: u128, &x: &u16| n.wrapping_mul(radix).wrapping_add(x.into());
        x.iter().rev().fold(0, join)
    }

    /// `REV(STR_radix(n))`.
    #[expect(clippy::cast_possible_truncation, reason = "numerals are below 65536")]
    fn write(&self, mut n: u64, out: &mut [u16]) {
        for numeral in out {
            let (q, r) = self.divisor.div_rem(n);
            *numeral = r as u16;
            n = q;
        }
    }

    /// `REV(STR_radix(n))`, `chunk` numerals at a time.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder is below 2^64")]
    fn write_128(&self, mut n: u128, out: &mut [u16], chunk: usize, power: Divisor128) {
        for part in out.chunks_mut(chunk) {
            let (q, r) = power.div_rem(n);
            self.write(r as u64, part);
            n = q;
        }
    }

    /// Decimal digits straight to and from the halves; any other alphabet by way of numerals.
    fn ascii<const D: Direction>(
        &self,
        alphabet: &Alphabet,
        tweak: &[u8],
        x: &mut [u8],
    ) -> Result<(), Error> {
        let double = matches!(self.halves, Halves::Double { .. });
        if double || !(self.radix == 10 && alphabet.is_decimal()) {
            return in_place(self.radix, alphabet, x, |x| self.numerals::<D>(tweak, x));
        }
        self.check(x.len())?;
        let tweak = split(tweak, TWEAK)?;
        let (a, b) = x.split_at_mut(self.len.div_ceil(2));
        let ((na, all_a), (nb, all_b)) = (decimal::parse_reversed(a), decimal::parse_reversed(b));
        if !(all_a & all_b) {
            let index = decimal::check(x).err().unwrap_or_default();
            return Err(Error::Symbol { index });
        }
        let number = (na, nb);
        let (na, nb) = match &self.halves {
            Halves::Narrow(halves) => self.narrow::<D>(halves, tweak, number),
            Halves::Word(halves) => self.key.run(Feistel::<_, D> {
                halves,
                tweak,
                number,
            }),
            Halves::Double { .. } => number,
        };
        decimal::format_reversed(na, a);
        decimal::format_reversed(nb, b);
        Ok(())
    }
}

impl<const TWEAK: usize> Fpe for Ff3Plan<TWEAK> {
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

/// One half's modulus.
trait Half: Copy {
    type Int: Copy;

    /// `(a + y) mod m` or `(a - y) mod m`.
    fn mix<const D: Direction>(&self, a: Self::Int, y: u128) -> Self::Int;

    /// `block ^ REVB(number)`.
    fn absorb<A: Aes>(aes: A, block: A::Block, number: Self::Int) -> A::Block;
}

/// A modulus of at most `2^30`, for both directions.
#[derive(Clone, Copy)]
struct HalfNarrow {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    m: u64,
    forward: Residue<4>,
    backward: Residue<4>,
}

impl HalfNarrow {
    /// # Panics
    /// If `m` is above `2^30`.
    fn new(m: u64) -> Self {
        const FITS: &str = "2^30 fits four words";
        Self {
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            m,
            forward: Residue::new(m, false).expect(FITS),
            backward: Residue::new(m, true).expect(FITS),
        }
    }
}

impl Half for HalfNarrow {
    type Int = u64;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "words of y")]
    fn mix<const D: Direction>(&self, a: u64, y: u128) -> u64 {
        let (low, high) = (y as u64, (y >> 64) as u64);
        let residue = if D { &self.forward } else { &self.backward };
        let words = [
            low as u32,
            (low >> 32) as u32,
            high as u32,
            (high >> 32) as u32,
        ];
        residue.mix(a, words)
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, number: u64) -> A::Block {
        aes.xor_first_le(block, number)
    }
}

impl Half for Modulus64 {
    type Int = u64;

    #[inline(always)]
    fn mix<const D: Direction>(&self, a: u64, y: u128) -> u64 {
        let r = self.reduce(y);
        if D {
            add_mod(a, r, self.m)
        } else {
            sub_mod(a, r, self.m)
        }
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, number: u64) -> A::Block {
        aes.xor_first_le(block, number)
    }
}

impl Half for Modulus128 {
    type Int = u128;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low limb")]
    fn mix<const D: Direction>(&self, a: u128, y: u128) -> u128 {
        let r = self.reduce(y >> 64, y as u64);
        if D {
            add_mod_128(a, r, self.m)
        } else {
            sub_mod_128(a, r, self.m)
        }
    }
    #[inline(always)]
    fn absorb<A: Aes>(aes: A, block: A::Block, number: u128) -> A::Block {
        aes.xor(block, aes.load(number.swap_bytes()))
    }
}

/// Algorithms 9 and 10 on the two integers `NUM(REV(A))` and `NUM(REV(B))`.
struct Feistel<'a, H: Half, const D: Direction> {
    halves: &'a [H; 2],
    /// `T_L` and `T_R`.
    tweak: [u32; 2],
    number: (H::Int, H::Int),
}

impl<H: Half, const D: Direction> Operation for Feistel<'_, H, D> {
    type Output = (H::Int, H::Int);

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> (H::Int, H::Int) {
        let [u, v] = self.halves;
        let [left, right] = self.tweak;
        let (mut a, mut b) = self.number;
        // Two rounds at a time: the exchange of the halves is a change of names.
        for k in 0..4 {
            let i = if D { 2 * k } else { 6 - 2 * k };
            if D {
                a = u.mix::<D>(a, round::<A, H>(aes, right ^ i, b));
                b = v.mix::<D>(b, round::<A, H>(aes, left ^ (i + 1), a));
            } else {
                b = v.mix::<D>(b, round::<A, H>(aes, left ^ (i + 1), a));
                a = u.mix::<D>(a, round::<A, H>(aes, right ^ i, b));
            }
        }
        (a, b)
    }
}

/// Steps 4.ii to 4.iv: `NUM(REVB(E(REVB(W ^ i || number))))`, for `number < 2^96`.
#[inline(always)]
fn round<A: Aes, H: Half>(aes: A, w: u32, number: H::Int) -> u128 {
    // The number comes last: all else is ready before it.
    let block = aes.whiten(aes.load(w.swap_bytes().into()));
    aes.store_le(aes.encrypt_whitened(H::absorb(aes, block, number)))
}
