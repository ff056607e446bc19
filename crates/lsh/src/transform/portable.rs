//! The portable definition. The functions are inlined into other backends where the compiler's own
//! vector code is as good as ours.

use super::BLOCK;

/// The length of a transform that the other backends compute within registers.
pub(super) const SMALL: usize = 16;

pub(super) fn rotate(values: &mut [f32], flips: &[u32]) {
    for flips in flips.chunks_exact(values.len()) {
        flip(values, flips);
        stages(values, 1);
    }
}

/// Flips signs.
#[inline(always)]
pub(super) fn flip(values: &mut [f32], flips: &[u32]) {
    for (value, flip) in values.iter_mut().zip(flips) {
        *value = f32::from_bits(value.to_bits() ^ flip);
    }
}

/// The butterflies of distance `h`, `2 h`, and so on. All of them for `h` = 1.
#[inline(always)]
pub(super) fn stages(values: &mut [f32], mut h: usize) {
    while h < values.len() {
        for block in values.chunks_exact_mut(2 * h) {
            let (low, high) = block.split_at_mut(h);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        h *= 2;
    }
}

#[inline(always)]
pub(super) fn project(x: &[f32], weights: &[[f32; BLOCK]], sums: &mut [f32; BLOCK]) {
    let mut total = [0.0; BLOCK];
    for (x, row) in x.iter().zip(weights) {
        for (sum, weight) in total.iter_mut().zip(row) {
            *sum += x * weight;
        }
    }
    *sums = total;
}

pub(super) fn signs(values: &[[f32; BLOCK]], words: &mut [u64]) {
    for (word, values) in words.iter_mut().zip(values) {
        let bit = |(i, value): (usize, &f32)| u64::from(*value >= 0.0) << i;
        *word = values
            .iter()
            .enumerate()
            .map(bit)
            .fold(0, |word, bit| word | bit);
    }
}
