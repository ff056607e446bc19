//! Sixteen coefficients per register, the whole polynomial in sixteen registers.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_load_si512, _mm512_mask_sub_epi32,
    _mm512_mul_epi32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_shuffle_i32x4,
    _mm512_srli_epi64, _mm512_store_si512, _mm512_sub_epi32, _mm512_sub_epi64,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::{
    Columns, FORWARD, FORWARD_Q_INV, INVERSE, INVERSE_Q_INV, INVERSE_SCALE, ZETAS, ZETAS_Q_INV,
};
use crate::field::{Poly, Q, Q_INV};
use sordino_cpu::Avx512;

/// The kernel of [`super::portable::ntt`].
pub(crate) fn ntt(_: Avx512, poly: &mut Poly) {
    // SAFETY: the token is proof of AVX-512F.
    unsafe { ntt_in_registers(poly) }
}

/// The kernel of [`super::portable::inverse_ntt`].
pub(crate) fn inverse_ntt(_: Avx512, poly: &mut Poly) {
    // SAFETY: the token is proof of AVX-512F.
    unsafe { inverse_ntt_in_registers(poly) }
}

/// The kernel of [`super::portable::transpose`].
pub(crate) fn transpose(_: Avx512, poly: &mut Poly) {
    // SAFETY: the token is proof of AVX-512F.
    unsafe {
        let mut v = load(poly);
        transpose_registers(&mut v);
        store(poly, &v);
    }
}

/// The kernel of [`super::portable::product`].
pub(crate) fn product(_: Avx512, out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    // SAFETY: the token is proof of AVX-512F.
    unsafe {
        match row.len() {
            5 => product_of::<5>(out, row, vector),
            6 => product_of::<6>(out, row, vector),
            8 => product_of::<8>(out, row, vector),
            other => unreachable!("no parameter set has {other} - 1 columns"),
        }
    }
}

pub(crate) type Registers = [__m512i; 16];

#[inline]
#[target_feature(enable = "avx512f")]
fn load(poly: &Poly) -> Registers {
    let (rows, _) = poly.0.as_chunks::<16>();
    // SAFETY: rows are 64 bytes, and a `Poly` is aligned to 64.
    core::array::from_fn(|i| unsafe { _mm512_load_si512(rows[i].as_ptr().cast()) })
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store(poly: &mut Poly, v: &Registers) {
    let (rows, _) = poly.0.as_chunks_mut::<16>();
    for (row, v) in rows.iter_mut().zip(v) {
        // SAFETY: as in `load`.
        unsafe { _mm512_store_si512(row.as_mut_ptr().cast(), *v) };
    }
}

/// Zetas and the zetas over q, for even and for odd lanes (in the lower half of each pair).
#[derive(Clone, Copy)]
struct Zeta {
    even: (__m512i, __m512i),
    odd: (__m512i, __m512i),
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(zeta: i32, over_q: i32) -> Zeta {
    let zeta = (_mm512_set1_epi32(zeta), _mm512_set1_epi32(over_q));
    Zeta {
        even: zeta,
        odd: zeta,
    }
}

/// A register with the same zeta in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn same(index: usize) -> Zeta {
    broadcast(ZETAS[index], ZETAS_Q_INV[index])
}

/// A zeta for each of 16 groups.
#[inline]
#[target_feature(enable = "avx512f")]
fn each(zetas: &Columns, over_q: &Columns, index: usize) -> Zeta {
    // SAFETY: rows are 64 bytes, and `Columns` are aligned to 64.
    let even = unsafe {
        (
            _mm512_load_si512(zetas.0[index].as_ptr().cast()),
            _mm512_load_si512(over_q.0[index].as_ptr().cast()),
        )
    };
    let odd = (
        _mm512_srli_epi64::<32>(even.0),
        _mm512_srli_epi64::<32>(even.1),
    );
    Zeta { even, odd }
}

/// `a z / 2^32` modulo q, below q in absolute value.
#[inline]
#[target_feature(enable = "avx512f")]
fn montgomery_mul(a: __m512i, z: Zeta) -> __m512i {
    let q = _mm512_set1_epi32(Q);
    let odd = _mm512_srli_epi64::<32>(a);
    let m = (
        _mm512_mul_epi32(a, z.even.1),
        _mm512_mul_epi32(odd, z.odd.1),
    );
    combine(
        (
            _mm512_mul_epi32(a, z.even.0),
            _mm512_mul_epi32(odd, z.odd.0),
        ),
        (_mm512_mul_epi32(m.0, q), _mm512_mul_epi32(m.1, q)),
    )
}

/// The upper halves of `a - b`, whose lower halves are zero, from even and odd lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn combine(a: (__m512i, __m512i), b: (__m512i, __m512i)) -> __m512i {
    let even = _mm512_srli_epi64::<32>(_mm512_sub_epi64(a.0, b.0));
    _mm512_mask_sub_epi32(even, 0xAAAA, a.1, b.1)
}

/// Cooley and Tukey's butterfly (Algorithm 41, steps 9 to 11) on rows `i` and `j`.
#[inline]
#[target_feature(enable = "avx512f")]
fn butterfly(v: &mut Registers, i: usize, j: usize, zeta: Zeta) {
    let t = montgomery_mul(v[j], zeta);
    v[j] = _mm512_sub_epi32(v[i], t);
    v[i] = _mm512_add_epi32(v[i], t);
}

