//! A report on the owner's list: what each reader can read.

use std::collections::{BTreeMap, BTreeSet};

use super::{Directory, UNLABELLED, Writing};
use sordino_index::digest;
use sordino_index::manifest::SHARED;

/// A present or former reader, and the records that it can read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The reader's name.
    pub name: String,
    /// The short digest of the reader's public key. `None` if the reader is no longer on the list.
    pub key: Option<String>,
    /// The labels that the reader was granted directly.
    pub labels: Vec<String>,
    /// The reader's groups, with their labels.
    pub groups: Vec<(String, Vec<String>)>,
    /// The number of records that the reader may read.
    pub records: u64,
    /// The reader's right to add records, if it has one.
    pub writing: Option<Writing>,
    /// The number of records that the reader may no longer read, but still can, because they are under keys that it
    /// received. Compacting rewrites these records and ends that.
    pub until_compacted: u64,
}

/// A label and its records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The label's name. It is empty for records without a label.
    pub name: String,
    /// The number of key generations that records use, including the one under which records are written now.
    pub generations: usize,
    /// The number of records.
    pub records: u64,
    /// The number of further stored rows: of records that were deleted, replaced or given another label. A holder of
    /// the label's keys can read these rows until the index is compacted.
    pub stale: u64,
    /// The number of these rows that are under an older key of the label.
    pub older: u64,
}

impl Directory {
    /// The number of records that each reader can read, then the same for former readers. `live` has, for each key, the
    /// number of records that searches find. `stored` also counts deleted and replaced records, which a holder of the
    /// key can read until the index is compacted.
    #[must_use]
    pub fn reading(&self, live: &BTreeMap<u32, u64>, stored: &BTreeMap<u32, u64>) -> Vec<Reading> {
        let under = |records: &BTreeMap<u32, u64>, key: u32| match key {
            // The shared key was given to no reader.
            SHARED => 0,
            key => records.get(&key).copied().unwrap_or(0),
        };
        let left = |keys: &BTreeSet<u32>| keys.iter().map(|key| under(stored, *key)).sum();
        let readers = self.readers.iter().map(|(name, reader)| {
            let labels = self.may_read(reader);
            let keys = labels.iter().filter_map(|label| self.labels.get(label));
            let keys = keys.flatten().map(|key| key.number);
            let groups = reader.groups.iter().map(|group| {
                let labels = self.groups.get(group).into_iter().flatten();
                (group.clone(), labels.cloned().collect())
            });
            let former = self.former.get(&(name.clone(), reader.digest()));
            Reading {
                name: name.clone(),
                key: Some(digest::short(&reader.digest())),
                labels: reader.labels.iter().cloned().collect(),
                groups: groups.collect(),
                writing: self.writing(name),
                records: keys.map(|key| under(live, key)).sum(),
                until_compacted: former.map_or(0, left),
            }
        });
        let here = |(name, digest): &(String, digest::Digest)| {
            let reader = self.readers.get(name);
            reader.is_some_and(|reader| reader.digest() == *digest)
        };
        let gone = self.former.iter().filter(|(reader, _)| !here(reader));
        let gone = gone.map(|((name, _), keys)| Reading {
            name: name.clone(),
            key: None,
            labels: Vec::new(),
            groups: Vec::new(),
            writing: None,
            records: 0,
            until_compacted: left(keys),
        });
        readers.chain(gone).collect()
    }

    /// The labels, with the number of records under each key: those that searches find, and all that are stored.
    #[must_use]
    pub fn labels(&self, live: &BTreeMap<u32, u64>, stored: &BTreeMap<u32, u64>) -> Vec<Label> {
        let labels = self.labels.iter().map(|(name, keys)| {
            let under = |records: &BTreeMap<u32, u64>, number: u32| {
                records.get(&number).copied().unwrap_or(0)
            };
            let all = |records| {
                keys.iter()
                    .map(|key| under(records, key.number))
                    .sum::<u64>()
            };
            let older = keys.split_last().map_or(&[][..], |(_, older)| older);
            Label {
                name: name.clone(),
                generations: keys.len(),
                records: all(live),
                stale: all(stored).saturating_sub(all(live)),
                older: older.iter().map(|key| under(stored, key.number)).sum(),
            }
        });
        labels.collect()
    }

    /// The groups and the labels that each may read.
    pub fn groups(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.groups.iter().map(|(group, labels)| {
            let labels = labels.iter().map(String::as_str);
            (&group[..], labels.collect())
        })
    }

    /// True if there are no readers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// True if records without a label have a newer key than the shared one.
    #[must_use]
    pub fn shares(&self) -> bool {
        let keys = self.labels.get(UNLABELLED).into_iter().flatten();
        keys.into_iter().any(|key| key.number == SHARED)
    }
}
