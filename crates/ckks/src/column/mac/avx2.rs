//! AVX2: products of 25-bit halves, summed in 64 bits, joined and reduced at the end.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;
use sordino_lattice::Modulus;

use super::{HALF, SLACK, TILE, join};

/// The number of lanes of a register.
const LANES: usize = 4;
/// The number of registers of values whose sums are held at the same time, with three sums each.
const HELD: usize = 2;

pub(super) fn mac<const B: usize>(
    _: Avx2,
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

/// # Safety
/// `block` must hold rows of a tile and 64 bytes more. `x` must hold a tile for every `step`th row, and the same
/// number of rows.
#[target_feature(enable = "avx2")]
unsafe fn mac_tile<const B: usize>(
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    step: usize,
    out: &mut [u64; TILE],
) {
    let rows = (block.len() - SLACK) / (B * TILE);
    // Byte i of both lanes of each half comes from byte v B + i. A set top bit of the index gives a zero.
    let mut source = [0x80u8; 32];
    for lane in 0..LANES {
        for i in 0..B {
            source[8 * lane + i] = (B * (lane % 2) + i).to_le_bytes()[0];
        }
    }
    // SAFETY: `source` has the 32 bytes that are loaded.
    let source = unsafe { _mm256_loadu_si256(source.as_ptr().cast()) };
    let low = _mm256_set1_epi64x((1 << HALF) - 1);
    let zero = _mm256_setzero_si256();
    for (part, out) in out
        .as_chunks_mut::<{ LANES * HELD }>()
        .0
        .iter_mut()
        .enumerate()
    {
        let mut sums = [[zero; 3]; HELD];
        for l in 0..rows {
            for (c, sums) in sums.iter_mut().enumerate() {
                let c = part * HELD * LANES + c * LANES;
                // SAFETY: `block` and `x` have four values of row `l` here, and 64 bytes follow the block's last value.
                let (packed, x) = unsafe {
                    let values = block.as_ptr().add(B * (l * TILE + c));
                    let two = _mm_loadu_si128(values.cast());
                    let four = _mm_loadu_si128(values.add(2 * B).cast());
                    (
                        _mm256_set_m128i(four, two),
                        _mm256_loadu_si256(x.as_ptr().add(l * step * TILE + c).cast()),
                    )
                };
                let p = _mm256_shuffle_epi8(packed, source);
                let (p0, p1) = (_mm256_and_si256(p, low), _mm256_srli_epi64::<HALF>(p));
                let (x0, x1) = (_mm256_and_si256(x, low), _mm256_srli_epi64::<HALF>(x));
                let crossed = _mm256_add_epi64(_mm256_mul_epu32(p0, x1), _mm256_mul_epu32(p1, x0));
                sums[0] = _mm256_add_epi64(sums[0], _mm256_mul_epu32(p0, x0));
                sums[1] = _mm256_add_epi64(sums[1], crossed);
                sums[2] = _mm256_add_epi64(sums[2], _mm256_mul_epu32(p1, x1));
            }
        }
        for (out, sums) in out.as_chunks_mut::<LANES>().0.iter_mut().zip(&sums) {
            let mut parts = [[0u64; LANES]; 3];
            for (words, &sum) in parts.iter_mut().zip(sums) {
                // SAFETY: `words` has the four words that are stored.
                unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) }
            }
            for (i, out) in out.iter_mut().enumerate() {
                *out = join(modulus, [parts[0][i], parts[1][i], parts[2][i]]);
            }
        }
    }
}
