//! AVX-512 VNNI. Products by `vpdpbusd` (unsigned byte plane times signed digit) and, with secrets,
//! `vpdpwssd` (16-bit limbs); neither saturates, so sums are exact mod 2^32.

#![expect(unsafe_code, reason = "vector loads")]

mod panels;
mod small;
mod vector;

pub(super) use panels::{add_planes, mul_panels};
pub(super) use small::mul_small;
pub(super) use vector::mul_vec;

use std::arch::x86_64::*;

/// 64 bytes of a slice, from byte `at` on.
///
/// Arrays of loads are filled by loops. In a build without link-time optimisation, a closure under
/// `std::array::from_fn` is a call for every load. The reason is that the library's function in between has no
/// vector level for inlining.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(slice: &[T], at: usize) -> __m512i {
    debug_assert!(at + 64 <= size_of_val(slice));
    // SAFETY: `at + 64` stays within the slice. Callers step through rows whose lengths are multiples of `LANES`, as
    // `Digits::strips` and `Words::mul` assert, or load what `add_planes` asserts.
    unsafe { _mm512_loadu_si512(slice.as_ptr().cast::<u8>().add(at).cast()) }
}

/// The value of the sums of the `P` highest planes together.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_planes<const P: usize>(acc: [__m512i; P]) -> __m512i {
    let mut sum = _mm512_setzero_si512();
    for acc in acc.into_iter().rev() {
        sum = _mm512_add_epi32(_mm512_slli_epi32::<8>(sum), acc);
    }
    for _ in P..4 {
        sum = _mm512_slli_epi32::<8>(sum);
    }
    sum
}

/// The sum of the lanes of each of up to four vectors, by one tree of additions for all.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_lanes<const R: usize>(sums: [__m512i; R]) -> [u32; R] {
    let mut four = [_mm512_setzero_si512(); 4];
    four[..R].copy_from_slice(&sums);
    let [a, b, c, d] = four;
    let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    let all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    let half = _mm256_add_epi32(
        _mm512_castsi512_si256(all),
        _mm512_extracti64x4_epi64::<1>(all),
    );
    let sums = _mm_add_epi32(
        _mm256_castsi256_si128(half),
        _mm256_extracti128_si256::<1>(half),
    );
    let mut lanes = [0; 4];
    // SAFETY: four words are 16 bytes.
    unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), sums) };
    let mut out = [0; R];
    out.copy_from_slice(&lanes[..R]);
    out
}
