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

/// RustCrypto's implementation, which makes keys and signs. This crate's tests use it.
///
/// ```
/// use sordino_mldsa::ml_dsa::{self, SigningKey, signature::Keypair};
/// use sordino_mldsa::{BatchVerifier, Error, Item, MlDsa87};
///
/// let signer = SigningKey::<ml_dsa::MlDsa87>::from_seed(&[7; 32].into());
/// let public_key = signer.verifying_key().encode();
/// let messages: Vec<[u8; 1]> = (0..3).map(|i| [i]).collect();
/// let mut signatures: Vec<_> = messages
///     .iter()
///     .map(|m| signer.expanded_key().sign_deterministic(m, b"ctx").unwrap().encode())
///     .collect();
/// signatures[1][0] ^= 1;
///
/// let items: Vec<_> = messages
///     .iter()
///     .zip(&signatures)
///     .map(|(message, signature)| Item::new(&public_key[..], message, b"ctx", signature))
///     .collect();
/// let verdicts = BatchVerifier::<MlDsa87>::new().verify_each(&items);
/// assert_eq!(verdicts, [Ok(()), Err(Error::Mismatch), Ok(())]);
/// ```
#[cfg(feature = "sign")]
pub use ml_dsa;
