//! ARMv8 AES: one round in two instructions, eight blocks interleaved.
#![expect(unsafe_code, reason = "calls of the processor's AES instructions")]

use crate::{Aes, LANES, Operation, Schedule};
use core::arch::aarch64::{
    uint8x16_t, vaeseq_u8, vaesmcq_u8, vdupq_n_u8, veorq_u8, vgetq_lane_u32, vgetq_lane_u64,
    vld1q_u8, vreinterpretq_u8_u32, vreinterpretq_u8_u64, vreinterpretq_u32_u8,
    vreinterpretq_u64_u8, vrev64q_u8,
};

/// A scheduled key. Its token proves that the processor has the AES instructions.
#[derive(Clone)]
pub struct Key {
    schedule: Schedule,
    token: sordino_cpu::NeonAes,
}

impl Schedule {
    /// Expands a key.
    ///
    /// # Panics
    /// Panics if there are not 16, 24 or 32 bytes.
    #[must_use]
    pub fn new(_: sordino_cpu::NeonAes, key: &[u8]) -> Self {
        #[target_feature(enable = "neon,aes")]
        fn expand(key: &[u8]) -> Schedule {
            use core::arch::aarch64::vdupq_n_u32;
            // If the word is in all four columns, ShiftRows changes nothing.
            Schedule::expand(key, |x| {
                let state = vreinterpretq_u8_u32(vdupq_n_u32(x));
                vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vaeseq_u8(state, vdupq_n_u8(0))))
            })
        }
        // SAFETY: the token proves the instructions.
        unsafe { expand(key) }
    }
}

impl Key {
    pub(crate) fn new(token: sordino_cpu::NeonAes, key: &[u8]) -> Self {
        let schedule = Schedule::new(token, key);
        Self { schedule, token }
    }

    /// The round keys.
    #[inline]
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    #[inline]
    pub(crate) fn run<O: Operation>(&self, operation: O) -> O::Output {
        #[target_feature(enable = "neon,aes")]
        fn run<O: Operation>(key: &Key, operation: O) -> O::Output {
            operation.run(key)
        }
        let _ = self.token;
        // SAFETY: `token` proves the instructions.
        unsafe { run(self, operation) }
    }
}

/// Packs two integers into a register: `high` is the block's first half, and each half is
/// big-endian.
#[inline(always)]
fn pack(high: u64, low: u64) -> uint8x16_t {
    let halves = [high, low];
    // SAFETY: baseline instructions on a local array of 16 bytes.
    unsafe {
        use core::arch::aarch64::vld1q_u64;
        vrev64q_u8(vreinterpretq_u8_u64(vld1q_u64(halves.as_ptr())))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "halves of a register")]
impl Aes for &Key {
    type Block = uint8x16_t;

    #[inline(always)]
    fn load(self, x: u128) -> uint8x16_t {
        pack((x >> 64) as u64, x as u64)
    }
    #[inline(always)]
    fn store(self, x: uint8x16_t) -> u128 {
        // SAFETY: baseline instructions.
        unsafe {
            let x = vreinterpretq_u64_u8(vrev64q_u8(x));
            (u128::from(vgetq_lane_u64::<0>(x)) << 64) | u128::from(vgetq_lane_u64::<1>(x))
        }
    }
    #[inline(always)]
    fn high(self, x: uint8x16_t) -> u64 {
        // SAFETY: baseline instructions.
        unsafe { vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vrev64q_u8(x))) }
    }
    #[inline(always)]
    fn xor(self, x: uint8x16_t, y: uint8x16_t) -> uint8x16_t {
        // SAFETY: a baseline instruction.
        unsafe { veorq_u8(x, y) }
    }
    #[inline(always)]
    fn xor_low(self, x: uint8x16_t, low: u64) -> uint8x16_t {
        self.xor(x, pack(0, low))
    }
    #[inline(always)]
    fn encrypt(self, x: uint8x16_t) -> uint8x16_t {
        // SAFETY: a `Key` holds the token, which proves the instructions.
        let [x] = unsafe { rounds(&self.schedule, [x]) };
        x
    }
    #[inline(always)]
    fn encrypt8(self, x: [uint8x16_t; LANES]) -> [uint8x16_t; LANES] {
        // SAFETY: a `Key` holds the token, which proves the instructions.
        unsafe { rounds(&self.schedule, x) }
    }
}

#[inline(always)]
fn round_key(schedule: &Schedule, r: usize) -> uint8x16_t {
    // SAFETY: a round key is 16 bytes.
    unsafe { vld1q_u8(schedule.round_key(r).as_ptr().cast()) }
}

/// FIPS 197, Algorithm 1: Cipher, on `N` blocks in step. `vaese` adds the round key first, so
/// the last round key is added by itself.
#[inline]
#[target_feature(enable = "neon,aes")]
fn rounds<const N: usize>(schedule: &Schedule, mut x: [uint8x16_t; N]) -> [uint8x16_t; N] {
    for r in 0..schedule.rounds() - 1 {
        let key = round_key(schedule, r);
        for block in &mut x {
            *block = vaesmcq_u8(vaeseq_u8(*block, key));
        }
    }
    let last = round_key(schedule, schedule.rounds() - 1);
    let white = round_key(schedule, schedule.rounds());
    for block in &mut x {
        *block = veorq_u8(vaeseq_u8(*block, last), white);
    }
    x
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}
