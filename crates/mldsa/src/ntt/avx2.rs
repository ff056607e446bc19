//! Eight coefficients per register, two layers at a time on four registers.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_blend_epi32, _mm256_load_si256,
    _mm256_mul_epi32, _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_srli_epi64, _mm256_store_si256, _mm256_sub_epi32, _mm256_sub_epi64,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::{
    Columns, FORWARD, FORWARD_Q_INV, INVERSE, INVERSE_Q_INV, INVERSE_SCALE, ZETAS, ZETAS_Q_INV,
};
use crate::field::{Poly, Q, Q_INV};
use sordino_cpu::Avx2;

/// The kernel of [`super::portable::ntt`].
pub(crate) fn ntt(_: Avx2, poly: &mut Poly) {
    #[target_feature(enable = "avx2")]
    fn ntt(poly: &mut Poly) {
        four_layers(poly, |m, _| same(m));
        transpose_blocks(poly);
        four_layers(poly, |m, half| each(&FORWARD, &FORWARD_Q_INV, m - 1, half));
    }
    // SAFETY: the token is proof of AVX2.
    unsafe { ntt(poly) }
}

/// The kernel of [`super::portable::inverse_ntt`].
pub(crate) fn inverse_ntt(_: Avx2, poly: &mut Poly) {
    #[target_feature(enable = "avx2")]
    fn inverse_ntt(poly: &mut Poly) {
        inverse_four_layers(poly, |m, half| each(&INVERSE, &INVERSE_Q_INV, m - 1, half));
        transpose_blocks(poly);
        // The blocks of a layer, counted from m on, use their zetas from 2 m - 1 down.
        inverse_four_layers(poly, |m, _| same((3 << m.ilog2()) - 1 - m));
        let scale = broadcast(INVERSE_SCALE, INVERSE_SCALE.wrapping_mul(Q_INV));
        for half in [0, 8] {
            for row in 0..16 {
                store(
                    poly,
                    row,
                    half,
                    montgomery_mul(load(poly, row, half), scale),
                );
            }
        }
    }
    // SAFETY: the token is proof of AVX2.
    unsafe { inverse_ntt(poly) }
}

/// The kernel of [`super::portable::transpose`].
pub(crate) fn transpose(_: Avx2, poly: &mut Poly) {
    // SAFETY: the token is proof of AVX2.
    unsafe { transpose_blocks(poly) }
}

/// The kernel of [`super::portable::product`].
pub(crate) fn product(_: Avx2, out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    // SAFETY: the token is proof of AVX2.
    unsafe {
        match row.len() {
            5 => product_of::<5>(out, row, vector),
            6 => product_of::<6>(out, row, vector),
            8 => product_of::<8>(out, row, vector),
            other => unreachable!("no parameter set has {other} - 1 columns"),
        }
    }
}

