//! AVX-512 IFMA and VBMI: one byte permute expands eight packed values for up to four queries, two
//! multiply-adds per accumulator pair, no reduction inside the sum.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vbmi;
use sordino_lattice::Modulus;

use super::{Pass, TILE};

/// Lanes of a register.
const LANES: usize = 8;
/// Registers of a tile.
const REGISTERS: usize = TILE / LANES;

/// A constant factor with its quotient `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
struct Factor {
    w: __m512i,
    quotient: __m512i,
}

#[target_feature(enable = "avx512f")]
fn splat(x: u64) -> __m512i {
    _mm512_set1_epi64(x.cast_signed())
}

#[target_feature(enable = "avx512f")]
#[expect(clippy::cast_possible_truncation, reason = "w < q")]
fn factor(w: u64, q: u64) -> Factor {
    Factor {
        w: splat(w),
        quotient: splat((((w as u128) << 52) / q as u128) as u64),
    }
}

/// `x w mod q` in `[0, 2q)`, for `x < 2^52` and `2q < 2^52`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn mul_lazy(x: __m512i, factor: Factor, q: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let times = _mm512_madd52hi_epu64(zero, x, factor.quotient);
    let low = _mm512_madd52lo_epu64(zero, x, factor.w);
    let multiple = _mm512_madd52lo_epu64(zero, times, q);
    _mm512_and_si512(_mm512_sub_epi64(low, multiple), splat((1 << 52) - 1))
}

/// `x` less `q` if that is not negative.
#[inline]
#[target_feature(enable = "avx512f")]
fn subtract_once(x: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, q))
}

pub(super) fn run<const B: usize>(_: Avx512Vbmi, pass: &Pass, sums: &mut [u64]) {
    assert_eq!(pass.len, B);
    assert_eq!(sums.len(), pass.blocks() * pass.queries * pass.n());
    // SAFETY: the token proves the target features; a pass has checked its lengths, and there are sums
    // for every block and query.
    unsafe { run_tiles::<B>(pass, sums) }
}

/// # Safety
/// `sums` holds `n` values for every block and query of the pass.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512vbmi")]
unsafe fn run_tiles<const B: usize>(pass: &Pass, sums: &mut [u64]) {
    let unpack = Unpack::new::<B>();
    let reduction = Reduction::new(pass.modulus);
    let blocks = pass.blocks();
    for tile in 0..pass.n() / TILE {
        let mut j = 0;
        while j < blocks {
            // Four sums of a tile at a time, or six, are what registers hold.
            // SAFETY: the blocks taken are left.
            j += unsafe {
                match (pass.queries, blocks - j) {
                    (1, 4..) => sum::<B, 1, 4>(pass, tile, j, &unpack, &reduction, sums),
                    (1, 2..) => sum::<B, 1, 2>(pass, tile, j, &unpack, &reduction, sums),
                    (1, _) => sum::<B, 1, 1>(pass, tile, j, &unpack, &reduction, sums),
                    (2, 2..) => sum::<B, 2, 2>(pass, tile, j, &unpack, &reduction, sums),
                    (2, _) => sum::<B, 2, 1>(pass, tile, j, &unpack, &reduction, sums),
                    (3, 2..) => sum::<B, 3, 2>(pass, tile, j, &unpack, &reduction, sums),
                    (3, _) => sum::<B, 3, 1>(pass, tile, j, &unpack, &reduction, sums),
                    _ => sum::<B, 4, 1>(pass, tile, j, &unpack, &reduction, sums),
                }
            };
        }
    }
}

