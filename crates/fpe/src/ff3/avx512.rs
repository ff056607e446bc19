//! The rounds of one string in vector registers, for halves of at most `2^27`: the block has the
//! number and `y` least significant byte first, as the registers do.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use crate::{
    aes::{Aes, aesni},
    ff1::half::Direction,
    residue::avx512::{Modulus, Token, mix, registers},
};
use core::arch::x86_64::*;

/// The two halves' moduli, prepared.
#[derive(Clone)]
pub(crate) struct Rounds {
    token: Token,
    /// Six pieces, not four.
    six: bool,
    forward: [Modulus<6>; 2],
    backward: [Modulus<6>; 2],
}

impl Rounds {
    /// `None` where the processor or the moduli do not allow it.
    pub(crate) fn new(m: [u64; 2]) -> Option<Self> {
        let token = Token::detect()?;
        let all = |six| {
            let widths = if six {
                [24, 24, 24, 24, 16, 16]
            } else {
                [32, 32, 32, 32, 0, 0]
            };
            Some(Self {
                token,
                six,
                forward: Modulus::pair(m, widths, false)?,
                backward: Modulus::pair(m, widths, true)?,
            })
        };
        all(false).or_else(|| all(true))
    }

    /// Algorithms 9 and 10 on `NUM(REV(A))` and `NUM(REV(B))`, with `T_L` and `T_R`.
    #[inline]
    pub(crate) fn run<const D: Direction>(
        &self,
        key: &aesni::Key,
        tweak: [u32; 2],
        number: (u64, u64),
    ) -> (u64, u64) {
        const FOUR: [[i8; 4]; 4] = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]];
        const SIX: [[i8; 4]; 6] = [
            [0, 1, 2, -1],
            [3, 4, 5, -1],
            [6, 7, 8, -1],
            [9, 10, 11, -1],
            [12, 13, -1, -1],
            [14, 15, -1, -1],
        ];
        let _ = self.token;
        let moduli = if D { &self.forward } else { &self.backward };
        // SAFETY: the token proves the instructions.
        unsafe {
            if self.six {
                rounds::<D, 6>(moduli, &SIX, key, tweak, number)
            } else {
                rounds::<D, 4>(moduli, &FOUR, key, tweak, number)
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
    [u, v]: &[Modulus<6>; 2],
    places: &[[i8; 4]; PIECES],
    key: &aesni::Key,
    tweak: [u32; 2],
    (a, b): (u64, u64),
) -> (u64, u64) {
    let (u, v) = (registers(u), registers(v));
    // What stands behind the number: W, with the round's index added.
    let behind = |w: u32| _mm_set_epi32(w as i32, 0, 0, 0);
    let [left, right] = tweak.map(|w| key.whiten(behind(w)));
    let mut a = _mm_cvtsi64_si128(a as i64);
    let mut b = _mm_cvtsi64_si128(b as i64);
    for k in 0..4 {
        let even = if D { 2 * k } else { 6 - 2 * k };
        let first = _mm_xor_si128(right, behind(even));
        let second = _mm_xor_si128(left, behind(even + 1));
        if D {
            a = mix(&u, a, key.encrypt_whitened(_mm_xor_si128(first, b)), places);
            b = mix(
                &v,
                b,
                key.encrypt_whitened(_mm_xor_si128(second, a)),
                places,
            );
        } else {
            b = mix(
                &v,
                b,
                key.encrypt_whitened(_mm_xor_si128(second, a)),
                places,
            );
            a = mix(&u, a, key.encrypt_whitened(_mm_xor_si128(first, b)), places);
        }
    }
    (_mm_cvtsi128_si64(a) as u64, _mm_cvtsi128_si64(b) as u64)
}
