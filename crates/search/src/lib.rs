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
/// How nearness is measured.
pub mod metric;
/// How an index is cut, and what that costs.
pub mod plan;
/// Exact search, and recall against it.
pub mod recall;
/// The public rotation of all vectors.
pub mod rotation;
/// The server: answer messages, learn nothing.
pub mod server;
/// What an owner chooses of an index.
pub mod spec;
/// An index in a directory, which its owner changes.
pub mod store;
/// The two built-in sets.
pub mod synthetic;
/// How messages travel.
pub mod transport;
/// Matrices of vectors and their file formats.
pub mod vectors;

mod base;
mod columns;
mod error;
mod ids;
mod order;
mod pad;
mod probe;
mod residue;
mod scan;
mod seal;
mod segment;
mod wire;

pub use client::{Client, Found};
pub use error::Error;
pub use index::Index;
pub use keys::{OwnerKeys, ReaderKeys};
pub use manifest::Routing;
pub use metric::Metric;
pub use plan::{Plan, Wish};
pub use server::Server;
pub use spec::{Batch, Form, Spec};
pub use store::Store;
pub use transport::{InProcess, Transport};
pub use vectors::Vectors;
