//! AVX-512: uses bits as masks of 16 lanes.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]
#![expect(clippy::cast_possible_truncation, reason = "halves of a word")]

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_mask_add_epi32, _mm512_mask_sub_epi32,
    _mm512_setzero_si512, _mm512_storeu_si512,
};

use sordino_cpu::Avx512;

use super::{LANES, Lanes, Products, Run};

pub(super) fn add<const K: usize>(
    _: Avx512,
    lanes: &mut Lanes<K>,
    run: &Run<K>,
    products: &Products,
) {
    // SAFETY: the token proves the target feature.
    unsafe { add_halves(lanes, run, products) }
}

#[target_feature(enable = "avx512f")]
fn add_halves<const K: usize>(lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    let [low, high] = [0, 1].map(|half| {
        let products = load(&products.as_chunks().0[half]);
        let minus = (run.signs >> (LANES * half)) as u16;
        _mm512_mask_sub_epi32(products, minus, _mm512_setzero_si512(), products)
    });
    for (lanes, &bits) in lanes.iter_mut().zip(&run.bits) {
        let sum = load(lanes);
        let sum = _mm512_mask_add_epi32(sum, bits as u16, sum, low);
        let sum = _mm512_mask_add_epi32(sum, (bits >> LANES) as u16, sum, high);
        // SAFETY: `lanes` refers to the 64 bytes that are stored.
        unsafe { _mm512_storeu_si512(std::ptr::from_mut(lanes).cast(), sum) }
    }
}

#[target_feature(enable = "avx512f")]
fn load(words: &[i32; LANES]) -> __m512i {
    // SAFETY: `words` refers to the 64 bytes that are loaded.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(words).cast()) }
}
