//! Tests of three places where fast verifiers have accepted invalid signatures: the norm of z, the hint's
//! encoding, and the hint's use. They cover every lane of all kernels, and every value where tests run
//! natively.

use super::{HintBits, hint_bit_unpack, portable};
use crate::field::{Poly, Q};
use crate::kernels::Kernels;
use crate::params::{Gamma2, MlDsa44, MlDsa65, MlDsa87, Sealed, Set};

const SETS: [Set; 3] = [MlDsa44::SET, MlDsa65::SET, MlDsa87::SET];

/// A native and optimised run tests all values; an emulated run, or one without optimisation, tests a sample.
const STEP: usize = if cfg!(miri) {
    199_999
} else if cfg!(target_arch = "x86_64") {
    1
} else {
    61
};
/// Steps through the places of a polynomial.
const PLACES: usize = if cfg!(miri) { 51 } else { 1 };

/// The backends whose lanes are tested one by one. The portable backend has no lanes.
fn lanes_of(kernels: Kernels) -> core::ops::Range<usize> {
    if kernels.name() == "portable" {
        0..1
    } else {
        0..16
    }
}

/// Writes a field of `width` bits at coefficient `i`.
fn put(packed: &mut [u8], i: usize, width: usize, value: u32) {
    let (at, shift) = (i * width / 8, i * width % 8);
    let bytes: &mut [u8; 3] = packed[at..].first_chunk_mut().unwrap();
    let mask = ((1 << width) - 1) << shift;
    let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) & !mask | value << shift;
    bytes.copy_from_slice(&word.to_le_bytes()[..3]);
}

#[test]
fn every_value_of_z_in_every_lane() {
    for set in [MlDsa44::SET, MlDsa87::SET] {
        let width = 1 + set.gamma1_bits as usize;
        let bound = set.gamma1() - set.beta;
        for kernels in Kernels::all() {
            let mut packed = vec![0; set.z_len()];
            // z is 0 in every coefficient.
            (0..256).for_each(|i| put(&mut packed, i, width, 1 << set.gamma1_bits));
            let mut out = Poly::ZERO;
            assert!(kernels.unpack_z(&mut out, &packed, set.gamma1_bits, bound));
            assert_eq!(out, Poly::ZERO);
            for lane in lanes_of(kernels) {
                for value in (0..1_u32 << width).step_by(STEP) {
                    // Tests every row of 16 coefficients in turn, with zeros in the other rows.
                    let i = lane + 16 * (value as usize % 16);
                    put(&mut packed, i, width, value);
                    let short = kernels.unpack_z(&mut out, &packed, set.gamma1_bits, bound);
                    let z = set.gamma1() - value.cast_signed();
                    assert_eq!(out.0[i], z, "{} at {i}", kernels.name());
                    assert_eq!(short, z.abs() < bound, "{} at {i}: {z}", kernels.name());
                    put(&mut packed, i, width, 1 << set.gamma1_bits);
                }
            }
        }
    }
}

