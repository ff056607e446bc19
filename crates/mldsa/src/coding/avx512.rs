//! Sixteen coefficients per register.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m512i, _mm_madd_epi16, _mm_maddubs_epi16, _mm_mask_storeu_epi8, _mm_packus_epi16,
    _mm_set1_epi16, _mm_set1_epi32, _mm_setr_epi8, _mm_shuffle_epi8, _mm_storel_epi64,
    _mm512_abs_epi32, _mm512_add_epi32, _mm512_and_si512, _mm512_cmpgt_epi32_mask,
    _mm512_cmplt_epi32_mask, _mm512_cvtepi32_epi8, _mm512_load_si512, _mm512_madd_epi16,
    _mm512_mask_add_epi32, _mm512_mask_storeu_epi32, _mm512_mask_sub_epi32,
    _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi8, _mm512_max_epi32,
    _mm512_permutexvar_epi16, _mm512_reduce_max_epi32, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_shuffle_epi8, _mm512_slli_epi32, _mm512_srai_epi32, _mm512_srli_epi32,
    _mm512_srlv_epi32, _mm512_store_si512, _mm512_storeu_si512, _mm512_sub_epi32,
};

use super::HintBits;
use crate::field::{Poly, Q};
use crate::params::Gamma2;
use sordino_cpu::Avx512;

/// The positions of 16 packed fields: the words that each quarter of a register needs, the bytes of these words that
/// each coefficient needs, and the bits to shift away.
#[repr(C, align(64))]
struct Fields {
    words: [u16; 32],
    bytes: [u8; 64],
    shifts: [u32; 16],
}

/// Fields of `width` bits, each within `reach` bytes.
#[expect(clippy::cast_possible_truncation, reason = "positions in 40 bytes")]
#[expect(
    clippy::integer_division_remainder_used,
    reason = "computed while compiling"
)]
const fn fields(width: usize, reach: usize) -> Fields {
    let mut fields = Fields {
        words: [0; 32],
        bytes: [0x80; 64],
        shifts: [0; 16],
    };
    let mut i = 0;
    while i < 16 {
        // A quarter starts at the word that holds its first bit.
        let first_word = i / 4 * 4 * width / 16;
        let bit = i * width;
        let mut b = 0;
        while b < reach {
            fields.bytes[4 * i + b] = (bit / 8 + b - 2 * first_word) as u8;
            b += 1;
        }
        fields.shifts[i] = (bit % 8) as u32;
        let mut w = 0;
        while w < 8 {
            fields.words[8 * (i / 4) + w] = (first_word + w) as u16;
            w += 1;
        }
        i += 1;
    }
    fields
}

static Z_18: Fields = fields(18, 3);
static Z_20: Fields = fields(20, 3);
static T1: Fields = fields(10, 2);
static A: Fields = fields(24, 3);

/// Unpacks the 16 fields at the start of `bytes`, each with the bits of its neighbours above it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn unpack<const BYTES: usize>(fields: &Fields, bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: the mask admits `BYTES` bytes, fewer than 64; `Fields` is aligned to 64, and so are
    // its parts, of 64 bytes each.
    let (packed, words, within, shifts) = unsafe {
        (
            _mm512_maskz_loadu_epi8((1 << BYTES) - 1, bytes.as_ptr().cast()),
            _mm512_load_si512(fields.words.as_ptr().cast()),
            _mm512_load_si512(fields.bytes.as_ptr().cast()),
            _mm512_load_si512(fields.shifts.as_ptr().cast()),
        )
    };
    let spread = _mm512_permutexvar_epi16(words, packed);
    _mm512_srlv_epi32(_mm512_shuffle_epi8(spread, within), shifts)
}

