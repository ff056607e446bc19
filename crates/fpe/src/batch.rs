//! Many strings of one length under one key. Eight of them run in step, so that the latency of one string's AES
//! rounds hides behind the others. With VAES, 32 run in step, in registers of four blocks.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;

#[cfg(all(feature = "std", target_arch = "x86_64"))]
use crate::ff1::{half::Half32, mac::Mac};
use crate::{
    Alphabet, Error, NumeralCipher,
    block::BlockCipher,
    decimal,
    feistel::{DECRYPT, Direction, ENCRYPT, Half},
    ff1::{
        half::Feistel8,
        plan::{Ff1Plan, Halves, check_tweak},
    },
};
use sordino_aes::LANES;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use sordino_aes::{Aes, Operation};
use zeroize::Zeroize;

/// The tweaks of a batch.
#[derive(Clone, Copy, Debug)]
pub enum Tweaks<'a> {
    /// One tweak for all records.
    One(&'a [u8]),
    /// One tweak for each record, in their order.
    Each(&'a [&'a [u8]]),
}

impl<'a> Tweaks<'a> {
    /// The tweak of record `i`. Past the last record it may be any tweak.
    #[inline(always)]
    pub(crate) fn get(self, i: usize) -> &'a [u8] {
        match self {
            Self::One(tweak) => tweak,
            Self::Each(tweaks) => tweaks.get(i).copied().unwrap_or_default(),
        }
    }

    pub(crate) fn check(self, records: usize) -> Result<(), Error> {
        match self {
            Self::One(tweak) => check_tweak(tweak),
            Self::Each(tweaks) if tweaks.len() == records => {
                tweaks.iter().try_for_each(|tweak| check_tweak(tweak))
            }
            Self::Each(tweaks) => Err(Error::Batch {
                found: tweaks.len(),
                expected: records,
            }),
        }
    }
}

impl<C: BlockCipher> Ff1Plan<C> {
    /// Encrypts records of [`Ff1Plan::len`] numerals that lie one after another. The result equals
    /// [`NumeralCipher::encrypt_numerals`] of each record. After an error all records are unchanged.
    ///
    /// # Errors
    /// - [`Error::Batch`] if the records are not whole or there is not one tweak for each
    /// - [`Error::Numeral`], with its index in `records`, if a numeral is not below the radix
    /// - [`Error::TweakLength`] if a tweak is too long
    pub fn encrypt_numerals_batch(
        &self,
        tweaks: Tweaks<'_>,
        records: &mut [u16],
    ) -> Result<(), Error> {
        self.numerals_batch::<ENCRYPT>(tweaks, records)
    }

    /// The inverse of [`Ff1Plan::encrypt_numerals_batch`].
    ///
    /// # Errors
    /// The errors of [`Ff1Plan::encrypt_numerals_batch`].
    pub fn decrypt_numerals_batch(
        &self,
        tweaks: Tweaks<'_>,
        records: &mut [u16],
    ) -> Result<(), Error> {
        self.numerals_batch::<DECRYPT>(tweaks, records)
    }

    /// Encrypts records of [`Ff1Plan::len`] symbols of an ASCII alphabet that lie one after another. The result
    /// equals [`NumeralCipher::encrypt_ascii`] of each record. After an error all records are unchanged.
    ///
    /// ```
    /// use sordino_fpe::{AesKey, Alphabet, Ff1, Tweaks};
    ///
    /// let plan = Ff1::new(&AesKey::new_128(&[7; 16]), 10)?.plan(9, 8)?;
    /// let mut records = *b"123456789987654321";
    /// plan.encrypt_ascii_batch(&Alphabet::DECIMAL, Tweaks::One(b"column 3"), &mut records)?;
    /// plan.decrypt_ascii_batch(&Alphabet::DECIMAL, Tweaks::One(b"column 3"), &mut records)?;
    /// assert_eq!(&records, b"123456789987654321");
    /// # Ok::<(), sordino_fpe::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Ff1Plan::encrypt_numerals_batch`], with [`Error::Symbol`] for [`Error::Numeral`].
    /// [`Error::Radix`] or [`Error::Alphabet`] for an alphabet that does not fit.
    pub fn encrypt_ascii_batch(
        &self,
        alphabet: &Alphabet,
        tweaks: Tweaks<'_>,
        records: &mut [u8],
    ) -> Result<(), Error> {
        self.ascii_batch::<ENCRYPT>(alphabet, tweaks, records)
    }

