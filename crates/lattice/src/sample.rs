//! Samplers: every secret one is constant-time and works on integers only.

pub mod cbd;
pub mod gaussian;
pub mod residue;
pub mod stream;
pub mod ternary;
pub mod uniform;
