//! Signatures: verification one by one and in batches, against published vectors and other implementations.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod batches;
mod kat;
mod properties;
mod signer;
#[cfg(feature = "spki")]
mod spki;
#[cfg(feature = "signature")]
mod traits;
