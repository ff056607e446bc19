//! The directory of an index.
//!
//! ```text
//! CURRENT                one line: the newest version's number and the digest of its manifest
//! manifests/<version>    signed manifests, each naming the digest of the one before
//! parts/<digest>         parts, named by their BLAKE3 digest, never changed
//! LOCK                   locked while an owner has the store open
//! ```
//!
//! A version is added in this order, each step durable before the next: parts, manifest, `CURRENT`.
//! Every file is written under a temporary name, synced, renamed, and its directory synced. So a
//! crash leaves the old or the new version, and at most files that nothing names, which the next
//! opening removes. Manifests stay, named or not: a number that one of them has is not given again.

use std::io;
use std::path::{Path, PathBuf};

use super::{Bytes, Disk};
use crate::keys::OwnerPublicKey;
use crate::manifest::{Digest, Part, SignedManifest};
use crate::{Error, index};

/// Ends the names of files that are being written.
const TEMPORARY: &str = ".tmp";

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
}

impl<D: Disk> Folder<D> {
    pub(crate) fn new(root: &Path, disk: D) -> Self {
        Self {
            root: root.to_owned(),
            disk,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn create(&self) -> Result<(), Error> {
        for path in [&self.root, &self.manifests(), &self.parts()] {
            self.run(path, self.disk.create_dir(path))?;
        }
        self.sync_dir(&self.root)
    }

    /// The newest version.
    pub(crate) fn current(&self) -> Result<Current, Error> {
        let path = self.root.join("CURRENT");
        let line = self.run(&path, self.disk.open(&path))?;
        parse(&line).ok_or_else(|| Error::Malformed {
            what: "CURRENT file",
            why: "expected a version and a digest".to_owned(),
        })
    }

    /// Whether there is an index.
    pub(crate) fn has_index(&self) -> bool {
        self.root.join("CURRENT").exists()
    }

    /// The manifest of a version, with this digest.
    pub(crate) fn manifest(
        &self,
        wanted: &Current,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        let path = self.manifests().join(name(wanted.version));
        let bytes = self.run(&path, self.disk.open(&path))?;
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

    /// The manifest that this one names as its predecessor. Between their numbers there may be those of
    /// versions that were never made the newest.
    pub(crate) fn manifest_before(
        &self,
        newer: &SignedManifest,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        let dir = self.manifests();
        let names = self.run(&dir, self.disk.list(&dir))?;
        let numbers = names.iter().filter_map(|name| name.parse().ok());
        let mut numbers: Vec<u64> = numbers.filter(|&number| number < newer.version).collect();
        numbers.sort_unstable();
        for version in numbers.into_iter().rev() {
            let wanted = Current {
                version,
                manifest: newer.previous,
            };
            match self.manifest(&wanted, owner) {
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
        let path = self.parts().join(hex(&part.digest));
        let bytes = self.run(&path, self.disk.open(&path))?;
        if bytes.len() as u64 != part.len {
            let why = format!("{} bytes, expected {}", bytes.len(), part.len);
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
        self.replace(&self.parts(), &hex(&digest), bytes)?;
        Ok(digest)
    }

    /// Writes a manifest whose parts are written.
    pub(crate) fn put_manifest(&self, manifest: &SignedManifest) -> Result<(), Error> {
        self.sync_dir(&self.parts())?;
        let dir = self.manifests();
        self.replace(&dir, &name(manifest.version), manifest.to_bytes())?;
        self.sync_dir(&dir)
    }

    /// Makes a version the newest. An error may come before or after that took hold.
    pub(crate) fn switch(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let line = format!("{} {}\n", name(manifest.version), hex(&manifest.digest()));
        self.replace(&self.root, "CURRENT", line.as_bytes())?;
        self.sync_dir(&self.root)
    }

    /// The highest number that any manifest has here, whether it was ever the newest or not.
    pub(crate) fn highest(&self) -> Result<u64, Error> {
        let dir = self.manifests();
        let names = self.run(&dir, self.disk.list(&dir))?;
        let numbers = names.iter().filter_map(|name| name.parse().ok());
        Ok(numbers.max().unwrap_or(0))
    }

    /// Removes temporary files, and parts that `keep` does not name.
    pub(crate) fn collect(&self, keep: &[Part]) -> Result<(), Error> {
        let keep: Vec<String> = keep.iter().map(|part| hex(&part.digest)).collect();
        for dir in [self.root.clone(), self.manifests(), self.parts()] {
            for name in self.run(&dir, self.disk.list(&dir))? {
                let stale = dir == self.parts() && !keep.contains(&name);
                if stale || name.ends_with(TEMPORARY) {
                    let path = dir.join(name);
                    self.run(&path, self.disk.remove(&path))?;
                }
            }
        }
        Ok(())
    }

    /// Puts a file in place, whole or not at all.
    fn replace(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let temporary = dir.join(format!("{name}{TEMPORARY}"));
        let path = dir.join(name);
        self.run(&temporary, self.disk.write(&temporary, bytes))?;
        self.run(&temporary, self.disk.sync(&temporary))?;
        self.run(&path, self.disk.rename(&temporary, &path))
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
        self.root.join("manifests")
    }

    fn parts(&self) -> PathBuf {
        self.root.join("parts")
    }
}

/// A version's file name: as long for every number, so that names sort as numbers do.
fn name(version: u64) -> String {
    format!("{version:020}")
}

fn hex(digest: &Digest) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

fn parse(line: &[u8]) -> Option<Current> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (version, digest) = line.split_at_checked(20)?;
    let number: u64 = version.parse().ok()?;
    let manifest = *blake3::Hash::from_hex(digest.strip_prefix(' ')?)
        .ok()?
        .as_bytes();
    // One spelling only: no sign, no capitals.
    let current = Current {
        version: number,
        manifest,
    };
    (line == format!("{} {}", name(number), hex(&manifest))).then_some(current)
}
