//! AES-NI: eight blocks at a time, multiplied with the query as they come out of the last round.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "halves of a version; small indices"
)]

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_loadu_si128,
    _mm_mullo_epi32, _mm_setzero_si128, _mm_storeu_si128, _mm_xor_si128,
};

use sordino_aes::Schedule;
use sordino_cpu::AesNi;
use zeroize::{Zeroize, Zeroizing};

/// Rounds of AES-256.
const ROUNDS: usize = 14;

/// Blocks that are encrypted side by side: a round takes four cycles, and two begin in each.
const LANES: usize = 8;

/// Words of a block.
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

/// The part of eight blocks' worth of coordinates that every row has in common.
#[derive(Zeroize)]
struct Group {
    /// The counters of row 0.
    counters: [Block; LANES],
    /// The query, with zeros after its end.
    query: [Block; LANES],
}

#[target_feature(enable = "aes,avx2,sse4.1")]
fn run(schedule: &Schedule, version: u64, first: u32, query: &[i32], products: &mut [u32]) {
    let keys: [__m128i; ROUNDS + 1] = std::array::from_fn(|round| load(schedule.round_key(round)));
    let groups = (0..).zip(query.chunks(WIDTH * LANES));
    let groups = groups.map(|(at, query)| Group::new(version, at, query));
    let groups = Zeroizing::new(groups.collect::<Vec<_>>());
    for (row, product) in (first..).zip(products) {
        let row = _mm_xor_si128(load(&[row, 0, 0, 0]), keys[0]);
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
        // SAFETY: the 16 bytes that are stored.
        unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), sum) }
        *product = words.into_iter().fold(0, u32::wrapping_add);
    }
}

impl Group {
    fn new(version: u64, at: u32, coordinates: &[i32]) -> Self {
        let [low, high] = [version, version >> 32].map(|half| half as u32);
        let counters = std::array::from_fn(|lane| [0, low, high, at * LANES as u32 + lane as u32]);
        let mut query = [[0; WIDTH]; LANES];
        for (word, &x) in query.as_flattened_mut().iter_mut().zip(coordinates) {
            *word = x.cast_unsigned();
        }
        Self { counters, query }
    }
}

#[target_feature(enable = "avx2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: a reference to the 16 bytes that are read.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(block).cast()) }
}
