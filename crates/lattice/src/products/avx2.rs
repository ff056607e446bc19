//! AVX2: products of 25-bit halves, summed in 64 bits, joined and reduced at the end.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::{HALF, Operands, join};
use crate::Modulus;

/// The number of lanes of a register.
const LANES: usize = 4;

pub(super) fn add(
    _: Avx2,
    modulus: Modulus,
    o: &Operands<'_>,
    first: &mut [u64],
    second: &mut [u64],
) {
    for at in (0..first.len()).step_by(LANES) {
        // SAFETY: the token proves the target features. `add_by` has checked that all rows and pairs lie within their
        // slices for the length of `first` and `second`, a multiple of eight.
        let sums = unsafe { sums(o, at) };
        for (out, sums) in [&mut *first, &mut *second].into_iter().zip(&sums) {
            for (i, out) in out[at..][..LANES].iter_mut().enumerate() {
                let parts = [sums[0][i], sums[1][i], sums[2][i]];
                *out = modulus.add(*out, join(modulus, parts));
            }
        }
    }
}

/// The three sums of four values from `at` on, for both polynomials of a pair.
///
/// # Safety
/// The checks of `add_by` must hold, for a length of more than `at`, which is a multiple of four.
#[target_feature(enable = "avx2")]
unsafe fn sums(o: &Operands<'_>, at: usize) -> [[[u64; LANES]; 3]; 2] {
    let low = _mm256_set1_epi64x((1 << HALF) - 1);
    let mut sums = [[_mm256_setzero_si256(); 3]; 2];
    let of_pair = if o.shared { at % super::LANES } else { at };
    let (list, within) = (at / o.width, at % o.width);
    for (j, &row) in o.rows[list * o.list..][..o.terms].iter().enumerate() {
        // SAFETY: by the contract of this function.
        let (x, y) = unsafe {
            let x = o.x.as_ptr().add(row as usize * o.x_step + within);
            let y = o.y.as_ptr().add(j * o.y_step + of_pair);
            let pair = [
                _mm256_loadu_si256(y.cast()),
                _mm256_loadu_si256(y.add(o.second).cast()),
            ];
            (_mm256_loadu_si256(x.cast()), pair)
        };
        let (x0, x1) = (_mm256_and_si256(x, low), _mm256_srli_epi64::<HALF>(x));
        for (sums, y) in sums.iter_mut().zip(y) {
            let (y0, y1) = (_mm256_and_si256(y, low), _mm256_srli_epi64::<HALF>(y));
            let crossed = _mm256_add_epi64(_mm256_mul_epu32(x0, y1), _mm256_mul_epu32(x1, y0));
            sums[0] = _mm256_add_epi64(sums[0], _mm256_mul_epu32(x0, y0));
            sums[1] = _mm256_add_epi64(sums[1], crossed);
            sums[2] = _mm256_add_epi64(sums[2], _mm256_mul_epu32(x1, y1));
        }
    }
    // Loops, because `array::map` is compiled without these target features and would be a call for each register.
    let mut words = [[[0; LANES]; 3]; 2];
    for (words, sums) in words.iter_mut().zip(&sums) {
        for (words, sum) in words.iter_mut().zip(sums) {
            // SAFETY: `words` has the four words that are stored.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), *sum) }
        }
    }
    words
}
