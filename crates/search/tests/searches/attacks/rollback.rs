//! The keeper of an index shows its owner another history, or an older version that the owner signed. The owner's next
//! change would give a revoked reader everything that is written from then on, and bring back deleted records.

use std::path::{Path, PathBuf};

use sordino_search::manifest::{Packing, PartKind};
use sordino_search::{
    Batch, Change, Error, Files, Form, Index, OwnerFault, Pins, ReaderKeys, ReaderSecret, Spec,
    Store, synthetic,
};
use sordino_testkit::{keys, rng};
use tempfile::TempDir;

use super::bed::{DIM, K};
use super::forks::copy;

const NONE: [String; 0] = [];

/// A change of an index.
type Work = fn(&mut Store) -> Result<u64, Error>;

/// An owner's folder, which an untrusted party keeps, and the owner's memory of it next to the key.
pub(crate) struct Kept {
    dir: TempDir,
}

fn batch(first: u64) -> Batch {
    let vectors = synthetic::uniform(20, DIM, first);
    Batch::new(first..first + 20, vectors).unwrap()
}

fn bob() -> ReaderSecret {
    ReaderSecret::from_bytes([2; 32])
}

impl Kept {
    /// An index at version 2, which bob may read.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let kept = Self { dir };
        kept.make("index", 1);
        kept.change(|store| grant(store, "bob", &bob())).unwrap();
        kept
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn pins(&self) -> Pins {
        Pins::at(&self.at("owner.key.pins"))
    }

    pub(crate) fn make(&self, name: &str, seed: u64) {
        let spec = Spec::new(Form::Masked(Packing::T4)).k(K).own_readers(true);
        let (dir, rng) = (self.at(name), &mut rng(seed));
        let made = Store::create(&dir, rng, &keys(), &spec, [Ok(batch(0))], &mut |_| ());
        self.pins()
            .remember(&Pins::place(&dir), &made.unwrap())
            .unwrap();
    }

    fn open_at(&self, name: &str) -> Result<Store, Error> {
        let dir = self.at(name);
        self.pins().open(Files, &dir, &Pins::place(&dir), &keys())
    }

    fn open(&self) -> Result<Store, Error> {
        self.open_at("index")
    }

    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut store = self.open()?;
        let place = Pins::place(&self.at("index"));
        self.pins().change(&place, &mut store, change)
    }

    /// Keeps a copy of the folder under a name.
    pub(crate) fn keep(&self, name: &str) {
        copy(&self.at("index"), &self.at(name));
    }

    /// Replaces the folder by a kept copy.
    pub(crate) fn show(&self, name: &str) {
        std::fs::remove_dir_all(self.at("index")).unwrap();
        copy(&self.at(name), &self.at("index"));
    }
}

fn grant(store: &mut Store, name: &str, secret: &ReaderSecret) -> Result<u64, Error> {
    let public = secret.public();
    let change = Change::grant(name, Some(&public), &NONE, &NONE);
    store.change_access(&mut rng(3), change)
}

pub(crate) fn add(store: &mut Store) -> Result<u64, Error> {
    let added = store.add(&mut rng(4), [Ok(batch(1000))], &mut |_| ())?;
    Ok(added.version)
}

/// The ids of the newest segment that bob can read.
fn read_by_bob(dir: &Path) -> Vec<u64> {
    let (manifest, parts) = Index::open_dir(dir, &keys().public()).unwrap().into_parts();
    let part = |kind, segment| {
        let found = parts
            .iter()
            .find(|(part, _)| part.kind == kind && part.segment == segment);
        found.unwrap().1.to_vec()
    };
    let bob = ReaderKeys::from_secret(bob(), keys().public());
    let ring = part(PartKind::Ring, None);
    let Ok(contents) = bob.contents(&manifest, Some(&ring)) else {
        return Vec::new();
    };
    let segments = manifest.segments();
    let last = segments.len() - 1;
    let Some(key) = contents.of(segments[last]) else {
        return Vec::new();
    };
    let ids = part(PartKind::Ids, Some(last));
    let ids = key.open_ids(segments[last], manifest.ids, &ids).unwrap();
    ids.iter().map(|id| id.number().unwrap()).collect()
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for name in ["", "parts", "manifests"] {
        let entries = std::fs::read_dir(dir.join(name)).unwrap();
        names.extend(entries.map(|entry| entry.unwrap().path()));
    }
    names.sort();
    names
}

