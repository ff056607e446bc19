//! The heads of manifests.

use super::{FILE_HEAD_LEN, Kind, strip_head_of};
use crate::Error;

/// The version of manifests. From version 6 on, vectors are stored relative to a frame. From 8 on, payloads are in pages,
/// and from 11 on, pads are one keystream of counter mode.
pub(crate) const OF_MANIFESTS: u16 = 11;

/// The version of manifests of indexes with readers of their own. Programs that do not support these refuse them by this version.
pub(crate) const WITH_READERS: u16 = 12;

/// The version of manifests that name writers.
pub(crate) const WITH_WRITERS: u16 = 13;

/// A signed manifest.
pub(crate) const MANIFEST: Kind = (1, "manifest");
/// A signed manifest with the additions of writers.
pub(crate) const ADDED: Kind = (6, "manifest");

/// The version of a manifest, and the bytes after its head.
///
/// # Errors
/// The errors of [`strip_file_head`].
pub(crate) fn strip_manifest_head(bytes: &[u8]) -> Result<(u16, &[u8]), Error> {
    strip_head_of(MANIFEST, &[OF_MANIFESTS, WITH_READERS, WITH_WRITERS], bytes)
}

/// True if the bytes say that they are a manifest with additions.
pub(crate) fn is_added(bytes: &[u8]) -> bool {
    let (kind, _) = ADDED;
    bytes.get(6..FILE_HEAD_LEN) == Some(&kind.to_le_bytes()[..])
}

/// The bytes after the head of a manifest with additions.
///
/// # Errors
/// The errors of [`strip_file_head`].
pub(crate) fn strip_added_head(bytes: &[u8]) -> Result<&[u8], Error> {
    let (_, body) = strip_head_of(ADDED, &[WITH_WRITERS], bytes)?;
    Ok(body)
}
