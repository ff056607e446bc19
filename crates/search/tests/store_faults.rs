//! Stores that are interrupted, run out of disk, or are damaged: the old version, the new version, or a
//! clear error; and no segment id that ever stands for two contents.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_search::keys::OwnerPublicKey;
use sordino_search::manifest::{Digest, Manifest, Mode, Packing};
use sordino_search::store::{Disk, Files};
use sordino_search::{Batch, Error, Form, Index, OwnerKeys, Spec, Store, synthetic};

const DIM: usize = 6;
const N: usize = 30;

fn keys() -> OwnerKeys {
    OwnerKeys::from_master([8; 32])
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn forms() -> [Form; 4] {
    [
        Form::Masked(Packing::T4),
        Form::Open(Packing::T4),
        Form::Local,
        Form::Sealed {
            recall: 0.5,
            queries: 1,
            routing: None,
        },
    ]
}

/// One file operation, with paths inside the store's directory.
#[derive(Clone, Debug)]
enum Op {
    CreateDir,
    Write(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    SyncDir(PathBuf),
    Remove(PathBuf),
}

/// How the disk fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Not at all.
    None,
    /// Operation number `.0` and all after it: half of a write is done.
    Dies(usize),
    /// Operation number `.0` alone, if it needs room.
    Full(usize),
}

/// A disk that records what is done to it, and fails where it is told to.
#[derive(Clone)]
struct Faulty {
    root: PathBuf,
    fault: Rc<RefCell<Fault>>,
    done: Rc<RefCell<Vec<Op>>>,
}

impl Faulty {
    fn new(root: &Path, fault: Fault) -> Self {
        Self {
            root: root.to_owned(),
            fault: Rc::new(RefCell::new(fault)),
            done: Rc::default(),
        }
    }

    fn inside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_owned()
    }

    fn run(&self, op: Op, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let at = self.done.borrow().len();
        let needs_room = !matches!(op, Op::Remove(_));
        if let Op::Write(path, bytes) = &op
            && matches!(*self.fault.borrow(), Fault::Dies(n) | Fault::Full(n) if n == at)
        {
            std::fs::write(self.root.join(path), &bytes[..bytes.len() / 2])?;
        }
        self.done.borrow_mut().push(op);
        match *self.fault.borrow() {
            Fault::Dies(n) if at >= n => Err(io::Error::other("dead")),
            Fault::Full(n) if at == n && needs_room => Err(io::ErrorKind::StorageFull.into()),
            _ => act(),
        }
    }
}

impl Disk for Faulty {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Op::CreateDir, || Files.create_dir(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let op = Op::Write(self.inside(path), bytes.to_vec());
        self.run(op, || Files.write(path, bytes))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.run(Op::Sync(self.inside(path)), || Files.sync(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let op = Op::Rename(self.inside(from), self.inside(to));
        self.run(op, || Files.rename(from, to))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Op::SyncDir(self.inside(path)), || Files.sync_dir(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run(Op::Remove(self.inside(path)), || Files.remove(path))
    }
}

/// What survives a loss of power.
#[derive(Clone, Copy, Debug)]
enum Survives {
    /// Everything that was done.
    All,
    /// Names, but only the content that was synced: files that were not are empty.
    Names,
    /// Names and content that were synced.
    Synced,
}

/// A directory's files as a file system holds them: a name stands for a file, and name and content
/// each become durable on their own.
#[derive(Clone, Default)]
struct Model {
    /// Contents in memory and on the medium.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    names: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
}

impl Model {
    /// A directory as it is on the real disk, all of it durable.
    fn read(root: &Path) -> Self {
        let mut model = Self::default();
        for (path, bytes) in files(root) {
            model.names.insert(path, model.files.len());
            model.files.push((bytes.clone(), bytes));
        }
        model.durable = model.names.clone();
        model
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::CreateDir => {}
            Op::Write(path, bytes) => match self.names.get(path) {
                Some(&file) => self.files[file].0.clone_from(bytes),
                None => {
                    self.names.insert(path.clone(), self.files.len());
                    self.files.push((bytes.clone(), Vec::new()));
                }
            },
            Op::Sync(path) => {
                let file = &mut self.files[self.names[path]];
                file.1.clone_from(&file.0);
            }
            Op::Rename(from, to) => {
                let file = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), file);
            }
            Op::SyncDir(dir) => {
                let within = |path: &PathBuf| path.parent() == Some(dir);
                self.durable.retain(|path, _| !within(path));
                let names = self.names.iter().filter(|(path, _)| within(path));
                self.durable.extend(names.map(|(p, &f)| (p.clone(), f)));
            }
            Op::Remove(path) => {
                self.names.remove(path);
            }
        }
    }

