//! The rounds of one string in vector registers, for halves of at most `2^27`.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use super::half::{Direction, Mac};
use crate::{
    aes::{Aes, aesni},
    residue::avx512::{Modulus, Token, mix, registers},
};
use core::arch::x86_64::*;

/// The two halves' moduli, prepared.
#[derive(Clone)]
pub(crate) struct Rounds {
    token: Token,
    /// Three pieces, not two.
    three: bool,
    forward: [Modulus<3>; 2],
    backward: [Modulus<3>; 2],
}

impl Rounds {
    /// `None` where the processor or the moduli do not allow it.
    pub(crate) fn new(m: [u64; 2]) -> Option<Self> {
        let token = Token::detect()?;
        let all = |three| {
            let widths = if three { [24, 24, 16] } else { [32, 32, 0] };
            Some(Self {
                token,
                three,
                forward: Modulus::pair(m, widths, false)?,
                backward: Modulus::pair(m, widths, true)?,
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
        // `y` is the first eight bytes of a block, most significant first.
        const TWO: [[i8; 4]; 2] = [[7, 6, 5, 4], [3, 2, 1, 0]];
        const THREE: [[i8; 4]; 3] = [[7, 6, 5, -1], [4, 3, 2, -1], [1, 0, -1, -1]];
        let _ = self.token;
        let moduli = if D { &self.forward } else { &self.backward };
        // SAFETY: the token proves the instructions.
        unsafe {
            if self.three {
                rounds::<D, 3>(moduli, &THREE, key, mac, tweak, number)
            } else {
                rounds::<D, 2>(moduli, &TWO, key, mac, tweak, number)
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,aes,avx2,sse4.1")]
#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits, not numbers"
)]
fn rounds<const D: Direction, const PIECES: usize>(
    [u, v]: &[Modulus<3>; 2],
    places: &[[i8; 4]; PIECES],
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
            a = mix(&u, a, key.encrypt_whitened(absorb(first, b)), places);
            b = mix(&v, b, key.encrypt_whitened(absorb(second, a)), places);
        } else {
            b = mix(&v, b, key.encrypt_whitened(absorb(second, a)), places);
            a = mix(&u, a, key.encrypt_whitened(absorb(first, b)), places);
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
