//! VAES: four blocks a register, eight registers side by side.
//!
//! The crate `aes` has the same instructions, but loads and stores every block on the way, through calls
//! that are not inlined: it takes four times as long (Zen 5, 17 KB at a time).

#![expect(unsafe_code, reason = "entry into target features, stores")]

use std::arch::x86_64::*;

use sordino_cpu::Avx512Vaes;
use zeroize::Zeroizing;

/// Rounds of AES-256.
const ROUNDS: usize = 14;
/// Registers that are encrypted side by side.
const LANES: usize = 8;
/// Bytes that are encrypted side by side.
pub(super) const GROUP: usize = 64 * LANES;

/// The round keys of AES-256 as little-endian words, zeroised on drop.
pub type Schedule = Zeroizing<[[u32; 4]; ROUNDS + 1]>;

/// The key schedule of AES-256 (FIPS 197, 5.2), for kernels that do something with blocks as they come
/// out of the last round.
#[must_use]
pub fn schedule(_: Avx512Vaes, key: &[u8; 32]) -> Schedule {
    // SAFETY: the token proves the processor's level.
    unsafe { expand(key) }
}

/// A key schedule, and with its token the proof that the processor has VAES.
pub(super) struct Keys {
    token: Avx512Vaes,
    schedule: Schedule,
}

impl Keys {
    pub(super) fn new(token: Avx512Vaes, key: &[u8; 32]) -> Self {
        let schedule = schedule(token, key);
        Self { token, schedule }
    }

    /// The blocks `counter || nonce`, `counter + 1 || nonce` and on, encrypted, in whole groups.
    pub(super) fn encrypt(&self, counter: u64, nonce: u64, groups: &mut [[u8; GROUP]]) {
        let _ = self.token;
        // SAFETY: the token proves the processor's level.
        unsafe { encrypt(&self.schedule, counter, nonce, groups) }
    }
}

#[target_feature(enable = "avx512f,aes,vaes")]
fn expand(key: &[u8; 32]) -> Schedule {
    let mut schedule = Zeroizing::new([[0; 4]; ROUNDS + 1]);
    let words = schedule.as_flattened_mut();
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    for i in 8..words.len() {
        let mut word = words[i - 1];
        if i % 4 == 0 {
            let x = _mm_set1_epi32(word.cast_signed());
            word = _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(x)).cast_unsigned();
        }
        if i % 8 == 0 {
            word = word.rotate_right(8) ^ 1 << (i / 8 - 1);
        }
        words[i] = words[i - 8] ^ word;
    }
    schedule
}

#[target_feature(enable = "avx512f,aes,vaes")]
fn encrypt(
    schedule: &[[u32; 4]; ROUNDS + 1],
    counter: u64,
    nonce: u64,
    groups: &mut [[u8; GROUP]],
) {
    let mut keys = [_mm512_setzero_si512(); ROUNDS + 1];
    for (key, words) in keys.iter_mut().zip(schedule) {
        // SAFETY: `words` has the 16 bytes that are loaded.
        *key = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(words.as_ptr().cast()) });
    }
    let (counter, nonce) = (counter.cast_signed(), nonce.cast_signed());
    let start = _mm512_set_epi64(nonce, 3, nonce, 2, nonce, 1, nonce, 0);
    let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let mut next = _mm512_add_epi64(start, _mm512_maskz_set1_epi64(0b0101_0101, counter));
    for group in groups {
        let mut blocks = [_mm512_setzero_si512(); LANES];
        for block in &mut blocks {
            *block = _mm512_xor_si512(next, keys[0]);
            next = _mm512_add_epi64(next, four);
        }
        for key in &keys[1..ROUNDS] {
            for block in &mut blocks {
                *block = _mm512_aesenc_epi128(*block, *key);
            }
        }
        for (block, out) in blocks.iter().zip(group.as_chunks_mut::<64>().0) {
            let last = _mm512_aesenclast_epi128(*block, keys[ROUNDS]);
            // SAFETY: `out` has the 64 bytes that are stored.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), last) }
        }
    }
}
