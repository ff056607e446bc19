#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod byte_table;
mod bytes;
mod client;
mod error;
mod hint;
mod packed;
mod params;
mod public;
mod query;
mod scan;
mod shape;
mod table;

pub use byte_table::ByteTable;
pub use bytes::decode_bytes;
pub use client::Client;
pub use error::Error;
pub use params::Params;
pub use query::{Query, Secret};
pub use shape::Shape;
pub use sordino_lattice::Seed;
pub use table::Table;
