//! The ciphers of this crate, and the formats that use them.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod block_cipher;
mod cipher;
mod ff1_kat;
#[cfg(feature = "legacy-ff3")]
mod ff3;
mod format;
mod format_laws;
mod integers;
mod key;
mod named;
mod riffpe;
mod spelling;
mod text;
