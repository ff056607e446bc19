//! The directory of an index.
//!
//! ```text
//! CURRENT                one line: the newest version's number and the digest of its manifest
//! manifests/<version>    signed manifests, each naming the digest of the one before
//! parts/<digest>         parts, named by their BLAKE3 digest, never changed
//! LOCK                   locked while an owner has the store open; made before anything else
//! ```
//!
//! A version is added in this order, each step durable before the next: parts, manifest, `CURRENT`.
//! Every file is written under a temporary name, synced, renamed, and its directory synced. So a
//! crash leaves the old or the new version, and at most files that nothing names, which the next
//! opening removes. Manifests stay, named or not: a number that one of them has is not given again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::names::{self, CURRENT, LOCK, MANIFESTS, PARTS};
use super::{Bytes, Disk};
use crate::keys::OwnerPublicKey;
use crate::manifest::{Digest, MAX_SIGNED_LEN, Part, SignedManifest};
use crate::{Error, index};

/// The longest line of a `CURRENT` file: number, space, digest, end of line.
const LINE: u64 = 20 + 1 + 64 + 1;

/// The version that `CURRENT` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) version: u64,
    pub(crate) manifest: Digest,
}

/// A directory that has, or will have, an index.
#[derive(Debug)]
pub(crate) struct Folder<D> {
    root: PathBuf,
    disk: D,
    /// Parts that were not there before the change that is being made.
    written: Mutex<Vec<Digest>>,
}

