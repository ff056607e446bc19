#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bits;
mod change;
pub mod database;
pub mod double;
mod error;
pub mod hintless;
mod layout;
mod lwe;
pub mod message;
pub mod params;
pub mod plan;
mod secret;
pub mod simple;
pub mod verified;
mod wire;

pub use database::Database;
pub use error::Error;
pub use params::{DoublePir, Params, Protocol, Scheme, Security, Set, SimplePir};
pub use sordino_lattice::Seed;
pub use sordino_lattice::matrix::Backend;
