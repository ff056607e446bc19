//! Entries of logs. The entries of one index form a chain.

use std::collections::HashMap;

use sordino_hash::{BatchHasher, Hash};

use crate::digest::Digest;
use crate::manifest::SignedManifest;
use crate::pin::Pin;
use crate::{Error, LogFault};

/// The size in bytes of an entry.
pub(super) const ENTRY_LEN: usize = 16 + 8 + 32 + 32;

/// The context that separates entries from everything else that is digested.
const CONTEXT: &str = "sordino-index v1 log: entry";

/// A version of an index, as the log records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The index's id.
    pub index: [u8; 16],
    /// The version's number.
    pub version: u64,
    /// The digest of the signed manifest before, or zeros in the first version.
    pub previous: Digest,
    /// The digest of its signed manifest.
    pub manifest: Digest,
}

impl Entry {
    /// The entry of this version.
    #[must_use]
    pub fn of(manifest: &SignedManifest) -> Self {
        Self {
            index: manifest.index,
            version: manifest.version,
            previous: manifest.previous,
            manifest: manifest.digest(),
        }
    }

    /// True if it records this version with this manifest.
    pub(super) fn is(&self, version: &Pin) -> bool {
        let &Pin {
            index,
            version,
            manifest,
        } = version;
        (self.index, self.version, self.manifest) == (index, version, manifest)
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        bytes[..16].copy_from_slice(&self.index);
        bytes[16..24].copy_from_slice(&self.version.to_le_bytes());
        bytes[24..56].copy_from_slice(&self.previous);
        bytes[56..].copy_from_slice(&self.manifest);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; ENTRY_LEN]) -> Self {
        let mut entry = Self {
            index: [0; 16],
            version: 0,
            previous: [0; 32],
            manifest: [0; 32],
        };
        let mut version = [0; 8];
        entry.index.copy_from_slice(&bytes[..16]);
        version.copy_from_slice(&bytes[16..24]);
        entry.version = u64::from_le_bytes(version);
        entry.previous.copy_from_slice(&bytes[24..56]);
        entry.manifest.copy_from_slice(&bytes[56..]);
        entry
    }
}

/// The digests that are the leaves of the tree.
pub(super) fn leaves(entries: &[Entry]) -> Vec<Hash> {
    let entries: Vec<_> = entries.iter().map(|entry| entry.to_bytes()).collect();
    BatchHasher::new_derive_key(CONTEXT).hash(&entries)
}

/// The last entry of each index.
#[derive(Default)]
pub(super) struct Lines(HashMap<[u8; 16], Entry>);

impl Lines {
    /// The chains of a log.
    ///
    /// # Errors
    /// [`LogFault::Line`] if an entry does not follow from the last one of its index.
    pub(super) fn of(entries: &[Entry]) -> Result<Self, Error> {
        let mut lines = Self::default();
        for &entry in entries {
            lines.add(entry)?;
        }
        Ok(lines)
    }

    /// Adds an entry at the end of its index's chain, or begins a chain.
    ///
    /// # Errors
    /// [`LogFault::Line`] if it does not follow from the last entry.
    pub(super) fn add(&mut self, entry: Entry) -> Result<(), Error> {
        if let Some(last) = self.0.get(&entry.index) {
            let follows = entry.version > last.version && entry.previous == last.manifest;
            if !follows {
                return Err(Error::Log(LogFault::Line {
                    index: entry.index,
                    version: entry.version,
                    logged: last.version,
                }));
            }
        }
        self.0.insert(entry.index, entry);
        Ok(())
    }
}
