//! Which state of which database an object is about.

use crate::Error;

/// Bytes of a stamp on the wire.
pub(super) const STAMP_LEN: usize = 16;

/// The epoch, which names the public polynomials, and the revision, which counts the changes that the
/// database has seen since. Both are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    epoch: u64,
    revision: u64,
}

/// The first eight bytes of the seed, as a little-endian integer.
pub(super) fn epoch_of(seed: &[u8; 32]) -> u64 {
    let (first, _) = seed.split_first_chunk().expect("32 bytes");
    u64::from_le_bytes(*first)
}

/// That an object belongs to the epoch of its receiver.
pub(super) fn check_epoch(found: u64, expected: u64) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Epoch { found, expected })
}

impl Stamp {
    pub(super) fn new(seed: &[u8; 32], revision: u64) -> Self {
        Self {
            epoch: epoch_of(seed),
            revision,
        }
    }

    pub(super) fn epoch(self) -> u64 {
        self.epoch
    }

    pub(super) fn revision(self) -> u64 {
        self.revision
    }

    /// The stamp after one more change.
    pub(super) fn next(self) -> Self {
        Self {
            epoch: self.epoch,
            revision: self.revision.wrapping_add(1),
        }
    }

    /// That an object with this stamp is about the state `expected`.
    pub(super) fn check(self, expected: Self) -> Result<(), Error> {
        check_epoch(self.epoch, expected.epoch)?;
        if self.revision == expected.revision {
            return Ok(());
        }
        Err(Error::Revision {
            found: self.revision,
            expected: expected.revision,
        })
    }

    pub(super) fn to_bytes(self) -> [u8; STAMP_LEN] {
        let mut bytes = [0; STAMP_LEN];
        bytes[..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..].copy_from_slice(&self.revision.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; STAMP_LEN]) -> Self {
        let (words, _) = bytes.as_chunks();
        let [epoch, revision] = [words[0], words[1]].map(u64::from_le_bytes);
        Self { epoch, revision }
    }
}
