//! The directory of an index.
//!
//! ```text
//! CURRENT                one line: the newest version's number and the digest of its manifest
//! manifests/<version>    signed manifests, each naming the digest of the one before
//! parts/<digest>         parts, named by their BLAKE3 digest, never changed
//! LOCK                   locked while an owner has the store open; made before anything else
//! ```
//!
//! A version is added in this order, and each step is durable before the next: parts, manifest, `CURRENT`. Every file
//! is written under a temporary name, synced and renamed, and its directory is synced. So a crash leaves the old or the
//! new version, and at most some files that no version names. The next opening removes these. Manifests stay, even if
//! no version names them, so that no number is given twice.
//!
//! Without `CURRENT`, manifests show that an index exists here, or is being created. No other index can be created over
//! it, and [`recover`](crate::folder::Folder::recover) makes the newest whole version current again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

mod adopt;
mod collect;
mod copy;
mod free;
mod history;
mod manifests;
mod names;
mod newest;
mod range;
mod receive;
mod recover;

use crate::digest::Digest;
use crate::disk::Lock;
use crate::manifest::{Part, SignedManifest};
use crate::{Bytes, Disk, Error, digest};
pub use copy::Copied;
use names::{CURRENT, LOCK, MANIFESTS, PARTS};
pub use range::Span;
use range::check_len;
pub use recover::Recovered;

/// The longest line of a `CURRENT` file: number, space, digest, end of line.
const LINE: u64 = 20 + 1 + 64 + 1;

/// The version that `CURRENT` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The number.
    pub version: u64,
    /// The digest of its signed manifest.
    pub manifest: Digest,
}

/// A directory of an index, which may still have to be created.
#[derive(Debug)]
pub struct Folder<D> {
    root: PathBuf,
    disk: D,
    /// Part of the names of files while they are written, so that two writers of the same part do not overwrite each
    /// other.
    mark: u64,
    written: Mutex<Written>,
}

/// Files that the current change has created.
#[derive(Debug, Default)]
struct Written {
    parts: Vec<Digest>,
    manifest: Option<u64>,
}

impl<D: Disk> Folder<D> {
    /// A directory on a disk. An empty path is the process's working directory. Nothing is read or written yet.
    pub fn new(root: &Path, disk: D) -> Self {
        let here = root.as_os_str().is_empty();
        Self {
            root: if here { Path::new(".") } else { root }.to_owned(),
            disk,
            mark: RandomState::new().build_hasher().finish(),
            written: Mutex::default(),
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Locks the existing directory for a program that changes it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process is changing the directory. [`Error::File`] if a file cannot be read or
    /// written.
    pub fn lock(&self) -> Result<Lock, Error> {
        let path = self.root.join(LOCK);
        match self.disk.lock(&path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Error::Locked {
                path: self.root.clone(),
            }),
            lock => self.run(&path, lock),
        }
    }

    /// Creates the directory itself. Returns true if it did not exist.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn create_root(&self) -> Result<bool, Error> {
        let fresh = !self.disk.exists(&self.root);
        self.run(&self.root, self.disk.create_dir(&self.root))?;
        Ok(fresh)
    }

