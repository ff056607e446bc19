//! Four coefficients per register, sixteen registers for a quarter of the polynomial.

#![expect(
    unsafe_code,
    reason = "NEON is part of every 64-bit Arm target; loads and stores"
)]

use core::arch::aarch64::{
    int32x4_t, int64x2_t, vaddq_s32, vdup_n_s32, vdupq_n_s32, vdupq_n_s64, vget_low_s32,
    vhsubq_s32, vld1q_s32, vmlal_high_s32, vmlal_s32, vmlsl_high_s32, vmlsl_s32, vmulq_s32,
    vqdmulhq_s32, vreinterpretq_s32_s64, vreinterpretq_s64_s32, vst1q_s32, vsubq_s32, vtrn1q_s32,
    vtrn1q_s64, vtrn2q_s32, vtrn2q_s64, vuzp1q_s32, vuzp2q_s32,
};

use super::{
    Columns, FORWARD, FORWARD_Q_INV, INVERSE, INVERSE_Q_INV, INVERSE_SCALE, ZETAS, ZETAS_Q_INV,
};
use crate::field::{Poly, Q, Q_INV};
use sordino_cpu::Neon;

/// The kernel of [`super::portable::ntt`].
pub(crate) fn ntt(_: Neon, poly: &mut Poly) {
    fn layer<const LEN: usize>(v: &mut Registers, zeta: impl Fn(usize) -> Zeta) {
        for block in 0..8 / LEN {
            let zeta = zeta(8 / LEN + block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    fn four_layers(poly: &mut Poly, zeta: impl Fn(usize, usize) -> Zeta) {
        for quarter in [0, 4, 8, 12] {
            let mut v = load(poly, quarter);
            layer::<8>(&mut v, |m| zeta(m, quarter));
            layer::<4>(&mut v, |m| zeta(m, quarter));
            layer::<2>(&mut v, |m| zeta(m, quarter));
            layer::<1>(&mut v, |m| zeta(m, quarter));
            store(poly, quarter, &v);
        }
    }
    four_layers(poly, |m, _| same(m));
    transpose_blocks(poly);
    four_layers(poly, |m, quarter| {
        each(&FORWARD, &FORWARD_Q_INV, m - 1, quarter)
    });
}

/// The kernel of [`super::portable::inverse_ntt`].
pub(crate) fn inverse_ntt(_: Neon, poly: &mut Poly) {
    fn layer<const LEN: usize>(v: &mut Registers, zeta: impl Fn(usize) -> Zeta) {
        for block in 0..8 / LEN {
            let zeta = zeta(8 / LEN + block);
            for i in 0..LEN {
                let i = 2 * LEN * block + i;
                inverse_butterfly(v, i, i + LEN, zeta);
            }
        }
    }
    fn four_layers(poly: &mut Poly, scale: Option<Zeta>, zeta: impl Fn(usize, usize) -> Zeta) {
        for quarter in [0, 4, 8, 12] {
            let mut v = load(poly, quarter);
            layer::<1>(&mut v, |m| zeta(m, quarter));
            layer::<2>(&mut v, |m| zeta(m, quarter));
            layer::<4>(&mut v, |m| zeta(m, quarter));
            layer::<8>(&mut v, |m| zeta(m, quarter));
            if let Some(scale) = scale {
                v = v.map(|v| montgomery_mul(v, scale));
            }
            store(poly, quarter, &v);
        }
    }
    four_layers(poly, None, |m, quarter| {
        each(&INVERSE, &INVERSE_Q_INV, m - 1, quarter)
    });
    transpose_blocks(poly);
    // The blocks of a layer, counted from m on, use their zetas from 2 m - 1 down.
    four_layers(poly, Some(broadcast(INVERSE_SCALE)), |m, _| {
        same((3 << m.ilog2()) - 1 - m)
    });
}

/// The kernel of [`super::portable::transpose`].
pub(crate) fn transpose(_: Neon, poly: &mut Poly) {
    transpose_blocks(poly);
}

type Registers = [int32x4_t; 16];

/// Columns `quarter..quarter + 4` of the 16 rows.
#[inline]
fn load(poly: &Poly, quarter: usize) -> Registers {
    core::array::from_fn(|row| load_four(&poly.0, 16 * row + quarter))
}

#[inline]
fn load_four(values: &[i32], at: usize) -> int32x4_t {
    // SAFETY: four words are 16 bytes.
    unsafe { vld1q_s32(values[at..at + 4].as_ptr()) }
}

#[inline]
fn store(poly: &mut Poly, quarter: usize, v: &Registers) {
    for (row, v) in v.iter().enumerate() {
        store_four(poly, 16 * row + quarter, *v);
    }
}

#[inline]
fn store_four(poly: &mut Poly, at: usize, v: int32x4_t) {
    // SAFETY: four words are 16 bytes.
    unsafe { vst1q_s32(poly.0[at..at + 4].as_mut_ptr(), v) }
}

/// A zeta and the zeta over q.
type Zeta = (int32x4_t, int32x4_t);

#[inline]
fn broadcast(zeta: i32) -> Zeta {
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe { (vdupq_n_s32(zeta), vdupq_n_s32(zeta.wrapping_mul(Q_INV))) }
}

/// A register with the same zeta in all lanes.
#[inline]
fn same(index: usize) -> Zeta {
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe { (vdupq_n_s32(ZETAS[index]), vdupq_n_s32(ZETAS_Q_INV[index])) }
}

/// A zeta for each of 4 groups, from `quarter` on.
#[inline]
fn each(zetas: &Columns, over_q: &Columns, index: usize, quarter: usize) -> Zeta {
    (
        load_four(&zetas.0[index], quarter),
        load_four(&over_q.0[index], quarter),
    )
}

/// `a z / 2^32` modulo q, below q in absolute value.
///
/// `sqdmulh` gives the upper half of twice a product. Twice `a z` and twice `m q` agree in their
/// lower halves. So the difference of the upper halves is exact and even, and halving it is exact,
/// too.
#[inline]
fn montgomery_mul(a: int32x4_t, z: Zeta) -> int32x4_t {
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        let m = vmulq_s32(a, z.1);
        vhsubq_s32(vqdmulhq_s32(a, z.0), vqdmulhq_s32(m, vdupq_n_s32(Q)))
    }
}

/// Cooley and Tukey's butterfly (Algorithm 41, steps 9 to 11) on rows `i` and `j`.
#[inline]
fn butterfly(v: &mut Registers, i: usize, j: usize, zeta: Zeta) {
    let t = montgomery_mul(v[j], zeta);
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        v[j] = vsubq_s32(v[i], t);
        v[i] = vaddq_s32(v[i], t);
    }
}

/// Gentleman and Sande's butterfly (Algorithm 42, steps 9 to 12) on rows `i` and `j`.
#[inline]
fn inverse_butterfly(v: &mut Registers, i: usize, j: usize, zeta: Zeta) {
    let t = v[i];
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        v[i] = vaddq_s32(t, v[j]);
        v[j] = montgomery_mul(vsubq_s32(v[j], t), zeta);
    }
}

