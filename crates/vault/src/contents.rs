//! The content keys of one version of an index.

use std::collections::BTreeMap;

use crate::content_key::{ContentKey, ContentRoot};
use crate::ids::Ids;
use crate::keys::OwnerKeys;
use crate::numbers::Numbers;
use crate::purpose::Purpose;
use sordino_index::Error;
use sordino_index::manifest::{KeyUse, Manifest, Readers, SHARED, Segment};

mod lists;

pub use lists::joined;
pub(crate) use lists::split;

impl OwnerKeys {
    /// All content keys of a version of an index of this owner.
    #[must_use]
    pub fn keys_of(&self, manifest: &Manifest) -> ContentKeys {
        match &manifest.readers {
            None => ContentKeys::shared(self.shared()),
            Some(readers) => ContentKeys::of_owner(&self.shared(), &self.contents(), readers),
        }
    }
}

/// The content keys of one version by number: all of them, or those that a reader has.
#[derive(Clone, Debug)]
pub struct ContentKeys {
    keys: BTreeMap<u32, ContentKey>,
    /// The number of a key of records without a label, if the keys themselves show it.
    unlabelled: Option<u32>,
}

impl ContentKeys {
    /// The key of an index without readers of its own.
    #[must_use]
    pub fn shared(content: ContentKey) -> Self {
        Self {
            keys: BTreeMap::from([(SHARED, content)]),
            unlabelled: Some(SHARED),
        }
    }

    /// All keys of a version with readers of its own.
    #[must_use]
    pub(crate) fn of_owner(shared: &ContentKey, root: &ContentRoot, readers: &Readers) -> Self {
        let key = |it: &KeyUse| match it.number {
            SHARED => (SHARED, shared.clone()),
            number => (number, root.key(&it.salt)),
        };
        Self {
            keys: readers.keys.iter().map(key).collect(),
            unlabelled: None,
        }
    }

    pub(crate) fn of_reader(keys: BTreeMap<u32, ContentKey>, unlabelled: Option<u32>) -> Self {
        Self { keys, unlabelled }
    }

    /// `Some(true)` for a segment of records that have a label, and `Some(false)` for other segments. `None` if only
    /// the owner's list shows it, or its key is not among these.
    #[must_use]
    pub fn is_labelled(&self, manifest: &Manifest, segment: &Segment) -> Option<bool> {
        let unlabelled = manifest.newest(self.unlabelled?);
        self.of(segment)?;
        Some(manifest.newest(segment.key) != unlabelled)
    }

    /// The key of this number, if these keys include it.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&ContentKey> {
        self.keys.get(&number)
    }

    /// The key of a segment, if these keys include it.
    #[must_use]
    pub fn of(&self, segment: &Segment) -> Option<&ContentKey> {
        self.get(segment.key)
    }

    /// The key of a segment that all readers of the index can read.
    ///
    /// # Errors
    /// [`Error::NoReader`] if these keys do not include it.
    pub fn need(&self, segment: &Segment) -> Result<&ContentKey, Error> {
        self.of(segment).ok_or(Error::NoReader)
    }

    /// The deleted or replaced rows of each segment. The list is empty for a segment whose key is not among these
    /// keys.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or names rows that do not exist.
    pub fn open_deleted(&self, manifest: &Manifest, sealed: &[u8]) -> Result<Vec<Numbers>, Error> {
        let (deleted, segments) = (&manifest.deleted, manifest.segments());
        let mut all = vec![Numbers::default(); segments.len()];
        let lists = manifest.lists();
        for (number, sealed) in
            lists
                .iter()
                .zip(split(sealed, lists.len(), manifest.readers.is_some())?)
        {
            let Some(key) = self.get(*number) else {
                continue;
            };
            let code = key.open_part(Purpose::Deleted, &deleted.id, deleted.version, sealed)?;
            let mut rest = &code[..];
            let own = segments.iter().zip(&mut all);
            // The list does not include segments that were added after it was written.
            let own = own.filter(|(segment, _)| {
                !manifest.is_added(segment) && manifest.newest(segment.key) == *number
            });
            for (segment, rows) in own {
                let read = Numbers::read(&mut rest)?;
                if read.last().is_some_and(|last| last >= segment.n.into()) {
                    return Err(Error::Malformed {
                        what: "deleted",
                        why: "it names rows that are not there".to_owned(),
                    });
                }
                // A segment may use an older key than the list, and a reader may lack that key.
                if self.of(segment).is_some() {
                    *rows = read;
                }
            }
        }
        Ok(all)
    }
}

/// Marks repeated rows of writers as deleted: rows whose id an earlier segment has in a row that is not
/// deleted. So the record that came first stays unchanged. `ids` gives the ids of a segment whose key is known.
pub fn bury_repeated<'a>(
    manifest: &Manifest,
    ids: impl Fn(usize) -> Option<&'a Ids>,
    dead: &mut [Numbers],
) {
    let segments = manifest.segments();
    for (at, _) in segments.iter().enumerate() {
        let Some(own) = ids(at).filter(|_| manifest.is_added(segments[at])) else {
            continue;
        };
        let mut repeated = Vec::new();
        for (before, dead) in dead[..at].iter().enumerate() {
            let Some(others) = ids(before) else {
                continue;
            };
            let counts = |row: &u32| {
                let there = others.row(&own.id(*row));
                there.is_some_and(|there| !dead.contains(there))
            };
            repeated.extend(own.common(others).into_iter().filter(counts).map(u64::from));
        }
        if !repeated.is_empty() {
            dead[at].insert(repeated);
        }
    }
}
