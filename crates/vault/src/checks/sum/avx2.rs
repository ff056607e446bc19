//! AVX2: expands eight bits at a time to the lanes that they select.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_loadu_si256,
    _mm256_set1_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256,
};

use sordino_cpu::Avx2;

use super::{Lanes, Products, Run};

/// The number of lanes of a register.
const WIDTH: usize = 8;

/// The bit of each position.
const BITS: [[i32; WIDTH]; 4] = {
    let mut bits = [[0; WIDTH]; 4];
    let mut at = 0;
    while at < 32 {
        bits[at / WIDTH][at % WIDTH] = (1u32 << at).cast_signed();
        at += 1;
    }
    bits
};

pub(super) fn add<const K: usize>(
    _: Avx2,
    lanes: &mut Lanes<K>,
    run: &Run<K>,
    products: &Products,
) {
    // SAFETY: the token proves the target feature.
    unsafe { add_quarters(lanes, run, products) }
}

#[target_feature(enable = "avx2")]
fn add_quarters<const K: usize>(lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    let places = BITS.map(|bits| load(&bits));
    let signs = _mm256_set1_epi32(run.signs.cast_signed());
    let mut signed = places;
    for ((signed, place), products) in signed.iter_mut().zip(places).zip(products.as_chunks().0) {
        let minus = _mm256_cmpeq_epi32(_mm256_and_si256(signs, place), place);
        *signed = _mm256_sub_epi32(_mm256_xor_si256(load(products), minus), minus);
    }
    for (lanes, &bits) in lanes.iter_mut().zip(&run.bits) {
        let bits = _mm256_set1_epi32(bits.cast_signed());
        let chosen = |quarter: usize| {
            let place = places[quarter];
            let counts = _mm256_cmpeq_epi32(_mm256_and_si256(bits, place), place);
            _mm256_and_si256(signed[quarter], counts)
        };
        for (half, lanes) in lanes.as_chunks_mut().0.iter_mut().enumerate() {
            let both = _mm256_add_epi32(chosen(half), chosen(half + 2));
            let sum = _mm256_add_epi32(load(lanes), both);
            // SAFETY: `lanes` refers to the 32 bytes that are stored.
            unsafe { _mm256_storeu_si256(std::ptr::from_mut(lanes).cast(), sum) }
        }
    }
}

#[target_feature(enable = "avx2")]
fn load(words: &[i32; WIDTH]) -> __m256i {
    // SAFETY: `words` refers to the 32 bytes that are loaded.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(words).cast()) }
}
