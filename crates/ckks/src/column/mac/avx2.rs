//! AVX2: products of 25-bit halves, summed in 64 bits, joined and reduced at the end. Three products make four
//! (Karatsuba): `p0 x0`, `p1 x1` and `(p0 + p1)(x0 + x1)`. What is unpacked of a block serves up to four queries.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx2;

use super::{HALF, MOST, Pass, TILE, join};

/// Lanes of a register.
const LANES: usize = 4;

/// Registers of a tile's values.
const PARTS: usize = TILE / LANES;

pub(super) fn run<const B: usize>(_: Avx2, pass: &Pass, sums: &mut [u64]) {
    assert_eq!(pass.len, B);
    assert_eq!(sums.len(), pass.blocks() * pass.queries() * pass.points);
    // SAFETY: the token proves the target features; a pass has checked its lengths, and there are sums
    // for every block and query.
    unsafe { run_tiles::<B>(pass, sums) }
}

/// Blocks change faster than tiles, so that the queries' part stays in cache.
///
/// # Safety
/// `sums` holds a value for every block, query and point of the pass.
#[target_feature(enable = "avx2")]
unsafe fn run_tiles<const B: usize>(pass: &Pass, sums: &mut [u64]) {
    let source = source::<B>();
    for tile in 0..pass.points / TILE {
        for j in 0..pass.blocks() {
            for (first, group) in pass.numbered() {
                let x = group.tile(tile, pass.rows);
                let at = (tile, j, first);
                // SAFETY: these are blocks and tiles of the pass, and the group has as many queries. Up to four
                // parts' sums at a time are what registers hold: three each.
                unsafe {
                    match group.queries {
                        1 => sum::<B, 1, 2>(pass, at, x, source, sums),
                        2 => sum::<B, 2, 2>(pass, at, x, source, sums),
                        3 => sum::<B, 3, 1>(pass, at, x, source, sums),
                        _ => sum::<B, 4, 1>(pass, at, x, source, sums),
                    }
                }
            }
        }
    }
}

/// A tile of block `j` for the group of `Q` queries from `k` on, `H` of its parts at a time.
///
/// # Safety
/// The pass has this block and tile, `x` holds the group's rows of the tile, and `sums` a value for every block,
/// query and point.
#[target_feature(enable = "avx2")]
unsafe fn sum<const B: usize, const Q: usize, const H: usize>(
    pass: &Pass,
    (tile, j, k): (usize, usize, usize),
    x: &[u64],
    source: __m256i,
    sums: &mut [u64],
) {
    let row = B * TILE;
    let block = &pass.bytes[j * pass.block_len() + tile * pass.rows * row..];
    let (block, x) = (block.as_ptr(), x.as_ptr());
    let (low, zero) = (_mm256_set1_epi64x((1 << HALF) - 1), _mm256_setzero_si256());
    for part in (0..PARTS).step_by(H) {
        for first in (0..pass.rows).step_by(MOST) {
            let mut parts = [[[zero; 3]; Q]; H];
            for at in first..pass.rows.min(first + MOST) {
                for (h, parts) in parts.iter_mut().enumerate() {
                    let c = (part + h) * LANES;
                    // SAFETY: four values of this row, and 64 bytes follow the last block's.
                    let packed = unsafe {
                        let values = block.add(at * row + B * c);
                        let two = _mm_loadu_si128(values.cast());
                        let four = _mm_loadu_si128(values.add(2 * B).cast());
                        _mm256_set_m128i(four, two)
                    };
                    let p = _mm256_shuffle_epi8(packed, source);
                    let (p0, p1) = (_mm256_and_si256(p, low), _mm256_srli_epi64::<HALF>(p));
                    let p01 = _mm256_add_epi64(p0, p1);
                    for (q, parts) in parts.iter_mut().enumerate() {
                        // SAFETY: the group has Q TILE values for each row.
                        let x =
                            unsafe { _mm256_loadu_si256(x.add((at * Q + q) * TILE + c).cast()) };
                        let (x0, x1) = (_mm256_and_si256(x, low), _mm256_srli_epi64::<HALF>(x));
                        let x01 = _mm256_add_epi64(x0, x1);
                        parts[0] = _mm256_add_epi64(parts[0], _mm256_mul_epu32(p0, x0));
                        parts[1] = _mm256_add_epi64(parts[1], _mm256_mul_epu32(p01, x01));
                        parts[2] = _mm256_add_epi64(parts[2], _mm256_mul_epu32(p1, x1));
                    }
                }
            }
            for (h, parts) in parts.iter().enumerate() {
                for (q, parts) in parts.iter().enumerate() {
                    let at = ((j * pass.queries()) + k + q) * pass.points + tile * TILE;
                    let sums = &mut sums[at + (part + h) * LANES..][..LANES];
                    for (sum, part) in sums.iter_mut().zip(joined(pass, parts)) {
                        *sum = match first {
                            0 => part,
                            _ => pass.modulus.add(*sum, part),
                        };
                    }
                }
            }
        }
    }
}

/// The sums of products, of those of their halves: `p0 x1 + p1 x0` is what the second has above the two others.
#[target_feature(enable = "avx2")]
fn joined(pass: &Pass, parts: &[__m256i; 3]) -> [u64; LANES] {
    let crossed = _mm256_sub_epi64(_mm256_sub_epi64(parts[1], parts[0]), parts[2]);
    let mut words = [[0u64; LANES]; 3];
    for (words, sum) in words.iter_mut().zip([parts[0], crossed, parts[2]]) {
        // SAFETY: four words.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) }
    }
    std::array::from_fn(|i| join(pass.modulus, words.map(|words| words[i])))
}

/// The indices by which a byte shuffle expands four packed values, two in each half: byte `i` of both lanes of each half
/// comes from byte `v B + i`; a set top bit makes a zero.
#[target_feature(enable = "avx2")]
fn source<const B: usize>() -> __m256i {
    let mut source = [0x80u8; 32];
    for lane in 0..LANES {
        for i in 0..B {
            source[8 * lane + i] = (B * (lane % 2) + i).to_le_bytes()[0];
        }
    }
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(source.as_ptr().cast()) }
}
