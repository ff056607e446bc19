#![doc = include_str!("../README.md")]

mod bits;
pub mod database;
mod error;
pub mod params;
pub mod simple;
mod wire;

pub use database::Database;
pub use error::Error;
pub use params::{Params, Security, Seed, Set};
