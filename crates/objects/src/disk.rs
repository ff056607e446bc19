//! Objects as the files of a folder.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use object_store::{ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use sordino_index::disk::Lock;
use sordino_index::{Bytes, Disk};
use tokio_stream::StreamExt;

use crate::Objects;
use crate::age::Clock;
use crate::download::fault;

/// The names in an index's folder that need separate handling.
const CURRENT: &str = "CURRENT";
const MANIFESTS: &str = "manifests";
const PARTS: &str = "parts";

/// The largest number of entries of a listing. An index has at most 1,024 segments, and manifests stay.
const MAX_ENTRIES: usize = 1 << 20;

impl Objects {
    /// Makes a version the newest, if the newest is still the one from which this change began.
    fn switch(&self, path: &Path, line: Vec<u8>) -> io::Result<()> {
        self.change().check_time(self.grace)?;
        let mode = self.change().mode();
        let version = match self.writing(path)?.put(line.clone(), mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // If a request was repeated because its reply was lost, the store already has the request's own result.
                let first = self.reading(path)?.first(line.len() as u64 + 1)?;
                if first.bytes != line {
                    return Err(error);
                }
                UpdateVersion {
                    e_tag: first.tag,
                    version: None,
                }
            }
            version => version?,
        };
        self.change().switched(version);
        Ok(())
    }

    /// Refuses to continue if another version has become the newest.
    fn check_base(&self) -> io::Result<()> {
        let now = match self.meta(&self.root().join(CURRENT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            meta => meta?.e_tag,
        };
        match self.change().follows(now.as_deref()) {
            true => Ok(()),
            false => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// Writes a manifest that does not exist yet. Otherwise two owners could give one number to two versions, and one of them
    /// would be lost.
    fn put_manifest(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        // The later of two owners usually finds out here, and uses up no number.
        self.check_base()?;
        let put = self.writing(path)?.put(bytes.clone(), PutMode::Create);
        let Err(error) = put else { return Ok(()) };
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        let mut held = Vec::new();
        let reading = self.reading(path)?;
        reading.stream(bytes.len() as u64, &mut |some| held.extend_from_slice(some))?;
        if held == bytes {
            return Ok(());
        }
        // The existing manifest belongs to a change that was abandoned, and can no longer finish.
        let meta = self.meta(path)?;
        let age = self.change().clock()?.age(meta.last_modified.into());
        if age <= self.grace {
            return Err(error);
        }
        let there = UpdateVersion {
            e_tag: meta.e_tag,
            version: meta.version,
        };
        self.writing(path)?
            .put(bytes, PutMode::Update(there))
            .map(drop)
    }
}

/// Returns a different text each time, so that the locks of two owners have different contents.
fn mark() -> String {
    let hasher = RandomState::new().build_hasher();
    format!("{:016x}", hasher.finish())
}

impl Disk for Objects {
    /// An object store has no directories.
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The bytes wait in memory for their name, since an object exists completely or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.change().stage(path, bytes);
        Ok(())
    }

    /// An object is durable as soon as it exists.
    fn sync(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = self.change().take(from).ok_or(io::ErrorKind::NotFound)?;
        match self.place(to) {
            ("", CURRENT) => self.switch(to, bytes),
            (MANIFESTS, _) => self.put_manifest(to, bytes),
            (PARTS, _) => {
                self.change().counts();
                self.writing(to)?.upload(bytes)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Nothing younger than the grace is removed, because another owner may be about to name it.
    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.change().take(path).is_some() {
            return Ok(());
        }
        // A file that was young when it was listed needs no further request. Otherwise each file of the last week would
        // cost one request.
        if self.change().is_young(path, self.grace) {
            return Ok(());
        }
        match self.age(path) {
            Ok(age) if age <= self.grace => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            age => age?,
        };
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        self.requests.run(self.patience.request, async move {
            store.delete(&key).await.map_err(fault)
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        match self.list(path)?.is_empty() {
            true => Ok(()),
            false => Err(io::ErrorKind::DirectoryNotEmpty.into()),
        }
    }

    fn read_into(&self, path: &Path, most: u64, room: Vec<u8>) -> io::Result<Bytes> {
        let reading = self.reading(path)?;
        if self.place(path) == ("", CURRENT) {
            // A change follows from the first version that its owner reads.
            let first = reading.first(most.saturating_add(1));
            let missing = first
                .as_ref()
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if missing {
                self.change().saw(None);
            }
            let first = first?;
            self.change().saw(Some(UpdateVersion {
                e_tag: first.tag,
                version: None,
            }));
            return Ok(Bytes::from(first.bytes.to_vec()));
        }
        let mut bytes = room;
        bytes.clear();
        // The buffer grows with the received bytes, not with the length that the store claims.
        reading.stream(most, &mut |some| bytes.extend_from_slice(some))?;
        Ok(Bytes::from(bytes))
    }

    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.reading(path)?.stream(most, each)
    }

    /// An object cannot be extended. Pieces of an uploaded version are joined elsewhere.
    fn append(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn len(&self, path: &Path) -> u64 {
        self.meta(path).map_or(0, |meta| meta.size)
    }

    /// True for the folder itself, which need not be created. Also true if the store does not answer, because a file
    /// that may exist must not be removed.
    fn exists(&self, path: &Path) -> bool {
        let missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        path == self.root() || !self.meta(path).is_err_and(missing)
    }

    fn stays(&self, path: &Path) -> bool {
        let stays = self
            .age_at_most(path)
            .is_ok_and(|age| age <= self.grace / 2);
        if stays {
            self.change().counts();
        }
        stays
    }

    fn is_locked(&self, _path: &Path) -> bool {
        false
    }

    /// The lock keeps no one away: a later owner is refused at the end instead. Locking reads the store's time, and checks that
    /// the store honours conditions.
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let writing = self.writing(path)?;
        let line = |what: &str| format!("an owner {what} here, {}\n", mark()).into_bytes();
        let first = writing.put(line("began"), PutMode::Overwrite)?;
        writing.put(line("goes on"), PutMode::Overwrite)?;
        let time = self.meta(path)?.last_modified;
        for (mode, kept) in [
            (PutMode::Create, "that was to be new (If-None-Match)"),
            (
                PutMode::Update(first),
                "that was another by then (If-Match)",
            ),
        ] {
            match writing.put(b"a condition was not kept\n".to_vec(), mode) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    let why = format!(
                        "this store writes over an object {kept}: owners cannot be kept apart in it"
                    );
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
            }
        }
        self.change().begin(Clock::new(time.into()));
        Ok(Lock::none())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let (store, dir) = (Arc::clone(&self.store), self.key(path)?);
        let limit = self.patience.request * 4;
        let (names, times) = self.requests.run(limit, async move {
            let mut entries = store.list(Some(&dir));
            let (mut names, mut times, mut count) = (BTreeSet::new(), Vec::new(), 0);
            while let Some(entry) = entries.next().await {
                count += 1;
                if count > MAX_ENTRIES {
                    let why = format!("more than {MAX_ENTRIES} objects in {dir}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                let entry = entry.map_err(fault)?;
                let inside = entry.location.prefix_match(&dir);
                if let Some(name) = inside.and_then(|mut inside| inside.next()) {
                    let name = name.as_ref().to_owned();
                    times.push((name.clone(), SystemTime::from(entry.last_modified)));
                    names.insert(name);
                }
            }
            Ok((names, times))
        })?;
        let times = times
            .into_iter()
            .map(|(name, time)| (path.join(name), time));
        self.change().listed(times);
        Ok(names.into_iter().collect())
    }
}