/// The kernel of [`super::portable::unpack_z`].
pub(crate) fn unpack_z(
    _: Avx512,
    out: &mut Poly,
    bytes: &[u8],
    gamma1_bits: u32,
    bound: i32,
) -> bool {
    // SAFETY: the token is proof of AVX-512F and BW.
    unsafe {
        match gamma1_bits {
            17 => unpack_z_of::<36>(out, bytes, &Z_18, 1 << 17, bound),
            19 => unpack_z_of::<40>(out, bytes, &Z_20, 1 << 19, bound),
            other => unreachable!("no parameter set has gamma_1 = 2^{other}"),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn unpack_z_of<const BYTES: usize>(
    out: &mut Poly,
    bytes: &[u8],
    fields: &Fields,
    gamma1: i32,
    bound: i32,
) -> bool {
    let (mask, gamma1) = (_mm512_set1_epi32(2 * gamma1 - 1), _mm512_set1_epi32(gamma1));
    let mut greatest = _mm512_setzero_si512();
    let rows = out.0.as_chunks_mut::<16>().0;
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        let value = _mm512_and_si512(unpack(fields, bytes), mask);
        let z = _mm512_sub_epi32(gamma1, value);
        greatest = _mm512_max_epi32(greatest, _mm512_abs_epi32(z));
        // SAFETY: rows are 64 bytes, and a `Poly` is aligned to 64.
        unsafe { _mm512_store_si512(row.as_mut_ptr().cast(), z) };
    }
    _mm512_reduce_max_epi32(greatest) < bound
}

/// The kernel of [`super::portable::unpack_t1`].
pub(crate) fn unpack_t1(_: Avx512, out: &mut Poly, bytes: &[u8; 320]) {
    #[target_feature(enable = "avx512f,avx512bw")]
    fn unpack_t1(out: &mut Poly, bytes: &[u8; 320]) {
        let mask = _mm512_set1_epi32(0x3FF);
        let rows = out.0.as_chunks_mut::<16>().0;
        for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<20>().0) {
            let t1 = _mm512_slli_epi32::<13>(_mm512_and_si512(unpack(&T1, bytes), mask));
            let t1 = _mm512_sub_epi32(_mm512_setzero_si512(), t1);
            // SAFETY: rows are 64 bytes, and a `Poly` is aligned to 64.
            unsafe { _mm512_store_si512(row.as_mut_ptr().cast(), t1) };
        }
    }
    // SAFETY: the token is proof of AVX-512F and BW.
    unsafe { unpack_t1(out, bytes) }
}

/// The kernel of [`super::portable::rej_ntt_poly`].
pub(crate) fn rej_ntt_poly(_: Avx512, out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    // SAFETY: the token is proof of AVX-512F and BW.
    unsafe { rej_ntt_poly_of(out, filled, block) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn rej_ntt_poly_of(out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    let (whole, rest) = block.as_chunks::<48>();
    let rest: &[u8; 24] = rest.try_into().expect("168 = 3 * 48 + 24");
    let mask = _mm512_set1_epi32(0x7F_FFFF);
    let v = [
        _mm512_and_si512(unpack(&A, &whole[0]), mask),
        _mm512_and_si512(unpack(&A, &whole[1]), mask),
        _mm512_and_si512(unpack(&A, &whole[2]), mask),
        _mm512_and_si512(unpack(&A, rest), mask),
    ];
    let greatest = _mm512_max_epi32(_mm512_max_epi32(v[0], v[1]), _mm512_max_epi32(v[2], v[3]));
    let all = _mm512_cmplt_epi32_mask(greatest, _mm512_set1_epi32(Q)) == 0xFFFF;
    // In nineteen of twenty blocks, all values are accepted.
    if all && let Some(room) = out.0[filled..].first_chunk_mut::<64>() {
        for (room, v) in room.as_chunks_mut::<16>().0.iter_mut().zip(v) {
            // SAFETY: `room` has the 64 bytes that are stored.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), v) };
        }
        return filled + 56;
    }
    let mut filled = filled;
    for (v, lanes) in v.into_iter().zip([0xFFFF, 0xFFFF, 0xFFFF, 0x00FF]) {
        let accepted = lanes & _mm512_cmplt_epi32_mask(v, _mm512_set1_epi32(Q));
        let v = _mm512_maskz_compress_epi32(accepted, v);
        let room = &mut out.0[filled..];
        if let Some(room) = room.first_chunk_mut::<16>() {
            // SAFETY: `room` has the 64 bytes that are stored.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), v) };
        } else {
            // SAFETY: the mask admits no more coefficients than there is room for.
            unsafe { _mm512_mask_storeu_epi32(room.as_mut_ptr(), (1 << room.len()) - 1, v) };
        }
        filled = 256.min(filled + accepted.count_ones() as usize);
        if filled == 256 {
            break;
        }
    }
    filled
}

/// The kernel of [`super::portable::use_hint_encode`].
pub(crate) fn use_hint_encode(
    _: Avx512,
    out: &mut [u8],
    w: &Poly,
    hint: &HintBits,
    gamma2: Gamma2,
) {
    // SAFETY: the token is proof of AVX-512F, BW and VL.
    unsafe {
        match gamma2 {
            Gamma2::Q88 => use_hint_encode_44(out, w, hint),
            Gamma2::Q32 => use_hint_encode_16(out, w, hint),
        }
    }
}

/// The coefficients of row `i`, in [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
fn canonical(w: &Poly, i: usize) -> __m512i {
    // SAFETY: rows are 64 bytes, and a `Poly` is aligned to 64.
    let w = unsafe { _mm512_load_si512(w.0[16 * i..16 * i + 16].as_ptr().cast()) };
    _mm512_add_epi32(
        w,
        _mm512_and_si512(_mm512_srai_epi32::<31>(w), _mm512_set1_epi32(Q)),
    )
}

/// Where there is a hint, `r1 + 1` if r is above `r1 alpha`, else `r1 - 1`. The result is not reduced modulo m yet.
#[inline]
#[target_feature(enable = "avx512f")]
fn correct(r: __m512i, r1: __m512i, r1_alpha: __m512i, hint: u16) -> __m512i {
    let above = _mm512_cmpgt_epi32_mask(r, r1_alpha);
    let one = _mm512_set1_epi32(1);
    let r1 = _mm512_mask_add_epi32(r1, hint & above, r1, one);
    _mm512_mask_sub_epi32(r1, hint & !above, r1, one)
}

/// For gamma_2 = (q - 1) / 32: alpha = 1023 * 2^9, m = 16, with four bits each.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn use_hint_encode_16(out: &mut [u8], w: &Poly, hint: &HintBits) {
    for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let r = canonical(w, i);
        // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 1023 of numbers up to 16,879.
        let y = _mm512_srli_epi32::<9>(_mm512_add_epi32(r, _mm512_set1_epi32(261_887)));
        let r1 = _mm512_srli_epi32::<24>(_mm512_madd_epi16(y, _mm512_set1_epi32(16_401)));
        let r1_alpha = _mm512_slli_epi32::<9>(_mm512_madd_epi16(r1, _mm512_set1_epi32(1023)));
        let r1 = correct(r, r1, r1_alpha, hint[i]);
        let r1 = _mm512_cvtepi32_epi8(_mm512_and_si512(r1, _mm512_set1_epi32(15)));
        let pairs = _mm_maddubs_epi16(r1, _mm_set1_epi16(0x1001));
        // SAFETY: `out` has the 8 bytes that are stored.
        unsafe { _mm_storel_epi64(out.as_mut_ptr().cast(), _mm_packus_epi16(pairs, pairs)) };
    }
}

/// For gamma_2 = (q - 1) / 88: alpha = 93 * 2^11, m = 44, with six bits each.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn use_hint_encode_44(out: &mut [u8], w: &Poly, hint: &HintBits) {
    for (i, out) in out.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        let r = canonical(w, i);
        // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 93 of numbers up to 4,138.
        let y = _mm512_srli_epi32::<11>(_mm512_add_epi32(r, _mm512_set1_epi32(95_231)));
        let r1 = _mm512_srli_epi32::<18>(_mm512_madd_epi16(y, _mm512_set1_epi32(2819)));
        let r1_alpha = _mm512_slli_epi32::<11>(_mm512_madd_epi16(r1, _mm512_set1_epi32(93)));
        let r1 = correct(r, r1, r1_alpha, hint[i]);
        // Changes -1 to 43, and 44 to 0.
        let m = _mm512_set1_epi32(44);
        let zero = _mm512_setzero_si512();
        let r1 = _mm512_mask_add_epi32(r1, _mm512_cmpgt_epi32_mask(zero, r1), r1, m);
        let over = _mm512_cmpgt_epi32_mask(r1, _mm512_set1_epi32(43));
        let r1 = _mm512_cvtepi32_epi8(_mm512_mask_sub_epi32(r1, over, r1, m));
        let pairs = _mm_maddubs_epi16(r1, _mm_set1_epi16(0x4001));
        let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x1000_0001));
        let packed = _mm_shuffle_epi8(
            fours,
            _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1),
        );
        // SAFETY: `out` has the 12 bytes that the mask admits.
        unsafe { _mm_mask_storeu_epi8(out.as_mut_ptr().cast(), 0x0FFF, packed) };
    }
}
