//! Makes changes to rights, and to the keys that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use super::name::{check_label, check_name};
use super::{Change, Directory, LabelKey, NO_SALT, Reader, UNLABELLED, access};
use crate::reader_secret::ReaderPublicKey;
use sordino_index::Error;

impl Directory {
    /// Makes a change. `salt` gives the salt of a new key, as in [`salt`](Self::salt).
    ///
    /// A label that a reader loses gets a new key. All records are written under it from then on.
    ///
    /// # Errors
    /// [`Error::Access`] with the reason. Nothing is changed then.
    pub fn change(
        &mut self,
        change: Change<'_>,
        salt: impl FnMut(u32, &[u8]) -> [u8; 16],
    ) -> Result<(), Error> {
        let mut new = self.clone();
        new.make(change)?;
        let (before, after) = (self.rights(), new.rights());
        let mut lost: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (reader, labels) in &before {
            let kept = after.get(reader);
            let gone = labels
                .iter()
                .filter(|label| kept.is_none_or(|kept| !kept.contains(*label)));
            for label in gone {
                lost.entry(label).or_default().insert(reader);
            }
        }
        for (label, readers) in lost {
            let keys = new.labels.get(label).into_iter().flatten();
            let keys: BTreeSet<u32> = keys.map(|key| key.number).collect();
            for reader in readers {
                let digest = self.readers[reader].digest();
                let former = new.former.entry((reader.to_owned(), digest));
                former.or_default().extend(&keys);
            }
            new.renew(label)?;
        }
        new.settle_former();
        new.settle_writers();
        new.salt(salt)?;
        *self = new;
        Ok(())
    }

    /// Creates a label if it does not exist, and returns the number of its newest key.
    ///
    /// # Errors
    /// [`Error::Access`] if the name is not allowed.
    pub fn label_for(
        &mut self,
        label: &str,
        salt: impl FnMut(u32, &[u8]) -> [u8; 16],
    ) -> Result<u32, Error> {
        let number = self.need_label(label)?;
        self.salt(salt)?;
        Ok(number)
    }

    /// Gives labels new keys, though no reader lost them. It is used when a record under the old keys must be hidden
    /// from future readers.
    ///
    /// # Errors
    /// [`Error::Access`] if the list is too long. Nothing is changed then.
    pub fn renewed(
        &mut self,
        labels: &BTreeSet<String>,
        salt: impl FnMut(u32, &[u8]) -> [u8; 16],
    ) -> Result<(), Error> {
        let mut new = self.clone();
        for label in labels {
            new.renew(label)?;
        }
        new.salt(salt)?;
        *self = new;
        Ok(())
    }

    fn need_label(&mut self, label: &str) -> Result<u32, Error> {
        // An existing label stays usable, even if its name would not be allowed now.
        if label != UNLABELLED
            && let Some(number) = self.newest(label)
        {
            return Ok(number);
        }
        check_label(label)?;
        self.renew(label)
    }

    fn make(&mut self, change: Change<'_>) -> Result<(), Error> {
        match change {
            Change::Grant {
                reader,
                public,
                labels,
                groups,
            } => self.grant(reader, public, labels, groups),
            Change::GrantWriter {
                reader,
                public,
                labels,
                until,
            } => self.grant_writing(reader, public, labels, until),
            Change::StopWriting { reader } => self.stop_writing(reader),
            Change::Withdraw {
                reader,
                labels,
                groups,
            } => self.withdraw(reader, labels, groups),
            Change::Revoke { reader } => match self.readers.remove(reader) {
                Some(_) => Ok(()),
                None => Err(access("reader", reader, "there is none of this name")),
            },
            Change::Group { group, labels } => {
                // An existing group stays usable, even if its name would not be allowed now.
                if !self.groups.contains_key(group) {
                    check_name("group", group)?;
                }
                self.need_labels(labels)?;
                let labels = labels.iter().cloned().collect();
                self.groups.insert(group.to_owned(), labels);
                Ok(())
            }
            Change::Ungroup { group } => {
                if self.groups.remove(group).is_none() {
                    return Err(access("group", group, "there is none of this name"));
                }
                let readers = self.readers.values_mut();
                readers.for_each(|reader| reader.groups.retain(|own| own != group));
                Ok(())
            }
        }
    }

