#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// The public functions
mod each;
mod error;
#[cfg(feature = "mmap")]
mod file;
pub mod merkle;
#[cfg(feature = "rayon")]
mod parallel;

// The way of each message: through shared lanes, or alone
mod mixed;
mod mode;
mod single;
mod whole;

// The kernels, and the nodes that they hash
mod lanes;
mod node;

pub use blake3::{Hash, Hasher, derive_key, hash, keyed_hash};
pub use each::{
    derive_key_each, derive_key_each_into, hash_each, hash_each_into, hash_each_into_on,
    keyed_hash_each, keyed_hash_each_into,
};
pub use error::Error;
#[cfg(feature = "mmap")]
pub use file::hash_file;
#[cfg(all(feature = "mmap", feature = "rayon"))]
pub use file::par_hash_file;
#[cfg(feature = "rayon")]
pub use parallel::{
    par_derive_key_each, par_derive_key_each_into, par_hash_each, par_hash_each_into,
    par_keyed_hash_each, par_keyed_hash_each_into,
};
pub use sordino_cpu::Backend;