impl<D: Disk> Folder<D> {
    pub(crate) fn new(root: &Path, disk: D) -> Self {
        Self {
            root: root.to_owned(),
            disk,
            written: Mutex::default(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Refuses a directory in which anything is not what a new index may find: an index, or what the
    /// making of one that was interrupted has left. A directory that is not there yet is free.
    pub(crate) fn check_free(&self) -> Result<(), Error> {
        let entries = match self.disk.list(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => self.run(&self.root, entries)?,
        };
        let has = |name: &str| entries.iter().any(|entry| entry == name);
        if has(CURRENT) {
            let path = self.root.clone();
            return Err(Error::Exists { path });
        }
        let foreign = |entry: PathBuf| Error::Occupied {
            path: self.root.clone(),
            entry,
        };
        let ours = |entry: &&String| {
            let name = names::finished(entry).unwrap_or(entry);
            [CURRENT, LOCK, MANIFESTS, PARTS].contains(&name)
        };
        if let Some(entry) = entries.iter().find(|entry| !ours(entry)) {
            return Err(foreign(entry.into()));
        }
        for (dir, is_ours) in [
            (MANIFESTS, is_manifest as fn(&str) -> bool),
            (PARTS, is_part),
        ] {
            if !has(dir) {
                continue;
            }
            let path = self.root.join(dir);
            for entry in self.run(&path, self.disk.list(&path))? {
                // Whoever writes one of these has made the lock before.
                let ours = has(LOCK) && is_ours(names::finished(&entry).unwrap_or(&entry));
                if !ours {
                    return Err(foreign(Path::new(dir).join(entry)));
                }
            }
        }
        Ok(())
    }

    /// Makes the directory itself.
    pub(crate) fn create_root(&self) -> Result<(), Error> {
        self.run(&self.root, self.disk.create_dir(&self.root))
    }

    /// Makes what is in it.
    pub(crate) fn create(&self) -> Result<(), Error> {
        for path in [&self.manifests(), &self.parts()] {
            self.run(path, self.disk.create_dir(path))?;
        }
        self.sync_dir(&self.root)
    }

    /// The newest version.
    pub(crate) fn current(&self) -> Result<Current, Error> {
        let path = self.root.join(CURRENT);
        let line = match self.disk.read(&path, LINE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = self.root.clone();
                return Err(Error::NoIndex { path });
            }
            line => self.run(&path, line)?,
        };
        parse(&line).ok_or_else(|| Error::Malformed {
            what: "CURRENT file",
            why: "expected a version and a digest".to_owned(),
        })
    }

    /// The manifest of a version, with this digest.
    pub(crate) fn manifest(
        &self,
        wanted: &Current,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        let path = self.manifests().join(names::of_version(wanted.version));
        let bytes = self.run(&path, self.disk.read(&path, MAX_SIGNED_LEN as u64))?;
        // Before the signature, so that a damaged file and a foreign one have different errors.
        index::check_digest("manifest", &bytes, &wanted.manifest)?;
        let manifest = SignedManifest::from_bytes(&bytes, owner)?;
        if manifest.version != wanted.version {
            return Err(Error::Malformed {
                what: "manifest",
                why: format!("of version {}, not {}", manifest.version, wanted.version),
            });
        }
        Ok(manifest)
    }

    /// Finds the manifests before `newest`, the last of them first, until there are `most` of them or no
    /// more, each checked against the digest in the one after it. Between their numbers there may be those
    /// of versions that were never made the newest.
    pub(crate) fn history(
        &self,
        newest: &SignedManifest,
        most: usize,
        owner: &OwnerPublicKey,
        history: &mut Vec<SignedManifest>,
    ) -> Result<(), Error> {
        let mut numbers = self.versions()?;
        numbers.sort_unstable();
        while history.len() < most {
            let newer = history.last().unwrap_or(newest);
            if newer.is_first() {
                break;
            }
            numbers.truncate(numbers.partition_point(|&number| number < newer.version));
            let older = self.manifest_of(&numbers, newer.previous, owner)?;
            history.push(older);
        }
        Ok(())
    }

    /// The manifest with this digest, of one of these versions, the last of them first.
    fn manifest_of(
        &self,
        versions: &[u64],
        manifest: Digest,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        for &version in versions.iter().rev() {
            match self.manifest(&Current { version, manifest }, owner) {
                Err(Error::Digest { .. }) => {}
                found => return found,
            }
        }
        Err(Error::Digest {
            what: "manifests before the newest",
        })
    }

    /// A part, checked.
    pub(crate) fn part(&self, part: &Part) -> Result<Bytes, Error> {
        let path = self.parts().join(names::of_digest(&part.digest));
        let bytes = self.run(&path, self.disk.read(&path, part.len))?;
        if bytes.len() as u64 != part.len {
            let longer = if bytes.len() as u64 > part.len {
                " and more"
            } else {
                ""
            };
            let why = format!("{} bytes{longer}, expected {}", bytes.len(), part.len);
            return Err(Error::Malformed {
                what: part.name,
                why,
            });
        }
        index::check_digest(part.name, &bytes, &part.digest)?;
        Ok(bytes)
    }

    /// Writes a part; its digest.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Digest, Error> {
        let digest = index::digest(bytes);
        let name = names::of_digest(&digest);
        if !self.parts().join(&name).exists() {
            self.written().push(digest);
        }
        self.replace(&self.parts(), &name, bytes)?;
        Ok(digest)
    }

    /// Removes the parts that a change has written which is not going to be made. What cannot be removed
    /// goes at the next change or opening.
    pub(crate) fn discard(&self) {
        for digest in self.written().drain(..) {
            drop(
                self.disk
                    .remove(&self.parts().join(names::of_digest(&digest))),
            );
        }
    }

    /// Lets what was written stay.
    pub(crate) fn keep(&self) {
        self.written().clear();
    }

    fn written(&self) -> std::sync::MutexGuard<'_, Vec<Digest>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a manifest whose parts are written.
    pub(crate) fn put_manifest(&self, manifest: &SignedManifest) -> Result<(), Error> {
        self.sync_dir(&self.parts())?;
        let dir = self.manifests();
        self.replace(
            &dir,
            &names::of_version(manifest.version),
            manifest.to_bytes(),
        )?;
        self.sync_dir(&dir)
    }

    /// Writes what will make a version the newest. It is not yet.
    pub(crate) fn prepare(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let line = line(manifest.version, &manifest.digest());
        self.write_aside(&self.root, CURRENT, line.as_bytes())
    }

    /// Makes the version that was prepared the newest. An error may come before or after that took hold.
    pub(crate) fn switch(&self) -> Result<(), Error> {
        self.put_in_place(&self.root, CURRENT)?;
        self.sync_dir(&self.root)
    }

    /// The highest number that any manifest has here, whether it was ever the newest or not.
    pub(crate) fn highest(&self) -> Result<u64, Error> {
        Ok(self.versions()?.into_iter().max().unwrap_or(0))
    }

    /// The numbers of all manifests, in no order.
    fn versions(&self) -> Result<Vec<u64>, Error> {
        let dir = self.manifests();
        let names = self.run(&dir, self.disk.list(&dir))?;
        Ok(names
            .iter()
            .filter_map(|name| names::version(name))
            .collect())
    }

    /// Removes what writing has left, and parts that `keep` does not name. Files whose names no index gives
    /// are somebody else's and stay.
    pub(crate) fn collect(&self, keep: &[Part]) -> Result<(), Error> {
        let kept = |digest| keep.iter().any(|part| part.digest == digest);
        let stale_part = |name: &str| names::digest(name).is_some_and(|digest| !kept(digest));
        let unfinished =
            |is_ours: fn(&str) -> bool, name: &str| names::finished(name).is_some_and(is_ours);
        self.remove_all(&self.root, |name| unfinished(|name| name == CURRENT, name))?;
        self.remove_all(&self.manifests(), |name| unfinished(is_manifest, name))?;
        self.remove_all(&self.parts(), |name| {
            stale_part(name) || unfinished(is_part, name)
        })
    }

    /// Removes the files of a directory whose names are stale.
    fn remove_all(&self, dir: &Path, stale: impl Fn(&str) -> bool) -> Result<(), Error> {
        for name in self.run(dir, self.disk.list(dir))? {
            if stale(&name) {
                let path = dir.join(name);
                self.run(&path, self.disk.remove(&path))?;
            }
        }
        Ok(())
    }

    /// Puts a file in place, whole or not at all.
    fn replace(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_aside(dir, name, bytes)?;
        self.put_in_place(dir, name)
    }

    /// Writes a file under a temporary name. An attempt that fails leaves nothing, least of all on a disk
    /// that is full.
    fn write_aside(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = dir.join(names::temporary(name));
        let written = self.disk.write(&path, bytes);
        let synced = written.and_then(|()| self.disk.sync(&path));
        self.run(&path, synced.inspect_err(|_| drop(self.disk.remove(&path))))
    }

    /// Gives a file its name.
    fn put_in_place(&self, dir: &Path, name: &str) -> Result<(), Error> {
        let (from, to) = (dir.join(names::temporary(name)), dir.join(name));
        let renamed = self.disk.rename(&from, &to);
        self.run(&to, renamed.inspect_err(|_| drop(self.disk.remove(&from))))
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

fn is_manifest(name: &str) -> bool {
    names::version(name).is_some()
}

fn is_part(name: &str) -> bool {
    names::digest(name).is_some()
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
