#![doc = include_str!("../README.md")]

/// Buckets of quantised vectors, of one size.
pub mod bucket;
/// Building an index.
pub mod build;
/// The client: verify, encrypt, decrypt, rank.
pub mod client;
/// Balanced k-means.
pub mod cluster;
/// How vectors are quantised.
pub mod code;
/// A built index, as a server holds it.
pub mod index;
/// The owner's and the readers' keys.
pub mod keys;
/// The signed manifest: all that is public about an index.
pub mod manifest;
/// How an index is cut, and what that costs.
pub mod plan;
/// Exact search, and recall against it.
pub mod recall;
/// The public rotation of all vectors.
pub mod rotation;
/// The server: answer messages, learn nothing.
pub mod server;
/// Local mode's codes: which vectors a client scores.
pub mod sketch;
/// The two built-in sets.
pub mod synthetic;
/// How messages travel.
pub mod transport;
/// Matrices of vectors and their file formats.
pub mod vectors;

mod columns;
mod error;
mod order;
mod pad;
mod probe;
mod residue;
mod router;
mod scan;
mod seal;
mod wire;

pub use client::{Client, Found};
pub use error::Error;
pub use index::Index;
pub use keys::{OwnerKeys, ReaderKeys};
pub use manifest::Routing;
pub use plan::{Plan, Wish};
pub use server::Server;
pub use transport::{InProcess, Transport};
pub use vectors::Vectors;
