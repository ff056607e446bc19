//! FF1 for strings of one length.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::avx512;
use super::{
    Ff1,
    half::{Feistel, Half32, Half64, Half128},
    long,
    mac::Mac,
};
use crate::{
    Alphabet, Error,
    block::{BlockCipher, NativeAes},
    decimal,
    feistel::{DECRYPT, Direction, ENCRYPT, Half},
    number::{Base, Chunk},
    numerals::NumeralCipher,
};
use alloc::boxed::Box;

/// FF1 for strings of one length, with prepared powers of the radix, their reciprocals and `E(P)`.
///
/// [`Ff1::plan`] makes it. It holds its own copy of the cipher with its key, which [`NativeAes`] erases when
/// dropped.
#[derive(Clone)]
pub struct Ff1Plan<C = NativeAes> {
    pub(crate) cipher: C,
    pub(crate) base: Base,
    len: usize,
    pub(crate) mac: Mac,
    pub(crate) halves: Halves,
    /// The rounds of small halves in vector registers.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    pub(crate) rounds: Option<avx512::Rounds>,
}

/// The arithmetic of the two halves, `u` numerals then `v`, depending on the size of `radix^v`.
#[derive(Clone)]
pub(crate) enum Halves {
    /// `b <= 4`: `radix^v <= 2^32`, and `y` has 64 bits.
    Small([Half32; 2]),
    /// `radix^v < 2^64`.
    Word([Half64; 2]),
    /// `radix^v < 2^128`.
    Double([Half128; 2], Chunk),
    /// Any longer half.
    Long(Box<[long::Half; 2]>),
}

impl<C> core::fmt::Debug for Ff1Plan<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff1Plan")
            .field("radix", &self.base.radix())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<C: BlockCipher> Ff1Plan<C> {
    /// A plan for `len` numerals. [`Ff1::plan`] has checked the length.
    #[expect(clippy::cast_possible_truncation, reason = "len and b are below 2^32")]
    pub(super) fn new(ff1: &Ff1<C>, len: usize, tweak_len: usize) -> Self {
        let (base, radix, u) = (Base::new(ff1.radix), u128::from(ff1.radix), len / 2);
        let v = len - u;
        let powers = || {
            let exponent = |n: usize| u32::try_from(n).ok();
            Some((
                radix.checked_pow(exponent(u)?)?,
                radix.checked_pow(exponent(v)?)?,
            ))
        };
        let (halves, b) = match powers() {
            Some((u, v)) => {
                let b = (128 - (v - 1).leading_zeros()).div_ceil(8);
                match (u64::try_from(u), u64::try_from(v)) {
                    (Ok(u), Ok(v)) if b <= 4 => (Halves::Small([Half32::of(u), Half32::of(v)]), b),
                    (Ok(u), Ok(v)) => (Halves::Word([Half64::new(u), Half64::new(v)]), b),
                    _ => {
                        let halves = [Half128::new(u, b), Half128::new(v, b)];
                        (Halves::Double(halves, base.chunk()), b)
                    }
                }
            }
            None => {
                let halves = Box::new([long::Half::new(base, u), long::Half::new(base, v)]);
                let b = halves[1].bytes();
                (Halves::Long(halves), b as u32)
            }
        };
        // Step 5. The two lengths are public and below 2^32.
        let p = (0x01_02_01 << 104)
            | (radix << 80)
            | (0x0a << 72)
            | (((len / 2) as u128 & 0xff) << 64)
            | ((len as u128) << 32);
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let rounds = match &halves {
            Halves::Small([u, v]) => avx512::Rounds::new([u.m, v.m]),
            _ => None,
        };
        Self {
            mac: Mac::new(&ff1.cipher, p, b, tweak_len),
            cipher: ff1.cipher.clone(),
            base,
            len,
            halves,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            rounds,
        }
    }

    /// The number of numerals of a string.
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

    /// The rounds on the integers of small halves, in vector registers if possible.
    #[inline]
    pub(crate) fn small_halves<const D: Direction>(
        &self,
        halves: &[Half32; 2],
        tweak: &[u8],
        number: (u64, u64),
    ) -> (u64, u64) {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let (Some(rounds), Some(key)) = (&self.rounds, self.cipher.aesni()) {
            return rounds.run::<D>(key, &self.mac, tweak, number);
        }
        self.integers::<_, D>(halves, tweak, number)
    }

    /// The rounds on the integers of the halves.
    #[inline]
    pub(crate) fn integers<H: Half, const D: Direction>(
        &self,
        halves: &[H; 2],
        tweak: &[u8],
        number: (H::Int, H::Int),
    ) -> (H::Int, H::Int) {
        self.cipher.run(Feistel::<_, D> {
            mac: &self.mac,
            halves,
            tweak,
            number,
        })
    }

    /// Converts decimal digits directly to and from the halves. Symbols of other alphabets become numerals first.
    fn ascii<const D: Direction>(
        &self,
        alphabet: &Alphabet,
        tweak: &[u8],
        x: &mut [u8],
    ) -> Result<(), Error> {
        let cipher = |x: &mut [u16]| self.numerals::<D>(tweak, x);
        if !(self.base.radix() == 10 && self.len <= 2 * decimal::MAX_LEN && alphabet.is_decimal()) {
            return crate::numerals::in_place(self.base.radix(), alphabet, x, cipher);
        }
        self.check(tweak, x.len())?;
        let (a, b) = x.split_at_mut(self.len / 2);
        let ((na, all_a), (nb, all_b)) = (decimal::parse(a), decimal::parse(b));
        if !(all_a & all_b) {
            let index = decimal::check(x).err().unwrap_or_default();
            return Err(Error::Symbol { index });
        }
        let (na, nb) = match &self.halves {
            Halves::Small(halves) => self.small_halves::<D>(halves, tweak, (na, nb)),
            Halves::Word(halves) => self.integers::<_, D>(halves, tweak, (na, nb)),
            // Even strings of 38 digits have halves below 2^64.
            _ => return crate::numerals::in_place(self.base.radix(), alphabet, x, cipher),
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
        crate::numerals::check(x, self.base.radix())?;
        let (a, b) = x.split_at_mut(self.len / 2);
        let base = self.base;
        match &self.halves {
            Halves::Small(halves) => {
                let number = (base.number(&*a), base.number(&*b));
                let (na, nb) = self.small_halves::<D>(halves, tweak, number);
                base.write(na, a.iter_mut().rev());
                base.write(nb, b.iter_mut().rev());
            }
            Halves::Word(halves) => {
                let number = (base.number(&*a), base.number(&*b));
                let (na, nb) = self.integers::<_, D>(halves, tweak, number);
                base.write(na, a.iter_mut().rev());
                base.write(nb, b.iter_mut().rev());
            }
            Halves::Double(halves, chunk) => {
                let number = (base.number_128(&*a), base.number_128(&*b));
                let (na, nb) = self.integers::<_, D>(halves, tweak, number);
                base.write_128(*chunk, na, a.iter_mut().rev());
                base.write_128(*chunk, nb, b.iter_mut().rev());
            }
            Halves::Long(halves) => self.cipher.run(long::Feistel::<D> {
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

impl<C: BlockCipher> NumeralCipher for Ff1Plan<C> {
    fn radix(&self) -> u32 {
        self.base.radix()
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
