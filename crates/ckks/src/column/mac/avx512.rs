//! AVX-512 IFMA and VBMI: one byte permute expands eight packed values, two multiply-adds per
//! accumulator pair, no reduction inside the sum.
#![expect(
    unsafe_code,
    reason = "vector loads and stores, entry into target features"
)]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vbmi;
use sordino_lattice::Modulus;

use super::TILE;

/// Lanes of a register.
const LANES: usize = 8;

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

pub(super) fn mac<const B: usize>(
    _: Avx512Vbmi,
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    polys: usize,
    out: &mut [u64],
) {
    assert_eq!(x.len(), polys * out.len());
    assert!(block.len() >= B * x.len() + super::SLACK && out.len().is_multiple_of(TILE));
    // SAFETY: the token proves the target features; the lengths were just checked.
    unsafe { mac_tiles::<B>(modulus, block, x, polys, out) }
}

/// # Safety
/// `x` holds `polys * out.len()` values, `block` as many of `B` bytes and 64 bytes more, `out` whole
/// tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma,avx512vbmi")]
unsafe fn mac_tiles<const B: usize>(
    modulus: Modulus,
    block: &[u8],
    x: &[u64],
    polys: usize,
    out: &mut [u64],
) {
    let q = modulus.q();
    let two26 = modulus.reduce_wide(1 << 26);
    let two52 = modulus.mul(two26, two26);
    let two78 = factor(modulus.mul(two52, two26), q);
    let (one, two52) = (factor(1, q), factor(two52, q));
    let zero = _mm512_setzero_si512();
    let (q1, q2, q4) = (splat(q), splat(2 * q), splat(4 * q));
    let mask26 = splat((1 << 26) - 1);
    let mask52 = splat((1 << 52) - 1);

    // Byte i of lane v comes from byte v B + i; the bytes above B are 0.
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

    for tile in 0..out.len() / TILE {
        let first = tile * polys * TILE;
        let mut low = [zero; TILE / LANES];
        let mut high = [zero; TILE / LANES];
        for l in 0..polys {
            for c in 0..TILE / LANES {
                let at = first + l * TILE + c * LANES;
                // SAFETY: at + 8 <= x.len(), and the block holds 64 bytes beyond B x.len().
                let (packed, x) = unsafe {
                    (
                        _mm512_loadu_si512(block.as_ptr().add(B * at).cast()),
                        _mm512_loadu_si512(x.as_ptr().add(at).cast()),
                    )
                };
                let value = _mm512_maskz_permutexvar_epi8(kept, source, packed);
                low[c] = _mm512_madd52lo_epu64(low[c], value, x);
                high[c] = _mm512_madd52hi_epu64(high[c], value, x);
            }
        }
        for c in 0..TILE / LANES {
            // Each of up to 4096 terms is below 2^52, so neither sum overflowed. The high one is cut
            // at bit 26, since a product takes factors of 52 bits.
            let carried = _mm512_add_epi64(high[c], _mm512_srli_epi64::<52>(low[c]));
            let parts = [
                mul_lazy(_mm512_srli_epi64::<26>(carried), two78, q1),
                mul_lazy(_mm512_and_si512(carried, mask26), two52, q1),
                mul_lazy(_mm512_and_si512(low[c], mask52), one, q1),
            ];
            let sum = _mm512_add_epi64(_mm512_add_epi64(parts[0], parts[1]), parts[2]);
            let reduced = subtract_once(subtract_once(subtract_once(sum, q4), q2), q1);
            // SAFETY: eight values of this tile.
            unsafe {
                _mm512_storeu_si512(
                    out.as_mut_ptr().add(tile * TILE + c * LANES).cast(),
                    reduced,
                );
            }
        }
    }
}
