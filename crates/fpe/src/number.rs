//! Converts numerals to machine integers and back (SP 800-38G, Algorithms 1 to 3).

use crate::reciprocal::{Divisor64, Divisor128};

/// A radix, prepared as a divisor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    radix: u32,
    divisor: Divisor64,
}

/// The largest number of numerals that 64 bits can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    len: usize,
    power: Divisor128,
}

impl Base {
    pub(crate) fn new(radix: u32) -> Self {
        Self {
            radix,
            divisor: Divisor64::new(radix.into()),
        }
    }

    pub(crate) fn radix(self) -> u32 {
        self.radix
    }

    /// The number of values of `len` numerals, if it is below `2^64`.
    pub(crate) fn power(self, len: usize) -> u64 {
        (0..len).fold(1, |power: u64, _| power.wrapping_mul(self.radix.into()))
    }

    /// The largest number of numerals that 64 bits can hold, and `radix` to that power.
    pub(crate) fn largest_power(self) -> (usize, u64) {
        let radix = u64::from(self.radix);
        let (mut len, mut power) = (1, radix);
        while let Some(next) = power.checked_mul(radix) {
            power = next;
            len += 1;
        }
        (len, power)
    }

    pub(crate) fn chunk(self) -> Chunk {
        let (len, power) = self.largest_power();
        Chunk {
            len,
            power: Divisor128::new(power.into()),
        }
    }

    /// `NUM_radix(x)`, below `2^64`; the most significant numeral comes first.
    #[inline]
    pub(crate) fn number<'a>(self, x: impl IntoIterator<Item = &'a u16>) -> u64 {
        let radix = u64::from(self.radix);
        let join = |n: u64, &x: &u16| n.wrapping_mul(radix).wrapping_add(x.into());
        x.into_iter().fold(0, join)
    }

    /// `NUM_radix(x)`, below `2^128`; the most significant numeral comes first.
    #[inline]
    pub(crate) fn number_128<'a>(self, x: impl IntoIterator<Item = &'a u16>) -> u128 {
        let radix = u128::from(self.radix);
        let join = |n: u128, &x: &u16| n.wrapping_mul(radix).wrapping_add(x.into());
        x.into_iter().fold(0, join)
    }

    /// `STR_radix(n)`; the least significant numeral comes first.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a numeral is below 65536")]
    pub(crate) fn write<'a>(self, mut n: u64, out: impl Iterator<Item = &'a mut u16>) {
        for numeral in out {
            let (q, r) = self.divisor.div_rem(n);
            *numeral = r as u16;
            n = q;
        }
    }

    /// Like [`Base::write`] for a larger number, a chunk of numerals at a time.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder is below 2^64")]
    pub(crate) fn write_128<'a>(
        self,
        chunk: Chunk,
        mut n: u128,
        mut out: impl ExactSizeIterator<Item = &'a mut u16>,
    ) {
        while out.len() > 0 {
            let (q, r) = chunk.power.div_rem(n);
            self.write(r as u64, out.by_ref().take(chunk.len));
            n = q;
        }
    }
}