    pub(super) fn grant(
        &mut self,
        name: &str,
        public: Option<&ReaderPublicKey>,
        labels: &[String],
        groups: &[String],
    ) -> Result<(), Error> {
        if !self.readers.contains_key(name) {
            check_name("reader", name)?;
        }
        self.need_labels(labels)?;
        if let Some(group) = groups
            .iter()
            .find(|group| !self.groups.contains_key(*group))
        {
            return Err(access("group", group, "there is none of this name"));
        }
        let public = public.map(|public| public.as_bytes().to_vec());
        let same = self
            .readers
            .iter()
            .find(|(_, it)| Some(&it.public) == public.as_ref());
        if let Some((other, _)) = same.filter(|(other, _)| *other != name) {
            return Err(access("reader", other, "it has the same public key"));
        }
        let reader = match (self.readers.get_mut(name), public) {
            (Some(reader), Some(public)) if reader.public != public => {
                let why = "it is there with another public key: revoke it first";
                return Err(access("reader", name, why));
            }
            (Some(reader), _) => reader,
            (None, None) => {
                return Err(access(
                    "reader",
                    name,
                    "it is new: its public key is needed",
                ));
            }
            (None, Some(public)) => self.readers.entry(name.to_owned()).or_insert(Reader {
                public,
                labels: BTreeSet::new(),
                groups: BTreeSet::new(),
            }),
        };
        reader.labels.extend(labels.iter().cloned());
        reader.groups.extend(groups.iter().cloned());
        Ok(())
    }

    fn withdraw(&mut self, name: &str, labels: &[String], groups: &[String]) -> Result<(), Error> {
        let none = access("reader", name, "there is none of this name");
        let reader = self.readers.get_mut(name).ok_or(none)?;
        for label in labels {
            if !reader.labels.remove(label) {
                return Err(access(
                    "label",
                    label,
                    "the reader was not granted it itself",
                ));
            }
        }
        for group in groups {
            if !reader.groups.remove(group) {
                return Err(access("group", group, "the reader is not in it"));
            }
        }
        let reader = &self.readers[name];
        let left = self.may_read(reader);
        match labels.iter().find(|label| left.contains(*label)) {
            Some(label) => Err(access(
                "label",
                label,
                "a group of the reader still gives it",
            )),
            None => Ok(()),
        }
    }

    fn need_labels(&mut self, labels: &[String]) -> Result<(), Error> {
        labels
            .iter()
            .try_for_each(|label| self.need_label(label).map(drop))
    }

    /// Gives a label another key, which has no salt yet, and creates the label if it does not exist. Returns the key's
    /// number.
    fn renew(&mut self, label: &str) -> Result<u32, Error> {
        let number = self.next;
        let next = number.checked_add(1);
        self.next = next.ok_or(access("label", label, "there were 2^32 content keys"))?;
        let keys = self.labels.entry(label.to_owned()).or_default();
        let salt = NO_SALT;
        keys.push(LabelKey { number, salt });
        Ok(number)
    }

    /// The labels that each reader may read.
    fn rights(&self) -> BTreeMap<String, BTreeSet<String>> {
        let readers = self.readers.iter();
        let rights = readers.map(|(name, reader)| (name.clone(), self.may_read(reader)));
        rights.collect()
    }

    /// Removes from the former readers every key that the same reader may have now.
    fn settle_former(&mut self) {
        let readers: Vec<_> = self.readers.iter().collect();
        for (name, reader) in readers {
            let labels = self.may_read(reader);
            let keys = labels.iter().filter_map(|label| self.labels.get(label));
            let keys: BTreeSet<u32> = keys.flatten().map(|key| key.number).collect();
            if let Some(former) = self.former.get_mut(&(name.clone(), reader.digest())) {
                former.retain(|number| !keys.contains(number));
            }
        }
        self.former.retain(|_, keys| !keys.is_empty());
    }
}