#[test]
fn a_revocation_that_is_taken_back_is_refused_before_the_next_change() {
    let kept = Kept::new();
    kept.keep("before");
    kept.change(|store| store.change_access(&mut rng(5), Change::revoke("bob")))
        .unwrap();
    kept.keep("after");
    kept.show("before");
    // Opening an older version does not remove parts of a newer version.
    std::fs::write(kept.at("index/parts").join("0".repeat(64)), "newer").unwrap();
    let before = names(&kept.at("index"));
    let changes: [Work; 4] = [
        add,
        |store| store.compact(&mut rng(6), &mut |_| ()),
        |store| grant(store, "eve", &ReaderSecret::from_bytes([7; 32])),
        |store| store.delete(&mut rng(7), &[1u32]),
    ];
    for change in changes {
        let refused = kept.change(change).unwrap_err();
        assert!(
            matches!(&refused, Error::Owner(OwnerFault::Undone(fault))
                if matches!(**fault, Error::Rollback { found: 2, pinned: 3 })),
            "{refused}"
        );
        let text = refused.to_string();
        assert!(
            text.contains("restored") && text.contains("keys list"),
            "{text}"
        );
    }
    assert_eq!(names(&kept.at("index")), before);
    // Versions that another machine makes from the old version do not follow from the newest one
    // either.
    for more in [3_u64, 4] {
        let mut other = Store::open(kept.at("index"), &keys()).unwrap();
        other
            .delete(&mut rng(8), &[u32::try_from(more).unwrap()])
            .unwrap();
        drop(other);
        let refused = kept.open().unwrap_err();
        assert!(
            matches!(&refused, Error::Owner(OwnerFault::Undone(fault)) if matches!(**fault, Error::Fork { version } if version == more)),
            "{refused}"
        );
    }
    // The owner accepts the newest version, and bob cannot read what is added to it.
    kept.show("after");
    assert_eq!(kept.change(add).unwrap(), 4);
    assert!(read_by_bob(&kept.at("index")).is_empty());
}

/// The same attack on an owner without a memory: bob reads records that are written after his
/// revocation.
#[test]
fn without_a_memory_a_revocation_is_undone() {
    let kept = Kept::new();
    kept.keep("before");
    kept.change(|store| store.change_access(&mut rng(5), Change::revoke("bob")))
        .unwrap();
    kept.show("before");
    let mut store = Store::open(kept.at("index"), &keys()).unwrap();
    add(&mut store).unwrap();
    assert_eq!(read_by_bob(&kept.at("index")).len(), 20);
}

#[test]
fn a_deletion_that_is_taken_back_is_refused() {
    let kept = Kept::new();
    kept.keep("before");
    kept.change(|store| store.delete(&mut rng(5), &[7u32]))
        .unwrap();
    kept.show("before");
    let refused = kept.change(add).unwrap_err();
    assert!(
        matches!(refused, Error::Owner(OwnerFault::Undone(_))),
        "{refused}"
    );
    // A pin that the caller gives has the same effect as a file of pins.
    let pin = {
        kept.show("before");
        let mut store = Store::open(kept.at("index"), &keys()).unwrap();
        store.delete(&mut rng(5), &[8u32]).unwrap();
        store.pin()
    };
    assert!(Store::open_on(Files, kept.at("index"), &keys(), Some(&pin)).is_ok());
    kept.show("before");
    let refused = Store::open_on(Files, kept.at("index"), &keys(), Some(&pin)).unwrap_err();
    assert!(
        matches!(refused, Error::Owner(OwnerFault::Undone(_))),
        "{refused}"
    );
}

