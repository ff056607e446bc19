//! The portable definitions, coefficient by coefficient.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values are cut to the few bits that a packing keeps"
)]

use super::HintBits;
use crate::field::{Poly, Q, canonical};
use crate::params::Gamma2;

/// FIPS 204, Algorithm 19 (`BitUnpack`) of one polynomial of z: `gamma1 - value` per coefficient.
///
/// `bytes` has `32 (1 + gamma1_bits)` bytes, 576 or 640. Returns whether the absolute value of every coefficient is
/// below `bound` (Algorithm 8, step 13).
pub(crate) fn unpack_z(out: &mut Poly, bytes: &[u8], gamma1_bits: u32, bound: i32) -> bool {
    let width = 1 + gamma1_bits as usize;
    let mut greatest = 0;
    for (i, out) in out.0.iter_mut().enumerate() {
        // Fields of 18 and 20 bits start at bit 0, 2, 4 or 6 of a byte, so three bytes hold one.
        let bit = i * width;
        let at = bit / 8;
        let word = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]);
        let value = word >> (bit % 8) & ((1 << width) - 1);
        *out = (1 << gamma1_bits) - value as i32;
        greatest = greatest.max(out.abs());
    }
    greatest < bound
}

/// FIPS 204, Algorithm 18 (`SimpleBitUnpack`) of one polynomial of t1, times -2^d with d = 13:
/// coefficients in (-q, 0].
pub(crate) fn unpack_t1(out: &mut Poly, bytes: &[u8; 320]) {
    let (fives, _) = bytes.as_chunks::<5>();
    let (fours, _) = out.0.as_chunks_mut::<4>();
    for (out, b) in fours.iter_mut().zip(fives) {
        let word = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], 0, 0, 0]);
        for (i, out) in out.iter_mut().enumerate() {
            *out = -(((word >> (10 * i) & 0x3FF) << 13) as i32);
        }
    }
}

/// FIPS 204, Algorithm 30 (`RejNTTPoly`) with Algorithm 14 (`CoeffFromThreeBytes`), on one block of SHAKE128 output. It
/// writes the accepted values to `out` from `filled` on, in the standard's order. It returns the new number of
/// coefficients, at most 256.
pub(crate) fn rej_ntt_poly(out: &mut Poly, filled: usize, block: &[u8; 168]) -> usize {
    let mut filled = filled;
    let (threes, _) = block.as_chunks::<3>();
    for b in threes {
        if filled == 256 {
            break;
        }
        let value = (u32::from_le_bytes([b[0], b[1], b[2], 0]) & 0x7F_FFFF) as i32;
        if value < Q {
            out.0[filled] = value;
            filled += 1;
        }
    }
    filled
}

/// FIPS 204, Algorithm 36: `Decompose`, `r` in [0, q) into (r1, r0).
pub(crate) const fn decompose(r: i32, gamma2: Gamma2) -> (i32, i32) {
    let alpha = match gamma2 {
        Gamma2::Q88 => (Q - 1) / 44,
        Gamma2::Q32 => (Q - 1) / 16,
    };
    let mut r0 = r % alpha;
    if r0 > alpha / 2 {
        r0 -= alpha;
    }
    if r - r0 == Q - 1 {
        (0, r0 - 1)
    } else {
        ((r - r0) / alpha, r0)
    }
}

/// FIPS 204, Algorithm 40: `UseHint`, `r` in [0, q).
pub(crate) const fn use_hint(hint: bool, r: i32, gamma2: Gamma2) -> i32 {
    let m = match gamma2 {
        Gamma2::Q88 => 44,
        Gamma2::Q32 => 16,
    };
    let (r1, r0) = decompose(r, gamma2);
    if !hint {
        r1
    } else if r0 > 0 {
        (r1 + 1) % m
    } else {
        (r1 + m - 1) % m
    }
}

/// FIPS 204, Algorithms 40 (`UseHint`) and 28 (`w1Encode`) of one polynomial of w', whose
/// coefficients have absolute values below q. `out` has 192 or 128 bytes.
pub(crate) fn use_hint_encode(out: &mut [u8], w: &Poly, hint: &HintBits, gamma2: Gamma2) {
    let w1 = |i: usize| {
        let bit = hint[i / 16] >> (i % 16) & 1 == 1;
        use_hint(bit, canonical(w.0[i]), gamma2) as u32
    };
    match gamma2 {
        Gamma2::Q88 => {
            for (i, out) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let i = 4 * i;
                let word = w1(i) | w1(i + 1) << 6 | w1(i + 2) << 12 | w1(i + 3) << 18;
                *out = [word as u8, (word >> 8) as u8, (word >> 16) as u8];
            }
        }
        Gamma2::Q32 => {
            for (i, out) in out.iter_mut().enumerate() {
                *out = (w1(2 * i) | w1(2 * i + 1) << 4) as u8;
            }
        }
    }
}
