//! AVX-512 IFMA: 52-bit Shoup products.
//!
//! Between butterflies only the low 52 bits of a lane are the value, in `[0, 4q)` forward and `[0, 2q)` backward, both
//! below `2^52`. What lies above is left over from unfinished subtractions. A product reads 52 bits of its factors, and
//! the bits that choose a multiple of `q` to subtract lie below. So only results are cleaned.
//!
//! A butterfly takes three multiplications and five other operations. All four pipes of a Zen 4 share these, with two
//! cycles each for 512 bits: four cycles for eight lanes are its bound. Comparisons and minima run on the two pipes of
//! the multiplications. A look-up of the multiple in a register runs on the others.

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
