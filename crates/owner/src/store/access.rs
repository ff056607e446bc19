//! Readers with their own keys: what each may read, and the ring that holds the keys of each.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::CryptoRng;
use sordino_index::digest::Coded;
use sordino_index::folder::Folder;
use sordino_index::manifest::{Addition, KeyUse, Manifest, Mode, PartKind, Readers, SHARED};
use sordino_index::{Disk, Error, Id};
use sordino_vault::content_key::{ContentKey, ContentRoot};
use sordino_vault::contents::ContentKeys;
use sordino_vault::directory::{Change, Directory, Label, Reading, UNLABELLED};
use sordino_vault::purpose::Purpose;
use sordino_vault::{OwnerKeys, ReaderKeys, ring};

use super::Store;
use super::draft::Draft;
use super::payloads::{Carried, Rewrite};
use crate::binding::Content;
use crate::build_context::Build;
use crate::segment::SegmentWriter;

/// What each reader can read of an index with readers of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessReport {
    /// Readers, and former readers who can still read something.
    pub readers: Vec<Reading>,
    /// Groups, with the labels that each may read.
    pub groups: Vec<(String, Vec<String>)>,
    /// Labels. Records without one belong to the label without a name.
    pub labels: Vec<Label>,
    /// The number of records under the key that readers without keys of their own share. No reader on the list has this
    /// key. They are the records from before the index had readers of its own, until it is compacted.
    pub shared: u64,
}

impl<D: Disk> Store<D> {
    /// Changes readers, groups or labels, and returns the new version. The first change gives the index readers of its own. From
    /// then on, holders of the shared key can read no new records, and cannot open the new version.
    ///
    /// New content is written under new keys that the reader who lost a right does not get. That reader can still read older
    /// content until [`compact`](Self::compact) rewrites it. Readers keep what they have copied.
    ///
    /// # Errors
    /// [`Error::Access`] with the reason. [`Error::Mode`] if scores are checked exactly, and for labels in a mode other than
    /// masked and local. [`Error::File`] as for [`add`](Self::add). Nothing is changed then.
    pub fn change_access<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        change: Change<'_>,
    ) -> Result<u64, Error> {
        self.check_base()?;
        let made = self.changed_access(rng, change);
        self.settle(made)
    }

    pub(super) fn changed_access<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        change: Change<'_>,
    ) -> Result<u64, Error> {
        if self.manifest.combined().is_some() {
            let found = self.manifest.mode.kind().name();
            let expected = "one without exact checks for readers of its own";
            return Err(Error::Mode { found, expected });
        }
        let keys = self.keys.clone();
        let mut draft = self.draft();
        let before = draft.access.as_ref().map(Directory::newest_keys);
        let access = draft.access.get_or_insert_with(Directory::unsalted);
        access.change(change, self.salt(rng))?;
        let after = access.newest_keys();
        let writes = access.has_writers();
        // One of the keys belongs to records without a label.
        if after.len() > 1 {
            check_mode(&self.manifest.mode)?;
        }
        if writes && !matches!(self.manifest.mode, Mode::Masked(_) | Mode::Local(_)) {
            let found = self.manifest.mode.kind().name();
            let expected = "masked or local for writers";
            return Err(Error::Mode { found, expected });
        }
        let writer = self.writer(&keys);
        let changes = Carried {
            // A reader who lost a key could forge the content that stays under it.
            rewrite: match before.is_none_or(|all| all.iter().any(|key| !after.contains(key))) {
                true => Rewrite::All,
                false => Rewrite::None,
            },
            ..Carried::default()
        };
        self.commit(rng, &writer, draft, changes)
    }

    /// Salts for new keys. They are bound to fresh randomness, to the version before, and to the new rights of readers.
    pub(super) fn salt<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> impl FnMut(u32, &[u8]) -> [u8; 16] + use<R, D> {
        salts(rng, &self.keys, &self.manifest.digest())
    }

    /// The label of a record, or `None` if it has none or does not exist.
    #[must_use]
    pub fn label(&self, id: &Id) -> Option<&str> {
        let (at, _) = self.records.find(id)?;
        label_of(self.access.as_ref(), self.manifest.segments()[at].key)
    }

    /// The additions since the owner's last change, oldest first, each with the name of its writer if the writer is on the list.
    pub fn additions(&self) -> impl Iterator<Item = (Option<&str>, &Addition)> {
        let additions = self.manifest.additions();
        additions.map(|(writer, addition)| {
            let access = self.access.as_ref();
            let name = access.and_then(|access| access.writer_name(&writer.public));
            (name, addition)
        })
    }

    /// What each reader can read, or `None` if all readers share a key.
    #[must_use]
    pub fn access(&self) -> Option<AccessReport> {
        let directory = self.access.as_ref()?;
        let (mut live, mut stored) = (BTreeMap::new(), BTreeMap::new());
        for (at, segment) in self.manifest.segments().into_iter().enumerate() {
            *live.entry(segment.key).or_default() += self.records.rows(at).count() as u64;
            *stored.entry(segment.key).or_default() += u64::from(segment.n);
        }
        let groups = directory.groups().map(|(group, labels)| {
            let labels = labels.into_iter().map(str::to_owned);
            (group.to_owned(), labels.collect())
        });
        Some(AccessReport {
            readers: directory.reading(&live, &stored),
            groups: groups.collect(),
            labels: directory.labels(&live, &stored),
            shared: stored.get(&SHARED).copied().unwrap_or(0),
        })
    }

    /// All content keys of the newest version.
    pub(super) fn contents(&self) -> ContentKeys {
        self.keys.keys_of(&self.manifest)
    }
}

