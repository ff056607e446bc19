//! Sums of products in NTT form, and the hint blocks made from them.

use crate::column::params::Params;

/// Adds `P_jl a_l` to a block's sum. `poly` holds `P_jl`, and the product after the call. All are
/// in NTT form.
pub(super) fn add_product(params: &Params, sum: &mut [u64], poly: &mut [u64], a: &[u64]) {
    let plan = params.plan();
    plan.multiply(poly, a);
    for (sum, product) in sum.iter_mut().zip(&*poly) {
        *sum = plan.modulus().add(*sum, *product);
    }
}

/// Writes a block of the hint from its sum in NTT form. The sum is overwritten.
pub(super) fn write_block(params: &Params, sum: &mut [u64], block: &mut [u8]) {
    let width = params.hint_width;
    let most = width.most();
    let (wide, narrow) = (params.switch(most), params.switch(most - 1));
    params.plan().inverse(sum);
    for (i, c) in sum.iter_mut().enumerate() {
        *c = if width.of(i) == most {
            wide.switch(*c)
        } else {
            narrow.switch(*c)
        };
    }
    width.write(sum, block);
}
