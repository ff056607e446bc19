#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), no_std)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

// Keys, messages, signatures and verdicts
mod batch;
mod error;
mod item;
mod key;
mod message;
mod mu;
mod params;
mod signature;
#[cfg(feature = "spki")]
mod spki;
#[cfg(feature = "signature")]
mod traits;

// The verification, and the keys that it keeps
mod cache;
mod in_ball;
#[cfg(feature = "rayon")]
mod parallel;
mod verify;

// The kernels: hashing, the transform, packings
mod coding;
mod field;
mod keccak;
mod kernels;
mod ntt;
mod sponge;

pub use batch::BatchVerifier;
pub use error::{BatchError, Error};
pub use item::{Item, Key};
pub use key::ExpandedKey;
pub use message::{HashFunction, Message};
pub use mu::Mu;
pub use params::{MlDsa44, MlDsa65, MlDsa87, Params};
pub use signature::Signature;
pub use sordino_cpu::Backend;
pub use verify::verify;

/// Tests make keys and sign with RustCrypto's implementation.
#[cfg(feature = "sign")]
pub use ml_dsa;
