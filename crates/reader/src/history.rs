//! The way from the version that a client knows to the newest.

use sordino_index::history::{self, LEN_LEN};
use sordino_index::manifest::SignedManifest;
use sordino_index::wire::{Message, message_len};
use sordino_index::{Error, OwnerPublicKey, Pin, ReaderKeys};

use crate::transport::Transport;

/// Refuses all that does not follow from this version, step by step. Where steps are between the two,
/// the server is asked for their manifests. Bytes that came.
pub(crate) fn follow(
    pin: &Pin,
    manifest: &SignedManifest,
    transport: &mut impl Transport,
    keys: &ReaderKeys,
) -> Result<usize, Error> {
    pin.check(manifest)?;
    if manifest.version == pin.version || manifest.previous == pin.manifest {
        return Ok(0);
    }
    let known = pin.edition().to_bytes();
    let request = Message::GetHistory.about(manifest.edition(), &known);
    let reply = transport.call(&request, message_len(history::MAX_LEN))?;
    let body = Message::History.expect(&reply, None)?;
    walk(body, manifest, pin, keys.owner())?;
    Ok(reply.len())
}

/// Walks from `newest` back over the manifests of a reply to the one that is pinned.
///
/// # Errors
/// [`Error::Fork`] if the way leads past it, [`Error::Gap`] if it ends before, [`Error::Digest`] if a
/// manifest is not the one that its successor names.
fn walk(
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
