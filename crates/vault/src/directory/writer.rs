//! Writers: readers who may add records.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Directory, UNLABELLED, access};
use crate::content_key::ContentRoot;
use crate::writer_secret::WriterPublicKey;
use sordino_index::Error;
use sordino_index::manifest::{MAX_WRITABLE, MAX_WRITERS, Writable, Writer};

/// The right of a reader to add records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WriteRight {
    /// The public key that verifies the writer's additions.
    signing: Vec<u8>,
    /// Labels under which the writer may add records, and which it may read.
    labels: BTreeSet<String>,
    /// The time at which the right ends, in seconds since 1970.
    until: u64,
}

/// A reader's right to add records, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Writing {
    /// Labels under which the writer may add. The empty name stands for records without a label.
    pub labels: Vec<String>,
    /// The time at which the right ends, in seconds since 1970.
    pub until: u64,
}

impl Directory {
    /// Makes a reader a writer under these labels. Without labels, it may add records without one.
    pub(super) fn grant_writing(
        &mut self,
        name: &str,
        public: Option<&WriterPublicKey>,
        labels: &[String],
        until: u64,
    ) -> Result<(), Error> {
        self.grant(name, public.map(|it| &it.reader), labels, &[])?;
        let signing = public.map(|public| public.signing.to_bytes());
        let mut others = self.writers.iter().filter(|(other, _)| *other != name);
        if let Some((other, _)) = others.find(|(_, it)| Some(&it.signing) == signing.as_ref()) {
            return Err(access("writer", other, "it has the same signing key"));
        }
        let right = match (self.writers.get_mut(name), signing) {
            (Some(right), Some(signing)) if right.signing != signing => {
                let why = "it is there with another signing key: revoke it first";
                return Err(access("writer", name, why));
            }
            (Some(right), _) => right,
            (None, Some(signing)) => {
                self.writers
                    .entry(name.to_owned())
                    .or_insert_with(|| WriteRight {
                        signing,
                        labels: BTreeSet::new(),
                        until,
                    })
            }
            (None, None) => {
                let why = "it is no writer so far: its writer's public key is needed";
                return Err(access("writer", name, why));
            }
        };
        right.until = until;
        match labels.is_empty() {
            true => drop(right.labels.insert(UNLABELLED.to_owned())),
            false => right.labels.extend(labels.iter().cloned()),
        }
        if right.labels.len() > MAX_WRITABLE {
            let why = "it would write under more than 64 labels";
            return Err(access("writer", name, why));
        }
        if self.writers.len() > MAX_WRITERS {
            return Err(access("writer", name, "the index would have more than 32"));
        }
        Ok(())
    }

    /// Takes the right to add records from a reader.
    pub(super) fn stop_writing(&mut self, name: &str) -> Result<(), Error> {
        let none = access("writer", name, "there is none of this name");
        self.writers.remove(name).map(drop).ok_or(none)
    }

    /// Removes from writers the labels that they may no longer read.
    pub(super) fn settle_writers(&mut self) {
        let mut writers = std::mem::take(&mut self.writers);
        writers.retain(|name, right| {
            let Some(reader) = self.readers.get(name) else {
                return false;
            };
            let readable = self.may_read(reader);
            right.labels.retain(|label| readable.contains(label));
            !right.labels.is_empty()
        });
        self.writers = writers;
    }

    /// Checks that all writers of a list are also its readers.
    pub(super) fn writers_fit(&self) -> bool {
        let mut writers = self.writers.keys();
        writers.all(|name| self.readers.contains_key(name))
    }

    /// True if there are writers.
    #[must_use]
    pub fn has_writers(&self) -> bool {
        !self.writers.is_empty()
    }

    /// The writers in the form that a manifest has. It leaves out writers whose right ended by `now`, in
    /// seconds since 1970.
    #[must_use]
    pub fn writers(&self, root: &ContentRoot, now: u64) -> Vec<Writer> {
        let rights = self.writers.values().filter(|right| right.until > now);
        let writers = rights.map(|right| {
            let labels = right.labels.iter().filter_map(|label| {
                let (key, secret) = (self.newest(label)?, self.newest_key(root, label)?);
                let tag = secret.label_tag(label);
                Some(Writable { key, tag })
            });
            let mut labels: Vec<Writable> = labels.collect();
            labels.sort_unstable();
            Writer::new(right.signing.clone(), right.until, labels)
        });
        let mut writers: Vec<Writer> = writers.filter(|it| !it.labels.is_empty()).collect();
        writers.sort_by(|a, b| a.public.cmp(&b.public));
        writers
    }

    /// The name of the writer with this signing key.
    #[must_use]
    pub fn writer_name(&self, signing: &[u8]) -> Option<&str> {
        let mut writers = self.writers.iter();
        let found = writers.find(|(_, right)| right.signing == signing);
        found.map(|(name, _)| &name[..])
    }

    /// The right of a reader to add records, if it has one.
    pub(super) fn writing(&self, name: &str) -> Option<Writing> {
        let right = self.writers.get(name)?;
        Some(Writing {
            labels: right.labels.iter().cloned().collect(),
            until: right.until,
        })
    }
}
