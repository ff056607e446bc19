//! All subset sums of three products in a register: three bits of eight check rows choose theirs at once.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_loadu_si256, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_srli_epi32, _mm256_storeu_si256,
};

use sordino_cpu::Avx2;
use zeroize::Zeroizing;

use super::{Lanes, Products, Run};
use crate::checks::RUN;
use crate::checks::keyed::take;

/// Lanes of a register.
const WIDTH: usize = 8;
/// Products of a table.
const TABLE: usize = 3;
/// The subsets that have each product: bit `i` of a subset's number.
const HAS: [[i32; WIDTH]; TABLE] = [
    [0, -1, 0, -1, 0, -1, 0, -1],
    [0, 0, -1, -1, 0, 0, -1, -1],
    [0, 0, 0, 0, -1, -1, -1, -1],
];

/// Adds to the first lane of each check row.
pub(super) fn add<const K: usize>(
    _: Avx2,
    lanes: &mut Lanes<K>,
    run: &Run<K>,
    products: &Products,
) {
    const { assert!(K.is_multiple_of(WIDTH)) };
    // SAFETY: the token proves the target feature.
    unsafe { add_threes(lanes, run, products) }
}

#[target_feature(enable = "avx2")]
fn add_threes<const K: usize>(lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    let has = HAS.map(|has| load(&has));
    // One more, so that the last table has three.
    let mut signed = Zeroizing::new([0i32; RUN + 1]);
    for (at, (signed, product)) in signed.iter_mut().zip(products).enumerate() {
        let minus = take(run.signs, at);
        *signed = (product ^ minus).wrapping_sub(minus);
    }
    let mut tables = [_mm256_setzero_si256(); (RUN + 1) / TABLE];
    for (table, three) in tables.iter_mut().zip(signed.as_chunks::<TABLE>().0) {
        for (product, has) in three.iter().zip(has) {
            let part = _mm256_and_si256(_mm256_set1_epi32(*product), has);
            *table = _mm256_add_epi32(*table, part);
        }
    }
    let (bits, _) = run.bits.as_chunks::<WIDTH>();
    for (lanes, bits) in lanes.chunks_exact_mut(WIDTH).zip(bits) {
        let mut bits = load_words(bits);
        let mut sum = _mm256_setzero_si256();
        for table in tables {
            // The lowest three bits of each lane choose; those above are not looked at.
            sum = _mm256_add_epi32(sum, _mm256_permutevar8x32_epi32(table, bits));
            bits = _mm256_srli_epi32::<3>(bits);
        }
        let mut sums = Zeroizing::new([0i32; WIDTH]);
        // SAFETY: a reference to the 32 bytes that are written.
        unsafe { _mm256_storeu_si256(std::ptr::from_mut(&mut *sums).cast(), sum) };
        for (lanes, sum) in lanes.iter_mut().zip(*sums) {
            lanes[0] = lanes[0].wrapping_add(sum);
        }
    }
}

#[target_feature(enable = "avx2")]
fn load(words: &[i32; WIDTH]) -> __m256i {
    // SAFETY: a reference to the 32 bytes that are read.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(words).cast()) }
}

#[target_feature(enable = "avx2")]
fn load_words(words: &[u32; WIDTH]) -> __m256i {
    // SAFETY: a reference to the 32 bytes that are read.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(words).cast()) }
}
