//! Four coefficients per register, eight or sixteen at a time.

#![expect(
    unsafe_code,
    reason = "NEON is part of every 64-bit Arm target; loads and stores"
)]

use core::arch::aarch64::{
    int32x4_t, uint8x16_t, vabsq_s32, vaddq_s32, vandq_s32, vandq_u16, vandq_u32, vbicq_s32,
    vceqq_s32, vcgtq_s32, vcombine_u8, vcombine_u16, vdupq_n_s32, vdupq_n_u16, vdupq_n_u32,
    vget_low_u8, vld1q_s32, vld1q_u8, vmaxq_s32, vmaxvq_s32, vmovn_u16, vmovn_u32, vmulq_s32,
    vorrq_u8, vorrq_u16, vorrq_u32, vqtbl1q_u8, vreinterpretq_s32_u32, vreinterpretq_u8_u32,
    vreinterpretq_u16_u8, vreinterpretq_u32_s32, vreinterpretq_u32_u8, vreinterpretq_u32_u16,
    vshlq_n_s32, vshlq_n_u8, vshlq_n_u16, vshlq_n_u32, vshlq_u32, vshrq_n_s32, vshrq_n_u16,
    vshrq_n_u32, vst1_u8, vst1q_s32, vst1q_u8, vsubq_s32, vtstq_s32, vuzp1q_u8, vuzp2q_u8,
};

use super::{HintBits, portable};
use crate::field::{Poly, Q};
use crate::params::Gamma2;
use sordino_cpu::Neon;

/// The positions of eight packed fields: the bytes of each coefficient in two loads of 16 bytes, and the bits to shift
/// away, as left shifts. The second load ends where the fields end.
struct Fields {
    bytes: [[u8; 16]; 2],
    shifts: [i32; 4],
}

/// Fields of `width` bits, each within three bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "positions in 24 bytes"
)]
#[expect(
    clippy::integer_division_remainder_used,
    reason = "computed while compiling"
)]
const fn fields(width: usize) -> Fields {
    let mut fields = Fields {
        bytes: [[0x80; 16]; 2],
        shifts: [0; 4],
    };
    let mut i = 0;
    while i < 8 {
        let start = if i < 4 { 0 } else { width - 16 };
        let bit = i * width;
        let mut b = 0;
        while b < 3 {
            fields.bytes[i / 4][4 * (i % 4) + b] = (bit / 8 + b - start) as u8;
            b += 1;
        }
        fields.shifts[i % 4] = -((bit % 8) as i32);
        i += 1;
    }
    fields
}

static Z_18: Fields = fields(18);
static Z_20: Fields = fields(20);
static A: Fields = fields(24);

/// Unpacks the eight fields in `bytes`. `mask` cuts the neighbours' bits above each field.
#[inline]
fn unpack<const BYTES: usize>(fields: &Fields, bytes: &[u8; BYTES], mask: u32) -> [int32x4_t; 2] {
    let first: &[u8; 16] = bytes
        .first_chunk()
        .expect("eight fields of 16 bits or more");
    let last: &[u8; 16] = bytes.last_chunk().expect("eight fields of 16 bits or more");
    // The second four fields must start at a multiple of 8 bits. They do, since all widths have an even number of bits: 4
    // * 18 = 9 * 8.
    let four = |bytes: &[u8; 16], within: &[u8; 16]| {
        // SAFETY: `bytes` and `within` have 16 bytes each, and `shifts` four words.
        unsafe {
            let spread = vqtbl1q_u8(vld1q_u8(bytes.as_ptr()), vld1q_u8(within.as_ptr()));
            let value = vshlq_u32(
                vreinterpretq_u32_u8(spread),
                vld1q_s32(fields.shifts.as_ptr()),
            );
            vreinterpretq_s32_u32(vandq_u32(value, vdupq_n_u32(mask)))
        }
    };
    [four(first, &fields.bytes[0]), four(last, &fields.bytes[1])]
}

/// The kernel of [`super::portable::unpack_z`].
pub(crate) fn unpack_z(
    _: Neon,
    out: &mut Poly,
    bytes: &[u8],
    gamma1_bits: u32,
    bound: i32,
) -> bool {
    match gamma1_bits {
        17 => unpack_z_of::<18>(out, bytes, &Z_18, 17, bound),
        19 => unpack_z_of::<20>(out, bytes, &Z_20, 19, bound),
        other => unreachable!("no parameter set has gamma_1 = 2^{other}"),
    }
}

