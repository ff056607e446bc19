//! NEON: products of 25-bit halves, summed in 64 bits, joined and reduced at the end.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::aarch64::*;

use sordino_cpu::Neon;
use sordino_lattice::Modulus;

use super::{HALF, SLACK, TILE, join};

/// The number of values that are multiplied at the same time, in two registers.
const STEP: usize = 4;
/// The number of steps whose sums are held at the same time, in six registers each.
const HELD: usize = 2;

pub(super) fn mac<const B: usize>(
    _: Neon,
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    step: usize,
    out: &mut [u64; TILE],
) {
    let rows = block.len().saturating_sub(SLACK) / (B * TILE);
    assert!(rows > 0 && x.len() >= ((rows - 1) * step + 1) * TILE);
    // SAFETY: the token proves the target features; the lengths were just checked.
    unsafe { mac_tile::<B>(modulus, block, x, step, out) }
}

/// The lower and upper halves of four values.
#[inline]
#[target_feature(enable = "neon")]
fn split(a: uint64x2_t, b: uint64x2_t) -> (uint32x4_t, uint32x4_t) {
    let words = vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
    let low = vandq_u32(words, vdupq_n_u32((1 << HALF) - 1));
    let high = vshrn_high_n_u64::<HALF>(vshrn_n_u64::<HALF>(a), b);
    (low, high)
}

/// Adds the products of four halves with four other halves to two sums.
#[inline]
#[target_feature(enable = "neon")]
fn add_products(sums: &mut [uint64x2_t; 2], a: uint32x4_t, b: uint32x4_t) {
    sums[0] = vmlal_u32(sums[0], vget_low_u32(a), vget_low_u32(b));
    sums[1] = vmlal_high_u32(sums[1], a, b);
}

/// # Safety
/// `block` must hold rows of a tile and 64 bytes more. `x` must hold a tile for every `step`th row, and the same
/// number of rows.
#[target_feature(enable = "neon")]
unsafe fn mac_tile<const B: usize>(
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    step: usize,
    out: &mut [u64; TILE],
) {
    let rows = (block.len() - SLACK) / (B * TILE);
    // Byte i of lane v comes from byte v B + i; an index beyond the table gives a zero.
    let mut source = [0xffu8; 16];
    for lane in 0..2 {
        for i in 0..B {
            source[8 * lane + i] = (B * lane + i).to_le_bytes()[0];
        }
    }
    // SAFETY: `source` has the 16 bytes that are loaded.
    let source = unsafe { vld1q_u8(source.as_ptr()) };
    let zero = vdupq_n_u64(0);
    for (part, out) in out
        .as_chunks_mut::<{ STEP * HELD }>()
        .0
        .iter_mut()
        .enumerate()
    {
        let mut sums = [[[zero; 2]; 3]; HELD];
        for l in 0..rows {
            for (c, [low, middle, high]) in sums.iter_mut().enumerate() {
                let c = part * HELD * STEP + c * STEP;
                // SAFETY: `block` and `x` have four values of row `l` here, and 64 bytes follow the block's last value.
                let (p, x) = unsafe {
                    let values = block.as_ptr().add(B * (l * TILE + c));
                    let (two, four) = (vld1q_u8(values), vld1q_u8(values.add(2 * B)));
                    let x = x.as_ptr().add(l * step * TILE + c);
                    ((two, four), (vld1q_u64(x), vld1q_u64(x.add(2))))
                };
                let (p0, p1) = split(
                    vreinterpretq_u64_u8(vqtbl1q_u8(p.0, source)),
                    vreinterpretq_u64_u8(vqtbl1q_u8(p.1, source)),
                );
                let (x0, x1) = split(x.0, x.1);
                add_products(low, p0, x0);
                add_products(middle, p0, x1);
                add_products(middle, p1, x0);
                add_products(high, p1, x1);
            }
        }
        for (out, sums) in out.as_chunks_mut::<STEP>().0.iter_mut().zip(&sums) {
            let mut parts = [[0u64; STEP]; 3];
            for (words, sums) in parts.iter_mut().zip(sums) {
                for (pair, &sum) in words.as_chunks_mut::<2>().0.iter_mut().zip(sums) {
                    // SAFETY: `pair` has the two words that are stored.
                    unsafe { vst1q_u64(pair.as_mut_ptr(), sum) }
                }
            }
            for (i, out) in out.iter_mut().enumerate() {
                *out = join(modulus, [parts[0][i], parts[1][i], parts[2][i]]);
            }
        }
    }
}
