//! The rounds of one string in vector registers: for halves of at most `2^27`, where the way
//! of a half from a block to an integer and back would be a fifth of the time.
//!
//! The remainder comes from a fraction as in [`crate::residue`], in units of `2^-52`: 52-bit
//! products of pieces of `y` with fractions of powers of two, two pieces of 32 bits where the
//! modulus is small, else three of 24, 24 and 16. All integers are in the first 64 bits of a
//! register.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use super::half::{Direction, Mac};
use crate::aes::{Aes, aesni};
use core::arch::x86_64::*;

/// Proof that the processor has what this file uses.
#[derive(Clone, Copy)]
struct Token(());

impl Token {
    fn detect() -> Option<Self> {
        sordino_cpu::Avx512Ifma::detect().map(|_| Self(()))
    }
}

/// The two halves' moduli, prepared.
#[derive(Clone)]
pub(crate) struct Rounds {
    token: Token,
    /// Three pieces, not two.
    three: bool,
    forward: [Modulus; 2],
    backward: [Modulus; 2],
}

/// One modulus, in one direction.
#[derive(Clone, Copy)]
struct Modulus {
    m: u64,
    /// The fractions of `+-2^(32 k) / m` or `+-2^(24 k) / m`, rounded to the nearest.
    pieces: [u64; 3],
    /// `2^52 / m`, and the 52 bits that follow.
    whole: u64,
    part: u64,
    bias: u64,
}

impl Modulus {
    /// `None` if the roundings may add up to `1 / m`.
    #[expect(clippy::cast_possible_truncation, reason = "fractions are below 2^52")]
    fn new(m: u64, three: bool, subtract: bool) -> Option<Self> {
        let (one, wide) = (1u128 << 52, u128::from(m));
        let widths: &[u32] = if three { &[24, 24, 16] } else { &[32, 32] };
        let mut pieces = [0; 3];
        let (mut up, mut down, mut power) = (0, 0, 1 % wide);
        for (piece, width) in pieces.iter_mut().zip(widths) {
            let largest = (1u128 << width) - 1;
            let signed = if subtract {
                (wide - power) % wide
            } else {
                power
            };
            let (q, r) = ((signed << 52) / wide, (signed << 52) % wide);
            if 2 * r >= wide {
                // One whole is none.
                *piece = (q + 1) as u64 % (1 << 52);
                up += (largest * (wide - r)).div_ceil(wide);
            } else {
                *piece = q as u64;
                down += (largest * r).div_ceil(wide);
            }
            power = (power << width) % wide;
        }
        // What the fraction of the other half rounds down is below two units.
        let bias = down + 2;
        (wide * (up + bias) <= one).then(|| Self {
            m,
            pieces,
            whole: (one / wide) as u64,
            part: (((one % wide) << 52) / wide) as u64,
            bias: bias as u64,
        })
    }
}

impl Rounds {
    /// `None` where the processor or the moduli do not allow it.
    pub(crate) fn new(u: u64, v: u64) -> Option<Self> {
        let token = Token::detect()?;
        let pair = |three, subtract| {
            let modulus = |m| Modulus::new(m, three, subtract);
            Some([modulus(u)?, modulus(v)?])
        };
        let all = |three| {
            Some(Self {
                token,
                three,
                forward: pair(three, false)?,
                backward: pair(three, true)?,
            })
        };
        all(false).or_else(|| all(true))
    }

    /// Algorithms 7 and 8 on `NUM(A)` and `NUM(B)`.
    #[inline]
    pub(crate) fn run<const D: Direction>(
        &self,
        key: &aesni::Key,
        mac: &Mac,
        tweak: &[u8],
        number: (u64, u64),
    ) -> (u64, u64) {
        let _ = self.token;
        let moduli = if D { &self.forward } else { &self.backward };
        // SAFETY: the token proves the instructions.
        unsafe {
            if self.three {
                rounds::<D, true>(moduli, key, mac, tweak, number)
            } else {
                rounds::<D, false>(moduli, key, mac, tweak, number)
            }
        }
    }
}

