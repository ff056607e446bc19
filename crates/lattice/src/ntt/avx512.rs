//! AVX-512 IFMA: 52-bit Shoup products.
//!
//! Between butterflies, the low 52 bits of a lane are the value. It is in `[0, 4q)` in a forward transform and in
//! `[0, 2q)` in an inverse one, both below `2^52`. The bits above are left over from unfinished subtractions. A product
//! reads 52 bits of its factors, and the bits that choose a multiple of `q` to subtract lie below bit 52. So only final
//! results need cleaning.
//!
//! A butterfly takes three multiplications and five other operations. On Zen 4 all four pipes share these, with two
//! cycles each for 512 bits. So the bound is four cycles for eight lanes. Comparisons and minima would run on the two
//! pipes of the multiplications. The look-up of the multiple in a register runs on the others.

mod field;
mod forward;
mod inverse;
mod network;
mod product;
mod tables;

pub(super) use forward::forward;
pub(super) use inverse::{inverse_product, inverse_strided};
pub(super) use product::multiply;
pub(super) use tables::Tables;
