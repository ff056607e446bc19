//! The owner's list of an index's readers. It has labels, the content keys of each label, groups, and which reader may read
//! what.
//!
//! It is sealed in the [ring](crate::ring), for the owner alone. New records are written under a label's last key. A label gets
//! a new key whenever a reader loses the label. This module does that itself, so that no change of readers, labels or groups
//! can forget it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::content_key::{ContentKey, ContentRoot};
use crate::numbers;
use crate::reader_secret::ReaderPublicKey;
use crate::ring::Entry;
use sordino_index::digest::{self, Digest};
use sordino_index::manifest::{KeyUse, MAX_DIRECTORY, MAX_KEYS, MAX_READERS, SHARED};
use sordino_index::{AccessFault, Error};

mod change;
mod name;
mod report;
mod rights;
mod writer;

pub use change::Change;
pub use name::check_label;
pub use report::{Label, Reading};
use writer::WriteRight;
pub use writer::Writing;

/// The label of records without a label. Every reader of the index may read them.
pub const UNLABELLED: &str = "";

/// The size in bytes of the longest name.
const MAX_NAME: usize = 64;

/// The readers, labels and groups of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Keys by label, the newest last. Every label has at least one.
    labels: BTreeMap<String, Vec<LabelKey>>,
    /// The labels that a group may read.
    groups: BTreeMap<String, BTreeSet<String>>,
    readers: BTreeMap<String, Reader>,
    /// Keys in use that former readers have, and should not have any longer. They are listed by name and by the digest of the
    /// public key that they were wrapped for. A new pair of keys under an old name is a different reader.
    former: BTreeMap<(String, Digest), BTreeSet<u32>>,
    /// The number of the next key.
    next: u32,
    /// Readers who may add records. They follow the rest in the encoding. Lists from before writers existed have zeros
    /// there, or end before this field.
    #[serde(skip)]
    writers: BTreeMap<String, WriteRight>,
}

/// The value that stands for the salt of the shared key, and for the salt of a key that has none yet.
const NO_SALT: [u8; 16] = [0; 16];

