//! NEON: products of 25-bit halves, summed in 64 bits, joined and reduced at the end.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::aarch64::*;

use sordino_cpu::Neon;

use super::{HALF, Operands, join};
use crate::Modulus;

/// The number of values that are multiplied at the same time, in two registers.
const LANES: usize = 4;

pub(super) fn add(
    _: Neon,
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

/// The lower and upper halves of four values.
///
/// # Safety
/// `values` must point to four words.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn halves(values: *const u64) -> (uint32x4_t, uint32x4_t) {
    // SAFETY: by the contract of this function.
    let (a, b) = unsafe { (vld1q_u64(values), vld1q_u64(values.add(2))) };
    let words = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    let low = vandq_u32(words, vdupq_n_u32((1 << HALF) - 1));
    let high = vshrn_high_n_u64::<HALF>(vshrn_n_u64::<HALF>(a), b);
    (low, high)
}

/// Adds the products of four halves with four other halves to two sums.
#[inline]
#[target_feature(enable = "neon")]
fn add_products(sums: &mut [uint64x2_t; 2], a: uint32x4_t, b: uint32x4_t) {
    sums[0] = vmlal_u32(sums[0], vget_low_u32(a), vget_low_u32(b));
    sums[1] = vmlal_high_u32(sums[1], a, b);
}

/// The three sums of four values from `at` on, for both polynomials of a pair.
///
/// # Safety
/// The checks of `add_by` must hold, for a length of more than `at`, which is a multiple of four.
#[target_feature(enable = "neon")]
unsafe fn sums(o: &Operands<'_>, at: usize) -> [[[u64; LANES]; 3]; 2] {
    let mut sums = [[[vdupq_n_u64(0); 2]; 3]; 2];
    let of_pair = if o.shared { at % super::LANES } else { at };
    let (list, within) = (at / o.width, at % o.width);
    for (j, &row) in o.rows[list * o.list..][..o.terms].iter().enumerate() {
        // SAFETY: by the contract of this function.
        unsafe {
            let (x0, x1) = halves(o.x.as_ptr().add(row as usize * o.x_step + within));
            let y = o.y.as_ptr().add(j * o.y_step + of_pair);
            for ([low, middle, high], y) in sums.iter_mut().zip([y, y.add(o.second)]) {
                let (y0, y1) = halves(y);
                add_products(low, x0, y0);
                add_products(middle, x0, y1);
                add_products(middle, x1, y0);
                add_products(high, x1, y1);
            }
        }
    }
    sums.map(|sums| {
        sums.map(|[a, b]| {
            let mut words = [0; LANES];
            // SAFETY: `words` has four words, and each store writes two of them.
            unsafe {
                vst1q_u64(words.as_mut_ptr(), a);
                vst1q_u64(words.as_mut_ptr().add(2), b);
            }
            words
        })
    })
}