fn unpack_z_of<const BYTES: usize>(
    out: &mut Poly,
    bytes: &[u8],
    fields: &Fields,
    gamma1_bits: u32,
    bound: i32,
) -> bool {
    // SAFETY: NEON is part of every 64-bit Arm target.
    let (gamma1, mut greatest) = unsafe { (vdupq_n_s32(1 << gamma1_bits), vdupq_n_s32(0)) };
    let rows = out.0.as_chunks_mut::<8>().0;
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
        let values = unpack(fields, bytes, (2 << gamma1_bits) - 1);
        for (four, value) in row.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            // SAFETY: four words are 16 bytes.
            unsafe {
                let z = vsubq_s32(gamma1, value);
                greatest = vmaxq_s32(greatest, vabsq_s32(z));
                vst1q_s32(four.as_mut_ptr(), z);
            }
        }
    }
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe { vmaxvq_s32(greatest) < bound }
}

/// The kernel of [`super::portable::unpack_t1`]. The compiler turns its loop into vector code.
pub(crate) fn unpack_t1(_: Neon, out: &mut Poly, bytes: &[u8; 320]) {
    portable::unpack_t1(out, bytes);
}

/// The kernel of [`super::portable::rej_ntt_poly`].
pub(crate) fn rej_ntt_poly(_: Neon, out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    let mut filled = filled;
    for bytes in block.as_chunks::<24>().0 {
        for values in unpack(&A, bytes, 0x7F_FFFF) {
            let room = &mut out.0[filled..];
            // SAFETY: NEON is part of every 64-bit Arm target; there is room for 16 bytes.
            unsafe {
                // Only a thousandth of all values is refused.
                if let Some(room) = room.first_chunk_mut::<4>()
                    && vmaxvq_s32(values) < Q
                {
                    vst1q_s32(room.as_mut_ptr(), values);
                    filled += 4;
                    continue;
                }
            }
            let mut four = [0; 4];
            // SAFETY: four words are 16 bytes.
            unsafe { vst1q_s32(four.as_mut_ptr(), values) };
            for value in four {
                if value < Q && filled < 256 {
                    out.0[filled] = value;
                    filled += 1;
                }
            }
        }
    }
    filled
}

/// The kernel of [`super::portable::use_hint_encode`].
pub(crate) fn use_hint_encode(_: Neon, out: &mut [u8], w: &Poly, hint: &HintBits, gamma2: Gamma2) {
    match gamma2 {
        Gamma2::Q88 => use_hint_encode_44(out, w, hint),
        Gamma2::Q32 => use_hint_encode_16(out, w, hint),
    }
}

/// Coefficients `at..at + 4`, in [0, q).
#[inline]
fn canonical(w: &Poly, at: usize) -> int32x4_t {
    // SAFETY: four words are 16 bytes.
    unsafe {
        let w = vld1q_s32(w.0[at..at + 4].as_ptr());
        vaddq_s32(w, vandq_s32(vshrq_n_s32::<31>(w), vdupq_n_s32(Q)))
    }
}

/// Where there is a hint, `r1 + 1` if r is above `r1 alpha`, else `r1 - 1`. The result is not reduced modulo m yet.
#[inline]
fn correct(
    r: int32x4_t,
    r1: int32x4_t,
    r1_alpha: int32x4_t,
    hint: &HintBits,
    at: usize,
) -> int32x4_t {
    const BITS: [i32; 4] = [1, 2, 4, 8];
    let bits = i32::from(hint[at / 16] >> (at % 16));
    // SAFETY: four words are 16 bytes.
    unsafe {
        let hint = vreinterpretq_s32_u32(vtstq_s32(vdupq_n_s32(bits), vld1q_s32(BITS.as_ptr())));
        // All ones are -1.
        let above = vreinterpretq_s32_u32(vcgtq_s32(r, r1_alpha));
        vsubq_s32(
            vaddq_s32(r1, vbicq_s32(hint, above)),
            vandq_s32(hint, above),
        )
    }
}

