//! Eight coefficients per register.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm_storeu_si128, _mm256_abs_epi32, _mm256_add_epi32,
    _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_load_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_max_epi32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_packus_epi16, _mm256_packus_epi32, _mm256_permute4x64_epi64,
    _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi16, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32,
    _mm256_srai_epi32, _mm256_srli_epi32, _mm256_srlv_epi32, _mm256_store_si256,
    _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::{HintBits, portable};
use crate::field::{Poly, Q};
use crate::params::Gamma2;
use sordino_cpu::Avx2;

/// The positions of eight packed fields: the bytes of each coefficient in two loads of 16 bytes, and the bits to
/// shift away. The second load ends where the fields end.
#[repr(C, align(32))]
struct Fields {
    bytes: [u8; 32],
    shifts: [u32; 8],
}

/// Fields of `width` bits, each within `reach` bytes.
#[expect(clippy::cast_possible_truncation, reason = "positions in 24 bytes")]
#[expect(
    clippy::integer_division_remainder_used,
    reason = "computed while compiling"
)]
const fn fields(width: usize, reach: usize) -> Fields {
    let mut fields = Fields {
        bytes: [0x80; 32],
        shifts: [0; 8],
    };
    let mut i = 0;
    while i < 8 {
        let start = if i < 4 { 0 } else { width - 16 };
        let bit = i * width;
        let mut b = 0;
        while b < reach {
            fields.bytes[4 * i + b] = (bit / 8 + b - start) as u8;
            b += 1;
        }
        fields.shifts[i] = (bit % 8) as u32;
        i += 1;
    }
    fields
}

static Z_18: Fields = fields(18, 3);
static Z_20: Fields = fields(20, 3);
static A: Fields = fields(24, 3);

/// Unpacks the eight fields in `bytes`, each with the bits of its neighbours above it.
#[inline]
#[target_feature(enable = "avx2")]
fn unpack<const BYTES: usize>(fields: &Fields, bytes: &[u8; BYTES]) -> __m256i {
    let first: &[u8; 16] = bytes
        .first_chunk()
        .expect("eight fields of 16 bits or more");
    let last: &[u8; 16] = bytes.last_chunk().expect("eight fields of 16 bits or more");
    // SAFETY: 16 bytes each; `Fields` is aligned to 32, and so are its parts, of 32 bytes each.
    let (first, last, within, shifts) = unsafe {
        (
            _mm_loadu_si128(first.as_ptr().cast()),
            _mm_loadu_si128(last.as_ptr().cast()),
            _mm256_load_si256(fields.bytes.as_ptr().cast()),
            _mm256_load_si256(fields.shifts.as_ptr().cast()),
        )
    };
    _mm256_srlv_epi32(
        _mm256_shuffle_epi8(_mm256_set_m128i(last, first), within),
        shifts,
    )
}

/// The kernel of [`super::portable::unpack_z`].
pub(crate) fn unpack_z(
    _: Avx2,
    out: &mut Poly,
    bytes: &[u8],
    gamma1_bits: u32,
    bound: i32,
) -> bool {
    // SAFETY: the token is proof of AVX2.
    unsafe {
        match gamma1_bits {
            17 => unpack_z_of::<18>(out, bytes, &Z_18, 1 << 17, bound),
            19 => unpack_z_of::<20>(out, bytes, &Z_20, 1 << 19, bound),
            other => unreachable!("no parameter set has gamma_1 = 2^{other}"),
        }
    }
}

#[target_feature(enable = "avx2")]
fn unpack_z_of<const BYTES: usize>(
    out: &mut Poly,
    bytes: &[u8],
    fields: &Fields,
    gamma1: i32,
    bound: i32,
) -> bool {
    let (mask, gamma1) = (_mm256_set1_epi32(2 * gamma1 - 1), _mm256_set1_epi32(gamma1));
    let mut greatest = _mm256_setzero_si256();
    let rows = out.0.as_chunks_mut::<8>().0;
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        let value = _mm256_and_si256(unpack(fields, bytes), mask);
        let z = _mm256_sub_epi32(gamma1, value);
        greatest = _mm256_max_epi32(greatest, _mm256_abs_epi32(z));
        // SAFETY: rows are 32 bytes, and a `Poly` is aligned to 64.
        unsafe { _mm256_store_si256(row.as_mut_ptr().cast(), z) };
    }
    _mm256_movemask_epi8(_mm256_cmpgt_epi32(_mm256_set1_epi32(bound), greatest)) == -1
}

