//! The readers of an index that has its own. Its content keys are wrapped for each of them.
//!
//! A content key has a number. Number 0 is the key that readers without keys of their own share. Every other key belongs to a
//! label and a generation, which only the owner knows. Revoking a reader makes a newer key for the same label. Older content
//! keeps its own key until it is rewritten.

use serde::{Deserialize, Serialize};

use super::{Manifest, Segment};
use crate::digest::Coded;
use crate::payload::{PageGroup, Payloads};
use crate::{SHARED, TAG_LEN};

/// The largest number of content keys of a version.
pub const MAX_KEYS: usize = 512;

/// The largest number of readers of an index.
pub const MAX_READERS: usize = 1024;

/// The longest list that the owner keeps of its readers, labels and groups.
pub const MAX_DIRECTORY: usize = 1 << 24;

/// The size in bytes of a wrapped content key in addition to the key: its number.
pub const NUMBER_LEN: usize = 4;

/// The size in bytes of the head of a ring: the head of its file, and three lengths.
pub const RING_HEAD_LEN: usize = crate::wire::FILE_HEAD_LEN + 12;

/// The size in bytes of the encapsulation for a reader: an X-Wing ciphertext.
pub const CIPHERTEXT_LEN: usize = 1120;

/// The size in bytes of a reader's entry with room for `keys` keys.
#[must_use]
pub const fn entry_len(keys: usize) -> usize {
    CIPHERTEXT_LEN + keys * (NUMBER_LEN + 32) + TAG_LEN
}

/// The largest number of bytes of a ring.
const MAX_RING: u64 =
    (RING_HEAD_LEN + MAX_DIRECTORY + TAG_LEN + MAX_READERS * entry_len(MAX_KEYS)) as u64;

/// The readers of an index that has its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Readers {
    /// Random and bound to the content of the ring, like a segment's id.
    pub id: [u8; 16],
    /// The version of the index in which the ring was written.
    pub version: u64,
    /// The ring: the content keys, wrapped for each reader.
    pub ring: Coded,
    /// The content keys, by number.
    pub keys: Vec<KeyUse>,
}

/// A content key of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyUse {
    /// The number of the key.
    pub number: u32,
    /// The number of the newest key of the same label. New content is written under that key.
    pub newest: u32,
    /// The salt from which the owner derives this key, or zeros for the shared key.
    pub salt: [u8; 16],
}

impl Readers {
    /// Readers with the ring of this id, which was written in `version`.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, ring: Coded, keys: Vec<KeyUse>) -> Self {
        Self {
            id,
            version,
            ring,
            keys,
        }
    }

    /// The entry of the key of this number.
    #[must_use]
    pub fn key(&self, number: u32) -> Option<&KeyUse> {
        let at = self.keys.binary_search_by_key(&number, |key| key.number);
        at.ok().map(|at| &self.keys[at])
    }

    /// Checks that the keys fit together.
    fn check(&self) -> Result<(), &'static str> {
        let ascending = self.keys.is_sorted_by(|a, b| a.number < b.number);
        if self.keys.is_empty() || self.keys.len() > MAX_KEYS || !ascending {
            return Err("content keys that are none, too many, or out of order");
        }
        // The shared key is never the newest key of a label.
        let newest = |it: &KeyUse| {
            it.newest != SHARED && self.key(it.newest).map(|it| it.newest) == Some(it.newest)
        };
        if !self.keys.iter().all(newest) {
            return Err("a content key without a newest one");
        }
        if self.ring.len < RING_HEAD_LEN as u64 || self.ring.len > MAX_RING {
            return Err("a ring of an impossible length");
        }
        Ok(())
    }
}

/// The part of a manifest that only an index with readers of its own has. It follows the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trailer {
    readers: Readers,
    /// The key of each segment.
    segments: Vec<u32>,
    /// The keys of the pages of payloads, and of the pages of changes.
    pages: Vec<Vec<PageGroup>>,
}

impl Trailer {
    /// The trailer of a manifest, if it has one.
    pub(super) fn of(manifest: &Manifest) -> Option<Self> {
        let keys = manifest.segments().into_iter().map(|segment| segment.key);
        let pages = manifest.all_payloads().map(|it| it.groups.clone());
        Some(Self {
            readers: manifest.readers.clone()?,
            segments: keys.collect(),
            pages: pages.collect(),
        })
    }

    /// Gives a manifest its trailer.
    pub(super) fn join(self, manifest: &mut Manifest) -> Result<(), String> {
        let mut segments = manifest.mode.segments_mut();
        if segments.len() != self.segments.len() {
            return Err("content keys of other segments".to_owned());
        }
        for (segment, key) in segments.iter_mut().zip(&self.segments) {
            segment.key = *key;
        }
        let all = manifest.payloads.iter_mut().chain(&mut manifest.recent);
        let all: Vec<&mut Payloads> = all.collect();
        if all.len() != self.pages.len() {
            return Err("content keys of payloads that are not there".to_owned());
        }
        for (payloads, pages) in all.into_iter().zip(self.pages) {
            payloads.groups = pages;
        }
        manifest.readers = Some(self.readers);
        Ok(())
    }
}

impl Manifest {
    /// The number of the newest key of the label to which this key belongs.
    #[must_use]
    pub fn newest(&self, number: u32) -> u32 {
        let key = self
            .readers
            .as_ref()
            .and_then(|readers| readers.key(number));
        key.map_or(SHARED, |key| key.newest)
    }

    /// The keys of lists of deletions, in order: the newest key of each segment's label. Segments that were added since have no
    /// list.
    #[must_use]
    pub fn lists(&self) -> Vec<u32> {
        let segments = self.segments().into_iter();
        let segments = segments.filter(|segment| !self.is_added(segment));
        let mut keys: Vec<u32> = segments.map(|segment| self.newest(segment.key)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    pub(super) fn check_readers(&self) -> Result<(), String> {
        let segments = self.segments();
        let Some(readers) = &self.readers else {
            return Ok(());
        };
        readers.check()?;
        if !(1..=self.version).contains(&readers.version) {
            return Err("a ring of a version outside 1 to the manifest's".to_owned());
        }
        let known = |key: u32| readers.key(key).is_some();
        if !known(self.frame.key) {
            return Err("a frame whose content key is not listed".to_owned());
        }
        if !segments.iter().all(|Segment { key, .. }| known(*key)) {
            return Err("a segment whose content key is not listed".to_owned());
        }
        for payloads in self.all_payloads() {
            let groups = &payloads.groups;
            let ascending = groups.is_sorted_by(|a, b| a.key < b.key);
            let sum =
                |each: fn(&PageGroup) -> u32| groups.iter().map(|it| u64::from(each(it))).sum();
            let (records, pages): (u64, u64) = (sum(|it| it.records), sum(|it| it.pages));
            let all = (u64::from(payloads.records), u64::from(payloads.pages));
            let there = |it: &PageGroup| it.records > 0 && it.pages > 0;
            let whole = groups.iter().all(|it| known(it.key) && there(it));
            if !ascending || !whole || (records, pages) != all {
                return Err("content keys of other payloads".to_owned());
            }
        }
        Ok(())
    }
}
