//! AES-NI: handles eight blocks at a time, and multiplies them with the query right after the last
//! round.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_loadu_si128,
    _mm_mullo_epi32, _mm_setzero_si128, _mm_storeu_si128, _mm_xor_si128,
};

use sordino_aes::Schedule;
use sordino_cpu::AesNi;

use super::group::{LANES, ROUNDS, groups, row_block};

/// The number of words of a block.
const WIDTH: usize = 4;

type Block = [u32; WIDTH];

pub(super) fn products(
    token: AesNi,
    key: &[u8; 32],
    version: u64,
    first: u32,
    query: &[i32],
    products: &mut [u32],
) {
    let schedule = Schedule::new(token, key);
    // SAFETY: the token proves the target features.
    unsafe { run(&schedule, version, first, query, products) }
}

#[target_feature(enable = "aes,avx2,sse4.1")]
fn run(schedule: &Schedule, version: u64, first: u32, query: &[i32], products: &mut [u32]) {
    let keys: [__m128i; ROUNDS + 1] = std::array::from_fn(|round| load(schedule.round_key(round)));
    let groups = groups::<WIDTH>(version, query);
    for (row, product) in (first..).zip(products) {
        let row = _mm_xor_si128(load(&row_block(row, query.len())), keys[0]);
        let mut sum = _mm_setzero_si128();
        for group in groups.iter() {
            let mut x = [row; LANES];
            for (x, counters) in x.iter_mut().zip(&group.counters) {
                *x = _mm_xor_si128(*x, load(counters));
            }
            for key in &keys[1..ROUNDS] {
                for x in &mut x {
                    *x = _mm_aesenc_si128(*x, *key);
                }
            }
            for (x, query) in x.iter().zip(&group.query) {
                let pad = _mm_aesenclast_si128(*x, keys[ROUNDS]);
                sum = _mm_add_epi32(sum, _mm_mullo_epi32(pad, load(query)));
            }
        }
        let mut words: Block = [0; WIDTH];
        // SAFETY: `words` has the 16 bytes that are stored.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), sum) }
        *product = words.into_iter().fold(0, u32::wrapping_add);
    }
}

#[target_feature(enable = "avx2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: `block` refers to the 16 bytes that are loaded.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(block).cast()) }
}
