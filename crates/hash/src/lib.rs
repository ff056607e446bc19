#![doc = include_str!("../README.md")]

mod backend;
mod each;
mod error;
mod file;
mod lanes;
mod mixed;
mod mode;
mod node;
mod parallel;
mod proof;
mod tree;

pub use backend::Backend;
pub use blake3::{Hash, Hasher, derive_key, hash, keyed_hash};
pub use each::{derive_key_each, hash_each, hash_each_on, keyed_hash_each};
pub use error::Error;
pub use file::{hash_file, par_hash_file};
pub use parallel::{par_derive_key_each, par_hash_each, par_keyed_hash_each};
pub use proof::Proof;
pub use tree::{Tree, tree_root};
