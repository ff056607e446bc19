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
/// What records carry beside their vectors.
pub mod payload;
/// How an index is cut, and what that costs.
pub mod plan;
/// The server: answer messages, learn nothing.
pub mod server;
/// Local mode's codes: which vectors a client scores.
pub mod sketch;
/// What an owner chooses of an index.
pub mod spec;
/// An index in a directory, which its owner changes.
pub mod store;
/// How messages travel.
pub mod transport;

mod base;
mod columns;
mod error;
mod history;
mod ids;
mod order;
mod pad;
mod probe;
mod residue;
mod router;
mod scan;
mod seal;
mod segment;
mod wire;

pub use client::{Client, Found, Pin};
pub use error::Error;
pub use index::Index;
pub use keys::{OwnerKeys, ReaderKeys};
pub use manifest::Routing;
pub use plan::{Plan, Wish};
pub use server::Server;
pub use sordino_vectors as vectors;
pub use sordino_vectors::{Metric, Vectors, metric, recall, rotation, synthetic};
pub use spec::{Batch, Form, Spec};
pub use store::Store;
pub use transport::{InProcess, Transport};
