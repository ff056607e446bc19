//! Eight states, one 64-bit lane each.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m512i, _mm512_load_si512, _mm512_rol_epi64, _mm512_set1_epi64, _mm512_shuffle_i64x2,
    _mm512_store_si512, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};

use super::{Blocks, LANES, Lanes, Mask, bmi, permutation};
use sordino_cpu::Avx512;

/// Permutes at least the lanes in `mask`. Other lanes have no meaning afterwards.
pub(crate) fn permute_lanes(_: Avx512, lanes: &mut Lanes, mask: Mask) {
    if let Some(lane) = mask.single() {
        return bmi::permute_lane(lanes, lane);
    }
    // SAFETY: the token is proof of AVX-512F.
    unsafe { permute(lanes) }
}

/// The kernel of [`portable::blocks`].
pub(crate) fn blocks(_: Avx512, lanes: &Lanes, blocks: &mut Blocks) {
    // SAFETY: the token is proof of AVX-512F.
    unsafe {
        for part in [0, 8, 16] {
            eight_words(lanes, blocks, part);
        }
    }
}

/// Writes words `part..part + 8` of all lanes: a transpose of 8 by 8 words.
#[inline]
#[target_feature(enable = "avx512f")]
fn eight_words(lanes: &Lanes, blocks: &mut Blocks, part: usize) {
    // SAFETY: every word of `Lanes` is 64 bytes, aligned to 64.
    let v: [__m512i; 8] =
        core::array::from_fn(|i| unsafe { _mm512_load_si512(lanes.0[part + i].as_ptr().cast()) });
    // t[i] and t[i + 1] hold the even and the odd lanes of words i and i + 1, in pairs.
    let t: [__m512i; 8] = core::array::from_fn(|i| {
        let (a, b) = (v[i & !1], v[i | 1]);
        if i & 1 == 0 {
            _mm512_unpacklo_epi64(a, b)
        } else {
            _mm512_unpackhi_epi64(a, b)
        }
    });
    for odd in 0..2 {
        let low = [
            _mm512_shuffle_i64x2::<0x88>(t[odd], t[2 + odd]),
            _mm512_shuffle_i64x2::<0xDD>(t[odd], t[2 + odd]),
        ];
        let high = [
            _mm512_shuffle_i64x2::<0x88>(t[4 + odd], t[6 + odd]),
            _mm512_shuffle_i64x2::<0xDD>(t[4 + odd], t[6 + odd]),
        ];
        for lane in 0..2 {
            // low[lane] holds pairs of lanes (0, 4) or (2, 6) of the first four words
            let first = _mm512_shuffle_i64x2::<0x88>(low[lane], high[lane]);
            let second = _mm512_shuffle_i64x2::<0xDD>(low[lane], high[lane]);
            for (lane, v) in [(2 * lane + odd, first), (2 * lane + 4 + odd, second)] {
                debug_assert!(lane < LANES);
                // SAFETY: 64 bytes from a multiple of 64 on, in rows of 192, aligned to 64.
                unsafe {
                    let out = &mut blocks.0[lane][8 * part..8 * part + 64];
                    _mm512_store_si512(out.as_mut_ptr().cast(), v);
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
fn permute(lanes: &mut Lanes) {
    // SAFETY: every word of `Lanes` is 64 bytes, aligned to 64.
    let mut a: [__m512i; 25] =
        core::array::from_fn(|i| unsafe { _mm512_load_si512(lanes.0[i].as_ptr().cast()) });
    permutation!(a);
    for (word, a) in lanes.0.iter_mut().zip(a) {
        // SAFETY: every word of `Lanes` is 64 bytes, aligned to 64.
        unsafe { _mm512_store_si512(word.as_mut_ptr().cast(), a) };
    }
}

/// An instruction sums three operands, but overwrites one. The operands of the first and the last sum are needed
/// again, so these two are sums of two operands.
#[inline]
#[target_feature(enable = "avx512f")]
fn parity(a: __m512i, b: __m512i, c: __m512i, d: __m512i, e: __m512i) -> __m512i {
    mix(_mm512_ternarylogic_epi64::<0x96>(mix(a, b), c, d), e)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn theta(c: __m512i, n: __m512i) -> __m512i {
    mix(c, _mm512_rol_epi64::<1>(n))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn mix(a: __m512i, d: __m512i) -> __m512i {
    _mm512_xor_si512(a, d)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rho<const R: i32, const L: i32>(a: __m512i, d: __m512i) -> __m512i {
    _mm512_rol_epi64::<R>(mix(a, d))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn chi(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xD2>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn iota(a: __m512i, rc: u64) -> __m512i {
    _mm512_xor_si512(a, _mm512_set1_epi64(rc.cast_signed()))
}
