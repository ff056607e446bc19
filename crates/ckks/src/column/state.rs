//! The state of the database that an object belongs to.

use crate::Error;

/// The size in bytes of a state on the wire.
pub(super) const STATE_LEN: usize = 16;

/// The epoch, which names the public polynomials, and the version, which counts the changes of the
/// database in this epoch. Both are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    epoch: u64,
    version: u64,
}

/// The first eight bytes of the seed, as a little-endian integer.
pub(super) fn epoch_of(seed: &[u8; 32]) -> u64 {
    let (first, _) = seed.split_first_chunk().expect("32 bytes");
    u64::from_le_bytes(*first)
}

/// Checks that an object's epoch equals its receiver's.
pub(super) fn check_epoch(found: u64, expected: u64) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Epoch { found, expected })
}

impl State {
    pub(super) fn new(seed: &[u8; 32], version: u64) -> Self {
        Self {
            epoch: epoch_of(seed),
            version,
        }
    }

    pub(super) fn epoch(self) -> u64 {
        self.epoch
    }

    pub(super) fn version(self) -> u64 {
        self.version
    }

    /// The state after one more change.
    pub(super) fn next(self) -> Self {
        Self {
            epoch: self.epoch,
            version: self.version.wrapping_add(1),
        }
    }

    /// Checks that an object's state is `expected`.
    pub(super) fn check(self, expected: Self) -> Result<(), Error> {
        check_epoch(self.epoch, expected.epoch)?;
        if self.version == expected.version {
            return Ok(());
        }
        Err(Error::Version {
            found: self.version,
            expected: expected.version,
        })
    }

    pub(super) fn to_bytes(self) -> [u8; STATE_LEN] {
        let mut bytes = [0; STATE_LEN];
        bytes[..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..].copy_from_slice(&self.version.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; STATE_LEN]) -> Self {
        let (words, _) = bytes.as_chunks();
        let [epoch, version] = [words[0], words[1]].map(u64::from_le_bytes);
        Self { epoch, version }
    }
}
