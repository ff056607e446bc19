//! The two linear maps before a hash, and the signs after one.
//!
//! Each kernel is elementwise or has one fixed order of operations, and uses no fused operations. So
//! all backends give the same floats bit for bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::dispatch;

use crate::kernels::Kernels;

/// Outputs of a dense map that are computed together, and signs that are packed together.
pub(crate) const BLOCK: usize = 64;

/// For each round of `flips`: flips the signs of `values` where a flip is `1 << 31`, then multiplies
/// by the Hadamard matrix (Sylvester's, not normalised). `values.len()` is a power of two, at least
/// 64, and divides `flips.len()`.
pub(crate) fn rotate(kernels: Kernels, values: &mut [f32], flips: &[u32]) {
    assert!(values.len().is_power_of_two() && values.len() >= BLOCK);
    dispatch!(Kernels, kernels, self::rotate(values, flips));
}

/// `sums[i]` = sum over `j` of `x[j] * weights[j][i]`, in the order of `j`.
pub(crate) fn project(
    kernels: Kernels,
    x: &[f32],
    weights: &[[f32; BLOCK]],
    sums: &mut [f32; BLOCK],
) {
    dispatch!(Kernels, kernels, self::project(x, weights, sums));
}

/// Bit `i` of a word is 1 where value `i` is at least 0; a NaN gives 0.
pub(crate) fn signs(kernels: Kernels, values: &[[f32; BLOCK]], words: &mut [u64]) {
    dispatch!(Kernels, kernels, self::signs(values, words));
}
