//! The manifests before the newest. A server shows them to clients that know an older version, as evidence that the
//! newest follows from it.
//!
//! Each signed manifest names the digest of the one before, so the chain needs no signature of its own. A client walks
//! back from the newest until it finds the digest that it knows.
//!
//! ```text
//! request: edition | the edition that the client knows: 24 bytes
//! reply:   for each manifest, newest first: its length: 4 bytes | the signed manifest
//! ```
//!
//! The reply holds the manifests between the two versions, which may be none. If the server lacks the client's
//! manifest, the reply ends with the first one that is not newer than the client's. It ends earlier if the next
//! manifest would make it longer than `MAX_LEN`.

use crate::manifest::MAX_SIGNED_LEN;

/// The number of earlier manifests that a server keeps. Each has 5 KB and 140 to 205 bytes for each segment.
pub const KEPT: usize = 256;

/// The size in bytes of the length before each manifest.
pub const LEN_LEN: usize = 4;

/// The longest body of a reply. A manifest of 1,024 segments has 200 KB. So a client of such an index that was away for
/// more than 40 versions cannot check what happened. An error says this.
pub const MAX_LEN: usize = 8 << 20;

// A manifest of any length must fit.
const _: () = assert!(MAX_LEN > LEN_LEN + MAX_SIGNED_LEN);
