//! The portable definition.

use super::{LANES, Lanes, Products, Run};
use sordino_index::checks::RUN;

pub(super) fn add<const K: usize>(lanes: &mut Lanes<K>, run: &Run<K>, products: &Products) {
    let mask = |word: u32, at: usize| (word << (RUN - 1 - at)).cast_signed() >> (RUN - 1);
    let signed: Products = std::array::from_fn(|at| {
        let minus = mask(run.signs, at);
        (products[at] ^ minus).wrapping_sub(minus)
    });
    for (lanes, bits) in lanes.iter_mut().zip(run.bits) {
        for (at, product) in signed.iter().enumerate() {
            let lane = &mut lanes[at % LANES];
            *lane = lane.wrapping_add(product & mask(bits, at));
        }
    }
}
