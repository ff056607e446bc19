//! FF1 whose halves are integers of many limbs. They are converted to numerals and back in less than quadratic time.
//!
//! A number `x < R = radix^n` is converted to numerals through the fraction `y = (x + e) / R`. The integer part of
//! `radix^h y` is the first `h` numerals, and its fractional part holds the others. So the only division is the first
//! one, by `R`, which is a product with a reciprocal. Every numeral is exact while the error `e` is from 0 to 1. It
//! starts near `1/8`, and is moved back between `1/8` and `7/8` where a fraction is cut in two. A fraction that is cut
//! to fewer limbs keeps one limb more than it needs, so that the cut changes `e` by less than one part in `2^63`.

use super::mac::Mac;
use crate::{
    feistel::{Direction, rounds},
    limbs::{self, Modulus},
    number::Base,
};
use alloc::{vec, vec::Vec};
use sordino_aes::{Aes, LANES, Operation};
use zeroize::Zeroize;

/// Numbers of at most this many chunks are converted in quadratic time.
const SMALL: usize = 16;

/// One half: its modulus, and powers of the radix for the conversion.
#[derive(Clone)]
pub(crate) struct Half {
    modulus: Modulus,
    base: Base,
    /// `radix^chunk`: the largest power below `2^64`.
    power: u64,
    chunk: usize,
    /// `radix^(chunk 2^j)`.
    powers: Vec<Vec<u64>>,
    /// `beta^(2 n + 2) / (d beta)`, where `n` is the number of limbs of the modulus and `d` its normal form.
    reciprocal: Vec<u64>,
}

impl Half {
    pub(crate) fn new(base: Base, len: usize) -> Self {
        let modulus = Modulus::new(limbs::power(base.radix().into(), len));
        let (chunk, power) = base.largest_power();
        let mut powers = vec![vec![power]];
        while (chunk << powers.len()) < len {
            let last = &powers[powers.len() - 1];
            let next = limbs::mul(last, last);
            powers.push(limbs::trim(&next).to_vec());
        }
        let mut d = vec![0];
        d.extend(&modulus.d);
        Self {
            reciprocal: limbs::reciprocal(&d),
            modulus,
            base,
            power,
            chunk,
            powers,
        }
    }

    /// The size in bytes of the largest number, `m - 1`.
    pub(crate) fn bytes(&self) -> usize {
        let mut max = self.modulus.m.clone();
        limbs::sub(&mut max, &[1]);
        let max = limbs::trim(&max);
        let bits = 64 * max.len() - max[max.len() - 1].leading_zeros() as usize;
        bits.div_ceil(8)
    }

    /// The power `radix^(chunk 2^j)` that splits `len` numerals best, and its number of numerals.
    fn cut(&self, len: usize) -> (&[u64], usize) {
        let j = ((len - 1) / self.chunk).ilog2() as usize;
        (&self.powers[j], self.chunk << j)
    }

    /// `NUM_radix(x)`, with one limb for each chunk of `x`.
    fn number(&self, x: &[u16]) -> Vec<u64> {
        let chunks = x.len().div_ceil(self.chunk);
        let mut number = vec![0; chunks];
        if chunks <= SMALL {
            let mut len = 0;
            let (whole, rest) = x.split_at(x.len() / self.chunk * self.chunk);
            for part in whole.chunks(self.chunk) {
                let part = self.base.number(part);
                number[len] = limbs::mul_small(&mut number[..len], self.power, part);
                len += 1;
            }
            if !rest.is_empty() {
                let power = self.base.power(rest.len());
                let rest = self.base.number(rest);
                number[len] = limbs::mul_small(&mut number[..len], power, rest);
            }
            return number;
        }
        let (power, low_len) = self.cut(x.len());
        let (high, low) = x.split_at(x.len() - low_len);
        let mut high = self.number(high);
        let mut product = limbs::mul(limbs::trim(&high), power);
        let len = product.len().min(chunks);
        number[..len].copy_from_slice(&product[..len]);
        let mut low = self.number(low);
        limbs::add(&mut number, &low);
        high.zeroize();
        low.zeroize();
        product.zeroize();
        number
    }

    /// `STR^n_radix(x)`, for `n = out.len()` and `x` below the modulus.
    fn numerals(&self, x: &[u64], out: &mut [u16]) {
        let n = self.modulus.d.len();
        let mut scaled = x.to_vec();
        limbs::shift_left(&mut scaled, self.modulus.shift);
        let mut product = limbs::mul(&scaled, &self.reciprocal);
        let y = &mut product[n..2 * n + 1];
        limbs::add(y, &quarter(n, self.modulus.shift, y.len()));
        self.fraction(y, out);
        scaled.zeroize();
        product.zeroize();
    }

