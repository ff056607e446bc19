//! The portable definition: sums of 128-bit products, reduced at the end.

use super::{LANES, Operands};
use crate::Modulus;

pub(super) fn add(modulus: Modulus, o: &Operands<'_>, first: &mut [u64], second: &mut [u64]) {
    for k in (0..first.len()).step_by(LANES) {
        let of_pair = if o.shared { 0 } else { k };
        let mut sums = [[0u128; LANES]; 2];
        let (list, within) = (k / o.width, k % o.width);
        for (j, &row) in o.rows[list * o.list..][..o.terms].iter().enumerate() {
            let x = &o.x[row as usize * o.x_step + within..][..LANES];
            let y = &o.y[j * o.y_step + of_pair..];
            for (sums, y) in sums.iter_mut().zip([y, &y[o.second..]]) {
                for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
                    *sum += u128::from(x) * u128::from(y);
                }
            }
        }
        for (out, sums) in [&mut *first, &mut *second].into_iter().zip(sums) {
            for (out, sum) in out[k..].iter_mut().zip(sums) {
                *out = modulus.add(*out, modulus.reduce_wide(sum));
            }
        }
    }
}
