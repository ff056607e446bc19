//! Two states per register, with or without the SHA-3 instructions.

#![expect(unsafe_code, reason = "loads, stores, and calls guarded by the token")]

use core::arch::aarch64::{uint64x2_t, vdupq_n_u64, veorq_u64, vld1q_u64, vst1q_u64};

use super::{Blocks, Lanes, Mask, permutation, portable};
use sordino_cpu::{Neon, NeonSha3};

/// Permutes at least the lanes in `mask`. Other lanes have no meaning afterwards.
pub(crate) fn permute_lanes(_: Neon, lanes: &mut Lanes, mask: Mask) {
    pairs(lanes, mask, plain::permute);
}

/// [`permute_lanes`] with `eor3`, `rax1`, `xar` and `bcax`.
pub(crate) fn permute_lanes_sha3(_: NeonSha3, lanes: &mut Lanes, mask: Mask) {
    // SAFETY: the token is proof of the SHA-3 instructions.
    pairs(lanes, mask, |lanes, pair| unsafe {
        sha3::permute(lanes, pair);
    });
}

/// The kernel of [`portable::blocks`]. It consists only of loads and stores, which vectors would
/// not reduce.
pub(crate) fn blocks(_: Neon, lanes: &Lanes, blocks: &mut Blocks) {
    portable::blocks(lanes, blocks);
}

fn pairs(lanes: &mut Lanes, mask: Mask, permute: impl Fn(&mut Lanes, usize)) {
    for pair in [0, 2, 4, 6] {
        let mask = Mask(mask.0 & 0b11 << pair);
        if let Some(lane) = mask.single() {
            portable::permute_lane(lanes, lane);
        } else if mask != Mask(0) {
            permute(lanes, pair);
        }
    }
}

/// Lanes `pair` and `pair + 1` of every word.
#[inline]
fn load(lanes: &Lanes, pair: usize) -> [uint64x2_t; 25] {
    // SAFETY: two words are 16 bytes.
    core::array::from_fn(|i| unsafe { vld1q_u64(lanes.0[i][pair..pair + 2].as_ptr()) })
}

#[inline]
fn store(lanes: &mut Lanes, pair: usize, a: &[uint64x2_t; 25]) {
    for (word, a) in lanes.0.iter_mut().zip(a) {
        // SAFETY: two words are 16 bytes.
        unsafe { vst1q_u64(word[pair..pair + 2].as_mut_ptr(), *a) };
    }
}

#[inline]
fn iota(a: uint64x2_t, rc: u64) -> uint64x2_t {
    // SAFETY: NEON is part of every 64-bit Arm target.
    unsafe { veorq_u64(a, vdupq_n_u64(rc)) }
}

mod plain {
    use super::{Lanes, iota, load, permutation, store};
    use core::arch::aarch64::{uint64x2_t, vbicq_u64, veorq_u64, vshlq_n_u64, vsriq_n_u64};

    pub(super) fn permute(lanes: &mut Lanes, pair: usize) {
        let mut a = load(lanes, pair);
        permutation!(a);
        store(lanes, pair, &a);
    }

    #[inline]
    fn rol<const R: i32, const L: i32>(a: uint64x2_t) -> uint64x2_t {
        // SAFETY: NEON is part of every 64-bit Arm target.
        unsafe { vsriq_n_u64::<L>(vshlq_n_u64::<R>(a), a) }
    }

    #[inline]
    fn parity(
        a: uint64x2_t,
        b: uint64x2_t,
        c: uint64x2_t,
        d: uint64x2_t,
        e: uint64x2_t,
    ) -> uint64x2_t {
        mix(mix(mix(a, b), mix(c, d)), e)
    }

    #[inline]
    fn theta(c: uint64x2_t, n: uint64x2_t) -> uint64x2_t {
        mix(c, rol::<1, 63>(n))
    }

    #[inline]
    fn mix(a: uint64x2_t, d: uint64x2_t) -> uint64x2_t {
        // SAFETY: NEON is part of every 64-bit Arm target.
        unsafe { veorq_u64(a, d) }
    }

    #[inline]
    fn rho<const R: i32, const L: i32>(a: uint64x2_t, d: uint64x2_t) -> uint64x2_t {
        rol::<R, L>(mix(a, d))
    }

    #[inline]
    fn chi(a: uint64x2_t, b: uint64x2_t, c: uint64x2_t) -> uint64x2_t {
        // SAFETY: NEON is part of every 64-bit Arm target.
        unsafe { veorq_u64(a, vbicq_u64(c, b)) }
    }
}

mod sha3 {
    use super::{Lanes, iota, load, permutation, store};
    use core::arch::aarch64::{
        uint64x2_t, vbcaxq_u64, veor3q_u64, veorq_u64, vrax1q_u64, vxarq_u64,
    };

    #[target_feature(enable = "neon,sha3")]
    pub(super) fn permute(lanes: &mut Lanes, pair: usize) {
        let mut a = load(lanes, pair);
        permutation!(a);
        store(lanes, pair, &a);
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    fn parity(
        a: uint64x2_t,
        b: uint64x2_t,
        c: uint64x2_t,
        d: uint64x2_t,
        e: uint64x2_t,
    ) -> uint64x2_t {
        veor3q_u64(veor3q_u64(a, b, c), d, e)
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    fn theta(c: uint64x2_t, n: uint64x2_t) -> uint64x2_t {
        vrax1q_u64(c, n)
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    fn mix(a: uint64x2_t, d: uint64x2_t) -> uint64x2_t {
        veorq_u64(a, d)
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    fn rho<const R: i32, const L: i32>(a: uint64x2_t, d: uint64x2_t) -> uint64x2_t {
        vxarq_u64::<L>(a, d)
    }

    #[inline]
    #[target_feature(enable = "neon,sha3")]
    fn chi(a: uint64x2_t, b: uint64x2_t, c: uint64x2_t) -> uint64x2_t {
        vbcaxq_u64(a, c, b)
    }
}
