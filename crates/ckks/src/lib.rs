#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
