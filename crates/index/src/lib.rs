#![doc = include_str!("../README.md")]

// The contract, which a server has as well
/// The shape of buckets and chunks.
pub mod bucket;
/// The checks of scores: check rows, sums that readers hold, and exact ones.
pub mod checks;
/// The codes that vectors are stored in.
pub mod code;
/// Rows that are scored under encryption.
pub mod columns;
/// The digests that manifests name parts by.
pub mod digest;
/// File operations.
pub mod disk;
/// The directory of an index.
pub mod folder;
/// The manifests before the newest, as they are sent.
pub mod history;
/// A log of manifests, with proofs that it only grows.
pub mod log;
/// The second look at a search's candidates.
pub mod look;
/// The signed manifest: all that is public about an index.
pub mod manifest;
/// The shape of what records carry beside their vectors.
pub mod payload;
/// The shares of an index that several servers hold.
pub mod shard;
/// Local mode's first stage.
pub mod sketch;
/// Routed mode's clusters, to be scored under encryption.
pub mod table;
/// Messages, and the heads of files.
pub mod wire;

// Everything that takes a key
/// Attributes of records, by which clients filter.
#[cfg(feature = "secret")]
pub mod attributes;
/// The key of contents.
#[cfg(feature = "secret")]
pub mod content_key;
/// The content keys of a version.
#[cfg(feature = "secret")]
pub mod contents;
/// Opened buckets.
#[cfg(feature = "secret")]
pub mod decoded_rows;
/// The owner's list of readers, groups and labels.
#[cfg(feature = "secret")]
pub mod directory;
/// The centre and the bases that vectors are stored relative to.
#[cfg(feature = "secret")]
pub mod frame;
/// Codes of downloaded vectors.
#[cfg(feature = "secret")]
pub mod hamming_codes;
/// Record ids as they are stored.
#[cfg(feature = "secret")]
pub mod ids;
/// Services that keep keys.
#[cfg(feature = "secret")]
pub mod key_wrap;
/// The owner's keys.
#[cfg(feature = "secret")]
pub mod keys;
/// The mean that vectors are compared relative to.
#[cfg(feature = "secret")]
pub mod mean;
/// Who is where in routed mode's clusters.
#[cfg(feature = "secret")]
pub mod members;
/// Sets of numbers: rows, and ids that are numbers.
#[cfg(feature = "secret")]
pub mod numbers;
/// Opened payloads.
#[cfg(feature = "secret")]
pub mod opener;
/// Secret orders of rows.
#[cfg(feature = "secret")]
pub mod order;
/// The pads of masked rows.
#[cfg(feature = "secret")]
pub mod pad;
/// The uses of derived keys.
#[cfg(feature = "secret")]
pub mod purpose;
/// Vectors as buckets and chunks store them.
#[cfg(feature = "secret")]
pub mod quantiser;
/// The keys of a reader.
#[cfg(feature = "secret")]
pub mod reader_keys;
/// A reader's own pair of keys.
#[cfg(feature = "secret")]
pub mod reader_secret;
/// Vectors as short integers: routed mode's arithmetic.
#[cfg(feature = "secret")]
pub mod residual;
/// Integers mod P: masked mode's arithmetic.
#[cfg(feature = "secret")]
pub mod residue;
/// Content keys, wrapped for readers.
#[cfg(feature = "secret")]
pub mod ring;
/// The way to routed mode's clusters.
#[cfg(feature = "secret")]
pub mod route;
/// Inner products of fixed-point vectors.
#[cfg(feature = "secret")]
pub mod scan;
/// Sealing and opening, bound to a place.
#[cfg(feature = "secret")]
pub mod seal;
/// Choices that no branch shows.
#[cfg(feature = "secret")]
pub mod select;

mod bytes;
mod elias_fano;
mod error;
mod index;
#[cfg(feature = "secret")]
mod open;
mod pin;
mod public_key;
#[cfg(feature = "secret")]
mod walk;

pub use bytes::Bytes;
pub use disk::{AnyDisk, Disk, Files, Memory};
pub use error::{AccessFault, Error, FilterFault, Kind, LogFault, NotNext, OwnerFault};
pub use index::Index;
#[cfg(feature = "secret")]
pub use key_wrap::{KeyWrap, KeyWrapError, WrappingKey};
#[cfg(feature = "secret")]
pub use keys::OwnerKeys;
pub use manifest::SignedManifest;
pub use pin::Pin;
pub use public_key::OwnerPublicKey;
#[cfg(feature = "secret")]
pub use reader_keys::ReaderKeys;
#[cfg(feature = "secret")]
pub use reader_secret::{ReaderPublicKey, ReaderSecret};

/// The number of the content key that readers share who have none of their own.
pub const SHARED: u32 = 0;

/// Bytes that sealing adds to a content: AES-GCM's tag.
pub const TAG_LEN: usize = 16;

pub use sordino_vectors::id::{Id, IdKind};

use sordino_vectors as vectors;
#[cfg(feature = "secret")]
use sordino_vectors::Vectors;
use sordino_vectors::metric;
#[cfg(test)]
use sordino_vectors::synthetic;