/// A tile of the `R` blocks from `j` on for all `Q` queries: what is loaded of a query serves all
/// blocks, what is unpacked of a block all queries. The blocks' next tiles are fetched meanwhile: their
/// streams are too short for the hardware to do it.
///
/// # Safety
/// The pass has `Q` queries and blocks `j` to `j + R - 1`, and `sums` holds `n` values for every block
/// and query.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512vbmi")]
unsafe fn sum<const B: usize, const Q: usize, const R: usize>(
    pass: &Pass,
    tile: usize,
    j: usize,
    unpack: &Unpack,
    reduction: &Reduction,
    sums: &mut [u64],
) -> usize {
    let zero = _mm512_setzero_si512();
    let row = B * TILE;
    let x = pass.x[tile * pass.polys * Q * TILE..].as_ptr();
    let first = tile * pass.polys * row;
    let blocks: [*const u8; R] =
        std::array::from_fn(|r| pass.bytes[(j + r) * pass.block_len() + first..].as_ptr());
    let mut low = [[[zero; Q]; R]; REGISTERS];
    let mut high = [[[zero; Q]; R]; REGISTERS];
    for l in 0..pass.polys {
        for block in blocks {
            let ahead = block.wrapping_add((pass.polys + l) * row).cast();
            _mm_prefetch::<_MM_HINT_T0>(ahead);
            _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(64));
        }
        for c in 0..REGISTERS {
            let mut values = [zero; R];
            for (value, block) in values.iter_mut().zip(blocks) {
                // SAFETY: these values are the block's, and 64 bytes follow the last block's.
                let packed =
                    unsafe { _mm512_loadu_si512(block.add(l * row + c * B * LANES).cast()) };
                *value = _mm512_maskz_permutexvar_epi8(unpack.kept, unpack.source, packed);
            }
            for q in 0..Q {
                // SAFETY: the tile has Q TILE values of the queries for each l.
                let x = unsafe { _mm512_loadu_si512(x.add((l * Q + q) * TILE + c * LANES).cast()) };
                for r in 0..R {
                    low[c][r][q] = _mm512_madd52lo_epu64(low[c][r][q], values[r], x);
                    high[c][r][q] = _mm512_madd52hi_epu64(high[c][r][q], values[r], x);
                }
            }
        }
    }
    for c in 0..REGISTERS {
        for r in 0..R {
            for q in 0..Q {
                let sum = reduction.reduce(low[c][r][q], high[c][r][q]);
                let at = ((j + r) * Q + q) * pass.n() + tile * TILE + c * LANES;
                let sums = &mut sums[at..][..LANES];
                // SAFETY: eight values.
                unsafe { _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum) }
            }
        }
    }
    R
}

/// How a byte permute expands eight packed values: byte `i` of lane `v` comes from byte `v B + i`; the
/// bytes above `B` are 0.
struct Unpack {
    source: __m512i,
    kept: u64,
}

impl Unpack {
    #[target_feature(enable = "avx512f")]
    fn new<const B: usize>() -> Self {
        let mut source = [0u8; 64];
        let mut kept = 0u64;
        for lane in 0..LANES {
            for i in 0..B {
                source[8 * lane + i] = (B * lane + i).to_le_bytes()[0];
                kept |= 1 << (8 * lane + i);
            }
        }
        // SAFETY: 64 bytes.
        let source = unsafe { _mm512_loadu_si512(source.as_ptr().cast()) };
        Self { source, kept }
    }
}

/// The constants of the reduction of a sum of products.
struct Reduction {
    one: Factor,
    two52: Factor,
    two78: Factor,
    q: __m512i,
}

impl Reduction {
    #[target_feature(enable = "avx512f")]
    fn new(modulus: Modulus) -> Self {
        let q = modulus.q();
        let two26 = modulus.reduce_wide(1 << 26);
        let two52 = modulus.mul(two26, two26);
        Self {
            one: factor(1, q),
            two52: factor(two52, q),
            two78: factor(modulus.mul(two52, two26), q),
            q: splat(q),
        }
    }

    /// `low + 2^52 high mod q` for sums of up to 4096 terms, each below `2^52`, so that neither
    /// overflowed. The high one is cut at bit 26, since a product takes factors of 52 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduce(&self, low: __m512i, high: __m512i) -> __m512i {
        let (mask26, mask52) = (splat((1 << 26) - 1), splat((1 << 52) - 1));
        let carried = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        let parts = [
            mul_lazy(_mm512_srli_epi64::<26>(carried), self.two78, self.q),
            mul_lazy(_mm512_and_si512(carried, mask26), self.two52, self.q),
            mul_lazy(_mm512_and_si512(low, mask52), self.one, self.q),
        ];
        let sum = _mm512_add_epi64(_mm512_add_epi64(parts[0], parts[1]), parts[2]);
        let q2 = _mm512_add_epi64(self.q, self.q);
        let q4 = _mm512_add_epi64(q2, q2);
        subtract_once(subtract_once(subtract_once(sum, q4), q2), self.q)
    }
}
