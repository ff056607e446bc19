//! VAES: four blocks in a register of 512 bits, several registers in parallel.
//!
//! The crate `aes` uses the same instructions, but loads and stores every block in calls that are not
//! inlined. A stream takes four times as long with it (Zen 5, 17 KB at a time).

#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use core::arch::x86_64::*;

use sordino_cpu::Avx512Vaes;

use crate::Schedule;

/// The registers of a stream that are encrypted in parallel.
const LANES: usize = 8;
/// The bytes of a stream that are encrypted in parallel.
pub(crate) const GROUP: usize = 64 * LANES;

/// Round key `r` in every quarter of a register.
///
/// # Safety
/// The processor has AVX-512 F: a function that is compiled for it calls this safely.
#[inline]
#[target_feature(enable = "avx512f")]
#[must_use]
pub fn round_key(schedule: &Schedule, r: usize) -> __m512i {
    // SAFETY: a round key is the 16 bytes that are loaded.
    let key = unsafe { _mm_loadu_si128(schedule.round_key(r).as_ptr().cast()) };
    _mm512_broadcast_i32x4(key)
}

/// FIPS 197, Algorithm 1: Cipher, on four blocks in each of `N` registers, in place.
///
/// # Safety
/// The processor has AVX-512 F and VAES: a function that is compiled for them calls this safely.
#[inline]
#[target_feature(enable = "avx512f,aes,vaes")]
pub fn encrypt<const N: usize>(schedule: &Schedule, blocks: &mut [__m512i; N]) {
    let first = round_key(schedule, 0);
    for block in &mut *blocks {
        *block = _mm512_xor_si512(*block, first);
    }
    for r in 1..schedule.rounds() {
        let key = round_key(schedule, r);
        for block in &mut *blocks {
            *block = _mm512_aesenc_epi128(*block, key);
        }
    }
    let last = round_key(schedule, schedule.rounds());
    for block in &mut *blocks {
        *block = _mm512_aesenclast_epi128(*block, last);
    }
}

/// A key of counter mode. Its token proves that the processor has VAES.
pub(crate) struct Counter {
    token: Avx512Vaes,
    schedule: Schedule,
}

impl Counter {
    pub(crate) fn new(token: Avx512Vaes, key: &[u8; 32]) -> Self {
        let schedule = Schedule::new(token.aes_ni(), key);
        Self { token, schedule }
    }

    /// Encrypts the blocks `counter || nonce`, `counter + 1 || nonce` and so on, in whole groups.
    pub(crate) fn encrypt(&self, counter: u64, nonce: u64, groups: &mut [[u8; GROUP]]) {
        let _ = self.token;
        // SAFETY: the token proves the processor's level.
        unsafe { counters(&self.schedule, counter, nonce, groups) }
    }
}

#[target_feature(enable = "avx512f,aes,vaes")]
fn counters(schedule: &Schedule, counter: u64, nonce: u64, groups: &mut [[u8; GROUP]]) {
    let (counter, nonce) = (counter.cast_signed(), nonce.cast_signed());
    let start = _mm512_set_epi64(nonce, 3, nonce, 2, nonce, 1, nonce, 0);
    let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let mut next = _mm512_add_epi64(start, _mm512_maskz_set1_epi64(0b0101_0101, counter));
    for group in groups {
        let mut blocks = [next; LANES];
        for block in &mut blocks {
            *block = next;
            next = _mm512_add_epi64(next, four);
        }
        encrypt(schedule, &mut blocks);
        for (block, out) in blocks.iter().zip(group.as_chunks_mut::<64>().0) {
            // SAFETY: `out` has the 64 bytes that are stored.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), *block) }
        }
    }
}
