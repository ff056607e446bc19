//! The rounds of one string in vector registers, for halves of at most `2^27`. The block has the number and `y` in
//! little-endian order, like the registers.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use crate::{
    feistel::{Direction, rounds},
    residue::avx512::{Moduli, Places},
};
use core::arch::x86_64::*;
use sordino_aes::{Aes, aesni};

const FOUR: Places<4> = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]];
const SIX: Places<6> = [
    [0, 1, 2, -1],
    [3, 4, 5, -1],
    [6, 7, 8, -1],
    [9, 10, 11, -1],
    [12, 13, -1, -1],
    [14, 15, -1, -1],
];

/// The moduli of the two halves. Four pieces of `y` are faster; larger moduli need six to be exact.
#[derive(Clone)]
pub(crate) enum Rounds {
    Four(Moduli<4>),
    Six(Moduli<6>),
}

impl Rounds {
    /// `None` if the processor or the moduli do not allow it.
    pub(super) fn new(m: [u64; 2]) -> Option<Self> {
        let four = Moduli::new(m, &FOUR).map(Self::Four);
        four.or_else(|| Moduli::new(m, &SIX).map(Self::Six))
    }

    /// Algorithms 9 and 10 on `NUM(REV(A))` and `NUM(REV(B))`, with `T_L` and `T_R`.
    #[inline]
    pub(super) fn run<const D: Direction>(
        &self,
        key: &aesni::Key,
        tweak: [u32; 2],
        number: (u64, u64),
    ) -> (u64, u64) {
        // SAFETY: the token of the moduli proves the instructions.
        unsafe {
            match self {
                Self::Four(moduli) => feistel::<D, 4>(moduli, key, tweak, number),
                Self::Six(moduli) => feistel::<D, 6>(moduli, key, tweak, number),
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
    [left, right]: [u32; 2],
    (a, b): (u64, u64),
) -> (u64, u64) {
    let moduli = moduli.registers::<D>();
    // W, or the round's index, in the last four bytes of a block, behind the number.
    let behind = |w: u32| _mm_set_epi32(w as i32, 0, 0, 0);
    let tweak = [right, left].map(|w| key.whiten(behind(w)));
    let mut x = [a, b].map(|x| _mm_cvtsi64_si128(x as i64));
    rounds!(D, 8, |half, i| {
        let block = _mm_xor_si128(_mm_xor_si128(tweak[half], behind(i.into())), x[1 - half]);
        x[half] = moduli.mix(half, x[half], key.encrypt_whitened(block));
    });
    x.map(|x| _mm_cvtsi128_si64(x) as u64).into()
}