    fn restore(&self, root: &Path, survives: Survives) {
        for dir in ["", "manifests", "parts"] {
            std::fs::create_dir_all(root.join(dir)).unwrap();
        }
        let names = match survives {
            Survives::Synced => &self.durable,
            _ => &self.names,
        };
        for (path, &file) in names {
            let (volatile, durable) = &self.files[file];
            let bytes = match survives {
                Survives::All => volatile,
                _ => durable,
            };
            std::fs::write(root.join(path), bytes).unwrap();
        }
    }
}

/// All files below a directory.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

fn write_all(root: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn spec(form: Form) -> Spec {
    Spec {
        k: 3,
        form,
        ..Spec::default()
    }
}

fn batch(seed: u64) -> Result<Batch, Error> {
    let payloads = (0..N).map(|id| vec![seed.to_le_bytes()[0]; id % 7]);
    Batch::from(synthetic::uniform(N, DIM, seed)).with_payloads(payloads.collect())
}

fn create<D: Disk>(disk: D, dir: &Path, form: Form, seed: u64) -> Result<Store<D>, Error> {
    let rng = &mut rng(1);
    let batches = [batch(seed)];
    Store::create_on(disk, dir, rng, &keys(), &spec(form), batches, &mut |_| ())
}

/// A store with two segments and deletions.
fn base(dir: &Path, form: Form) {
    let mut store = create(Files, dir, form, 1).unwrap();
    let more = synthetic::uniform(4, DIM, 2);
    store.upsert(&mut rng(2), &[2, 3, 100, 101], &more).unwrap();
    store.delete(&mut rng(3), &[5, 100]).unwrap();
    drop(store);
    // Without the files that are kept for servers that are still opening the version before.
    Store::open(dir, &keys()).unwrap();
}

/// The changes that are interrupted.
#[derive(Clone, Copy, Debug)]
enum Change {
    Upsert,
    Delete,
    Compact,
}

impl Change {
    const ALL: [Self; 3] = [Self::Upsert, Self::Delete, Self::Compact];

    /// Makes the change, with content that depends on `seed` and randomness that does not.
    fn make<D: Disk>(self, store: &mut Store<D>, seed: u64) -> Result<u64, Error> {
        let rng = &mut rng(7);
        match self {
            Self::Upsert => {
                let vectors = synthetic::uniform(3, DIM, seed);
                let payloads = [seed.to_le_bytes().to_vec(), Vec::new(), vec![9; 40]];
                store.upsert_with(rng, &[1, 2, 200], &vectors, &payloads)
            }
            Self::Delete => store.delete(rng, &[7, u32::try_from(seed).unwrap()]),
            Self::Compact => store.compact(rng, &mut |_| ()),
        }
    }
}

/// Every id that segments and lists of deletions ever had, with the digest of what it stood for.
#[derive(Default)]
struct Contents(HashMap<([u8; 16], &'static str), Digest>);

impl Contents {
    fn check(&mut self, manifest: &Manifest) {
        let mut note = |id, part, digest: &Digest| {
            let known = *self.0.entry((id, part)).or_insert(*digest);
            assert_eq!(known, *digest, "one id, two contents: {part}");
        };
        for segment in manifest.segments() {
            note(segment.id, "rows", &segment.rows);
            note(segment.id, "ids", &segment.ids.digest);
        }
        if let Mode::Sealed(mode) = &manifest.mode {
            note(mode.base.id, "buckets", &mode.buckets);
            note(mode.base.id, "centroids", &mode.centroids);
        }
        note(manifest.deleted.id, "deleted", &manifest.deleted.ids.digest);
        let payloads = manifest.payloads.as_ref().unwrap();
        note(payloads.id, "payloads", &payloads.records);
        note(payloads.id, "payload ids", &payloads.ids.digest);
    }

    /// All manifests in a directory, also those of versions that never became the newest.
    fn check_all(&mut self, dir: &Path, owner: &OwnerPublicKey) {
        for (path, bytes) in files(dir) {
            if path.starts_with("manifests") && !bytes.is_empty() {
                let signed = sordino_search::manifest::SignedManifest::from_bytes(&bytes, owner);
                if let Ok(signed) = signed {
                    self.check(&signed);
                }
            }
        }
    }
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_or_the_new_version() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let model = Model::read(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        let mut contents = Contents::default();
        for change in Change::ALL {
            // The whole change, recorded.
            let whole = tempfile::tempdir().unwrap();
            write_all(whole.path(), &before);
            let disk = Faulty::new(whole.path(), Fault::None);
            let mut store = Store::open_on(disk.clone(), whole.path(), &keys()).unwrap();
            disk.done.borrow_mut().clear();
            change.make(&mut store, 10).unwrap();
            let ops = disk.done.borrow().clone();
            drop(store);
            let new = Index::open_dir(whole.path(), &owner).unwrap();
            assert_ne!(new, old);
            contents.check_all(whole.path(), &owner);
            let switched = ops
                .iter()
                .rposition(|op| matches!(op, Op::SyncDir(_)))
                .unwrap();

            let mut crashed = model.clone();
            for at in 0..=ops.len() {
                for survives in [Survives::All, Survives::Names, Survives::Synced] {
                    let dir = tempfile::tempdir().unwrap();
                    crashed.restore(dir.path(), survives);
                    let found = Index::open_dir(dir.path(), &owner).unwrap_or_else(|error| {
                        panic!("{form:?} {change:?} {at} {survives:?}: {error}")
                    });
                    assert!(found == old || found == new, "{change:?} {at} {survives:?}");
                    // What was acknowledged is there.
                    assert!(
                        at <= switched || found == new,
                        "{change:?} {at} {survives:?}"
                    );

                    // The owner goes on, with other content and the same randomness.
                    if !matches!(survives, Survives::Synced) {
                        continue;
                    }
                    let mut store = Store::open(dir.path(), &keys()).unwrap();
                    store.verify().unwrap();
                    let version = store.version();
                    let next = Change::Upsert.make(&mut store, 11).unwrap();
                    assert!(next > version);
                    contents.check_all(dir.path(), &owner);
                    // Nothing is left over: the parts of this version and of the one before it.
                    let mut kept = store.manifest().parts().unwrap();
                    kept.extend(found.manifest().parts().unwrap());
                    kept.retain(|part| part.holder.is_stored());
                    let names: std::collections::HashSet<Digest> =
                        kept.iter().map(|part| part.digest).collect();
                    let files = files(dir.path());
                    let parts = files.keys().filter(|path| path.starts_with("parts"));
                    assert_eq!(parts.count(), names.len(), "{change:?} {at} {survives:?}");
                }
                if let Some(op) = ops.get(at) {
                    crashed.apply(op);
                }
            }
        }
    }
}

#[test]
fn a_process_that_dies_while_it_writes_leaves_the_old_or_the_new_version() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        for change in Change::ALL {
            for at in 0.. {
                let dir = tempfile::tempdir().unwrap();
                write_all(dir.path(), &before);
                let disk = Faulty::new(dir.path(), Fault::None);
                let mut store = Store::open_on(disk.clone(), dir.path(), &keys()).unwrap();
                disk.done.borrow_mut().clear();
                *disk.fault.borrow_mut() = Fault::Dies(at);
                let made = change.make(&mut store, 10);
                let operations = disk.done.borrow().len();
                if made.is_err() {
                    // Nothing more can be done with this handle if it cannot know what it did.
                    let again = Change::Delete.make(&mut store, 12);
                    assert!(again.is_err());
                }
                drop(store);
                let found = Index::open_dir(dir.path(), &owner).unwrap();
                let store = Store::open(dir.path(), &keys()).unwrap();
                store.verify().unwrap();
                if made.is_ok() {
                    assert_eq!(found.manifest().version, old.manifest().version + 1);
                } else {
                    assert!(found == old || found.manifest().version > old.manifest().version);
                }
                if operations <= at {
                    break;
                }
            }
        }
    }
}

#[test]
fn creation_that_is_interrupted_leaves_no_index_or_a_whole_one() {
    let owner = keys().public();
    for form in forms() {
        let mut contents = Contents::default();
        for at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let disk = Faulty::new(dir.path(), Fault::Dies(at));
            let made = create(disk.clone(), dir.path(), form, 1).map(drop);
            let found = Index::open_dir(dir.path(), &owner);
            assert!(made.is_err() || found.is_ok(), "{at}: {found:?}");
            contents.check_all(dir.path(), &owner);
            match found {
                Ok(_) => {
                    Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
                }
                // Again, with other vectors and the same randomness.
                Err(_) => {
                    let store = create(Files, dir.path(), form, 2).unwrap();
                    store.verify().unwrap();
                    contents.check_all(dir.path(), &owner);
                }
            }
            if disk.done.borrow().len() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_next_attempt_works() {
    let owner = keys().public();
    for form in [Form::Masked(Packing::T4), Form::Local] {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        for change in Change::ALL {
            let mut failures = 0;
            for at in 0.. {
                let dir = tempfile::tempdir().unwrap();
                write_all(dir.path(), &before);
                let disk = Faulty::new(dir.path(), Fault::None);
                let mut store = Store::open_on(disk.clone(), dir.path(), &keys()).unwrap();
                disk.done.borrow_mut().clear();
                *disk.fault.borrow_mut() = Fault::Full(at);
                let made = change.make(&mut store, 10);
                if let Err(error) = &made {
                    failures += 1;
                    assert!(matches!(error, Error::File { .. }), "{error}");
                    let found = Index::open_dir(dir.path(), &owner).unwrap();
                    match change.make(&mut store, 10) {
                        Ok(_) => assert_eq!(found, old),
                        Err(Error::Unsure { .. }) => {
                            drop(store);
                            store = Store::open_on(disk.clone(), dir.path(), &keys()).unwrap();
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                store.verify().unwrap();
                drop(store);
                Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
                if disk.done.borrow().len() <= at || (made.is_ok() && failures > 0) {
                    break;
                }
            }
            assert!(failures > 9, "{change:?}: {failures}");
        }
    }
}

/// Opens a directory in every way there is.
fn read(dir: &Path, owner: &OwnerPublicKey) -> (Result<Index, Error>, Result<(), Error>) {
    let index = Index::open_dir(dir, owner);
    let store = Store::open(dir, &keys()).and_then(|store| store.verify().map(drop));
    (index, store)
}

#[test]
fn every_flipped_byte_is_an_error_or_changes_nothing() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let whole = Index::open_dir(start.path(), &owner).unwrap();
        let before = files(start.path());
        for (path, bytes) in &before {
            if path.ends_with("LOCK") {
                continue;
            }
            // In long files only some bytes, by a stride that has no factor in common with fields;
            // of the masked form all.
            let every = matches!(form, Form::Masked(_)) || bytes.len() < 300;
            let stride = if every { 1 } else { bytes.len() / 150 * 2 + 1 };
            for at in (0..bytes.len()).step_by(stride) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                std::fs::write(start.path().join(path), &flipped).unwrap();
                let index = Index::open_dir(start.path(), &owner);
                if let Ok(index) = index {
                    assert_eq!(index, whole, "{} byte {at}", path.display());
                    // A server does not read the owner's parts, nor old manifests.
                }
                if at % 128 == 0 {
                    // What opening removes as left over must not be removed for a wrong reason.
                    let store = Store::open(start.path(), &keys());
                    let store = store.and_then(|store| store.verify().map(drop));
                    assert!(store.is_err(), "{} byte {at}", path.display());
                    write_all(start.path(), &before);
                }
            }
            std::fs::write(start.path().join(path), bytes).unwrap();
        }
        let (index, store) = read(start.path(), &owner);
        assert_eq!(index.unwrap(), whole);
        store.unwrap();
    }
}

#[test]
fn every_truncated_or_missing_file_is_an_error_or_changes_nothing() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let whole = Index::open_dir(start.path(), &owner).unwrap();
        let before = files(start.path());
        for (path, bytes) in &before {
            if path.ends_with("LOCK") {
                continue;
            }
            let stride = bytes.len() / 12 + 1;
            let lengths = (0..bytes.len()).step_by(stride).chain([bytes.len() - 1]);
            let mut cases: Vec<Option<Vec<u8>>> =
                lengths.map(|len| Some(bytes[..len].to_vec())).collect();
            cases.push(Some([&bytes[..], &[0]].concat()));
            cases.push(None);
            for case in cases {
                let target = start.path().join(path);
                match &case {
                    Some(bytes) => std::fs::write(&target, bytes).unwrap(),
                    None => std::fs::remove_file(&target).unwrap(),
                }
                let (index, store) = read(start.path(), &owner);
                if let Ok(index) = index {
                    assert_eq!(index, whole, "{}", path.display());
                }
                let len = case.map(|bytes| bytes.len());
                assert!(store.is_err(), "{} of {len:?} bytes", path.display());
                write_all(start.path(), &before);
            }
        }
    }
}
