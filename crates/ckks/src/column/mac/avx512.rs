//! AVX-512 IFMA and VBMI. One byte permute expands eight packed values for up to four queries. Each accumulator pair
//! takes two multiply-adds, and the sum is not reduced inside.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vbmi;
use sordino_lattice::Modulus;

use super::{MOST, Pass, TILE};

/// The number of bytes by which each stream is prefetched ahead. Near the end of a tile, they belong to the next tile.
/// On Zen 5, a pass takes 10 to 40 % longer with 1 KiB, with 6 KiB, or with the whole next tile.
const AHEAD: usize = 3072;
/// The number of lanes of a register, which hold one tile.
const LANES: usize = TILE;

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

/// `x - q` if that is not negative, else `x`.
#[inline]
#[target_feature(enable = "avx512f")]
fn subtract_once(x: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu64(x, _mm512_sub_epi64(x, q))
}

pub(super) fn run<const B: usize>(_: Avx512Vbmi, pass: &Pass, sums: &mut [u64]) {
    assert_eq!(pass.len, B);
    assert_eq!(sums.len(), pass.blocks() * pass.queries() * pass.points);
    // SAFETY: the token proves the target features; a pass has checked its lengths, and there are sums
    // for every block and query.
    unsafe { run_tiles::<B>(pass, sums) }
}

/// # Safety
/// `sums` must hold a value for every block, query and point of the pass.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512vbmi")]
unsafe fn run_tiles<const B: usize>(pass: &Pass, sums: &mut [u64]) {
    let unpack = Unpack::new::<B>();
    let reduction = Reduction::new(pass.modulus);
    let (blocks, queries) = (pass.blocks(), pass.queries());
    for tile in 0..pass.points / TILE {
        let mut j = 0;
        while j < blocks {
            // Registers hold up to twelve sums at a time, two registers each.
            let together = match (queries, blocks - j) {
                (1 | 2, 4..) => 4,
                (3.., 3..) => 3,
                _ => 1,
            };
            for (first, group) in pass.numbered() {
                let x = group.tile(tile, pass.rows);
                let at = (tile, j, first);
                // SAFETY: `together` blocks are left from `j` on, and the group has `Q` queries.
                unsafe {
                    match (group.queries, together) {
                        (1, 4) => sum::<B, 1, 4>(pass, at, x, &unpack, &reduction, sums),
                        (1, 3) => sum::<B, 1, 3>(pass, at, x, &unpack, &reduction, sums),
                        (1, _) => sum::<B, 1, 1>(pass, at, x, &unpack, &reduction, sums),
                        (2, 4) => sum::<B, 2, 4>(pass, at, x, &unpack, &reduction, sums),
                        (2, 3) => sum::<B, 2, 3>(pass, at, x, &unpack, &reduction, sums),
                        (2, _) => sum::<B, 2, 1>(pass, at, x, &unpack, &reduction, sums),
                        (3, 3) => sum::<B, 3, 3>(pass, at, x, &unpack, &reduction, sums),
                        (3, _) => sum::<B, 3, 1>(pass, at, x, &unpack, &reduction, sums),
                        (_, 3) => sum::<B, 4, 3>(pass, at, x, &unpack, &reduction, sums),
                        _ => sum::<B, 4, 1>(pass, at, x, &unpack, &reduction, sums),
                    }
                }
            }
            j += together;
        }
    }
}

/// Computes a tile of the `R` blocks from `j` on, for the group of `Q` queries from `k` on. A value loaded from a query
/// serves all blocks, and a value unpacked from a block serves all queries. Rows are prefetched [`AHEAD`] bytes before
/// their use; behind a tile's last rows, the next blocks' rows follow. The streams are too short for the hardware
/// prefetcher.
///
/// # Safety
/// The pass must have these blocks, `x` must hold the group's rows of the tile, and `sums` a value for every block,
/// query and point.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512vbmi")]
unsafe fn sum<const B: usize, const Q: usize, const R: usize>(
    pass: &Pass,
    (tile, j, k): (usize, usize, usize),
    x: &[u64],
    unpack: &Unpack,
    reduction: &Reduction,
    sums: &mut [u64],
) {
    let zero = _mm512_setzero_si512();
    let (row, queries) = (B * TILE, pass.queries());
    let x = x.as_ptr();
    let block = |j: usize, tile: usize| {
        let at = j * pass.block_len() + tile * pass.rows * row;
        pass.bytes.as_ptr().wrapping_add(at)
    };
    let blocks: [*const u8; R] = std::array::from_fn(|r| block(j + r, tile));
    let next: [*const u8; R] = std::array::from_fn(|r| match j + R + r {
        j if j < pass.blocks() => block(j, tile),
        j => block(j - pass.blocks(), tile + 1),
    });
    let end = pass.rows * row;
    for first in (0..pass.rows).step_by(MOST) {
        let mut low = [[zero; Q]; R];
        let mut high = [[zero; Q]; R];
        for at in first..pass.rows.min(first + MOST) {
            let mut values = [zero; R];
            for r in 0..R {
                let ahead = match at * row + AHEAD {
                    ahead if ahead < end => blocks[r].wrapping_add(ahead),
                    beyond => next[r].wrapping_add(beyond - end),
                };
                _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                // SAFETY: the values lie in the block, and 64 bytes follow the last block.
                let packed = unsafe { _mm512_loadu_si512(blocks[r].add(at * row).cast()) };
                values[r] = _mm512_maskz_permutexvar_epi8(unpack.kept, unpack.source, packed);
            }
            for q in 0..Q {
                // SAFETY: `x` has `Q TILE` values for each row, and `at` is a row.
                let x = unsafe { _mm512_loadu_si512(x.add((at * Q + q) * TILE).cast()) };
                for r in 0..R {
                    low[r][q] = _mm512_madd52lo_epu64(low[r][q], values[r], x);
                    high[r][q] = _mm512_madd52hi_epu64(high[r][q], values[r], x);
                }
            }
        }
        for r in 0..R {
            for q in 0..Q {
                let sum = reduction.reduce(low[r][q], high[r][q]);
                let at = ((j + r) * queries + k + q) * pass.points + tile * TILE;
                let sums: &mut [u64; LANES] =
                    (&mut sums[at..at + LANES]).try_into().expect("eight");
                // SAFETY: `sums` has the eight words that are loaded and stored.
                unsafe {
                    let before = match first {
                        0 => zero,
                        _ => _mm512_loadu_si512(sums.as_ptr().cast()),
                    };
                    let sum = subtract_once(_mm512_add_epi64(before, sum), reduction.q);
                    _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum);
                }
            }
        }
    }
}

/// The indices by which a byte permute expands eight packed values. Byte `i` of lane `v` comes from byte `v B + i`; the
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
        // SAFETY: `source` has the 64 bytes that are loaded.
        let source = unsafe { _mm512_loadu_si512(source.as_ptr().cast()) };
        Self { source, kept }
    }
}

/// Constants for the reduction of a sum of products.
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

    /// `low + 2^52 high mod q`, for sums of up to 4096 terms, each term below `2^52`, so that neither sum overflowed.
    /// `high` is split at bit 26, since a product takes factors of 52 bits.
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
