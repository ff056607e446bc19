//! Samplers: every secret one is constant-time and works on integers only.
//!
//! Seeds of secrets that serve once come through [`hedge`].

pub mod cbd;
pub mod gaussian;
pub mod hedge;
pub mod residue;
pub mod ternary;
pub mod uniform;

pub use sordino_aes::stream;
