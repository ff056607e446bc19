#![doc = include_str!("../README.md")]

pub mod dot;
mod error;
mod planes;
mod rounding;
mod wire;

pub use error::Error;