/// A content key of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LabelKey {
    number: u32,
    salt: [u8; 16],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Reader {
    /// The reader's public key.
    public: Vec<u8>,
    /// Labels that the reader may read, apart from its groups.
    labels: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Reader {
    fn digest(&self) -> Digest {
        digest::of(&self.public)
    }
}

impl Directory {
    /// A list without readers, for an index that has no readers of its own so far. All existing records are under the shared
    /// key. New records are written under another key, to which [`salt`](Self::salt) or a [change](Self::change) must still
    /// give a salt.
    #[must_use]
    pub fn unsalted() -> Self {
        let keys = [SHARED, SHARED + 1].map(|number| LabelKey {
            number,
            salt: NO_SALT,
        });
        let (keys, number) = (keys.to_vec(), SHARED + 1);
        Self {
            labels: BTreeMap::from([(UNLABELLED.to_owned(), keys)]),
            groups: BTreeMap::new(),
            readers: BTreeMap::new(),
            former: BTreeMap::new(),
            next: number + 1,
            writers: BTreeMap::new(),
        }
    }

    /// Gives salts to keys that have none. `salt` computes a salt from a key's number and an encoding of the whole list. So
    /// even if generators repeat themselves, two keys are equal only if labels, rights and numbers are the same.
    ///
    /// # Errors
    /// [`Error::Access`] if the list is too long.
    pub fn salt(&mut self, mut salt: impl FnMut(u32, &[u8]) -> [u8; 16]) -> Result<(), Error> {
        let code = self.encoded()?;
        let keys = self.labels.values_mut().flatten();
        for key in keys.filter(|key| key.number != SHARED && key.salt == NO_SALT) {
            key.salt = salt(key.number, &code);
        }
        Ok(())
    }

    fn encoded(&self) -> Result<Vec<u8>, Error> {
        let long = |_| {
            access(
                "reader",
                "",
                "the list of readers and groups would be too long",
            )
        };
        let mut code = bincode::serde::encode_to_vec(self, config()).map_err(long)?;
        let writers = bincode::serde::encode_to_vec(&self.writers, config());
        code.extend(writers.map_err(long)?);
        Ok(code)
    }

    /// True if every key but the shared one has a salt.
    fn is_salted(&self) -> bool {
        let mut keys = self.labels.values().flatten();
        keys.all(|key| (key.number == SHARED) == (key.salt == NO_SALT))
    }

    /// The number of the key under which records of a label are written now, if the label exists.
    #[must_use]
    pub fn newest(&self, label: &str) -> Option<u32> {
        let keys = self.labels.get(label)?;
        keys.last().map(|key| key.number)
    }

    /// The key under which records of a label are written.
    #[must_use]
    pub fn newest_key(&self, root: &ContentRoot, label: &str) -> Option<ContentKey> {
        let key = self.labels.get(label)?.last()?;
        Some(root.key(&key.salt))
    }

    /// For all labels, the numbers of the keys under which records are written.
    #[must_use]
    pub fn newest_keys(&self) -> BTreeSet<u32> {
        let keys = self.labels.values().filter_map(|keys| keys.last());
        keys.map(|key| key.number).collect()
    }

    /// The label whose key has this number.
    #[must_use]
    pub fn label(&self, number: u32) -> Option<&str> {
        let mut labels = self.labels.iter();
        let found = labels.find(|(_, keys)| keys.iter().any(|key| key.number == number));
        found.map(|(label, _)| &label[..])
    }

    /// All keys, by number.
    #[must_use]
    pub fn keys(&self) -> Vec<KeyUse> {
        let uses = self.labels.values().flat_map(|keys| {
            let newest = keys.last().map_or(SHARED, |key| key.number);
            keys.iter().map(move |&LabelKey { number, salt }| KeyUse {
                number,
                newest,
                salt,
            })
        });
        let mut uses: Vec<KeyUse> = uses.collect();
        uses.sort_unstable();
        uses
    }

    /// Removes keys that no record uses, and labels that no reader may read and no record has.
    pub fn prune(&mut self, used: &BTreeSet<u32>) {
        let wanted = self.granted();
        for keys in self.labels.values_mut() {
            let last = keys.last().copied();
            keys.retain(|key| used.contains(&key.number) || Some(*key) == last);
        }
        self.labels.retain(|label, keys| {
            let used = keys.iter().any(|key| used.contains(&key.number));
            label == UNLABELLED || used || wanted.contains(label)
        });
        for keys in self.former.values_mut() {
            keys.retain(|number| used.contains(number));
        }
        self.former.retain(|_, keys| !keys.is_empty());
    }

    /// The labels that a reader or a group was granted.
    fn granted(&self) -> BTreeSet<String> {
        let readers = self.readers.values().flat_map(|reader| &reader.labels);
        let groups = self.groups.values().flatten();
        readers.chain(groups).cloned().collect()
    }

    /// The labels that a reader may read.
    fn may_read(&self, reader: &Reader) -> BTreeSet<String> {
        let groups = reader.groups.iter();
        let groups = groups.filter_map(|group| self.groups.get(group)).flatten();
        let mut labels: BTreeSet<String> = reader.labels.iter().chain(groups).cloned().collect();
        labels.insert(UNLABELLED.to_owned());
        labels
    }

    /// The entries of a ring: the keys for each reader. No entry has the shared key.
    ///
    /// # Panics
    /// Panics if the numbers of public keys and readers differ.
    #[must_use]
    pub fn entries<'a>(
        &self,
        root: &ContentRoot,
        publics: &'a [ReaderPublicKey],
    ) -> Vec<Entry<'a>> {
        assert_eq!(publics.len(), self.readers.len(), "a key for each reader");
        let readers = self.readers.values().zip(publics);
        let entries = readers.map(|(reader, public)| {
            let labels = self.may_read(reader);
            let keys = labels.iter().filter_map(|label| self.labels.get(label));
            let keys = keys.flatten().filter(|key| key.number != SHARED);
            Entry {
                reader: public,
                keys: keys.map(|key| (key.number, root.key(&key.salt))).collect(),
            }
        });
        entries.collect()
    }

    /// The readers' public keys, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Access`] with the first reader whose key [`ReaderPublicKey::from_bytes`] refuses. Such a key may come from a
    /// list that was written before these keys were refused. Revoking that reader clears the error.
    pub fn publics(&self) -> Result<Vec<ReaderPublicKey>, Error> {
        let readers = self.readers.iter();
        let keys = readers.map(|(name, reader)| {
            ReaderPublicKey::from_bytes(&reader.public).map_err(|_| {
                let why =
                    "its public key protects nothing: revoke it, and grant it with another key";
                access("reader", name, why)
            })
        });
        keys.collect()
    }

    /// The encoding, filled up to a class.
    ///
    /// # Errors
    /// [`Error::Access`] if there are too many keys or readers.
    ///
    /// # Panics
    /// Panics if a key has no salt.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let keys: usize = self.labels.values().map(Vec::len).sum();
        if keys > MAX_KEYS {
            let why =
                "the index would have more than 512 content keys: compact it, or have fewer labels";
            return Err(access("label", "", why));
        }
        if self.readers.len() > MAX_READERS {
            return Err(access(
                "reader",
                "",
                "the index would have more than 1024 readers",
            ));
        }
        assert!(self.is_salted(), "a key that was given no salt");
        let mut code = self.encoded()?;
        numbers::fill(&mut code);
        if code.len() > MAX_DIRECTORY {
            return Err(access(
                "reader",
                "",
                "the list of readers and groups would be too long",
            ));
        }
        Ok(code)
    }

    /// The list in an encoding.
    ///
    /// # Errors
    /// [`Error::Malformed`] if `code` is not an encoding of a list.
    pub fn from_bytes(code: &[u8]) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "list of readers",
            why,
        };
        let wrong = |error: bincode::error::DecodeError| malformed(error.to_string());
        let (mut list, read): (Self, usize) =
            bincode::serde::decode_from_slice(code, config()).map_err(wrong)?;
        let writers = &code[read..];
        if !writers.is_empty() {
            let read = bincode::serde::decode_from_slice(writers, config());
            (list.writers, _) = read.map_err(wrong)?;
        }
        let newest = list.labels.values().flatten().map(|key| key.number).max();
        let whole = list.labels.contains_key(UNLABELLED)
            && list.labels.values().all(|keys| !keys.is_empty())
            && list.is_salted()
            && list.writers_fit()
            && newest.is_some_and(|newest| newest < list.next);
        whole
            .then_some(list)
            .ok_or_else(|| malformed("labels without keys".to_owned()))
    }
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<MAX_DIRECTORY>()
}