/// Four values of w1 for gamma_2 = (q - 1) / 32: alpha = 1023 * 2^9, m = 16.
#[inline]
fn use_hint_16(w: &Poly, hint: &HintBits, at: usize) -> int32x4_t {
    let r = canonical(w, at);
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 1023 of numbers up to 16,879.
        let y = vshrq_n_s32::<9>(vaddq_s32(r, vdupq_n_s32(261_887)));
        let r1 = vshrq_n_s32::<24>(vmulq_s32(y, vdupq_n_s32(16_401)));
        let r1_alpha = vshlq_n_s32::<9>(vmulq_s32(r1, vdupq_n_s32(1023)));
        vandq_s32(correct(r, r1, r1_alpha, hint, at), vdupq_n_s32(15))
    }
}

/// Four values of w1 for gamma_2 = (q - 1) / 88: alpha = 93 * 2^11, m = 44.
#[inline]
fn use_hint_44(w: &Poly, hint: &HintBits, at: usize) -> int32x4_t {
    let r = canonical(w, at);
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        // ceil((r - alpha / 2) / alpha). The product gives the exact quotient by 93 of numbers up to 4,138.
        let y = vshrq_n_s32::<11>(vaddq_s32(r, vdupq_n_s32(95_231)));
        let r1 = vshrq_n_s32::<18>(vmulq_s32(y, vdupq_n_s32(2819)));
        let r1_alpha = vshlq_n_s32::<11>(vmulq_s32(r1, vdupq_n_s32(93)));
        let r1 = correct(r, r1, r1_alpha, hint, at);
        // Changes -1 to 43, and 44 to 0.
        let m = vdupq_n_s32(44);
        let r1 = vaddq_s32(r1, vandq_s32(vshrq_n_s32::<31>(r1), m));
        vbicq_s32(r1, vreinterpretq_s32_u32(vceqq_s32(r1, m)))
    }
}

/// Packs 16 small values of four registers as bytes.
#[inline]
fn bytes(v: [int32x4_t; 4]) -> uint8x16_t {
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe {
        let [a, b, c, d] = v.map(|v| vmovn_u32(vreinterpretq_u32_s32(v)));
        vcombine_u8(vmovn_u16(vcombine_u16(a, b)), vmovn_u16(vcombine_u16(c, d)))
    }
}

/// For gamma_2 = (q - 1) / 32, with four bits each.
fn use_hint_encode_16(out: &mut [u8], w: &Poly, hint: &HintBits) {
    for (i, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let w1 = bytes(core::array::from_fn(|j| {
            use_hint_16(w, hint, 16 * i + 4 * j)
        }));
        // SAFETY: `out` has the 8 bytes that are stored.
        unsafe {
            let packed = vorrq_u8(vuzp1q_u8(w1, w1), vshlq_n_u8::<4>(vuzp2q_u8(w1, w1)));
            vst1_u8(out.as_mut_ptr(), vget_low_u8(packed));
        }
    }
}

/// For gamma_2 = (q - 1) / 88, with six bits each.
fn use_hint_encode_44(out: &mut [u8], w: &Poly, hint: &HintBits) {
    const DROP_FOURTHS: [u8; 16] = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255];
    for (i, out) in out.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        let w1 = bytes(core::array::from_fn(|j| {
            use_hint_44(w, hint, 16 * i + 4 * j)
        }));
        let mut packed = [0; 16];
        // SAFETY: `DROP_FOURTHS` and `packed` have the 16 bytes that are loaded and stored.
        unsafe {
            let w1 = vreinterpretq_u16_u8(w1);
            let pairs = vorrq_u16(
                vandq_u16(w1, vdupq_n_u16(0xFF)),
                vshlq_n_u16::<6>(vshrq_n_u16::<8>(w1)),
            );
            let pairs = vreinterpretq_u32_u16(pairs);
            let fours = vorrq_u32(
                vandq_u32(pairs, vdupq_n_u32(0xFFFF)),
                vshlq_n_u32::<12>(vshrq_n_u32::<16>(pairs)),
            );
            let drop = vld1q_u8(DROP_FOURTHS.as_ptr());
            vst1q_u8(
                packed.as_mut_ptr(),
                vqtbl1q_u8(vreinterpretq_u8_u32(fours), drop),
            );
        }
        out.copy_from_slice(&packed[..12]);
    }
}
