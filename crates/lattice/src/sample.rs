//! Samplers. Every sampler of secrets is constant-time and works on integers only.
//!
//! Seeds of one-time secrets come from [`hedge`].

pub mod cbd;
pub mod gaussian;
pub mod hedge;
pub mod residue;
pub mod ternary;
pub mod uniform;

pub use sordino_aes::stream;
