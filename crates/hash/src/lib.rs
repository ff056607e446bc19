#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// The public interface
mod batch;
mod error;
#[cfg(feature = "mmap")]
mod file;
pub mod merkle;
#[cfg(feature = "rayon")]
mod parallel;

// How each message is hashed: in shared lanes, or alone
mod list;
mod mixed;
mod mode;
mod single;
mod whole;

// The kernels, and the nodes that they hash
mod lanes;
mod node;

pub use batch::BatchHasher;
pub use blake3::{Hash, Hasher, derive_key, hash, keyed_hash};
pub use error::Error;
#[cfg(feature = "mmap")]
pub use file::hash_file;
#[cfg(all(feature = "mmap", feature = "rayon"))]
pub use file::par_hash_file;
pub use sordino_cpu::Backend;
