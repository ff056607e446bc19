//! AES-NI: one round per instruction, eight blocks interleaved.
#![expect(unsafe_code, reason = "calls of the processor's AES instructions")]

use crate::{Aes, LANES, Operation, Schedule};
use core::arch::x86_64::{
    __m128i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si32,
    _mm_cvtsi128_si64, _mm_load_si128, _mm_loadu_si128, _mm_set_epi64x, _mm_set1_epi32,
    _mm_setr_epi8, _mm_setzero_si128, _mm_shuffle_epi8, _mm_unpackhi_epi64, _mm_xor_si128,
};

/// A scheduled key. Its token proves that the processor has AES-NI.
#[derive(Clone)]
pub struct Key {
    schedule: Schedule,
    token: sordino_cpu::AesNi,
}

impl Schedule {
    /// Expands a key.
    ///
    /// # Panics
    /// Panics if there are not 16, 24 or 32 bytes.
    #[must_use]
    pub fn new(_: sordino_cpu::AesNi, key: &[u8]) -> Self {
        #[target_feature(enable = "aes,avx2,sse4.1")]
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "bits")]
        fn expand(key: &[u8]) -> Schedule {
            Schedule::expand(key, |x| {
                // If the four columns are equal, ShiftRows changes nothing, so a last round with a zero key
                // leaves only the S-box. This is faster than AESKEYGENASSIST, and Miri supports this
                // instruction.
                let column = _mm_set1_epi32(x as i32);
                let substituted = _mm_aesenclast_si128(column, _mm_setzero_si128());
                _mm_cvtsi128_si32(substituted) as u32
            })
        }
        // SAFETY: the token proves the instructions.
        unsafe { expand(key) }
    }
}

impl Key {
    pub(crate) fn new(token: sordino_cpu::AesNi, key: &[u8]) -> Self {
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
        #[target_feature(enable = "aes,avx2,sse4.1")]
        fn run<O: Operation>(key: &Key, operation: O) -> O::Output {
            operation.run(key)
        }
        let _ = self.token;
        // SAFETY: `token` proves the instructions.
        unsafe { run(self, operation) }
    }
}

/// Round key `r`.
#[inline(always)]
fn round_key(schedule: &Schedule, r: usize) -> __m128i {
    // SAFETY: a round key is 16 bytes, and the schedule is aligned to 16.
    unsafe { _mm_load_si128(schedule.round_key(r).as_ptr().cast()) }
}

/// Reverses the bytes of a register.
#[inline(always)]
fn reverse(x: __m128i) -> __m128i {
    // SAFETY: only a `Key`, which holds the token, hands out blocks.
    unsafe {
        _mm_shuffle_epi8(
            x,
            _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
        )
    }
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "bits, not numbers"
)]
#[expect(clippy::cast_possible_truncation, reason = "halves of a register")]
impl Aes for &Key {
    type Block = __m128i;

    #[inline(always)]
    fn load(self, x: u128) -> __m128i {
        // SAFETY: baseline instructions.
        reverse(unsafe { _mm_set_epi64x((x >> 64) as i64, x as i64) })
    }
    #[inline(always)]
    fn store(self, x: __m128i) -> u128 {
        // SAFETY: baseline instructions.
        unsafe {
            let high = (_mm_cvtsi128_si64(x) as u64).swap_bytes();
            let low = (_mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x)) as u64).swap_bytes();
            (u128::from(high) << 64) | u128::from(low)
        }
    }
    #[inline(always)]
    fn high(self, x: __m128i) -> u64 {
        // SAFETY: a baseline instruction.
        (unsafe { _mm_cvtsi128_si64(x) } as u64).swap_bytes()
    }
    #[inline(always)]
    fn xor(self, x: __m128i, y: __m128i) -> __m128i {
        // SAFETY: a baseline instruction.
        unsafe { _mm_xor_si128(x, y) }
    }
    #[inline(always)]
    fn xor_low(self, x: __m128i, low: u64) -> __m128i {
        // SAFETY: a baseline instruction.
        self.xor(x, reverse(unsafe { _mm_cvtsi64_si128(low as i64) }))
    }
    #[inline(always)]
    fn store_le(self, x: __m128i) -> u128 {
        // SAFETY: baseline instructions.
        unsafe {
            let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(x, x)) as u64;
            (u128::from(high) << 64) | u128::from(_mm_cvtsi128_si64(x) as u64)
        }
    }
    #[inline(always)]
    fn xor_first_le(self, x: __m128i, first: u64) -> __m128i {
        // SAFETY: a baseline instruction.
        self.xor(x, unsafe { _mm_cvtsi64_si128(first as i64) })
    }
    #[inline(always)]
    fn encrypt(self, x: __m128i) -> __m128i {
        let [x] = rounds(&self.schedule, [self.whiten(x)]);
        x
    }
    #[inline(always)]
    fn whiten(self, x: __m128i) -> __m128i {
        self.xor(x, round_key(&self.schedule, 0))
    }
    #[inline(always)]
    fn encrypt_whitened(self, x: __m128i) -> __m128i {
        let [x] = rounds(&self.schedule, [x]);
        x
    }
    #[inline(always)]
    fn next_whitened(self, x: __m128i) -> __m128i {
        // SAFETY: the link is 16 bytes.
        let link = unsafe { _mm_loadu_si128(self.schedule.link().as_ptr().cast()) };
        let [x] = rounds_to(&self.schedule, [x], link);
        x
    }
    #[inline(always)]
    fn encrypt8(self, x: [__m128i; LANES]) -> [__m128i; LANES] {
        let mut white = x;
        for block in &mut white {
            *block = self.whiten(*block);
        }
        rounds(&self.schedule, white)
    }
}

/// FIPS 197, Algorithm 1: Cipher, on `N` blocks in step to which the first round key is added.
#[inline(always)]
fn rounds<const N: usize>(schedule: &Schedule, x: [__m128i; N]) -> [__m128i; N] {
    rounds_to(schedule, x, round_key(schedule, schedule.rounds()))
}

/// Like [`rounds`], with another key for the last round.
#[inline(always)]
fn rounds_to<const N: usize>(
    schedule: &Schedule,
    mut x: [__m128i; N],
    last: __m128i,
) -> [__m128i; N] {
    for r in 1..10 {
        step(schedule, r, &mut x);
    }
    if schedule.rounds() > 10 {
        step(schedule, 10, &mut x);
        step(schedule, 11, &mut x);
    }
    if schedule.rounds() > 12 {
        step(schedule, 12, &mut x);
        step(schedule, 13, &mut x);
    }
    for block in &mut x {
        // SAFETY: only a `Key`, which holds the token, reaches this.
        *block = unsafe { _mm_aesenclast_si128(*block, last) };
    }
    x
}

#[inline(always)]
fn step<const N: usize>(schedule: &Schedule, r: usize, x: &mut [__m128i; N]) {
    let key = round_key(schedule, r);
    for block in x {
        // SAFETY: only a `Key`, which holds the token, reaches this.
        *block = unsafe { _mm_aesenc_si128(*block, key) };
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}