/// The owner follows versions that others have made, even several at once. If manifests between are withheld, the version is
/// refused.
#[test]
fn an_owner_follows_what_another_machine_has_changed() {
    let kept = Kept::new();
    // Another machine, with the owner's key and its own memory.
    let mut other = Store::open(kept.at("index"), &keys()).unwrap();
    for id in 0..4u32 {
        other.delete(&mut rng(5), &[id]).unwrap();
    }
    drop(other);
    kept.keep("newest");
    let fourth = || kept.at("index/manifests").join(format!("{:020}", 4));
    std::fs::remove_file(fourth()).unwrap();
    let refused = kept.open().unwrap_err();
    assert!(
        matches!(&refused, Error::Owner(OwnerFault::Undone(fault))
            if matches!(**fault, Error::Gap { found: 6, pinned: 2 })),
        "{refused}"
    );
    kept.show("newest");
    assert_eq!(kept.open().unwrap().version(), 6);
    // The owner remembers the version from then on, although nothing was changed.
    std::fs::remove_file(fourth()).unwrap();
    assert_eq!(kept.change(add).unwrap(), 7);
}

#[test]
fn another_index_in_its_place_is_refused_and_a_new_one_is_not() {
    let kept = Kept::new();
    kept.make("other", 9);
    kept.keep("own");
    kept.show("other");
    let refused = kept.change(add).unwrap_err();
    assert!(
        matches!(&refused, Error::Owner(OwnerFault::Undone(fault)) if matches!(**fault, Error::OtherIndex { .. })),
        "{refused}"
    );
    // The memory also covers this index in other folders, where an older version is refused too.
    kept.show("own");
    kept.change(add).unwrap();
    copy(&kept.at("own"), &kept.at("moved"));
    assert!(matches!(
        kept.open_at("moved"),
        Err(Error::Owner(OwnerFault::Undone(_)))
    ));
    copy(&kept.at("index"), &kept.at("moved-too"));
    assert_eq!(kept.open_at("moved-too").unwrap().version(), 3);
    // An owner who makes a new index in an old place does so on purpose.
    std::fs::remove_dir_all(kept.at("index")).unwrap();
    kept.make("index", 10);
    assert_eq!(kept.change(add).unwrap(), 2);
}

#[test]
fn a_backup_that_is_restored_on_purpose_is_taken_once_it_is_said() {
    let kept = Kept::new();
    kept.keep("backup");
    kept.change(|store| store.change_access(&mut rng(5), Change::revoke("bob")))
        .unwrap();
    kept.keep("lost");
    kept.show("backup");
    assert!(kept.open().is_err());
    let (dir, pins) = (kept.at("index"), kept.pins());
    let store = pins.open_restored(Files, &dir, &Pins::place(&dir), &keys());
    assert_eq!(store.unwrap().version(), 2);
    kept.change(add).unwrap();
    // Now the other history may not come back.
    kept.show("lost");
    assert!(matches!(
        kept.open(),
        Err(Error::Owner(OwnerFault::Undone(_)))
    ));
}

/// The process ends after the change is made, but before it is remembered.
#[test]
fn a_crash_before_a_change_is_remembered_costs_nothing() {
    let kept = Kept::new();
    add(&mut kept.open().unwrap()).unwrap();
    assert_eq!(kept.open().unwrap().version(), 3);
    let deleted = kept.change(|store| store.delete(&mut rng(5), &[1u32]));
    assert_eq!(deleted.unwrap(), 4);
}

