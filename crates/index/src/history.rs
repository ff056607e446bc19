//! The manifests before the newest: a server shows them to clients that know an older version, so that
//! they see that the newest follows from it.
//!
//! Each signed manifest names the digest of the one before, so the chain needs no signature of its own: a
//! client walks from the newest back until it meets the digest that it knows.
//!
//! ```text
//! request: edition | the edition that the client knows: 24 bytes
//! reply:   for each manifest, newest first: its length: 4 bytes | the signed manifest
//! ```
//!
//! The reply holds the manifests between the two, which may be none; if the client's is not among those
//! that the server has, it ends with the first that is not newer than the client's.

use crate::manifest::MAX_SIGNED_LEN;

/// Manifests before the newest that a server keeps. They have 5 to 14 KB each.
pub const KEPT: usize = 256;

/// Bytes of the length before each manifest.
pub const LEN_LEN: usize = 4;

/// The longest body of a reply.
pub const MAX_LEN: usize = KEPT * (LEN_LEN + MAX_SIGNED_LEN);
