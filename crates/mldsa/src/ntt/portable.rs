//! The portable definitions, in the standard's order of steps.

use super::{INVERSE_SCALE, ZETAS};
use crate::field::{Poly, montgomery_mul, montgomery_reduce};

/// FIPS 204, Algorithm 41: `NTT`, in place, into column order.
///
/// Input: coefficients of absolute value below 2^23. Output: below 2^23 + 8 q.
pub(crate) fn ntt(poly: &mut Poly) {
    let w = &mut poly.0;
    let mut m = 0;
    for len in [128, 64, 32, 16, 8, 4, 2, 1] {
        for start in (0..256).step_by(2 * len) {
            m += 1;
            for j in start..start + len {
                let t = montgomery_mul(ZETAS[m], w[j + len]);
                w[j + len] = w[j] - t;
                w[j] += t;
            }
        }
    }
    transpose(poly);
}

/// FIPS 204, Algorithm 42: `NTT^-1`, in place, from column order, times 2^32.
///
/// Input: values of absolute value below q. Output: coefficients of absolute value below q. (Sums
/// double in each layer and reach 256 q, which is below 2^31.)
pub(crate) fn inverse_ntt(poly: &mut Poly) {
    transpose(poly);
    let w = &mut poly.0;
    let mut m = 256;
    for len in [1, 2, 4, 8, 16, 32, 64, 128] {
        for start in (0..256).step_by(2 * len) {
            m -= 1;
            for j in start..start + len {
                let t = w[j];
                w[j] = t + w[j + len];
                w[j + len] = montgomery_mul(ZETAS[m], w[j + len] - t);
            }
        }
    }
    for coefficient in w {
        *coefficient = montgomery_mul(INVERSE_SCALE, *coefficient);
    }
}

/// Converts the standard's order to column order and back: it is its own inverse.
pub(crate) fn transpose(poly: &mut Poly) {
    for i in 0..16 {
        for j in 0..i {
            poly.0.swap(16 * i + j, 16 * j + i);
        }
    }
}

/// One row of FIPS 204, Algorithm 48 (`MatrixVectorNTT`): `out = sum_j row[j] * vector[j] / 2^32`.
///
/// Input: at most 8 columns; |row| below q, in the last column below 2^23 + 8 q; |vector| below
/// 2^19 + 8 q. The sum is then below 7 * 2^23 * 2^26.01 + 2^26.17 * 2^26.01 < 2^53.1, so the output
/// is below 2^21.1 + q / 2 < q.
pub(crate) fn product(out: &mut Poly, row: &[Poly], vector: &[Poly]) {
    for (i, out) in out.0.iter_mut().enumerate() {
        let sum = row
            .iter()
            .zip(vector)
            .map(|(a, b)| i64::from(a.0[i]) * i64::from(b.0[i]))
            .sum();
        *out = montgomery_reduce(sum);
    }
}