    /// The numerals of the fraction `y / beta^p`, where `p` is the number of limbs of `y`.
    fn fraction(&self, y: &mut [u64], out: &mut [u16]) {
        if out.len() <= SMALL * self.chunk {
            let (whole, rest) = out.split_at_mut(out.len() / self.chunk * self.chunk);
            for part in whole.chunks_mut(self.chunk) {
                let number = limbs::mul_small(y, self.power, 0);
                self.base.write(number, part.iter_mut().rev());
            }
            let power = self.base.power(rest.len());
            let number = limbs::mul_small(y, power, 0);
            self.base.write(number, rest.iter_mut().rev());
            return;
        }
        let (power, high_len) = self.cut(out.len());
        let (high, low) = out.split_at_mut(high_len);
        let mut product = limbs::mul(y, power);
        let p = y.len();
        // If y is read as a fraction of the high numerals alone, its error is everything that belongs to the low
        // numerals. That may be near 0 or near 1, so it is moved by at most a quarter towards the middle.
        let upper_half = product[p - 1] >> 63 == 1;
        let y = self.shorten(y, high_len);
        let shift = power[power.len() - 1].leading_zeros();
        let quarter = quarter(power.len(), shift, y.len());
        if upper_half {
            limbs::sub(y, &quarter);
        } else {
            limbs::add(y, &quarter);
        }
        self.fraction(y, high);
        self.fraction(self.shorten(&mut product[..p], low.len()), low);
        product.zeroize();
    }

    /// The first limbs of a fraction: enough for `len` numerals, and one more.
    fn shorten<'a>(&self, y: &'a mut [u64], len: usize) -> &'a mut [u64] {
        let keep = (len.div_ceil(self.chunk) + 1).min(y.len());
        let cut = y.len() - keep;
        &mut y[cut..]
    }
}

/// A number between `1/8` and `1/4` of `1 / R`, as a fraction of `p` limbs. `R` has `n < p` limbs and begins with
/// `shift` zero bits, so `2^shift < beta^n / R <= 2^(shift + 1)`.
#[expect(clippy::cast_possible_truncation, reason = "limbs of a pair")]
fn quarter(n: usize, shift: u32, p: usize) -> Vec<u64> {
    let quarter = 1u128 << (62 + shift);
    let mut out = vec![0; p - n - 1];
    out.extend([quarter as u64, (quarter >> 64) as u64]);
    out
}

/// Algorithms 7 and 8 on numerals.
pub(crate) struct Feistel<'a, const D: Direction> {
    pub(crate) mac: &'a Mac,
    pub(crate) halves: &'a [Half; 2],
    pub(crate) tweak: &'a [u8],
    pub(crate) a: &'a mut [u16],
    pub(crate) b: &'a mut [u16],
}

impl<const D: Direction> Operation for Feistel<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) {
        let tweak = self.mac.tweak(aes, self.tweak);
        let bytes = self.mac.b as usize;
        let [u, v] = self.halves;
        // NUM(B) has b bytes, in whole limbs. y has one limb more, which the reduction needs.
        let limbs = bytes.div_ceil(8);
        let fit = |mut x: Vec<u64>| {
            x.resize(x.len().max(limbs), 0);
            x
        };
        let (mut a, mut b) = (fit(u.number(self.a)), fit(v.number(self.b)));
        let mut buffers = Buffers {
            x: vec![0; bytes.next_multiple_of(16) + 16],
            y: vec![0; limbs + 4],
        };
        rounds!(D, 10, |half, i| {
            let [x, y] = if half == 0 {
                [&mut a, &mut b]
            } else {
                [&mut b, &mut a]
            };
            buffers.mix::<A, D>(aes, tweak, bytes, (&self.halves[half], x), (i, y));
        });
        u.numerals(&a[..u.modulus.m.len()], self.a);
        v.numerals(&b[..v.modulus.m.len()], self.b);
        a.zeroize();
        b.zeroize();
        buffers.x.zeroize();
        buffers.y.zeroize();
    }
}

/// Memory for a round: `y`, and the blocks that begin with the index and end with the half.
struct Buffers {
    x: Vec<u8>,
    y: Vec<u64>,
}

