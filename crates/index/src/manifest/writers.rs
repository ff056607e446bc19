//! The writers of an index, who may add records without its owner. The manifest says under which content keys, and
//! until when.

use serde::{Deserialize, Serialize};

use super::check::require;
use super::{Manifest, Mode};
use crate::public_key::PUBLIC_KEY_LEN;

/// The largest number of writers of an index.
pub const MAX_WRITERS: usize = 32;

/// The largest number of content keys under which a writer may add.
pub const MAX_WRITABLE: usize = 64;

/// The size in bytes of a tag.
pub const TAG_OF_LABEL_LEN: usize = 16;

/// A writer, as the owner names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Writer {
    /// The ML-DSA-87 public key that verifies its additions.
    pub public: Vec<u8>,
    /// The time at which its right ends, in seconds since 1970.
    pub until: u64,
    /// The content keys under which it may add, in the order of their numbers.
    pub labels: Vec<Writable>,
}

/// A content key under which a writer may add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Writable {
    /// The number of the key.
    pub key: u32,
    /// A keyed digest of the label's name, under the content key. A reader who has the key and knows the name finds
    /// the number by it.
    pub tag: [u8; TAG_OF_LABEL_LEN],
}

impl Writer {
    /// A writer with this public key.
    #[must_use]
    pub fn new(public: Vec<u8>, until: u64, labels: Vec<Writable>) -> Self {
        Self {
            public,
            until,
            labels,
        }
    }

    /// True if it may add under the key of this number.
    #[must_use]
    pub fn may_add(&self, key: u32) -> bool {
        self.labels.iter().any(|label| label.key == key)
    }
}

impl Manifest {
    /// Checks writers against the limits of an index.
    pub(super) fn check_writers(&self) -> Result<(), String> {
        let writers = &self.writers;
        if writers.is_empty() {
            return Ok(());
        }
        require(writers.len() <= MAX_WRITERS, "more than 32 writers")?;
        require(
            matches!(self.mode, Mode::Masked(_) | Mode::Local(_)),
            "writers in a mode that is neither masked nor local",
        )?;
        let distinct = writers.is_sorted_by(|a, b| a.public < b.public);
        require(distinct, "writers that are out of order or twice there")?;
        let Some(readers) = &self.readers else {
            return Err("writers of an index without readers of its own".to_owned());
        };
        for Writer { public, labels, .. } in writers {
            require(
                public.len() == PUBLIC_KEY_LEN,
                "a writer's key of another length",
            )?;
            require(
                (1..=MAX_WRITABLE).contains(&labels.len())
                    && labels.is_sorted_by(|a, b| a.key < b.key),
                "labels of a writer that are none, too many or out of order",
            )?;
            let written_under = |key: u32| readers.key(key).is_some_and(|it| it.newest == key);
            require(
                labels.iter().all(|label| written_under(label.key)),
                "a writer of a content key that nothing is written under",
            )?;
        }
        Ok(())
    }
}
