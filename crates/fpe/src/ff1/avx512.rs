//! The rounds of one string in vector registers, for halves of at most `2^27`.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use super::mac::Mac;
use crate::{
    feistel::{Direction, rounds},
    residue::avx512::{Moduli, Places},
};
use core::arch::x86_64::*;
use sordino_aes::{Aes, aesni};

/// `y` is the first eight bytes of a block, most significant first.
const TWO: Places<2> = [[7, 6, 5, 4], [3, 2, 1, 0]];
const THREE: Places<3> = [[7, 6, 5, -1], [4, 3, 2, -1], [1, 0, -1, -1]];

/// The moduli of the two halves. Two pieces of `y` are faster; larger moduli need three to be exact.
#[derive(Clone)]
pub(crate) enum Rounds {
    Two(Moduli<2>),
    Three(Moduli<3>),
}

impl Rounds {
    /// `None` if the processor or the moduli do not allow it.
    pub(super) fn new(m: [u64; 2]) -> Option<Self> {
        let two = Moduli::new(m, &TWO).map(Self::Two);
        two.or_else(|| Moduli::new(m, &THREE).map(Self::Three))
    }

    /// Algorithms 7 and 8 on `NUM(A)` and `NUM(B)`.
    #[inline]
    pub(super) fn run<const D: Direction>(
        &self,
        key: &aesni::Key,
        mac: &Mac,
        tweak: &[u8],
        number: (u64, u64),
    ) -> (u64, u64) {
        // SAFETY: the token of the moduli proves the instructions.
        unsafe {
            match self {
                Self::Two(moduli) => feistel::<D, 2>(moduli, key, mac, tweak, number),
                Self::Three(moduli) => feistel::<D, 3>(moduli, key, mac, tweak, number),
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
fn feistel<const D: Direction, const N: usize>(
    moduli: &Moduli<N>,
    key: &aesni::Key,
    mac: &Mac,
    tweak: &[u8],
    (a, b): (u64, u64),
) -> (u64, u64) {
    let moduli = moduli.registers::<D>();
    let tweak = key.whiten(mac.tweak(key, tweak));
    let mut x = [a, b].map(|x| _mm_cvtsi64_si128(x as i64));
    rounds!(D, 10, |half, i| {
        // In the block, the index is the byte in front of the `b <= 4` bytes of NUM(B).
        let index = (u64::from(i) << (8 * mac.b)).swap_bytes();
        let index = _mm_insert_epi64::<1>(_mm_setzero_si128(), index as i64);
        let block = absorb(_mm_xor_si128(tweak, index), x[1 - half]);
        x[half] = moduli.mix(half, x[half], key.encrypt_whitened(block));
    });
    x.map(|x| _mm_cvtsi128_si64(x) as u64).into()
}

/// `block ^ x`, where the most significant byte of `x` comes first, and `x` ends the block.
#[inline]
#[target_feature(enable = "avx2")]
fn absorb(block: __m128i, x: __m128i) -> __m128i {
    let place = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 3, 2, 1, 0);
    _mm_xor_si128(block, _mm_shuffle_epi8(x, place))
}
