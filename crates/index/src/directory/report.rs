//! The owner's list in words: who can read what.

use std::collections::BTreeMap;

use super::{Directory, UNLABELLED};
use crate::digest;
use crate::manifest::SHARED;

/// A reader, now or formerly, and the records it can read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// Its name.
    pub name: String,
    /// The digest of its public key, short; none if it is on the list no longer.
    pub key: Option<String>,
    /// The labels that it was granted itself.
    pub labels: Vec<String>,
    /// Its groups, with their labels.
    pub groups: Vec<(String, Vec<String>)>,
    /// Records that it may read.
    pub records: u64,
    /// Records that it may not read any longer, and can as long as they are under keys that it was given: until they are
    /// written anew, which compacting does.
    pub until_compacted: u64,
}

/// A label and its records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// Its name; empty for records without one.
    pub name: String,
    /// Generations of keys that records are under, and the one that is written under now.
    pub generations: usize,
    /// Records.
    pub records: u64,
    /// Those that are not under the newest key.
    pub older: u64,
}

impl Directory {
    /// Who can read how many records, `records` of which are under each key: readers, then former ones.
    #[must_use]
    pub fn reading(&self, records: &BTreeMap<u32, u64>) -> Vec<Reading> {
        let under = |number: &u32| records.get(number).copied().unwrap_or(0);
        let readers = self.readers.iter().map(|(name, reader)| {
            let labels = self.may_read(reader);
            let keys = labels.iter().filter_map(|label| self.labels.get(label));
            let keys = keys.flatten().map(|key| key.number);
            let groups = reader.groups.iter().map(|group| {
                let labels = self.groups.get(group).into_iter().flatten();
                (group.clone(), labels.cloned().collect())
            });
            let former = self.former.get(name).into_iter().flatten();
            Reading {
                name: name.clone(),
                key: Some(digest::short(&digest::of(&reader.public))),
                labels: reader.labels.iter().cloned().collect(),
                groups: groups.collect(),
                // Nobody was given the shared key.
                records: keys
                    .filter(|key| *key != SHARED)
                    .map(|key| under(&key))
                    .sum(),
                until_compacted: former.map(under).sum(),
            }
        });
        let gone = self.former.iter();
        let gone = gone.filter(|(name, _)| !self.readers.contains_key(*name));
        let gone = gone.map(|(name, keys)| Reading {
            name: name.clone(),
            key: None,
            labels: Vec::new(),
            groups: Vec::new(),
            records: 0,
            until_compacted: keys.iter().filter(|key| **key != SHARED).map(under).sum(),
        });
        readers.chain(gone).collect()
    }

    /// The labels, `records` of which are under each key.
    #[must_use]
    pub fn labels(&self, records: &BTreeMap<u32, u64>) -> Vec<Label> {
        let labels = self.labels.iter().map(|(name, keys)| {
            let under = |number: u32| records.get(&number).copied().unwrap_or(0);
            let all: u64 = keys.iter().map(|key| under(key.number)).sum();
            let newest = keys.last().map_or(0, |key| under(key.number));
            Label {
                name: name.clone(),
                generations: keys.len(),
                records: all,
                older: all - newest,
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

    /// True if records without a label are under a newer key than the shared one alone.
    #[must_use]
    pub fn shares(&self) -> bool {
        let keys = self.labels.get(UNLABELLED).into_iter().flatten();
        keys.into_iter().any(|key| key.number == SHARED)
    }
}
