//! AVX-512 IFMA: 52-bit Shoup products.
//!
//! Between butterflies only the low 52 bits of a lane are the value, in `[0, 4q)` forward and `[0, 2q)`
//! backward, both below `2^52`: what lies above is left over from unfinished subtractions. A product
//! reads 52 bits of its factors, so only a value that is to be compared is cleaned first.

mod field;
mod forward;
mod inverse;
mod product;

pub(super) use forward::forward;
pub(super) use inverse::{inverse_product, inverse_strided};
pub(super) use product::multiply;