impl Buffers {
    /// One round: `a = (a + y) mod m` or `(a - y) mod m`, with `y` from the index and `NUM(b)`.
    #[inline(always)]
    fn mix<A: Aes, const D: Direction>(
        &mut self,
        aes: A,
        tweak: A::Block,
        bytes: usize,
        (half, a): (&Half, &mut [u64]),
        (i, b): (u8, &[u64]),
    ) {
        // Step 6.i: the index and NUM(B) at the end of whole blocks.
        let blocks = (bytes + 1).div_ceil(16);
        let x = &mut self.x[..16 * blocks];
        let (index, number) = x.split_at_mut(16 * blocks - bytes);
        index[index.len() - 1] = i;
        for (out, byte) in number
            .iter_mut()
            .rev()
            .zip(b.iter().flat_map(|x| x.to_le_bytes()))
        {
            *out = byte;
        }
        // Step 6.ii. `tweak` already has the bytes in front of the index in its block.
        let (blocks, _) = x.as_chunks::<16>();
        let mut r = aes.xor(tweak, aes.load(u128::from_be_bytes(blocks[0])));
        r = aes.encrypt(r);
        for block in &blocks[1..] {
            r = aes.encrypt(aes.xor(r, aes.load(u128::from_be_bytes(*block))));
        }
        // Steps 6.iii and 6.iv: the first d bytes of R, E(R ^ 1), E(R ^ 2)...
        let mut left = 4 * bytes.div_ceil(4) + 4;
        put(&mut self.y, &mut left, aes.store(r));
        let mut j = 1;
        while left > 0 {
            let mut s = [r; LANES];
            for (k, s) in (j..).zip(&mut s) {
                *s = aes.xor_low(*s, k);
            }
            for s in aes.encrypt8(s) {
                put(&mut self.y, &mut left, aes.store(s));
            }
            j += LANES as u64;
        }
        let n = half.modulus.m.len();
        half.modulus.reduce(&mut self.y);
        // Step 6.v, 6.vi.
        if D {
            half.modulus.add(&mut a[..n], &self.y[..n]);
        } else {
            half.modulus.sub(&mut a[..n], &self.y[..n]);
        }
        self.y.fill(0);
    }
}

/// Writes the next block of a big-endian integer into `y`. `left` is the number of its bytes that are still missing.
fn put(y: &mut [u64], left: &mut usize, s: u128) {
    let bytes = s.to_be_bytes();
    let take = bytes.len().min(*left);
    *left -= take;
    for (at, &byte) in (*left..).zip(bytes[..take].iter().rev()) {
        y[at / 8] |= u64::from(byte) << (8 * (at % 8));
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "patterns cut to size")]
mod tests {
    use super::*;

    /// `NUM` by the definition: Horner's rule, one numeral at a time.
    fn horner(x: &[u16], radix: u32) -> Vec<u64> {
        let mut n = vec![0; x.len().div_ceil(4) + 1];
        for &x in x {
            limbs::mul_small(&mut n, radix.into(), x.into());
        }
        n
    }

    #[test]
    fn conversions_equal_their_definition_at_every_shape() {
        for (radix, lens) in [
            (10, [40, 41, 299, 600, 617, 4000]),
            (2, [129, 1000, 1025, 5000, 9000, 20_000]),
            (36, [26, 200, 210, 400, 800, 1601]),
            (65535, [9, 49, 51, 300, 1000, 1700]),
            (65536, [9, 48, 49, 97, 400, 1701]),
        ] {
            for len in lens {
                let half = Half::new(Base::new(radix), len);
                let top = u16::try_from(radix - 1).unwrap();
                let mut seed = 1u64;
                for pattern in 0..4 {
                    let x: Vec<u16> = (0..len)
                        .map(|i| {
                            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                            match pattern {
                                0 => top,
                                1 => 0,
                                2 => ((seed >> 33) % u64::from(radix)) as u16,
                                _ => {
                                    if i == len / 2 {
                                        1
                                    } else {
                                        0
                                    }
                                }
                            }
                        })
                        .collect();
                    let number = half.number(&x);
                    let definition = horner(&x, radix);
                    assert!(
                        limbs::trim(&number) == limbs::trim(&definition),
                        "{radix} {len} {pattern}"
                    );
                    let mut fixed = number.clone();
                    fixed.resize(half.modulus.m.len(), 0);
                    let mut back = vec![0; len];
                    half.numerals(&fixed, &mut back);
                    assert!(back == x, "{radix} {len} {pattern}: back");
                }
            }
        }
    }
}
