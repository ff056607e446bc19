#![doc = include_str!("../README.md")]

// What a user holds
mod batch;
mod error;
mod item;
mod key;
mod message;
mod mu;
mod params;
#[cfg(feature = "spki")]
mod spki;

// The verification, and the keys it remembers
mod cache;
#[cfg(feature = "rayon")]
mod parallel;
mod verify;

// The kernels: hashing, the transform, packings
mod backend;
mod coding;
mod field;
mod keccak;
mod ntt;
mod sponge;

pub use backend::Backend;
pub use batch::BatchVerifier;
pub use error::{BatchError, Error};
pub use item::{Item, Key};
pub use key::ExpandedKey;
pub use message::{HashFunction, Message};
pub use mu::Mu;
pub use params::{MlDsa44, MlDsa65, MlDsa87, Params};
pub use verify::verify;

/// RustCrypto's implementation, which makes keys and signs.
#[cfg(feature = "sign")]
pub use ml_dsa;