/// Half of a row of 16 coefficients, from coefficient `half` on, which is 0 or 8.
#[inline]
#[target_feature(enable = "avx2")]
fn load(poly: &Poly, row: usize, half: usize) -> __m256i {
    // SAFETY: 8 coefficients from a multiple of 8 on, in a polynomial aligned to 64 bytes.
    unsafe { _mm256_load_si256(poly.0[16 * row + half..][..8].as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(poly: &mut Poly, row: usize, half: usize, v: __m256i) {
    // SAFETY: as in `load`.
    unsafe { _mm256_store_si256(poly.0[16 * row + half..][..8].as_mut_ptr().cast(), v) };
}

/// Zetas and the zetas over q, for even and for odd lanes (in the lower half of each pair).
#[derive(Clone, Copy)]
struct Zeta {
    even: (__m256i, __m256i),
    odd: (__m256i, __m256i),
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(zeta: i32, over_q: i32) -> Zeta {
    let zeta = (_mm256_set1_epi32(zeta), _mm256_set1_epi32(over_q));
    Zeta {
        even: zeta,
        odd: zeta,
    }
}

/// A register with the same zeta in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn same(index: usize) -> Zeta {
    broadcast(ZETAS[index], ZETAS_Q_INV[index])
}

/// A zeta for each of 8 groups, from `half` on.
#[inline]
#[target_feature(enable = "avx2")]
fn each(zetas: &Columns, over_q: &Columns, index: usize, half: usize) -> Zeta {
    // SAFETY: 8 words from a multiple of 8 on, in `Columns` aligned to 64 bytes.
    let even = unsafe {
        (
            _mm256_load_si256(zetas.0[index][half..][..8].as_ptr().cast()),
            _mm256_load_si256(over_q.0[index][half..][..8].as_ptr().cast()),
        )
    };
    let odd = (
        _mm256_srli_epi64::<32>(even.0),
        _mm256_srli_epi64::<32>(even.1),
    );
    Zeta { even, odd }
}

/// `a z / 2^32` modulo q, below q in absolute value.
#[inline]
#[target_feature(enable = "avx2")]
fn montgomery_mul(a: __m256i, z: Zeta) -> __m256i {
    let q = _mm256_set1_epi32(Q);
    let odd = _mm256_srli_epi64::<32>(a);
    let m = (
        _mm256_mul_epi32(a, z.even.1),
        _mm256_mul_epi32(odd, z.odd.1),
    );
    combine(
        (
            _mm256_mul_epi32(a, z.even.0),
            _mm256_mul_epi32(odd, z.odd.0),
        ),
        (_mm256_mul_epi32(m.0, q), _mm256_mul_epi32(m.1, q)),
    )
}

/// The upper halves of `a - b`, whose lower halves are zero, from even and odd lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn combine(a: (__m256i, __m256i), b: (__m256i, __m256i)) -> __m256i {
    let even = _mm256_srli_epi64::<32>(_mm256_sub_epi64(a.0, b.0));
    _mm256_blend_epi32::<0xAA>(even, _mm256_sub_epi64(a.1, b.1))
}

/// Cooley and Tukey's butterfly (Algorithm 41, steps 9 to 11) on registers `i` and `j`.
#[inline]
#[target_feature(enable = "avx2")]
fn butterfly(v: &mut [__m256i; 4], i: usize, j: usize, zeta: Zeta) {
    let t = montgomery_mul(v[j], zeta);
    v[j] = _mm256_sub_epi32(v[i], t);
    v[i] = _mm256_add_epi32(v[i], t);
}

/// Gentleman and Sande's butterfly (Algorithm 42, steps 9 to 12) on registers `i` and `j`.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_butterfly(v: &mut [__m256i; 4], i: usize, j: usize, zeta: Zeta) {
    let t = v[i];
    v[i] = _mm256_add_epi32(t, v[j]);
    v[j] = montgomery_mul(_mm256_sub_epi32(v[j], t), zeta);
}

/// The four layers that act between rows: first with rows 8 and 4 apart, then 2 and 1. `zeta(m, half)` belongs to block
/// `m - 2^t` of layer t.
#[inline]
#[target_feature(enable = "avx2")]
fn four_layers(poly: &mut Poly, zeta: impl Fn(usize, usize) -> Zeta) {
    for half in [0, 8] {
        let (z1, z2, z3) = (zeta(1, half), zeta(2, half), zeta(3, half));
        for row in 0..4 {
            let mut v = core::array::from_fn(|i| load(poly, row + 4 * i, half));
            butterfly(&mut v, 0, 2, z1);
            butterfly(&mut v, 1, 3, z1);
            butterfly(&mut v, 0, 1, z2);
            butterfly(&mut v, 2, 3, z3);
            for (i, v) in v.into_iter().enumerate() {
                store(poly, row + 4 * i, half, v);
            }
        }
        for block in 0..4 {
            let z = zeta(4 + block, half);
            let mut v = core::array::from_fn(|i| load(poly, 4 * block + i, half));
            butterfly(&mut v, 0, 2, z);
            butterfly(&mut v, 1, 3, z);
            butterfly(&mut v, 0, 1, zeta(8 + 2 * block, half));
            butterfly(&mut v, 2, 3, zeta(9 + 2 * block, half));
            for (i, v) in v.into_iter().enumerate() {
                store(poly, 4 * block + i, half, v);
            }
        }
    }
}

/// The inverses of the layers of [`four_layers`], in reverse order.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_four_layers(poly: &mut Poly, zeta: impl Fn(usize, usize) -> Zeta) {
    for half in [0, 8] {
        for block in 0..4 {
            let z = zeta(4 + block, half);
            let mut v = core::array::from_fn(|i| load(poly, 4 * block + i, half));
            inverse_butterfly(&mut v, 0, 1, zeta(8 + 2 * block, half));
            inverse_butterfly(&mut v, 2, 3, zeta(9 + 2 * block, half));
            inverse_butterfly(&mut v, 0, 2, z);
            inverse_butterfly(&mut v, 1, 3, z);
            for (i, v) in v.into_iter().enumerate() {
                store(poly, 4 * block + i, half, v);
            }
        }
        let (z1, z2, z3) = (zeta(1, half), zeta(2, half), zeta(3, half));
        for row in 0..4 {
            let mut v = core::array::from_fn(|i| load(poly, row + 4 * i, half));
            inverse_butterfly(&mut v, 0, 1, z2);
            inverse_butterfly(&mut v, 2, 3, z3);
            inverse_butterfly(&mut v, 0, 2, z1);
            inverse_butterfly(&mut v, 1, 3, z1);
            for (i, v) in v.into_iter().enumerate() {
                store(poly, row + 4 * i, half, v);
            }
        }
    }
}

