//! BLAKE3 digests, by which a manifest names parts.

use serde::{Deserialize, Serialize};
use sordino_hash::BatchHasher;

use crate::Error;

/// A BLAKE3 digest.
pub type Digest = [u8; 32];

/// A sealed part whose length reveals the length of its content up to a factor of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coded {
    /// The length in bytes.
    pub len: u64,
    /// The digest.
    pub digest: Digest,
}

/// The size in bytes of the shortest content of this form before sealing. The size of a longer content is a power of
/// two.
pub(crate) const MIN_CODED: usize = 128;

impl Coded {
    /// The length and the digest of a sealed part.
    #[must_use]
    pub fn of(sealed: &[u8]) -> Self {
        Self {
            len: sealed.len() as u64,
            digest: of(sealed),
        }
    }
}

/// The digests of buckets of one length, one after the other.
pub fn of_buckets(buckets: &[u8], len: usize) -> Vec<u8> {
    let buckets: Vec<&[u8]> = buckets.chunks_exact(len).collect();
    let digests = BatchHasher::new().par_hash(&buckets);
    digests
        .iter()
        .flat_map(sordino_hash::Hash::as_bytes)
        .copied()
        .collect()
}

/// The digest by which a manifest names a part.
#[must_use]
pub fn of(bytes: &[u8]) -> Digest {
    *blake3::Hasher::new()
        .update_rayon(bytes)
        .finalize()
        .as_bytes()
}

/// The digest of bytes that arrive in pieces. It does not depend on where the pieces begin and end.
#[derive(Clone, Debug, Default)]
pub struct Running(blake3::Hasher);

impl Running {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far, equal to [`of`] of all of them.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *self.0.finalize().as_bytes()
    }
}

/// The first half of a digest in eight groups of four, for people to compare. An attacker who makes both contents
/// finds two with the same text in 2^64 tries. For a given content the attacker needs 2^128.
#[must_use]
pub fn short(digest: &Digest) -> String {
    let pairs = digest[..16].chunks_exact(2);
    let groups = pairs.map(|pair| format!("{:02x}{:02x}", pair[0], pair[1]));
    groups.collect::<Vec<_>>().join("-")
}

/// Checks that a part's digest is the manifest's.
///
/// # Errors
/// [`Error::Digest`] if the digests differ.
pub fn check(what: &'static str, part: &[u8], expected: &Digest) -> Result<(), Error> {
    (of(part) == *expected)
        .then_some(())
        .ok_or(Error::Digest { what })
}
