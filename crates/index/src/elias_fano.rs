//! Ascending numbers in few bits, as Elias and Fano store them: so many numbers of a known range take as many bits whichever
//! they are.
//!
//! Each number's low bits are stored as they are. The rest of number `i` is stored as the place of a one: bit `rest + i`
//! of a row of bits is set. So the numbers `n_0 <= n_1 <= ..` up to `most`, each cut at `low` bits, take
//! `count (low + 1) + (most >> low)` bits, which is about `2 + log2(most / count)` a number.

#[cfg(feature = "secret")]
mod list;

#[cfg(feature = "secret")]
pub(crate) use list::{bits, set};

/// Lists of `count` numbers from 0 to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EliasFano {
    count: usize,
    most: u32,
    low: u32,
}

impl EliasFano {
    /// The numbers, cut where they take the fewest bits.
    pub(crate) fn new(count: usize, most: u32) -> Self {
        let cut = |low| Self { count, most, low };
        let cuts = (0..u32::BITS).map(cut);
        cuts.min_by_key(|cut| cut.bits())
            .expect("there are 32 cuts")
    }

    /// Bits of the row of ones.
    fn ones(self) -> usize {
        self.count.saturating_add((self.most >> self.low) as usize)
    }

    fn bits(self) -> usize {
        let low = self.count.saturating_mul(self.low as usize);
        self.ones().saturating_add(low)
    }

    /// Bytes of a list.
    pub(crate) fn len(self) -> usize {
        self.bits().div_ceil(8)
    }
}
