//! FF3 and FF3-1 for strings of one length.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::avx512;
use super::{
    Ff3Cipher,
    half::{Feistel, Half30},
};
use crate::{
    Alphabet, Error, NumeralCipher,
    block::{BlockCipher, NativeAes},
    decimal,
    feistel::{DECRYPT, Direction, ENCRYPT, Half},
    number::{Base, Chunk},
    numerals::{check, in_place},
    reciprocal::{Modulus64, Modulus128},
};

/// FF3 or FF3-1 for strings of one length. [`Ff3Cipher::plan`] makes it.
#[derive(Clone)]
pub struct Ff3Plan<const TWEAK: usize, C = NativeAes> {
    pub(crate) cipher: C,
    base: Base,
    len: usize,
    halves: Halves,
    /// The rounds of small halves in vector registers.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    pub(crate) rounds: Option<avx512::Rounds>,
}

/// The moduli `radix^u` and `radix^v`.
#[derive(Clone)]
enum Halves {
    /// Both moduli are at most `2^30`.
    Small([Half30; 2]),
    /// Both moduli are below `2^64`.
    Word([Modulus64; 2]),
    /// Both moduli are at most `2^96`.
    Double([Modulus128; 2], Chunk),
}

impl<const TWEAK: usize, C> core::fmt::Debug for Ff3Plan<TWEAK, C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ff3Plan")
            .field("radix", &self.base.radix())
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

impl<const TWEAK: usize, C: BlockCipher> Ff3Plan<TWEAK, C> {
    /// A plan for `len` numerals, after the length was checked.
    pub(super) fn new(cipher: &Ff3Cipher<TWEAK, C>, len: usize) -> Self {
        let base = Base::new(cipher.radix);
        let power = |n: usize| (0..n).fold(1, |power: u128, _| power * u128::from(cipher.radix));
        let u = len.div_ceil(2);
        let (u, v) = (power(u), power(len - u));
        let halves = match (u64::try_from(u), u64::try_from(v)) {
            (Ok(u), Ok(v)) if u.max(v) <= 1 << 30 => Halves::Small([Half30::of(u), Half30::of(v)]),
            (Ok(u), Ok(v)) => Halves::Word([Modulus64::new(u), Modulus64::new(v)]),
            _ => Halves::Double([Modulus128::new(u), Modulus128::new(v)], base.chunk()),
        };
        Self {
            cipher: cipher.cipher.clone(),
            base,
            len,
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            rounds: match &halves {
                Halves::Small([u, v]) => avx512::Rounds::new([u.m, v.m]),
                _ => None,
            },
            halves,
        }
    }

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

    /// The rounds on the integers of small halves.
    #[inline]
    fn small_halves<const D: Direction>(
        &self,
        halves: &[Half30; 2],
        tweak: [u32; 2],
        number: (u64, u64),
    ) -> (u64, u64) {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let (Some(rounds), Some(key)) = (&self.rounds, self.cipher.aesni()) {
            return rounds.run::<D>(key, tweak, number);
        }
        self.integers::<_, D>(halves, tweak, number)
    }

    /// The rounds on the integers of the halves.
    #[inline]
    fn integers<H: Half, const D: Direction>(
        &self,
        halves: &[H; 2],
        tweak: [u32; 2],
        number: (H::Int, H::Int),
    ) -> (H::Int, H::Int) {
        self.cipher.run(Feistel::<_, D> {
            halves,
            tweak,
            number,
        })
    }

    fn numerals<const D: Direction>(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        self.check(x.len())?;
        check(x, self.base.radix())?;
        let tweak = split(tweak, TWEAK)?;
        let (a, b) = x.split_at_mut(self.len.div_ceil(2));
        let base = self.base;
        match &self.halves {
            Halves::Small(halves) => {
                let number = (base.number(a.iter().rev()), base.number(b.iter().rev()));
                let (na, nb) = self.small_halves::<D>(halves, tweak, number);
                base.write(na, a.iter_mut());
                base.write(nb, b.iter_mut());
            }
            Halves::Word(halves) => {
                let number = (base.number(a.iter().rev()), base.number(b.iter().rev()));
                let (na, nb) = self.integers::<_, D>(halves, tweak, number);
                base.write(na, a.iter_mut());
                base.write(nb, b.iter_mut());
            }
            Halves::Double(halves, chunk) => {
                let number = (
                    base.number_128(a.iter().rev()),
                    base.number_128(b.iter().rev()),
                );
                let (na, nb) = self.integers::<_, D>(halves, tweak, number);
                base.write_128(*chunk, na, a.iter_mut());
                base.write_128(*chunk, nb, b.iter_mut());
            }
        }
        Ok(())
    }

    /// Converts decimal digits directly to and from the halves. Symbols of other alphabets become
    /// numerals first.
    fn ascii<const D: Direction>(
        &self,
        alphabet: &Alphabet,
        tweak: &[u8],
        x: &mut [u8],
    ) -> Result<(), Error> {
        let double = matches!(self.halves, Halves::Double(..));
        if double || !(self.base.radix() == 10 && alphabet.is_decimal()) {
            return in_place(self.base.radix(), alphabet, x, |x| {
                self.numerals::<D>(tweak, x)
            });
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
            Halves::Small(halves) => self.small_halves::<D>(halves, tweak, number),
            Halves::Word(halves) => self.integers::<_, D>(halves, tweak, number),
            Halves::Double(..) => number,
        };
        decimal::format_reversed(na, a);
        decimal::format_reversed(nb, b);
        Ok(())
    }
}

impl<const TWEAK: usize, C: BlockCipher> NumeralCipher for Ff3Plan<TWEAK, C> {
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