    /// The inverse of [`Ff1Plan::encrypt_ascii_batch`].
    ///
    /// # Errors
    /// The errors of [`Ff1Plan::encrypt_ascii_batch`].
    pub fn decrypt_ascii_batch(
        &self,
        alphabet: &Alphabet,
        tweaks: Tweaks<'_>,
        records: &mut [u8],
    ) -> Result<(), Error> {
        self.ascii_batch::<DECRYPT>(alphabet, tweaks, records)
    }

    fn check_batch(&self, tweaks: Tweaks<'_>, symbols: usize) -> Result<(), Error> {
        if !symbols.is_multiple_of(self.len()) {
            return Err(Error::Batch {
                found: symbols,
                expected: symbols.next_multiple_of(self.len()),
            });
        }
        tweaks.check(symbols / self.len())
    }

    fn numerals_batch<const D: Direction>(
        &self,
        tweaks: Tweaks<'_>,
        records: &mut [u16],
    ) -> Result<(), Error> {
        self.check_batch(tweaks, records.len())?;
        crate::numerals::check(records, self.radix())?;
        let base = self.base;
        let number = |x: &[u16]| base.number(x);
        let write = |n, x: &mut [u16]| base.write(n, x.iter_mut().rev());
        match &self.halves {
            Halves::Small(halves) => {
                self.eights::<_, _, D>(halves, tweaks, records, number, write);
            }
            Halves::Word(halves) => self.eights::<_, _, D>(halves, tweaks, records, number, write),
            Halves::Double(halves, chunk) => self.eights::<_, _, D>(
                halves,
                tweaks,
                records,
                |x| base.number_128(x),
                |n, x| base.write_128(*chunk, n, x.iter_mut().rev()),
            ),
            Halves::Long(_) => {
                for (i, record) in records.chunks_mut(self.len()).enumerate() {
                    self.numerals::<D>(tweaks.get(i), record)?;
                }
            }
        }
        Ok(())
    }

    fn ascii_batch<const D: Direction>(
        &self,
        alphabet: &Alphabet,
        tweaks: Tweaks<'_>,
        records: &mut [u8],
    ) -> Result<(), Error> {
        alphabet.check_radix(self.radix())?;
        self.check_batch(tweaks, records.len())?;
        if !alphabet.is_ascii() {
            return Err(Error::Alphabet);
        }
        if alphabet.is_decimal() {
            decimal::check(records).map_err(|index| Error::Symbol { index })?;
            let parse = |x: &[u8]| decimal::parse(x).0;
            let format = |n, x: &mut [u8]| decimal::format(n, x);
            match &self.halves {
                Halves::Small(halves) => {
                    #[cfg(all(feature = "std", target_arch = "x86_64"))]
                    let (tweaks, records) = self.groups_of_32::<D>(halves, tweaks, records);
                    self.eights::<_, _, D>(halves, tweaks, records, parse, format);
                    return Ok(());
                }
                Halves::Word(halves) => {
                    self.eights::<_, _, D>(halves, tweaks, records, parse, format);
                    return Ok(());
                }
                _ => {}
            }
        }
        let bad = |&x: &u8| alphabet.numeral(x.into()).is_none();
        if let Some(index) = records.iter().position(bad) {
            return Err(Error::Symbol { index });
        }
        for (i, record) in records.chunks_mut(self.len()).enumerate() {
            let tweak = tweaks.get(i);
            if D {
                self.encrypt_ascii(alphabet, tweak, record)?;
            } else {
                self.decrypt_ascii(alphabet, tweak, record)?;
            }
        }
        Ok(())
    }

