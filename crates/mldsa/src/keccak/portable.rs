//! The portable definition: one state, in plain words.

use super::{Blocks, Lanes, Mask, RC};

/// The rotation of word x + 5 y by rho.
const RHO: [u32; 25] = [
    0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
];

/// FIPS 202, Algorithm 7: `KECCAK-p[1600, 24]`, in place.
#[inline(always)]
pub(crate) fn permute(a: &mut [u64; 25]) {
    for rc in RC {
        // theta
        let mut c = [0; 5];
        for x in 0..5 {
            c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        }
        let mut d = [0; 5];
        for x in 0..5 {
            d[x] = c[(x + 4) % 5] ^ c[(x + 1) % 5].rotate_left(1);
        }
        // rho and pi
        let mut b = [0; 25];
        for x in 0..5 {
            for y in 0..5 {
                b[y + 5 * ((2 * x + 3 * y) % 5)] =
                    (a[x + 5 * y] ^ d[x]).rotate_left(RHO[x + 5 * y]);
            }
        }
        // chi
        for y in 0..5 {
            for x in 0..5 {
                a[x + 5 * y] = b[x + 5 * y] ^ (!b[(x + 1) % 5 + 5 * y] & b[(x + 2) % 5 + 5 * y]);
            }
        }
        // iota
        a[0] ^= rc;
    }
}

/// Permutes one lane. Like [`permute`], it is inlined into callers that may use more instructions.
#[inline(always)]
pub(crate) fn permute_lane(lanes: &mut Lanes, lane: usize) {
    let mut state = lanes.0.map(|word| word[lane]);
    permute(&mut state);
    for (word, value) in lanes.0.iter_mut().zip(state) {
        word[lane] = value;
    }
}

/// Permutes at least the lanes in `mask`. Other lanes have no meaning afterwards.
pub(crate) fn permute_lanes(lanes: &mut Lanes, mask: Mask) {
    for lane in mask.iter() {
        permute_lane(lanes, lane);
    }
}

/// Transposes the lanes, word by word.
pub(crate) fn blocks(lanes: &Lanes, blocks: &mut Blocks) {
    for (lane, block) in blocks.0.iter_mut().enumerate() {
        for (bytes, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(&lanes.0) {
            *bytes = word[lane].to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_of_zero() {
        let mut state = [0; 25];
        permute(&mut state);
        assert_eq!(state[0], 0xF125_8F79_40E1_DDE7);
        assert_eq!(state[24], 0xEAF1_FF7B_5CEC_A249);
    }
}
