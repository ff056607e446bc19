//! An owner, writers, and their shared folder.

use std::path::Path;

use rand::rngs::StdRng;
use sordino_search::manifest::{Addition, SignedManifest};
use sordino_search::{
    Added, Change, Error, Files, Folder, Pin, Server, Spec, Store, WriterKeys, WriterSecret,
    WriterStore,
};
use sordino_testkit::{create, keys, rng};
use tempfile::TempDir;

use crate::readers::bed::{K, batch, masked, secret, words};

/// The time of all additions, and the time at which rights end. Rights end in the year 2100, because the owner removes
/// writers whose right has ended.
pub(crate) const NOW: u64 = 1_700_000_000;
pub(crate) const UNTIL: u64 = 4_102_444_800;

pub(crate) fn writer(name: &str) -> WriterKeys {
    let secret = WriterSecret::from_bytes([name.as_bytes()[0]; 32]);
    WriterKeys::new(secret, keys().public())
}

/// An index of the records from 0 on, without a label, in a folder.
pub(crate) struct Bed {
    pub(crate) dir: TempDir,
    seed: u64,
}

impl Bed {
    /// A bed with the readers alice, who may read finance, and bob, who may read no label.
    pub(crate) fn new() -> Self {
        Self::of(&Spec::new(masked()).k(K).own_readers(true))
    }

    pub(crate) fn of(spec: &Spec) -> Self {
        let (dir, store) = create(spec, Ok(batch(0)));
        drop(store);
        let mut bed = Self { dir, seed: 50 };
        for (name, labels) in [("alice", &["finance"][..]), ("bob", &[])] {
            let (public, labels) = (secret(name).public(), words(labels));
            bed.change(Change::grant(name, Some(&public), &labels, &[]));
        }
        bed
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn rng(&mut self) -> StdRng {
        self.seed += 1;
        rng(self.seed)
    }

    pub(crate) fn owner(&self) -> Store {
        Store::open(self.path(), &keys()).unwrap()
    }

    pub(crate) fn change(&mut self, change: Change<'_>) -> u64 {
        let rng = &mut self.rng();
        self.owner().change_access(rng, change).unwrap()
    }

    /// Makes a writer with this name, who may add under these labels.
    pub(crate) fn let_write(&mut self, name: &str, labels: &[&str]) {
        let (public, labels) = (writer(name).secret().public(), words(labels));
        self.change(Change::grant_writer(name, Some(&public), &labels, UNTIL));
    }

    pub(crate) fn try_add(
        &mut self,
        name: &str,
        first: u64,
        label: Option<&str>,
    ) -> Result<Added, Error> {
        let rng = &mut self.rng();
        let mut store = WriterStore::open(self.path(), &writer(name))?;
        store.add(rng, NOW, label, [Ok(batch(first))], &mut |_| ())
    }

    /// Lets a writer add the records from `first` on.
    pub(crate) fn add(&mut self, name: &str, first: u64, label: Option<&str>) -> u64 {
        self.try_add(name, first, label).unwrap().version
    }

    /// Lets the owner add the records from `first` on.
    pub(crate) fn owner_adds(&mut self, first: u64, label: Option<&str>) -> u64 {
        let rng = &mut self.rng();
        let mut store = self.owner();
        let added = store.add_labelled(rng, label, [Ok(batch(first))], &mut |_| ());
        added.unwrap().version
    }

    /// The owner takes back what was added after a version.
    pub(crate) fn take_back(&mut self, version: u64) -> Result<(), Error> {
        let rng = &mut self.rng();
        let pin = Pin::of(&self.manifest());
        Store::take_back(
            rng,
            Files,
            self.path(),
            &keys(),
            (version, Some(&pin)),
            None,
        )
        .map(drop)
    }

    pub(crate) fn server(&self) -> Server {
        Server::open_dir(self.path(), &keys().public()).unwrap()
    }

    pub(crate) fn folder(&self) -> Folder<Files> {
        Folder::new(self.path(), Files)
    }

    pub(crate) fn manifest(&self) -> SignedManifest {
        let folder = self.folder();
        let current = folder.current().unwrap();
        folder.manifest(&current, &keys().public()).unwrap()
    }

    /// A copy of the folder: another branch, whose next version's number is higher by `skipped`.
    pub(crate) fn branch(&self, skipped: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["manifests", "parts"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            for file in std::fs::read_dir(self.path().join(name)).unwrap() {
                let file = file.unwrap();
                let to = dir.path().join(name).join(file.file_name());
                std::fs::copy(file.path(), to).unwrap();
            }
        }
        let current = dir.path().join("CURRENT");
        std::fs::copy(self.path().join("CURRENT"), current).unwrap();
        if skipped > 0 {
            let used_up = self.manifest().version + skipped;
            let path = dir.path().join(format!("manifests/{used_up:020}"));
            std::fs::write(path, b"interrupted").unwrap();
        }
        let seed = self.seed + 1000;
        Self { dir, seed }
    }

    /// Appends an addition of a branch to this folder's newest version. The addition's writer signs it again, and the
    /// parts that the addition names are copied.
    pub(crate) fn graft(
        &self,
        branch: &Self,
        name: &str,
        change: impl FnOnce(&mut Addition),
    ) -> Result<SignedManifest, Error> {
        let (newest, from) = (self.manifest(), branch.manifest());
        let (by, addition) = from.additions().next_back().unwrap();
        let number = from.writers.iter().position(|it| it == by).unwrap();
        let mut addition = addition.clone();
        addition.previous = newest.digest();
        change(&mut addition);
        let sign = |message: &[u8]| writer(name).secret().sign_addition(message);
        let bytes = newest.with_addition(u16::try_from(number).unwrap(), &addition, sign);
        let signed = SignedManifest::from_bytes(&bytes, &keys().public())?;
        for file in std::fs::read_dir(branch.path().join("parts")).unwrap() {
            let file = file.unwrap();
            let to = self.path().join("parts").join(file.file_name());
            std::fs::copy(file.path(), to).unwrap();
        }
        let folder = self.folder();
        folder.put_manifest(&signed).unwrap();
        folder.prepare(&signed).unwrap();
        folder.switch().unwrap();
        Ok(signed)
    }
}