/// Moves row i, column j to row j, column i, in blocks of 4 by 4.
fn transpose_blocks(poly: &mut Poly) {
    for row in [0, 4, 8, 12] {
        for column in (0..=row).step_by(4) {
            let (left, right) = (transposed(poly, row, column), transposed(poly, column, row));
            for i in 0..4 {
                store_four(poly, 16 * (column + i) + row, left[i]);
                store_four(poly, 16 * (row + i) + column, right[i]);
            }
        }
    }
}

/// The transpose of the block of 4 by 4 from (row, column) on.
#[inline]
fn transposed(poly: &Poly, row: usize, column: usize) -> [int32x4_t; 4] {
    let v: [int32x4_t; 4] = core::array::from_fn(|i| load_four(&poly.0, 16 * (row + i) + column));
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        let low = |a, b| vtrn1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b));
        let high = |a, b| vtrn2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b));
        let (even, odd) = (vtrn1q_s32(v[0], v[1]), vtrn2q_s32(v[0], v[1]));
        let (even2, odd2) = (vtrn1q_s32(v[2], v[3]), vtrn2q_s32(v[2], v[3]));
        [
            low(even, even2),
            low(odd, odd2),
            high(even, even2),
            high(odd, odd2),
        ]
        .map(|v| vreinterpretq_s32_s64(v))
    }
}

/// The kernel of [`super::portable::product`].
pub(crate) fn product(_: Neon, out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    for at in (0..256).step_by(4) {
        // SAFETY: NEON is part of every 64-bit Arm target.
        let sum = unsafe {
            let (mut low, mut high): (int64x2_t, int64x2_t) = (vdupq_n_s64(0), vdupq_n_s64(0));
            for (a, b) in row.iter().zip(vector) {
                let (a, b) = (load_four(&a.0, at), load_four(&b.0, at));
                low = vmlal_s32(low, vget_low_s32(a), vget_low_s32(b));
                high = vmlal_high_s32(high, a, b);
            }
            let words = (vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
            let m = vmulq_s32(vuzp1q_s32(words.0, words.1), vdupq_n_s32(Q_INV));
            low = vmlsl_s32(low, vget_low_s32(m), vdup_n_s32(Q));
            high = vmlsl_high_s32(high, m, vdupq_n_s32(Q));
            vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high))
        };
        store_four(out, at, sum);
    }
}
