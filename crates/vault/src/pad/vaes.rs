//! VAES in registers of 256 bits, for processors that have it without AVX-512. It handles 16 blocks in eight registers
//! at a time, and multiplies them with the query right after the last round.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_aesenc_epi128, _mm256_aesenclast_epi128, _mm256_loadu_si256,
    _mm256_mullo_epi32, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
};

use sordino_aes::Schedule;
use sordino_cpu::Avx2Vaes;

use super::group::{LANES, ROUNDS, groups, row_block};

/// The number of words of a register.
const WIDTH: usize = 8;

type Register = [u32; WIDTH];

pub(super) fn products(
    token: Avx2Vaes,
    key: &[u8; 32],
    version: u64,
    first: u32,
    query: &[i32],
    products: &mut [u32],
) {
    let schedule = Schedule::new(token.aes_ni(), key);
    // SAFETY: the token proves the target features.
    unsafe { run(&schedule, version, first, query, products) }
}

#[target_feature(enable = "aes,avx2,vaes")]
fn run(schedule: &Schedule, version: u64, first: u32, query: &[i32], products: &mut [u32]) {
    let keys: [__m256i; ROUNDS + 1] =
        std::array::from_fn(|round| repeat(schedule.round_key(round)));
    let groups = groups::<WIDTH>(version, query);
    for (row, product) in (first..).zip(products) {
        let row = _mm256_xor_si256(repeat(&row_block(row, query.len())), keys[0]);
        let mut sum = _mm256_setzero_si256();
        for group in groups.iter() {
            let mut x = [row; LANES];
            for (x, counters) in x.iter_mut().zip(&group.counters) {
                *x = _mm256_xor_si256(*x, load(counters));
            }
            for key in &keys[1..ROUNDS] {
                for x in &mut x {
                    *x = _mm256_aesenc_epi128(*x, *key);
                }
            }
            for (x, query) in x.iter().zip(&group.query) {
                let pad = _mm256_aesenclast_epi128(*x, keys[ROUNDS]);
                sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(pad, load(query)));
            }
        }
        let mut words: Register = [0; WIDTH];
        // SAFETY: `words` has the 32 bytes that are stored.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), sum) }
        *product = words.into_iter().fold(0, u32::wrapping_add);
    }
}

/// Two copies of a block.
#[target_feature(enable = "avx2")]
fn repeat(block: &[u32; 4]) -> __m256i {
    load(&std::array::from_fn(|i| block[i % 4]))
}

#[target_feature(enable = "avx2")]
fn load(register: &Register) -> __m256i {
    // SAFETY: `register` refers to the 32 bytes that are loaded.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(register).cast()) }
}