fn access(what: &'static str, name: &str, why: &'static str) -> Error {
    AccessFault::new(what, name, why).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReaderSecret, WriterPublicKey, WriterSecret};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn salt(number: u32, code: &[u8]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&number.to_le_bytes()).update(code);
        hasher.finalize().as_bytes()[..16].try_into().unwrap()
    }

    fn directory() -> Directory {
        let mut directory = Directory::unsalted();
        let (finance, board) = (names(&["finance"]), names(&["board"]));
        let public = |byte| ReaderSecret::from_bytes([byte; 32]).public();
        let (alice, bob) = (public(1), public(2));
        let changes = [
            Change::group("board", &finance),
            Change::grant("alice", Some(&alice), &[], &board),
            Change::grant("bob", Some(&bob), &finance, &[]),
        ];
        for change in changes {
            directory.change(change, salt).unwrap();
        }
        directory
    }

    /// The numbers of the keys that each reader receives.
    fn given(directory: &Directory) -> Vec<Vec<u32>> {
        let root = crate::OwnerKeys::from_master([1; 32]).contents();
        let publics = directory.publics().unwrap();
        let entries = directory.entries(&root, &publics);
        let numbers = entries.iter().map(|entry| {
            let mut numbers: Vec<u32> = entry.keys.iter().map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            numbers
        });
        numbers.collect()
    }

    #[test]
    fn a_label_has_a_new_key_exactly_when_somebody_loses_it() {
        let mut directory = directory();
        // Records without a label are under key 1, and finance is under key 2. No reader receives key 0.
        assert_eq!(given(&directory), [[1, 2], [1, 2]]);
        assert_eq!(directory.newest("finance"), Some(2));
        let before = directory.clone();
        let health = names(&["health", "finance"]);
        directory
            .change(Change::group("board", &health), salt)
            .unwrap();
        assert_eq!(directory.newest("finance"), Some(2));
        assert_eq!(given(&directory), [vec![1, 2, 3], vec![1, 2]]);
        // Alice loses both labels, and bob loses nothing.
        directory.change(Change::ungroup("board"), salt).unwrap();
        assert_eq!(directory.newest("finance"), Some(4));
        assert_eq!(directory.newest("health"), Some(5));
        assert_eq!(given(&directory), [vec![1], vec![1, 2, 4]]);
        let records = BTreeMap::from([(2, 10), (3, 5), (4, 1)]);
        let reading = directory.reading(&records, &records);
        assert_eq!(reading[0].until_compacted, 15);
        assert_eq!((reading[1].records, reading[1].until_compacted), (11, 0));
        // A reader keeps a label if one of its groups still has it.
        let mut directory = before;
        let (finance, board) = (names(&["finance"]), names(&["board"]));
        let grant = Change::grant("alice", None, &finance, &[]);
        directory.change(grant, salt).unwrap();
        let left = Change::withdraw("alice", &[], &board);
        directory.change(left, salt).unwrap();
        assert_eq!(directory.newest("finance"), Some(2));
        directory.change(Change::revoke("alice"), salt).unwrap();
        assert_eq!(directory.newest("finance"), Some(4));
        assert_eq!(directory.newest(UNLABELLED), Some(3));
    }

    /// Two branches of a restored backup may have generators that repeat themselves, so `salt` uses no randomness here.
    /// Different changes still make different keys.
    #[test]
    fn changes_that_differ_make_keys_that_differ() {
        let finance = names(&["finance"]);
        let changes = [
            Change::withdraw("bob", &finance, &[]),
            Change::revoke("bob"),
            Change::group("board", &[]),
        ];
        let salts = changes.map(|change| {
            let mut directory = directory();
            directory.change(change, salt).unwrap();
            let keys = directory.labels["finance"].last().copied();
            let LabelKey { number, salt } = keys.unwrap();
            assert!(number > 2);
            salt
        });
        assert!(salts[0] != salts[1] && salts[1] != salts[2] && salts[0] != salts[2]);
        let first = |name: &str| {
            let mut directory = Directory::unsalted();
            let public = ReaderSecret::from_bytes([1; 32]).public();
            let grant = Change::grant(name, Some(&public), &finance, &[]);
            directory.change(grant, salt).unwrap();
            directory.keys()
        };
        let (alice, bob) = (first("alice"), first("bob"));
        let differ = alice.iter().zip(&bob).map(|(a, b)| a.salt != b.salt);
        assert_eq!(differ.collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn what_nothing_is_under_is_forgotten() {
        let mut directory = directory();
        directory.change(Change::revoke("bob"), salt).unwrap();
        assert_eq!(directory.keys().len(), 5);
        directory.prune(&BTreeSet::from([1, 3, 4]));
        assert_eq!(given(&directory), [[1, 3, 4]]);
        // A new pair under the same name is a different reader, and the list still has the former one.
        let public = ReaderSecret::from_bytes([9; 32]).public();
        let again = Change::grant("bob", Some(&public), &[], &[]);
        let records = BTreeMap::from([(1, 7)]);
        let mut renewed = directory.clone();
        renewed.change(again, salt).unwrap();
        let reading = renewed.reading(&records, &records);
        assert_eq!(reading.len(), 3);
        assert_eq!((&reading[2].key, reading[2].until_compacted), (&None, 7));
        assert_eq!(directory.reading(&records, &records).len(), 2);
        directory.prune(&BTreeSet::from([3]));
        let left: Vec<(u32, u32)> = directory
            .keys()
            .iter()
            .map(|it| (it.number, it.newest))
            .collect();
        assert_eq!(left, [(3, 3), (4, 4)]);
        assert_eq!(directory.reading(&records, &records).len(), 1);
        directory.change(Change::ungroup("board"), salt).unwrap();
        directory.prune(&BTreeSet::from([3]));
        assert_eq!(directory.newest("finance"), None);
    }

    #[test]
    fn a_list_reads_back_and_nothing_else_does() {
        let directory = directory();
        let code = directory.to_bytes().unwrap();
        assert!(code.len().is_power_of_two());
        assert_eq!(Directory::from_bytes(&code).unwrap(), directory);
        for len in 0..200 {
            assert!(Directory::from_bytes(&code[..len]).is_err());
        }
        assert!(Directory::from_bytes(&[0xff; 300]).is_err());
        assert!(Directory::from_bytes(&[0; 300]).is_err());
        let mut many = directory;
        for at in 0..MAX_KEYS {
            many.label_for(&format!("label {at}"), salt).unwrap();
        }
        assert!(matches!(many.to_bytes(), Err(Error::Access(_))));
    }

    fn writer(byte: u8) -> WriterPublicKey {
        WriterSecret::from_bytes([byte; 32]).public()
    }

    #[test]
    fn a_writer_writes_under_what_it_was_granted_and_may_read() {
        let mut directory = directory();
        let (finance, health) = (names(&["finance"]), names(&["health"]));
        let root = crate::OwnerKeys::from_master([1; 32]).contents();
        let keys = |directory: &Directory, now| -> Vec<Vec<u32>> {
            let writers = directory.writers(&root, now);
            let keys = writers.iter().map(|it| it.labels.iter().map(|it| it.key));
            keys.map(Iterator::collect).collect()
        };
        let public = writer(30);
        let grant = Change::grant_writer("agent", Some(&public), &finance, 100);
        directory.change(grant, salt).unwrap();
        assert_eq!(keys(&directory, 99), [[2]]);
        assert_eq!(keys(&directory, 100), [[0; 0]; 0]);
        assert_eq!(given(&directory)[0], [1, 2]);
        assert_eq!(
            directory.writer_name(&public.signing.to_bytes()),
            Some("agent")
        );
        // The tag depends on the name under the key: another name has another tag.
        let named = &directory.writers(&root, 0)[0].labels[0];
        let key = directory.newest_key(&root, "finance").unwrap();
        assert_eq!(named.tag, key.label_tag("finance"));
        assert_ne!(named.tag, key.label_tag("financf"));
        // The owner grants the writer no label, and then another label. The time of the last grant counts for all of
        // its labels.
        for labels in [&[][..], &health] {
            let more = Change::grant_writer("agent", None, labels, 200);
            directory.change(more, salt).unwrap();
        }
        assert_eq!(keys(&directory, 199), [[1, 2, 3]]);
        let read = Directory::from_bytes(&directory.to_bytes().unwrap()).unwrap();
        assert_eq!(read, directory);
        // A writer that loses a label no longer writes under it. Other writers continue under its new
        // key.
        let left = Change::withdraw("agent", &finance, &[]);
        directory.change(left, salt).unwrap();
        assert_eq!(keys(&directory, 0), [[1, 3]]);
        directory.change(Change::revoke("bob"), salt).unwrap();
        let unlabelled = directory.newest(UNLABELLED).unwrap();
        assert_eq!(keys(&directory, 0), [[3, unlabelled]]);
        let mut reads = directory.clone();
        reads.change(Change::stop_writing("agent"), salt).unwrap();
        assert!(!reads.has_writers());
        assert_eq!(given(&reads), given(&directory));
        directory.change(Change::revoke("agent"), salt).unwrap();
        assert!(!directory.has_writers());
    }

    #[test]
    fn a_writer_that_cannot_be_is_refused() {
        let mut directory = directory();
        let (one, other) = (writer(30), writer(31));
        let grant = |public| Change::grant_writer("agent", public, &[], 100);
        assert!(directory.change(grant(None), salt).is_err());
        assert!(
            directory
                .change(Change::stop_writing("agent"), salt)
                .is_err()
        );
        directory.change(grant(Some(&one)), salt).unwrap();
        assert!(directory.change(grant(Some(&other)), salt).is_err());
        // A second writer is refused if it has the same signing key and another reader's key.
        let mixed = WriterPublicKey {
            signing: one.signing.clone(),
            ..other
        };
        let twice = Change::grant_writer("second", Some(&mixed), &[], 100);
        assert!(directory.change(twice, salt).is_err());
        // A list is refused if its writer is not one of its readers.
        let mut wrong = directory.clone();
        wrong.readers.remove("agent");
        assert!(Directory::from_bytes(&wrong.to_bytes().unwrap()).is_err());
        for at in 1..32 {
            let (name, public) = (format!("agent {at}"), writer(40 + at));
            let more = Change::grant_writer(&name, Some(&public), &[], 100);
            directory.change(more, salt).unwrap();
        }
        let public = writer(90);
        let full = Change::grant_writer("one more", Some(&public), &[], 100);
        assert!(directory.change(full, salt).is_err());
    }

    /// Lists from before writers existed end in zeros, or with the last byte of the other fields. They can still be
    /// read.
    #[test]
    fn a_list_of_before_there_were_writers_is_read() {
        let directory = directory();
        let code = bincode::serde::encode_to_vec(&directory, config()).unwrap();
        assert_eq!(Directory::from_bytes(&code).unwrap(), directory);
        let filled = [&code[..], &[0; 100]].concat();
        assert_eq!(Directory::from_bytes(&filled).unwrap(), directory);
    }

    /// An empty name is refused as a label, because a user could then withdraw it by accident. Records without a label
    /// have no label.
    #[test]
    fn what_is_no_name_is_no_label() {
        let mut directory = directory();
        let before = directory.clone();
        for name in ["", " finance", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            let labels = names(&[name]);
            assert!(check_label(name).is_err() && directory.label_for(name, salt).is_err());
            assert!(
                directory
                    .change(Change::group("board", &labels), salt)
                    .is_err()
            );
            let grant = Change::grant("bob", None, &labels, &[]);
            assert!(directory.change(grant, salt).is_err());
        }
        assert_eq!(directory, before);
        assert!(check_label(&"x".repeat(MAX_NAME)).is_ok());
    }

    /// Lists from before such keys were refused can still be read. An error names the reader with such a key.
    #[test]
    fn a_key_of_low_order_on_a_list_is_named_and_revoked() {
        let mut directory = directory();
        let bob = directory.readers.get_mut("bob").unwrap();
        bob.public[1184..].fill(0);
        let mut directory = Directory::from_bytes(&directory.to_bytes().unwrap()).unwrap();
        let refused = directory.publics().unwrap_err().to_string();
        assert!(
            refused.starts_with("reader bob: its public key protects nothing"),
            "{refused}"
        );
        directory.change(Change::revoke("bob"), salt).unwrap();
        assert_eq!(directory.publics().unwrap().len(), 1);
    }
}