#[test]
fn the_norm_is_checked_at_every_coefficient() {
    for set in SETS {
        let width = 1 + set.gamma1_bits as usize;
        let bound = set.gamma1() - set.beta;
        for kernels in Kernels::all() {
            let mut packed = vec![0; set.z_len()];
            (0..256).for_each(|i| put(&mut packed, i, width, 1 << set.gamma1_bits));
            let mut out = Poly::ZERO;
            for i in (0..256).step_by(PLACES) {
                for z in [bound - 1, bound, bound + 1, set.gamma1(), 1 - set.gamma1()] {
                    for z in [z, -z] {
                        let Ok(value) = u32::try_from(set.gamma1() - z) else {
                            continue;
                        };
                        if value >> width != 0 {
                            continue;
                        }
                        put(&mut packed, i, width, value);
                        let short = kernels.unpack_z(&mut out, &packed, set.gamma1_bits, bound);
                        assert_eq!(short, z.abs() < bound, "{} at {i}: {z}", kernels.name());
                    }
                }
                put(&mut packed, i, width, 1 << set.gamma1_bits);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "eight million values, without a kernel")]
fn decompose_as_defined() {
    for (gamma2, alpha, m) in [(Gamma2::Q88, 190_464, 44), (Gamma2::Q32, 523_776, 16)] {
        for r in 0..Q {
            let (r1, r0) = portable::decompose(r, gamma2);
            assert!((0..m).contains(&r1));
            assert!(-alpha / 2 <= r0 && r0 <= alpha / 2);
            assert_eq!((r1 * alpha + r0 - r) % Q, 0);
            // the lower bound is only for the values that wrap around
            assert!(r0 > -alpha / 2 || r > Q - 1 - alpha / 2);
        }
    }
}

/// The values that a packed polynomial of w1 holds.
fn unpack_w1(packed: &[u8], width: usize) -> impl Iterator<Item = i32> {
    (0..256).map(move |i| {
        (0..width)
            .map(|bit| {
                i32::from(packed[(i * width + bit) / 8] >> ((i * width + bit) % 8) & 1) << bit
            })
            .sum()
    })
}

#[test]
#[cfg_attr(miri, ignore = "eight million values")]
fn every_use_of_a_hint_in_every_lane() {
    for (gamma2, width, alpha, m) in [(Gamma2::Q88, 6, 190_464, 44), (Gamma2::Q32, 4, 523_776, 16)]
    {
        for hint in [false, true] {
            // After q - 1 the values start at 0 again, so that shifts bring every r into every lane.
            let r = |i: usize| i32::try_from(i).unwrap() % Q;
            let blocks = (0..Q.cast_unsigned() as usize).step_by(256 * STEP);
            // The values with r0 = 0, and the borders of r1, the last of which is q - 1. They are tested even
            // where a sample would leave them out.
            let borders = (0..=2 * m).map(|half: usize| (half * (alpha / 2)).saturating_sub(128));
            let blocks = blocks.chain(borders);
            let expected: Vec<u8> = (0..Q.cast_unsigned() as usize + 512)
                .map(|i| portable::use_hint(hint, r(i), gamma2).try_into().unwrap())
                .collect();
            let bits: HintBits = [if hint { 0xFFFF } else { 0 }; 16];
            let (mut defined, mut found) = (vec![0; gamma2.w1_len()], vec![0; gamma2.w1_len()]);
            for shift in 0..16 {
                for start in blocks.clone().map(|start| start + shift) {
                    let r1 = &expected[start..start + 256];
                    if width == 4 {
                        for (byte, r1) in defined.iter_mut().zip(r1.as_chunks::<2>().0) {
                            *byte = r1[0] | r1[1] << 4;
                        }
                    } else {
                        let threes = defined.as_chunks_mut::<3>().0;
                        for (bytes, r1) in threes.iter_mut().zip(r1.as_chunks::<4>().0) {
                            *bytes = [
                                r1[0] | r1[1] << 6,
                                r1[1] >> 2 | r1[2] << 4,
                                r1[2] >> 4 | r1[3] << 2,
                            ];
                        }
                    }
                    // Both representatives of r.
                    let w = Poly(core::array::from_fn(|i| {
                        let r = r(start + i);
                        if r & 32 == 0 { r } else { r - Q }
                    }));
                    for kernels in Kernels::all() {
                        if lanes_of(kernels).contains(&shift) {
                            kernels.use_hint_encode(&mut found, &w, &bits, gamma2);
                            assert!(found == defined, "{} {hint} {start}", kernels.name());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn each_hint_bit_acts_on_its_own_coefficient() {
    for (gamma2, width) in [(Gamma2::Q88, 6), (Gamma2::Q32, 4)] {
        let w = Poly(core::array::from_fn(|i| {
            i32::try_from(i * 32_749).unwrap() - Q / 2
        }));
        for kernels in Kernels::all() {
            for i in (0..256).step_by(PLACES) {
                let mut hint = [0; 16];
                hint[i / 16] = 1 << (i % 16);
                let mut packed = vec![0; gamma2.w1_len()];
                kernels.use_hint_encode(&mut packed, &w, &hint, gamma2);
                for (j, found) in unpack_w1(&packed, width).enumerate() {
                    let expected = portable::use_hint(i == j, w.0[j].rem_euclid(Q), gamma2);
                    assert_eq!(
                        found,
                        expected,
                        "{} hint at {i}, value at {j}",
                        kernels.name()
                    );
                }
            }
        }
    }
}

/// A transcription of Algorithm 21, with the hint as lists of positions.
fn algorithm_21(omega: usize, k: usize, y: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut h = vec![vec![]; k];
    let mut index = 0;
    for i in 0..k {
        if usize::from(y[omega + i]) < index || usize::from(y[omega + i]) > omega {
            return None;
        }
        let first = index;
        while index < usize::from(y[omega + i]) {
            if index > first && y[index - 1] >= y[index] {
                return None;
            }
            h[i].push(y[index]);
            index += 1;
        }
    }
    (index..omega).all(|i| y[i] == 0).then_some(h)
}

fn check_hint(set: &Set, y: &[u8]) {
    let mut hint = [[0; 16]; 8];
    let valid = hint_bit_unpack(set, y, &mut hint);
    let expected = algorithm_21(set.omega, set.k, y);
    assert_eq!(valid, expected.is_some(), "{y:?}");
    for (row, positions) in expected.iter().flatten().enumerate() {
        let found = (0..=255).filter(|i: &u8| hint[row][usize::from(i >> 4)] >> (i & 15) & 1 == 1);
        assert!(found.eq(positions.iter().copied()), "{y:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "four thousand hints, without a kernel")]
fn every_hint_of_a_small_set() {
    // Three positions of five values and two counts of six: the test tries every such encoding.
    let set = Set {
        omega: 3,
        k: 2,
        ..MlDsa44::SET
    };
    let values = [0, 1, 2, 16, 255];
    for a in values {
        for b in values {
            for c in values {
                for first in 0..=5 {
                    for second in [0, 1, 2, 3, 4, 255] {
                        check_hint(&set, &[a, b, c, first, second]);
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a million hints, without a kernel")]
fn every_pair_of_neighbours_and_every_count() {
    for set in SETS {
        for row in 0..set.k {
            // This row has two hints, and no other row has any.
            let mut y = vec![0; set.omega + set.k];
            y[set.omega + row..].fill(2);
            for a in 0..=255 {
                for b in 0..=255 {
                    y[0] = a;
                    y[1] = b;
                    check_hint(&set, &y);
                }
            }
            (y[0], y[1]) = (3, 200);
            for count in 0..=255 {
                let mut y = y.clone();
                y[set.omega + row] = count;
                check_hint(&set, &y);
                // Makes enough positions nonzero for the counts.
                for (i, y) in y[..set.omega].iter_mut().enumerate() {
                    *y = u8::try_from(i + 1).unwrap();
                }
                check_hint(&set, &y);
                y[set.omega + row..].fill(count);
                check_hint(&set, &y);
            }
            for rest in 2..set.omega {
                let mut y = y.clone();
                y[rest] = 1;
                check_hint(&set, &y);
            }
        }
    }
}

#[test]
fn sampling_on_every_backend() {
    // Bytes for which the sampler refuses a quarter of the values, a thousandth of them, or none.
    for top in [0x7F_FFFF, 0x7F_E001, 0x7F_E000, 0xFF_FFFF, 0x80_0000] {
        for pattern in (0..64_u32).step_by(if cfg!(miri) { 40 } else { 1 }) {
            let mut block = [0; 168];
            for (i, bytes) in block.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                let i = u32::try_from(i).unwrap();
                let refuse = i.wrapping_mul(2_654_435_761).wrapping_add(pattern << 26) >> 30 == 0;
                let value: u32 = if refuse { top } else { i * 77_777 + pattern };
                bytes.copy_from_slice(&value.to_le_bytes()[..3]);
            }
            for filled in [0, 1, 100, 199, 200, 201, 239, 240, 241, 248, 252, 253, 255] {
                let mut expected = Poly::ZERO;
                let count = portable::rej_ntt_poly(&mut expected, filled, &block);
                for kernels in Kernels::all() {
                    let mut found = Poly::ZERO;
                    assert_eq!(kernels.rej_ntt_poly(&mut found, filled, &block), count);
                    // Values behind the count have no meaning.
                    assert_eq!(found.0[..count], expected.0[..count], "{}", kernels.name());
                }
            }
        }
    }
}

#[test]
fn t1_on_every_backend() {
    let bytes = core::array::from_fn(|i| u8::try_from(i * 167 % 251).unwrap());
    let mut expected = Poly::ZERO;
    portable::unpack_t1(&mut expected, &bytes);
    assert_eq!(
        -expected.0[1] >> 13,
        (i32::from(bytes[1]) >> 2) + ((i32::from(bytes[2]) & 15) << 6)
    );
    for kernels in Kernels::all() {
        let mut found = Poly::ZERO;
        kernels.unpack_t1(&mut found, &bytes);
        assert_eq!(found, expected, "{}", kernels.name());
    }
}