/// The kernel of [`super::portable::unpack_t1`]. The compiler turns its loop into vector code.
pub(crate) fn unpack_t1(_: Avx2, out: &mut Poly, bytes: &[u8; 320]) {
    portable::unpack_t1(out, bytes);
}

/// For each set of accepted lanes, the permutation that moves them to the front in order.
static COMPRESS: Orders = Orders(compress());

#[repr(C, align(32))]
struct Orders([[u32; 8]; 256]);

const fn compress() -> [[u32; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut filled) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                table[set][filled] = lane;
                filled += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
}

/// The kernel of [`super::portable::rej_ntt_poly`].
pub(crate) fn rej_ntt_poly(_: Avx2, out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    // SAFETY: the token is proof of AVX2.
    unsafe { rej_ntt_poly_of(out, filled, block) }
}

#[target_feature(enable = "avx2")]
fn rej_ntt_poly_of(out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    let mut filled = filled;
    for bytes in block.as_chunks::<24>().0 {
        let values = _mm256_and_si256(unpack(&A, bytes), _mm256_set1_epi32(0x7F_FFFF));
        let accepted = _mm256_cmpgt_epi32(_mm256_set1_epi32(Q), values);
        let accepted = _mm256_movemask_ps(_mm256_castsi256_ps(accepted)).cast_unsigned() as usize;
        // SAFETY: rows of the table are 32 bytes, and it is aligned to 32.
        let order = unsafe { _mm256_load_si256(COMPRESS.0[accepted].as_ptr().cast()) };
        let values = _mm256_permutevar8x32_epi32(values, order);
        let room = &mut out.0[filled..];
        if let Some(room) = room.first_chunk_mut::<8>() {
            // SAFETY: `room` has the 32 bytes that are stored.
            unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), values) };
        } else {
            let mut last = [0; 8];
            // SAFETY: `last` has the 32 bytes that are stored.
            unsafe { _mm256_storeu_si256(last.as_mut_ptr().cast(), values) };
            room.copy_from_slice(&last[..room.len()]);
        }
        filled = 256.min(filled + accepted.count_ones() as usize);
    }
    filled
}

/// The kernel of [`super::portable::use_hint_encode`].
pub(crate) fn use_hint_encode(_: Avx2, out: &mut [u8], w: &Poly, hint: &HintBits, gamma2: Gamma2) {
    // SAFETY: the token is proof of AVX2.
    unsafe {
        match gamma2 {
            Gamma2::Q88 => use_hint_encode_44(out, w, hint),
            Gamma2::Q32 => use_hint_encode_16(out, w, hint),
        }
    }
}

/// Coefficients `8 i..8 i + 8`, in [0, q).
#[inline]
#[target_feature(enable = "avx2")]
fn canonical(w: &Poly, i: usize) -> __m256i {
    // SAFETY: 8 coefficients from a multiple of 8 on, in a polynomial aligned to 64 bytes.
    let w = unsafe { _mm256_load_si256(w.0[8 * i..8 * i + 8].as_ptr().cast()) };
    _mm256_add_epi32(
        w,
        _mm256_and_si256(_mm256_srai_epi32::<31>(w), _mm256_set1_epi32(Q)),
    )
}

/// All ones in lanes whose bit of the hint is one.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(hint: &HintBits, i: usize) -> __m256i {
    let byte = hint[i / 2].to_le_bytes()[i % 2];
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(
        _mm256_and_si256(_mm256_set1_epi32(i32::from(byte)), bits),
        bits,
    )
}

/// Where there is a hint, `r1 + 1` if r is above `r1 alpha`, else `r1 - 1`. The result is not reduced modulo m yet.
#[inline]
#[target_feature(enable = "avx2")]
fn correct(r: __m256i, r1: __m256i, r1_alpha: __m256i, hint: __m256i) -> __m256i {
    // All ones are -1.
    let above = _mm256_cmpgt_epi32(r, r1_alpha);
    let up = _mm256_and_si256(hint, above);
    let down = _mm256_andnot_si256(above, hint);
    _mm256_sub_epi32(_mm256_add_epi32(r1, down), up)
}

