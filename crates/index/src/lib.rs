#![doc = include_str!("../README.md")]

/// The shape of buckets and chunks.
pub mod bucket;
/// The checks of scores: check rows, sums that readers hold, and exact ones.
pub mod checks;
/// The codes in which vectors are stored.
pub mod code;
/// The rows that are scored under encryption.
pub mod columns;
/// The digests by which manifests name parts.
pub mod digest;
/// File operations.
pub mod disk;
/// Ascending numbers in few bits.
pub mod elias_fano;
/// The directory of an index.
pub mod folder;
/// The manifests before the newest, in the form that servers send.
pub mod history;
/// A log of manifests, with proofs that it only grows.
pub mod log;
/// The second look at a search's candidates.
pub mod look;
/// The signed manifest: all that is public about an index.
pub mod manifest;
/// Pages of payloads that a scan fetches.
pub mod page_scan;
/// The shape of what records carry in addition to their vectors.
pub mod payload;
/// Checks for memory before it is needed.
pub mod room;
/// The number of entries of a secret that share a polynomial.
pub mod secret_packing;
/// The shares of an index that several servers hold.
pub mod shard;
/// Local mode's first stage.
pub mod sketch;
/// Routed mode's clusters, to be scored under encryption.
pub mod table;
/// Messages, and the heads of files.
pub mod wire;

mod bytes;
mod error;
mod index;
mod pin;
mod public_key;
mod setters;

pub use bytes::Bytes;
pub use disk::{AnyDisk, Disk, Files, Memory};
pub use error::{AccessFault, Error, FilterFault, Kind, LogFault, NotNext, OwnerFault};
pub use index::Index;
pub use manifest::SignedManifest;
pub use pin::Pin;
pub use public_key::{
    ADDITION_CONTEXT, CHANGE_CONTEXT, LOG_CONTEXT, MANIFEST_CONTEXT, OwnerPublicKey, OwnerSigner,
    PUBLIC_KEY_LEN,
};

/// The number of the content key that readers without keys of their own share.
pub const SHARED: u32 = 0;

/// The number of bytes that sealing adds to a content: AES-GCM's tag.
pub const TAG_LEN: usize = 16;

pub use sordino_vectors::id::{Id, IdKind};

use sordino_vectors as vectors;
use sordino_vectors::metric;
#[cfg(test)]
use sordino_vectors::synthetic;