/// Salts for new keys, which no two states of an index share. `state` is the state's digest, or everything that exists of a new
/// index.
pub(super) fn salts<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    state: &[u8],
) -> impl FnMut(u32, &[u8]) -> [u8; 16] + use<R> {
    let mut fresh = [0; 32];
    rng.fill_bytes(&mut fresh);
    let (keys, state) = (keys.clone(), state.to_vec());
    move |number, list| {
        let number = number.to_le_bytes();
        let none = std::iter::empty();
        let bound = [&number[..], &state, list].concat();
        keys.ids().id(&fresh, b"content key", &bound, none)
    }
}

/// The content keys of a version in a folder that these keys open.
pub(super) fn contents_of<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    keys: &ReaderKeys,
) -> Result<ContentKeys, Error> {
    if manifest.readers.is_none() {
        return keys.contents(manifest, None);
    }
    let ring = folder.part(&manifest.part(PartKind::Ring, None)?)?;
    keys.contents(manifest, Some(&ring))
}

/// The owner's list of a version in a folder, if it has readers of its own.
pub(super) fn directory_of<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    root: &ContentRoot,
) -> Result<Option<Directory>, Error> {
    let Some(readers) = &manifest.readers else {
        return Ok(None);
    };
    let malformed = |why: &str| Error::Malformed {
        what: "ring",
        why: why.to_owned(),
    };
    let ring = folder.part(&manifest.part(PartKind::Ring, None)?)?;
    let key = root.directory(&readers.id);
    let seal = key.seal(Purpose::Readers, &readers.id, readers.version);
    let code = seal.open(0, &[], ring::list(&ring)?);
    let directory = Directory::from_bytes(&code.ok_or(malformed("not sealed by this owner"))?)?;
    match directory.keys() == readers.keys {
        true => Ok(Some(directory)),
        false => Err(malformed("of other keys than the manifest's")),
    }
}

impl SegmentWriter<'_> {
    /// A writer of segments under the newest key of this label, which must exist. Without readers of its own, an index has only
    /// the shared key.
    pub(super) fn of_label(&self, access: Option<&Directory>, label: &str) -> Self {
        let Some(access) = access else {
            return self.under(SHARED, self.keys().shared());
        };
        let root = self.keys().contents();
        let key = access.newest(label).zip(access.newest_key(&root, label));
        let (number, key) = key.expect("a label that there is");
        self.under(number, key)
    }
}

impl Draft {
    /// The number of a label's newest key. `number` is the number of a segment's key with the same label.
    pub(super) fn newest(&self, number: u32) -> u32 {
        let Some(access) = &self.access else {
            return SHARED;
        };
        let newest = access.label(number).and_then(|label| access.newest(label));
        newest.expect("the key of a segment is of a label")
    }

    /// The newest key of each label of segments: its number, the key, and the numbers of the label's segments.
    pub(super) fn by_label(
        &self,
        writer: &SegmentWriter<'_>,
    ) -> Vec<(u32, ContentKey, Vec<usize>)> {
        let mut all: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, segment) in self.mode.segments().into_iter().enumerate() {
            all.entry(self.newest(segment.key)).or_default().push(at);
        }
        let root = writer.keys().contents();
        let uses = self
            .access
            .as_ref()
            .map(Directory::keys)
            .unwrap_or_default();
        let key = |number: u32| {
            let salt = uses.iter().find(|it| it.number == number);
            let own = salt.filter(|it| it.number != SHARED);
            own.map_or_else(|| writer.keys().shared(), |it| root.key(&it.salt))
        };
        let all = all.into_iter();
        all.map(|(number, segments)| (number, key(number), segments))
            .collect()
    }

    /// The readers of the version, with the ring of the version before if nothing changed, or a new one.
    pub(super) fn readers<D: Disk, R: CryptoRng + ?Sized>(
        &mut self,
        build: &mut Build<'_, D, R>,
        before: Option<(&Directory, &Readers)>,
    ) -> Result<Option<Readers>, Error> {
        let writer = build.writer;
        let segments = self.mode.segments().into_iter().map(|segment| segment.key);
        let payloads = self.payloads.iter().chain(&self.recent);
        let payloads = payloads.flat_map(|payloads| &payloads.groups);
        let used: BTreeSet<u32> = segments.chain(payloads.map(|group| group.key)).collect();
        let Some(access) = &mut self.access else {
            return Ok(None);
        };
        access.prune(&used);
        if let Some((_, readers)) = before.filter(|(before, _)| *before == access) {
            return Ok(Some(readers.clone()));
        }
        let code = access.to_bytes()?;
        let id = writer.id(build.rng, &Content::Readers, &code, std::iter::empty());
        let root = writer.keys().contents();
        let seal = root
            .directory(&id)
            .seal(Purpose::Readers, &id, writer.version());
        let publics = access.publics()?;
        let entries = access.entries(&root, &publics);
        let list = seal.seal(0, &[], &code);
        let ring = ring::write(build.rng, &id, writer.version(), &list, &entries);
        build.folder.put(&ring)?;
        let keys: Vec<KeyUse> = access.keys();
        Ok(Some(Readers::new(
            id,
            writer.version(),
            Coded::of(&ring),
            keys,
        )))
    }
}

/// Refuses labels in modes that search all records as one content.
pub(super) fn check_mode(mode: &Mode) -> Result<(), Error> {
    match mode {
        Mode::Masked(_) | Mode::Local(_) => Ok(()),
        Mode::Open(_) | Mode::Sealed(_) | Mode::Routed(_) => Err(Error::Mode {
            found: mode.kind().name(),
            expected: "masked or local for labels",
        }),
    }
}

/// The label of a segment's key, if it has one.
pub(super) fn label_of(access: Option<&Directory>, number: u32) -> Option<&str> {
    let label = access.and_then(|access| access.label(number))?;
    (label != UNLABELLED).then_some(label)
}
