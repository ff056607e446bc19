//! Signatures: single and batch verification, compared with published vectors and other implementations.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod batches;
mod kat;
mod properties;
mod signer;
#[cfg(feature = "spki")]
mod spki;
#[cfg(feature = "signature")]
mod traits;