/// Eight values of w1 for gamma_2 = (q - 1) / 32: alpha = 1023 * 2^9, m = 16.
#[inline]
#[target_feature(enable = "avx2")]
fn use_hint_16(w: &Poly, hint: &HintBits, i: usize) -> __m256i {
    let r = canonical(w, i);
    // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 1023 of numbers up to 16,879.
    let y = _mm256_srli_epi32::<9>(_mm256_add_epi32(r, _mm256_set1_epi32(261_887)));
    let r1 = _mm256_srli_epi32::<24>(_mm256_madd_epi16(y, _mm256_set1_epi32(16_401)));
    let r1_alpha = _mm256_slli_epi32::<9>(_mm256_madd_epi16(r1, _mm256_set1_epi32(1023)));
    _mm256_and_si256(
        correct(r, r1, r1_alpha, mask(hint, i)),
        _mm256_set1_epi32(15),
    )
}

/// Eight values of w1 for gamma_2 = (q - 1) / 88: alpha = 93 * 2^11, m = 44.
#[inline]
#[target_feature(enable = "avx2")]
fn use_hint_44(w: &Poly, hint: &HintBits, i: usize) -> __m256i {
    let r = canonical(w, i);
    // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 93 of numbers up to 4,138.
    let y = _mm256_srli_epi32::<11>(_mm256_add_epi32(r, _mm256_set1_epi32(95_231)));
    let r1 = _mm256_srli_epi32::<18>(_mm256_madd_epi16(y, _mm256_set1_epi32(2819)));
    let r1_alpha = _mm256_slli_epi32::<11>(_mm256_madd_epi16(r1, _mm256_set1_epi32(93)));
    let r1 = correct(r, r1, r1_alpha, mask(hint, i));
    // Changes -1 to 43, and 44 to 0.
    let m = _mm256_set1_epi32(44);
    let r1 = _mm256_add_epi32(r1, _mm256_and_si256(_mm256_srai_epi32::<31>(r1), m));
    _mm256_andnot_si256(_mm256_cmpeq_epi32(r1, m), r1)
}

/// Packs 32 small values of four registers as bytes, in their order.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes(v: [__m256i; 4]) -> __m256i {
    let words = (
        _mm256_packus_epi32(v[0], v[1]),
        _mm256_packus_epi32(v[2], v[3]),
    );
    let bytes = _mm256_packus_epi16(words.0, words.1);
    _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// For gamma_2 = (q - 1) / 32, with four bits each.
#[target_feature(enable = "avx2")]
fn use_hint_encode_16(out: &mut [u8], w: &Poly, hint: &HintBits) {
    for (i, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let w1 = bytes(core::array::from_fn(|j| use_hint_16(w, hint, 4 * i + j)));
        let pairs = _mm256_maddubs_epi16(w1, _mm256_set1_epi16(0x1001));
        let packed = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi16(pairs, pairs));
        // SAFETY: `out` has the 16 bytes that are stored.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm256_castsi256_si128(packed)) };
    }
}

/// For gamma_2 = (q - 1) / 88, with six bits each.
#[target_feature(enable = "avx2")]
fn use_hint_encode_44(out: &mut [u8], w: &Poly, hint: &HintBits) {
    for (i, out) in out.as_chunks_mut::<24>().0.iter_mut().enumerate() {
        let w1 = bytes(core::array::from_fn(|j| use_hint_44(w, hint, 4 * i + j)));
        let pairs = _mm256_maddubs_epi16(w1, _mm256_set1_epi16(0x4001));
        let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x1000_0001));
        let mut words = [0_u32; 8];
        // SAFETY: `words` has the 32 bytes that are stored.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), fours) };
        for (out, word) in out.as_chunks_mut::<3>().0.iter_mut().zip(words) {
            out.copy_from_slice(&word.to_le_bytes()[..3]);
        }
    }
}