/// Moves row i, column j to row j, column i, in blocks of 8 by 8.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_blocks(poly: &mut Poly) {
    let corner = transposed(poly, 0, 0);
    put(poly, 0, 0, corner);
    let (right, left) = (transposed(poly, 0, 8), transposed(poly, 8, 0));
    put(poly, 8, 0, right);
    put(poly, 0, 8, left);
    let corner = transposed(poly, 8, 8);
    put(poly, 8, 8, corner);
}

#[inline]
#[target_feature(enable = "avx2")]
fn put(poly: &mut Poly, row: usize, half: usize, block: [__m256i; 8]) {
    for (i, v) in block.into_iter().enumerate() {
        store(poly, row + i, half, v);
    }
}

/// The transpose of the block from (row, half) on.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(poly: &Poly, row: usize, half: usize) -> [__m256i; 8] {
    let zero = _mm256_setzero_si256();
    let v: [__m256i; 8] = core::array::from_fn(|i| load(poly, row + i, half));
    let mut t = [zero; 8];
    for i in 0..4 {
        t[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    // u[4 g + c]: columns c and c + 4 of rows 4 g..
    let mut u = [zero; 8];
    for g in [0, 4] {
        u[g] = _mm256_unpacklo_epi64(t[g], t[g + 2]);
        u[g + 1] = _mm256_unpackhi_epi64(t[g], t[g + 2]);
        u[g + 2] = _mm256_unpacklo_epi64(t[g + 1], t[g + 3]);
        u[g + 3] = _mm256_unpackhi_epi64(t[g + 1], t[g + 3]);
    }
    let mut out = [zero; 8];
    for c in 0..4 {
        out[c] = _mm256_permute2x128_si256::<0x20>(u[c], u[c + 4]);
        out[c + 4] = _mm256_permute2x128_si256::<0x31>(u[c], u[c + 4]);
    }
    out
}

#[target_feature(enable = "avx2")]
fn product_of<const COLUMNS: usize>(out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    let row: &[Poly; COLUMNS] = row.try_into().expect("the caller counted the columns");
    let vector: &[Poly; COLUMNS] = vector.try_into().expect("as long as the row");
    let (q, q_inv) = (_mm256_set1_epi32(Q), _mm256_set1_epi32(Q_INV));
    let zero = _mm256_setzero_si256();
    for i in 0..16 {
        for half in [0, 8] {
            let (mut even, mut odd) = (zero, zero);
            for j in 0..COLUMNS {
                let (a, b) = (load(&row[j], i, half), load(&vector[j], i, half));
                even = _mm256_add_epi64(even, _mm256_mul_epi32(a, b));
                let (a, b) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
                odd = _mm256_add_epi64(odd, _mm256_mul_epi32(a, b));
            }
            let m = (_mm256_mul_epi32(even, q_inv), _mm256_mul_epi32(odd, q_inv));
            let m = (_mm256_mul_epi32(m.0, q), _mm256_mul_epi32(m.1, q));
            store(out, i, half, combine((even, odd), m));
        }
    }
}
