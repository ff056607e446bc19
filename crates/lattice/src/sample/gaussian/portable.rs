//! The definition of a draw.

use super::{BLOCK, Uniform};

/// `counts[i] = #{k : u[i] < T[k]}`: every value is compared with every entry.
#[inline(always)]
pub(super) fn magnitudes(table: &[(u64, u64)], uniform: &Uniform, counts: &mut [i16; BLOCK]) {
    let mut sums = [0u64; BLOCK];
    for (high, low) in table {
        for (i, sum) in sums.iter_mut().enumerate() {
            let below = uniform.high[i] < *high;
            let tied = uniform.high[i] == *high;
            let below_low = uniform.low[i] < *low;
            *sum += u64::from(below | (tied & below_low));
        }
    }
    for (count, sum) in counts.iter_mut().zip(sums) {
        // At most 14 * 1024 entries: the sum fits.
        *count = (sum & 0x7fff) as i16;
    }
}
