//! VAES: handles 32 blocks in eight registers at a time, and multiplies them with the query right
//! after the last round.
#![expect(unsafe_code, reason = "entry into target features, loads")]

use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_aesenc_epi128, _mm512_aesenclast_epi128, _mm512_loadu_si512,
    _mm512_mullo_epi32, _mm512_reduce_add_epi32, _mm512_setzero_si512, _mm512_xor_si512,
};

use sordino_aes::{Schedule, vaes};
use sordino_cpu::Avx512Vaes;

use super::group::{LANES, ROUNDS, groups, row_block};

/// The number of words of a register.
const WIDTH: usize = 16;

type Register = [u32; WIDTH];

pub(super) fn products(
    token: Avx512Vaes,
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

#[target_feature(enable = "avx512f,aes,vaes")]
fn run(schedule: &Schedule, version: u64, first: u32, query: &[i32], products: &mut [u32]) {
    let keys: [__m512i; ROUNDS + 1] = std::array::from_fn(|round| vaes::round_key(schedule, round));
    let groups = groups::<WIDTH>(version, query);
    for (row, product) in (first..).zip(products) {
        let row = _mm512_xor_si512(repeat(&row_block(row, query.len())), keys[0]);
        let mut sum = _mm512_setzero_si512();
        for group in groups.iter() {
            let mut x = [row; LANES];
            for (x, counters) in x.iter_mut().zip(&group.counters) {
                *x = _mm512_xor_si512(*x, load(counters));
            }
            for key in &keys[1..ROUNDS] {
                for x in &mut x {
                    *x = _mm512_aesenc_epi128(*x, *key);
                }
            }
            for (x, query) in x.iter().zip(&group.query) {
                let pad = _mm512_aesenclast_epi128(*x, keys[ROUNDS]);
                sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(pad, load(query)));
            }
        }
        *product = _mm512_reduce_add_epi32(sum).cast_unsigned();
    }
}

/// Repeats a block four times.
#[target_feature(enable = "avx512f")]
fn repeat(block: &[u32; 4]) -> __m512i {
    load(&std::array::from_fn(|i| block[i % 4]))
}

#[target_feature(enable = "avx512f")]
fn load(register: &Register) -> __m512i {
    // SAFETY: `register` refers to the 64 bytes that are loaded.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(register).cast()) }
}