/// Two processes share the file. The later one does not restore an older memory, and a fork is an error.
#[test]
fn two_processes_remember_in_one_file() {
    let kept = Kept::new();
    let place = Pins::place(&kept.at("index"));
    kept.keep("common");
    let mut early = kept.open().unwrap();
    add(&mut early).unwrap();
    kept.pins().remember(&place, &early).unwrap();
    let text = || std::fs::read_to_string(kept.at("owner.key.pins")).unwrap();
    let third = text();
    early.delete(&mut rng(5), &[1u32]).unwrap();
    drop(early);
    kept.keep("newer");
    kept.open().unwrap();
    let newest = text();
    assert_ne!(third, newest);
    // Another process opened an older version earlier. Remembering that version changes nothing.
    kept.show("common");
    let old = Store::open(kept.at("index"), &keys()).unwrap();
    kept.pins().remember(&place, &old).unwrap();
    assert_eq!(text(), newest);
    // The owner's memory refuses another history of the same length.
    let mut other = old;
    other.delete(&mut rng(5), &[2u32]).unwrap();
    other.delete(&mut rng(5), &[3u32]).unwrap();
    let refused = kept.pins().remember(&place, &other).unwrap_err();
    assert!(
        matches!(&refused, Error::Owner(OwnerFault::Unpinned { version: 4, source }) if matches!(**source, Error::Owner(OwnerFault::Undone(_)))),
        "{refused}"
    );
    assert_eq!(text(), newest);
}

/// An owner that cannot write or read its memory changes nothing.
#[test]
fn nothing_is_changed_that_could_not_be_remembered() {
    let kept = Kept::new();
    let (dir, pins) = (kept.at("index"), kept.at("owner.key.pins"));
    let text = std::fs::read_to_string(&pins).unwrap();
    let place = Pins::place(&dir);
    let refused = |pins: &Pins, why: &str| {
        let refused = pins.open(Files, &dir, &place, &keys()).unwrap_err();
        let said = refused.to_string();
        assert!(
            matches!(refused, Error::Owner(OwnerFault::Pins { .. })),
            "{said}"
        );
        assert!(said.contains(why) && said.contains("--pins"), "{said}");
        assert!(matches!(
            pins.check(),
            Err(Error::Owner(OwnerFault::Pins { .. }))
        ));
    };
    refused(&Pins::at(&kept.at("nowhere/owner.pins")), "nowhere");
    for wrong in [
        "".to_owned(),
        "sordino-owner-pins-2\n".to_owned(),
        text[..text.len() - 2 - place.len()].to_owned(),
        text.replace(" 2 ", " two "),
        format!("{text}\n"),
    ] {
        std::fs::write(&pins, &wrong).unwrap();
        refused(&kept.pins(), "not a file of versions");
    }
    std::fs::write(&pins, &text).unwrap();
    assert_eq!(kept.open().unwrap().version(), 2);
}

/// The memory of a key without a file lasts while the key is in use, and moves to the file when the key gets one.
#[test]
fn a_memory_without_a_file_moves_to_one() {
    let kept = Kept::new();
    let (dir, pins) = (kept.at("index"), Pins::in_memory());
    let place = Pins::place(&dir);
    let open = |pins: &Pins| pins.open(Files, &dir, &place, &keys());
    kept.keep("before");
    let mut store = open(&pins).unwrap();
    pins.change(&place, &mut store, add).unwrap();
    drop(store);
    kept.show("before");
    assert!(matches!(
        open(&pins),
        Err(Error::Owner(OwnerFault::Undone(_)))
    ));
    let refuses = |pins: &Pins| {
        assert!(matches!(
            open(pins),
            Err(Error::Owner(OwnerFault::Undone(_)))
        ));
    };
    let file = |key: &str| Pins::beside(&kept.at(key));
    pins.move_to(&file("other.key")).unwrap();
    refuses(&pins);
    refuses(&Pins::at(&kept.at("other.key.pins")));
    // A file's versions are copied to the next file, in which a newer known version stays.
    pins.move_to(&file("third.key")).unwrap();
    refuses(&file("third.key"));
    let old = Pins::in_memory();
    old.remember(&place, &Store::open(&dir, &keys()).unwrap())
        .unwrap();
    old.move_to(&file("third.key")).unwrap();
    refuses(&file("third.key"));
    refuses(&old);
}
