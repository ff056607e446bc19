//! Stages between registers, and transposes of lanes and registers.

#![expect(
    unsafe_code,
    reason = "intrinsics of the features that the token proves"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Ifma;

use super::field::{Factor, Field, LANES, Words};

/// Splits `words` into `R` parts of the same length.
#[inline(always)]
pub(super) fn parts<const R: usize>(words: &mut [Words]) -> [&mut [Words]; R] {
    let len = words.len() / R;
    let mut rest = words;
    [(); R].map(|()| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(len);
        rest = after;
        part
    })
}

/// Forward stages on registers `x` at distances from `R / 2` down. Group `g` of the stage with `m` groups takes
/// factor `m + g`. With `FIRST`, the first stage reads canonical residues.
#[inline(always)]
pub(super) fn spread<const R: usize, const FIRST: bool>(
    field: Field,
    mut x: [__m512i; R],
    factors: &[Factor; R],
) -> [__m512i; R] {
    let (mut half, mut groups) = (R / 2, 1);
    while half > 0 {
        for i in 0..R / 2 {
            let (group, at) = (i / half, i % half);
            let at = 2 * half * group + at;
            let factor = factors[groups + group];
            (x[at], x[at + half]) = if FIRST && groups == 1 {
                field.first_butterfly(x[at], x[at + half], factor)
            } else {
                field.butterfly(x[at], x[at + half], factor)
            };
        }
        (half, groups) = (half / 2, groups * 2);
    }
    x
}

/// Stages of a cyclic inverse on registers `x` at distances up to `R / 2`. Position `j` of the stage of distance
/// `h` takes factor `h + j`.
#[inline(always)]
pub(super) fn gather<const R: usize>(
    field: Field,
    mut x: [__m512i; R],
    factors: &[Factor; R],
) -> [__m512i; R] {
    let mut half = 1;
    while half < R {
        for i in 0..R / 2 {
            let (group, place) = (i / half, i % half);
            let at = 2 * half * group + place;
            (x[at], x[at + half]) = field.butterfly(x[at], x[at + half], factors[half + place]);
        }
        half *= 2;
    }
    x
}

/// Stages of an inverse on registers `x` at distances up to `R / 2`. Group `g` of the stage with `m` groups takes
/// factor `m + g`. With `LAST`, the stage with one group is the transform's last.
#[inline(always)]
pub(super) fn join<const R: usize, const LAST: bool>(
    field: Field,
    mut x: [__m512i; R],
    factors: &[Factor; R],
) -> [__m512i; R] {
    let (mut half, mut groups) = (1, R / 2);
    while groups > 1 {
        for i in 0..R / 2 {
            let (group, place) = (i / half, i % half);
            let at = 2 * half * group + place;
            let factor = factors[groups + group];
            (x[at], x[at + half]) = field.backward_butterfly(x[at], x[at + half], factor);
        }
        (half, groups) = (half * 2, groups / 2);
    }
    for at in 0..R / 2 {
        (x[at], x[at + R / 2]) = if LAST {
            field.last_butterfly(x[at], x[at + R / 2], factors[1])
        } else {
            field.backward_butterfly(x[at], x[at + R / 2], factors[1])
        };
    }
    x
}

/// The first three stages of a cyclic inverse, on canonical residues. In the first stage, and in half of the
/// second, all factors are 1.
#[inline(always)]
pub(super) fn gather_first(
    field: Field,
    mut x: [__m512i; LANES],
    factors: &[Factor; LANES],
) -> [__m512i; LANES] {
    for i in [0, 2, 4, 6] {
        (x[i], x[i + 1]) = field.canonical_butterfly(x[i], x[i + 1]);
    }
    for i in [0, 4] {
        (x[i], x[i + 2]) = field.plain_butterfly(x[i], x[i + 2]);
        (x[i + 1], x[i + 3]) = field.first_butterfly(x[i + 1], x[i + 3], factors[3]);
    }
    for i in [0, 1, 2, 3] {
        (x[i], x[i + 4]) = field.butterfly(x[i], x[i + 4], factors[4 + i]);
    }
    x
}

/// Moves lane `i` of register `j` to lane `j` of register `i`.
#[inline(always)]
pub(super) fn transpose(token: Avx512Ifma, mut x: [__m512i; LANES]) -> [__m512i; LANES] {
    for i in [0, 2, 4, 6] {
        (x[i], x[i + 1]) = ones(token, x[i], x[i + 1]);
    }
    for i in [0, 1, 4, 5] {
        (x[i], x[i + 2]) = twos(token, x[i], x[i + 2]);
    }
    for i in [0, 1, 2, 3] {
        (x[i], x[i + 4]) = fours(token, x[i], x[i + 4]);
    }
    x
}

/// `(x0 y0 x2 y2 x4 y4 x6 y6, x1 y1 x3 y3 x5 y5 x7 y7)`.
#[inline(always)]
fn ones(_: Avx512Ifma, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the token proves the target features.
    unsafe { (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)) }
}

/// `(x0 x1 y0 y1 x4 x5 y4 y5, x2 x3 y2 y3 x6 x7 y6 y7)`.
#[inline(always)]
fn twos(_: Avx512Ifma, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    const SWAPPED: i32 = 0b01_00_11_10;
    // SAFETY: the token proves the target features.
    unsafe {
        (
            _mm512_mask_permutex_epi64::<SWAPPED>(x, 0b1100_1100, y),
            _mm512_mask_permutex_epi64::<SWAPPED>(y, 0b0011_0011, x),
        )
    }
}

/// `(x0 x1 x2 x3 y0 y1 y2 y3, x4 x5 x6 x7 y4 y5 y6 y7)`.
#[inline(always)]
fn fours(_: Avx512Ifma, x: __m512i, y: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the token proves the target features.
    unsafe {
        (
            _mm512_shuffle_i64x2::<0b01_00_01_00>(x, y),
            _mm512_shuffle_i64x2::<0b11_10_11_10>(x, y),
        )
    }
}