    /// Creates the directories in it.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn create(&self) -> Result<(), Error> {
        for path in [&self.manifests(), &self.parts()] {
            self.run(path, self.disk.create_dir(path))?;
        }
        self.sync_dir(&self.root)
    }

    /// The newest version.
    ///
    /// # Errors
    /// - [`Error::NoIndex`] if the directory has no index, or a program is making its first version now
    /// - [`Error::Lost`] if it has manifests but no `CURRENT`, and no program is at work there
    /// - [`Error::File`] if `CURRENT` cannot be read
    /// - [`Error::Malformed`] if `CURRENT` does not have its form
    pub fn current(&self) -> Result<Current, Error> {
        match self.named() {
            Err(Error::Lost { path, .. }) if self.disk.is_locked(&self.root.join(LOCK)) => {
                Err(Error::NoIndex { path })
            }
            // Between the two checks, the program may have named its version and ended.
            Err(Error::Lost { .. }) => self.named(),
            found => found,
        }
    }

    /// Like [`current`](Self::current), for a program that holds the lock itself.
    fn named(&self) -> Result<Current, Error> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let path = self.root.join(CURRENT);
        let line = match self.disk.read(&path, LINE) {
            // A file at the folder's path has no versions either.
            Err(error) if [NotFound, NotADirectory].contains(&error.kind()) => {
                let path = self.root.clone();
                let versions = self.versions().unwrap_or_default();
                return Err(match versions.is_empty() {
                    true => Error::NoIndex { path },
                    false => Error::Lost { path, versions },
                });
            }
            line => self.run(&path, line)?,
        };
        parse(&line).ok_or_else(|| Error::Malformed {
            what: "CURRENT file",
            why: "expected a version and a digest; `sordino index restore --from-manifests FOLDER --key owner.pub` writes it again".to_owned(),
        })
    }

    /// Reads and checks a part.
    ///
    /// # Errors
    /// [`Error`] if the part cannot be read, or has another length or digest.
    pub fn part(&self, part: &Part) -> Result<Bytes, Error> {
        self.part_into(part, Vec::new())
    }

    /// Like [`part`](Self::part), into existing memory, which is extended if needed.
    ///
    /// # Errors
    /// The errors of `part`.
    pub fn part_into(&self, part: &Part, room: Vec<u8>) -> Result<Bytes, Error> {
        let path = self.parts().join(names::of_digest(&part.digest));
        let bytes = self.run(&path, self.disk.read_into(&path, part.len, room))?;
        check_len(part, bytes.len() as u64)?;
        digest::check(part.kind.name(), &bytes, &part.digest)?;
        Ok(bytes)
    }

    /// Writes a part, and returns its digest.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, Error> {
        let digest = digest::of(bytes);
        let name = names::of_digest(&digest);
        if !self.disk.exists(&self.parts().join(&name)) {
            self.written().parts.push(digest);
        }
        self.replace(&self.parts(), &name, bytes)?;
        Ok(digest)
    }

    /// Removes the parts of a change that is abandoned. Parts that cannot be removed now are removed at the next change
    /// or opening.
    pub fn discard(&self) {
        for digest in self.written().parts.drain(..) {
            drop(
                self.disk
                    .remove(&self.parts().join(names::of_digest(&digest))),
            );
        }
    }

    /// Keeps the parts that were written.
    pub fn keep(&self) {
        *self.written() = Written::default();
    }

    fn written(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the content and the names of the written parts durable.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn sync_parts(&self) -> Result<(), Error> {
        self.sync_dir(&self.parts())
    }

    /// Writes everything that makes a version the newest, except for the final step.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn prepare(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let line = line(manifest.version, &manifest.digest());
        self.write_aside(&self.root, CURRENT, line.as_bytes())
    }

    /// Makes the prepared version the newest. An error may mean that this happened or did not; after
    /// [`Error::Overtaken`] it did not.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written; [`Error::Overtaken`] on a disk without locks, if another owner has
    /// changed the index.
    pub fn switch(&self) -> Result<(), Error> {
        let to = self.root.join(CURRENT);
        self.put_in_place(&self.aside(&self.root, CURRENT), &to)?;
        self.sync_dir(&self.root)
    }

    /// Replaces a file completely or not at all.
    fn replace(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_aside(dir, name, bytes)?;
        self.put_in_place(&self.aside(dir, name), &dir.join(name))
    }

    /// The temporary name under which this folder writes a file.
    fn aside(&self, dir: &Path, name: &str) -> PathBuf {
        dir.join(names::temporary(name, self.mark))
    }

    /// Writes a file under a temporary name. A failed attempt leaves no file behind, which matters on a full disk.
    fn write_aside(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.aside(dir, name);
        let written = self.disk.write(&path, bytes);
        let synced = written.and_then(|()| self.disk.sync(&path));
        self.run(&path, synced.inspect_err(|_| drop(self.disk.remove(&path))))
    }

    /// Gives a file its name.
    fn put_in_place(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let renamed = self.disk.rename(from, to);
        match renamed.inspect_err(|_| drop(self.disk.remove(from))) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::Overtaken {
                path: self.root.clone(),
            }),
            renamed => self.run(to, renamed),
        }
    }

    fn sync_dir(&self, path: &Path) -> Result<(), Error> {
        self.run(path, self.disk.sync_dir(path))
    }

    fn run<T>(&self, path: &Path, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
    }

    fn manifests(&self) -> PathBuf {
        self.root.join(MANIFESTS)
    }

    fn parts(&self) -> PathBuf {
        self.root.join(PARTS)
    }
}

/// The content of `CURRENT`.
fn line(version: u64, manifest: &Digest) -> String {
    let (version, manifest) = (names::of_version(version), names::of_digest(manifest));
    format!("{version} {manifest}\n")
}

fn parse(bytes: &[u8]) -> Option<Current> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (version, digest) = text.strip_suffix('\n')?.split_once(' ')?;
    Some(Current {
        version: names::version(version)?,
        manifest: names::digest(digest)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Files;

    #[test]
    fn a_first_version_is_no_index_while_it_is_made_and_lost_if_its_maker_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("index");
        let maker = Folder::new(&root, Files);
        let reader = Folder::new(&root, Files);
        maker.create_root().unwrap();
        let lock = maker.lock().unwrap();
        maker.create().unwrap();
        let manifest = maker.manifests().join(names::of_version(1));
        Files.write(&manifest, b"a manifest").unwrap();
        let found = reader.current();
        assert!(matches!(found, Err(Error::NoIndex { .. })), "{found:?}");
        let other = reader.check_free();
        assert!(matches!(other, Err(Error::Locked { .. })), "{other:?}");
        drop(lock);
        let found = reader.current();
        assert!(matches!(found, Err(Error::Lost { .. })), "{found:?}");
        let other = reader.check_free();
        assert!(matches!(other, Err(Error::Lost { .. })), "{other:?}");
        // Reading the current version does not create the lock file.
        Files.remove(&root.join(LOCK)).unwrap();
        assert!(reader.current().is_err() && !Files.exists(&root.join(LOCK)));
        let named = line(1, &digest::of(b"a manifest"));
        Files.write(&root.join(CURRENT), named.as_bytes()).unwrap();
        assert_eq!(reader.current().unwrap().version, 1);
    }
}
