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

use crate::client::Pin;
use crate::keys::OwnerPublicKey;
use crate::manifest::{MAX_SIGNED_LEN, SignedManifest};
use crate::wire::Edition;
use crate::{Error, recall::number};

/// Manifests before the newest that a server keeps. They have 5 to 14 KB each.
pub(crate) const KEPT: usize = 256;

/// Bytes of the length before each manifest.
const LEN_LEN: usize = 4;

/// The longest body of a reply.
pub(crate) const MAX_LEN: usize = KEPT * (LEN_LEN + MAX_SIGNED_LEN);

/// The manifests that a server keeps, newest first.
#[derive(Debug, Default)]
pub(crate) struct History(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    edition: Edition,
    /// With its length before it.
    bytes: Vec<u8>,
}

impl History {
    pub(crate) fn new(manifests: &[SignedManifest]) -> Self {
        let entry = |manifest: &SignedManifest| {
            let bytes = manifest.to_bytes();
            Entry {
                edition: manifest.edition(),
                bytes: [&number(bytes.len()).to_le_bytes()[..], bytes].concat(),
            }
        };
        Self(manifests.iter().take(KEPT).map(entry).collect())
    }

    /// The body of the reply to a client that knows this edition.
    pub(crate) fn since(&self, known: Edition) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        for Entry { edition, bytes } in &self.0 {
            if *edition == known {
                break;
            }
            pieces.push(&bytes[..]);
            if edition.version <= known.version {
                break;
            }
        }
        pieces
    }
}

/// Walks from `newest` back over the manifests of a reply to the one that is pinned.
///
/// # Errors
/// [`Error::Fork`] if the way leads past it, [`Error::Gap`] if it ends before, [`Error::Digest`] if a
/// manifest is not the one that its successor names.
pub(crate) fn walk(
    body: &[u8],
    newest: &SignedManifest,
    pin: &Pin,
    owner: &OwnerPublicKey,
) -> Result<(), Error> {
    let fork = Error::Fork {
        version: newest.version,
    };
    let mut rest = body;
    let mut newer = newest.clone();
    while newer.previous != pin.manifest {
        if newer.is_first() {
            return Err(fork);
        }
        if rest.is_empty() {
            return Err(Error::Gap {
                found: newest.version,
                pinned: pin.version,
            });
        }
        let older;
        (older, rest) = next(rest, owner)?;
        if older.digest() != newer.previous {
            return Err(Error::Digest { what: "manifests" });
        }
        // It is not the one that is pinned, and those before it are older.
        let past = older.version <= pin.version;
        if past || older.version >= newer.version || older.index != pin.index {
            return Err(fork);
        }
        newer = older;
    }
    Ok(())
}

/// The first manifest, and what follows it.
fn next<'a>(bytes: &'a [u8], owner: &OwnerPublicKey) -> Result<(SignedManifest, &'a [u8]), Error> {
    let split = bytes
        .split_first_chunk::<LEN_LEN>()
        .and_then(|(len, rest)| {
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            rest.split_at_checked(len)
        });
    let (manifest, rest) = split.ok_or_else(|| Error::Malformed {
        what: "message",
        why: "truncated in a manifest".to_owned(),
    })?;
    Ok((SignedManifest::from_bytes(manifest, owner)?, rest))
}