    /// Encrypts or decrypts the decimal records in groups of 32, if the processor has VAES. Returns the records
    /// that do not fill a group, with their tweaks.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    fn groups_of_32<'t, 'r, const D: Direction>(
        &self,
        halves: &[Half32; 2],
        tweaks: Tweaks<'t>,
        records: &'r mut [u8],
    ) -> (Tweaks<'t>, &'r mut [u8]) {
        let (Some(token), Some(key)) = (avx512::Token::detect(), self.cipher.aesni()) else {
            return (tweaks, records);
        };
        if self.len() > 16 {
            return (tweaks, records);
        }
        let kernel = avx512::Decimal::new(key, halves, self.mac.b, self.len());
        let step = self.len() * avx512::STRINGS;
        let whole = records.len() / step;
        let (groups, rest) = records.split_at_mut(whole * step);
        let block = |tweak: &[u8]| {
            self.cipher.run(TweakBlock {
                mac: &self.mac,
                tweak,
            })
        };
        match tweaks {
            Tweaks::One(tweak) => {
                let block = block(tweak);
                let blocks = avx512::Blocks::new(|_| block);
                for records in groups.chunks_mut(step) {
                    kernel.run::<D>(token, &blocks, records);
                }
                (tweaks, rest)
            }
            Tweaks::Each(tweaks) => {
                let (now, later) = tweaks.split_at(whole * avx512::STRINGS);
                let steps = groups.chunks_mut(step).zip(now.chunks(avx512::STRINGS));
                for (records, tweaks) in steps {
                    let blocks = self.cipher.run(TweakBlocks {
                        mac: &self.mac,
                        tweaks,
                    });
                    kernel.run::<D>(token, &avx512::Blocks::new(|i| blocks[i]), records);
                }
                (Tweaks::Each(later), rest)
            }
        }
    }

    /// Encrypts or decrypts all records, eight at a time. Zeros fill up the last group. `number` reads a half,
    /// and `write` writes it.
    fn eights<T, H: Half, const D: Direction>(
        &self,
        halves: &[H; 2],
        tweaks: Tweaks<'_>,
        records: &mut [T],
        number: impl Fn(&[T]) -> H::Int,
        write: impl Fn(H::Int, &mut [T]),
    ) where
        H::Int: Default + Zeroize,
    {
        let (len, u) = (self.len(), self.len() / 2);
        let mut numbers = [[H::Int::default(); 2]; LANES];
        for (i, eight) in records.chunks_mut(len * LANES).enumerate() {
            for (x, record) in numbers.iter_mut().zip(eight.chunks(len)) {
                *x = [number(&record[..u]), number(&record[u..])];
            }
            self.cipher.run(Feistel8::<H, D> {
                mac: &self.mac,
                halves,
                tweaks: core::array::from_fn(|k| tweaks.get(i * LANES + k)),
                numbers: &mut numbers,
            });
            for (&[a, b], record) in numbers.iter().zip(eight.chunks_mut(len)) {
                write(a, &mut record[..u]);
                write(b, &mut record[u..]);
            }
        }
        numbers.zeroize();
    }
}

/// Computes [`Mac::tweak`] of one tweak, as an integer.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
struct TweakBlock<'a> {
    mac: &'a Mac,
    tweak: &'a [u8],
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
impl Operation for TweakBlock<'_> {
    type Output = u128;

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> u128 {
        aes.store(self.mac.tweak(aes, self.tweak))
    }
}

/// Computes [`Mac::tweak`] of 32 tweaks, as integers.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
struct TweakBlocks<'a> {
    mac: &'a Mac,
    tweaks: &'a [&'a [u8]],
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
impl Operation for TweakBlocks<'_> {
    type Output = [u128; avx512::STRINGS];

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> [u128; avx512::STRINGS] {
        let mut blocks = [0; avx512::STRINGS];
        for (block, tweak) in blocks.iter_mut().zip(self.tweaks) {
            *block = aes.store(self.mac.tweak(aes, tweak));
        }
        blocks
    }
}
