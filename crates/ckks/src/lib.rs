#![doc = include_str!("../README.md")]

mod bits;
pub mod column;
pub mod dot;
mod error;
mod pages;
mod planes;
mod rounding;
mod wire;

pub use error::Error;
