//! NEON: expands four bits at a time to the lanes that they select.
#![expect(unsafe_code, reason = "entry into target features, loads and stores")]

use std::arch::aarch64::{
    int32x4_t, vaddq_s32, vandq_s32, vdupq_n_u32, veorq_s32, vld1q_s32, vld1q_u32,
    vreinterpretq_s32_u32, vst1q_s32, vsubq_s32, vtstq_u32,
};

use sordino_cpu::Neon;

use super::{Lanes, Products, Run};

/// The number of lanes of a register.
const WIDTH: usize = 4;

/// The bit of each position.
const BITS: [[u32; WIDTH]; 8] = {
    let mut bits = [[0; WIDTH]; 8];
    let mut at = 0;
    while at < 32 {
        bits[at / WIDTH][at % WIDTH] = 1 << at;
        at += 1;
    }
    bits
};

pub(super) fn add<const K: usize>(
    _: Neon,
    lanes: &mut Lanes<K>,
    run: &Run<K>,
    products: &Products,
) {
    // SAFETY: the token proves the target feature.
    unsafe { add_eighths(lanes, run, products) }
}

#[target_feature(enable = "neon")]
fn add_eighths<const K: usize>(lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    // SAFETY: `bits` refers to the 16 bytes that are loaded.
    let places = BITS.map(|bits| unsafe { vld1q_u32(bits.as_ptr()) });
    let signs = vdupq_n_u32(run.signs);
    let (products, _) = products.as_chunks();
    let signed: [int32x4_t; 8] = std::array::from_fn(|eighth| {
        let minus = vreinterpretq_s32_u32(vtstq_u32(signs, places[eighth]));
        vsubq_s32(veorq_s32(load(&products[eighth]), minus), minus)
    });
    for (lanes, bits) in lanes.iter_mut().zip(run.bits) {
        let bits = vdupq_n_u32(bits);
        let chosen = |eighth: usize| {
            let counts = vreinterpretq_s32_u32(vtstq_u32(bits, places[eighth]));
            vandq_s32(signed[eighth], counts)
        };
        for (quarter, lanes) in lanes.as_chunks_mut().0.iter_mut().enumerate() {
            let both = vaddq_s32(chosen(quarter), chosen(quarter + 4));
            let sum = vaddq_s32(load(lanes), both);
            // SAFETY: `lanes` refers to the 16 bytes that are stored.
            unsafe { vst1q_s32(lanes.as_mut_ptr(), sum) }
        }
    }
}

#[target_feature(enable = "neon")]
fn load(words: &[i32; WIDTH]) -> int32x4_t {
    // SAFETY: `words` refers to the 16 bytes that are loaded.
    unsafe { vld1q_s32(words.as_ptr()) }
}
