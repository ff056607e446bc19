//! Two times four states, one 64-bit lane each.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m256i, _mm256_andnot_si256, _mm256_load_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_slli_epi64, _mm256_srli_epi64, _mm256_store_si256, _mm256_xor_si256,
};

use super::{Blocks, Lanes, Mask, bmi, permutation, portable};
use sordino_cpu::Avx2;

/// Permutes at least the lanes in `mask`. Other lanes have no meaning afterwards.
pub(crate) fn permute_lanes(_: Avx2, lanes: &mut Lanes, mask: Mask) {
    for half in [0, 4] {
        let mask = Mask(mask.0 & 0x0F << half);
        if let Some(lane) = mask.single() {
            bmi::permute_lane(lanes, lane);
        } else if mask != Mask(0) {
            // SAFETY: the token is proof of AVX2.
            unsafe { permute(lanes, half) }
        }
    }
}

/// The kernel of [`portable::blocks`]. It consists only of loads and stores, which vectors would
/// not reduce.
pub(crate) fn blocks(_: Avx2, lanes: &Lanes, blocks: &mut Blocks) {
    portable::blocks(lanes, blocks);
}

/// Permutes lanes `half..half + 4`, for `half` 0 or 4.
#[target_feature(enable = "avx2")]
fn permute(lanes: &mut Lanes, half: usize) {
    // SAFETY: each half of a word of `Lanes` is 32 bytes, aligned to 32.
    let mut a: [__m256i; 25] = core::array::from_fn(|i| unsafe {
        _mm256_load_si256(lanes.0[i][half..half + 4].as_ptr().cast())
    });
    permutation!(a);
    for (word, a) in lanes.0.iter_mut().zip(a) {
        // SAFETY: each half of a word of `Lanes` is 32 bytes, aligned to 32.
        unsafe { _mm256_store_si256(word[half..half + 4].as_mut_ptr().cast(), a) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn rol<const R: i32, const L: i32>(a: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi64::<R>(a), _mm256_srli_epi64::<L>(a))
}

#[inline]
#[target_feature(enable = "avx2")]
fn parity(a: __m256i, b: __m256i, c: __m256i, d: __m256i, e: __m256i) -> __m256i {
    mix(mix(mix(a, b), mix(c, d)), e)
}

#[inline]
#[target_feature(enable = "avx2")]
fn theta(c: __m256i, n: __m256i) -> __m256i {
    mix(c, rol::<1, 63>(n))
}

#[inline]
#[target_feature(enable = "avx2")]
fn mix(a: __m256i, d: __m256i) -> __m256i {
    _mm256_xor_si256(a, d)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rho<const R: i32, const L: i32>(a: __m256i, d: __m256i) -> __m256i {
    rol::<R, L>(mix(a, d))
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(a, _mm256_andnot_si256(b, c))
}

#[inline]
#[target_feature(enable = "avx2")]
fn iota(a: __m256i, rc: u64) -> __m256i {
    _mm256_xor_si256(a, _mm256_set1_epi64x(rc.cast_signed()))
}
