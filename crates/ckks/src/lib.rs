#![doc = include_str!("../README.md")]

mod bits;
pub mod column;
pub mod dot;
mod error;
mod file;
mod planes;
pub mod precision;
mod rounding;
pub mod slot;
mod wire;

pub use error::Error;
pub use sordino_lattice::Seed;