/// A [`Modulus`] in registers.
#[derive(Clone, Copy)]
struct Registers {
    m: __m128i,
    pieces: [__m128i; 3],
    whole: __m128i,
    part: __m128i,
    bias: __m128i,
}

#[inline]
#[target_feature(enable = "sse2")]
#[expect(clippy::cast_possible_wrap, reason = "bits")]
fn registers(modulus: &Modulus) -> Registers {
    let first = |x: u64| _mm_cvtsi64_si128(x as i64);
    let [a, b, c] = modulus.pieces;
    Registers {
        m: first(modulus.m),
        pieces: [first(a), first(b), first(c)],
        whole: first(modulus.whole),
        part: first(modulus.part),
        bias: first(modulus.bias),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,aes,avx2,sse4.1")]
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits, not numbers"
)]
fn rounds<const D: Direction, const THREE: bool>(
    [u, v]: &[Modulus; 2],
    key: &aesni::Key,
    mac: &Mac,
    tweak: &[u8],
    (a, b): (u64, u64),
) -> (u64, u64) {
    let (u, v) = (registers(u), registers(v));
    let tweak = key.whiten(mac.tweak(key, tweak));
    let swap = |x: u64| x.swap_bytes() as i64;
    let mut a = _mm_cvtsi64_si128(a as i64);
    let mut b = _mm_cvtsi64_si128(b as i64);
    // The index stands before NUM(B), of at most four bytes.
    let index = |i: u64| _mm_insert_epi64::<1>(_mm_setzero_si128(), swap(i << (8 * mac.b)));
    for k in 0..5 {
        let even = if D { 2 * k } else { 8 - 2 * k };
        let first = _mm_xor_si128(tweak, index(even));
        let second = _mm_xor_si128(tweak, index(even + 1));
        if D {
            a = mix::<THREE>(&u, a, key.encrypt_whitened(absorb(first, b)));
            b = mix::<THREE>(&v, b, key.encrypt_whitened(absorb(second, a)));
        } else {
            b = mix::<THREE>(&v, b, key.encrypt_whitened(absorb(second, a)));
            a = mix::<THREE>(&u, a, key.encrypt_whitened(absorb(first, b)));
        }
    }
    (_mm_cvtsi128_si64(a) as u64, _mm_cvtsi128_si64(b) as u64)
}

/// `block ^ x`, most significant byte first and last in the block.
#[inline]
#[target_feature(enable = "avx2")]
fn absorb(block: __m128i, x: __m128i) -> __m128i {
    let place = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 3, 2, 1, 0);
    _mm_xor_si128(block, _mm_shuffle_epi8(x, place))
}

/// `(a + y) mod m`, or `(a - y) mod m` if the pieces are so, `y` the first eight bytes of `s`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512ifma,avx2")]
fn mix<const THREE: bool>(modulus: &Registers, a: __m128i, s: __m128i) -> __m128i {
    let zero = _mm_setzero_si128();
    let fraction = _mm_madd52lo_epu64(modulus.bias, a, modulus.whole);
    let fraction = _mm_madd52hi_epu64(fraction, a, modulus.part);
    let place: [[i8; 4]; 3] = if THREE {
        [[7, 6, 5, -1], [4, 3, 2, -1], [1, 0, -1, -1]]
    } else {
        [[7, 6, 5, 4], [3, 2, 1, 0], [-1; 4]]
    };
    let mut pieces = [zero; 3];
    for (piece, [a, b, c, d]) in pieces.iter_mut().zip(place) {
        let place = _mm_setr_epi8(a, b, c, d, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        *piece = _mm_shuffle_epi8(s, place);
    }
    let [c0, c1, c2] = modulus.pieces;
    let mut sum = _mm_add_epi64(
        _mm_madd52lo_epu64(fraction, pieces[0], c0),
        _mm_madd52lo_epu64(zero, pieces[1], c1),
    );
    if THREE {
        sum = _mm_add_epi64(sum, _mm_madd52lo_epu64(zero, pieces[2], c2));
    }
    // Of the sum the lower 52 bits are the fraction; the product takes no others.
    _mm_madd52hi_epu64(zero, sum, modulus.m)
}
