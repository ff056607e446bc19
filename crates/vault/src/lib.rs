#![doc = include_str!("../README.md")]

/// Attributes of records, by which clients filter.
pub mod attributes;
/// Writing, sealing and opening buckets.
pub mod bucket_codec;
/// The checks of scores, made with a segment's key.
pub mod checks;
/// The key of the ids of contents.
pub mod content_ids;
/// The key of contents.
pub mod content_key;
/// The content keys of a version.
pub mod contents;
/// Opened vectors.
pub mod decoded_rows;
/// Payloads that were compressed.
pub mod decompression;
/// The owner's list of readers, groups and labels.
pub mod directory;
/// The centre and the bases that vectors are stored relative to.
pub mod frame;
/// Codes of downloaded vectors.
pub mod hamming_codes;
/// Record ids in their stored form.
pub mod ids;
/// Services that keep keys.
pub mod key_wrap;
/// The owner's keys.
pub mod keys;
/// The mean that vectors are compared relative to.
pub mod mean;
/// The records in each of routed mode's clusters.
pub mod members;
/// Sets of numbers: rows, and ids that are numbers.
pub mod numbers;
/// Opened payloads.
pub mod opener;
/// Secret orders of rows.
pub mod order;
/// The pads of masked rows.
pub mod pad;
/// Where records lie in pages of payloads.
pub mod page_list;
/// The uses of derived keys.
pub mod purpose;
/// Vectors as buckets and chunks store them.
pub mod quantiser;
/// The keys of a reader.
pub mod reader_keys;
/// A reader's own pair of keys.
pub mod reader_secret;
/// Vectors as short integers: routed mode's arithmetic.
pub mod residual;
/// Integers mod P: masked mode's arithmetic.
pub mod residue;
/// Content keys, wrapped for readers.
pub mod ring;
/// How clients find routed mode's clusters.
pub mod route;
/// Inner products of fixed-point vectors.
pub mod scan;
/// Sealing and opening, bound to a place.
pub mod seal;
/// Choices without branches.
pub mod select;
/// A writer's keys.
pub mod writer_secret;

mod added_pages;
mod filler;
mod open;
mod walk;

pub use key_wrap::{KeyWrap, KeyWrapError, WrappingKey};
pub use keys::OwnerKeys;
pub use reader_keys::ReaderKeys;
pub use reader_secret::{ReaderPublicKey, ReaderSecret};
pub use writer_secret::{WriterKeys, WriterPublicKey, WriterSecret};

use sordino_vectors as vectors;
use sordino_vectors::metric;
#[cfg(test)]
use sordino_vectors::synthetic;