/// Gentleman and Sande's butterfly (Algorithm 42, steps 9 to 12) on rows `i` and `j`.
#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_butterfly(v: &mut Registers, i: usize, j: usize, zeta: Zeta) {
    let t = v[i];
    v[i] = _mm512_add_epi32(t, v[j]);
    v[j] = montgomery_mul(_mm512_sub_epi32(v[j], t), zeta);
}

#[target_feature(enable = "avx512f")]
fn ntt_in_registers(poly: &mut Poly) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rows<const LEN: usize>(v: &mut Registers) {
        for block in 0..8 / LEN {
            let zeta = same(8 / LEN + block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn columns<const LEN: usize>(v: &mut Registers) {
        for block in 0..8 / LEN {
            let zeta = each(&FORWARD, &FORWARD_Q_INV, 8 / LEN - 1 + block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    let mut v = load(poly);
    rows::<8>(&mut v);
    rows::<4>(&mut v);
    rows::<2>(&mut v);
    rows::<1>(&mut v);
    transpose_registers(&mut v);
    columns::<8>(&mut v);
    columns::<4>(&mut v);
    columns::<2>(&mut v);
    columns::<1>(&mut v);
    store(poly, &v);
}

#[target_feature(enable = "avx512f")]
fn inverse_ntt_in_registers(poly: &mut Poly) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rows<const LEN: usize>(v: &mut Registers) {
        for block in 0..8 / LEN {
            let zeta = same(16 / LEN - 1 - block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                inverse_butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn columns<const LEN: usize>(v: &mut Registers) {
        for block in 0..8 / LEN {
            let zeta = each(&INVERSE, &INVERSE_Q_INV, 8 / LEN - 1 + block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                inverse_butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    let mut v = load(poly);
    columns::<1>(&mut v);
    columns::<2>(&mut v);
    columns::<4>(&mut v);
    columns::<8>(&mut v);
    transpose_registers(&mut v);
    rows::<1>(&mut v);
    rows::<2>(&mut v);
    rows::<4>(&mut v);
    rows::<8>(&mut v);
    let scale = broadcast(INVERSE_SCALE, INVERSE_SCALE.wrapping_mul(Q_INV));
    for row in &mut v {
        *row = montgomery_mul(*row, scale);
    }
    store(poly, &v);
}

/// Moves row i, column j to row j, column i.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose_registers(v: &mut Registers) {
    let zero = _mm512_setzero_si512();
    // First pairs of rows, then fours: u[4 g + c] holds columns c, c + 4, c + 8, c + 12 of rows 4
    // g..
    let mut t = [zero; 16];
    for i in 0..8 {
        t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    let mut u = [zero; 16];
    for g in [0, 4, 8, 12] {
        u[g] = _mm512_unpacklo_epi64(t[g], t[g + 2]);
        u[g + 1] = _mm512_unpackhi_epi64(t[g], t[g + 2]);
        u[g + 2] = _mm512_unpacklo_epi64(t[g + 1], t[g + 3]);
        u[g + 3] = _mm512_unpackhi_epi64(t[g + 1], t[g + 3]);
    }
    // Then the quarters of the registers.
    for c in 0..4 {
        let even = (
            _mm512_shuffle_i32x4::<0x88>(u[c], u[c + 4]),
            _mm512_shuffle_i32x4::<0x88>(u[c + 8], u[c + 12]),
        );
        let odd = (
            _mm512_shuffle_i32x4::<0xDD>(u[c], u[c + 4]),
            _mm512_shuffle_i32x4::<0xDD>(u[c + 8], u[c + 12]),
        );
        v[c] = _mm512_shuffle_i32x4::<0x88>(even.0, even.1);
        v[c + 4] = _mm512_shuffle_i32x4::<0x88>(odd.0, odd.1);
        v[c + 8] = _mm512_shuffle_i32x4::<0xDD>(even.0, even.1);
        v[c + 12] = _mm512_shuffle_i32x4::<0xDD>(odd.0, odd.1);
    }
}

#[target_feature(enable = "avx512f")]
fn product_of<const COLUMNS: usize>(out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    let row: &[Poly; COLUMNS] = row.try_into().expect("the caller counted the columns");
    let vector: &[Poly; COLUMNS] = vector.try_into().expect("as long as the row");
    let (q, q_inv) = (_mm512_set1_epi32(Q), _mm512_set1_epi32(Q_INV));
    let zero = _mm512_setzero_si512();
    for i in (0..256).step_by(16) {
        let (mut even, mut odd) = (zero, zero);
        for j in 0..COLUMNS {
            // SAFETY: 16 coefficients from a multiple of 16 on, in polynomials aligned to 64 bytes.
            let (a, b) = unsafe {
                (
                    _mm512_load_si512(row[j].0[i..i + 16].as_ptr().cast()),
                    _mm512_load_si512(vector[j].0[i..i + 16].as_ptr().cast()),
                )
            };
            even = _mm512_add_epi64(even, _mm512_mul_epi32(a, b));
            let (a, b) = (_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            odd = _mm512_add_epi64(odd, _mm512_mul_epi32(a, b));
        }
        let m = (_mm512_mul_epi32(even, q_inv), _mm512_mul_epi32(odd, q_inv));
        let sum = combine(
            (even, odd),
            (_mm512_mul_epi32(m.0, q), _mm512_mul_epi32(m.1, q)),
        );
        // SAFETY: 16 coefficients are 64 bytes, and `Poly` is aligned to 64.
        unsafe { _mm512_store_si512(out.0[i..i + 16].as_mut_ptr().cast(), sum) };
    }
}
