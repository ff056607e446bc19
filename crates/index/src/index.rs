//! A built index: everything that a server needs, in one value, in one file, or in a directory.

use std::path::Path;

use crate::folder::{Copied, Folder};
use crate::manifest::{Part, SignedManifest};
use crate::public_key::OwnerPublicKey;
use crate::{Bytes, Disk, Error, Files, digest, history, wire};

/// One version of an index: its manifest and the parts that a server keeps.
#[derive(Clone, Debug)]
pub struct Index {
    manifest: SignedManifest,
    /// Manifests before `manifest`, newest first, for clients that know one of them. They come from the directory that
    /// was opened; an index from a file has none.
    history: Vec<SignedManifest>,
    /// The served parts, in the manifest's order.
    parts: Vec<(Part, Bytes)>,
}

/// Two indexes are equal if their versions are the same: the manifest determines everything before it.
impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.manifest == other.manifest && self.parts == other.parts
    }
}

impl Index {
    /// An index with a manifest, and with what `read` returns for each served part.
    fn read(
        manifest: SignedManifest,
        mut read: impl FnMut(&Part) -> Result<Bytes, Error>,
    ) -> Result<Self, Error> {
        let mut parts = Vec::new();
        for part in manifest.parts()? {
            if part.holder.is_served() {
                let bytes = read(&part)?;
                parts.push((part, bytes));
            }
        }
        Ok(Self {
            manifest,
            history: Vec::new(),
            parts,
        })
    }

    /// The index's manifest.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// Takes the manifests before this one out of the index, newest first.
    pub fn take_history(&mut self) -> Vec<SignedManifest> {
        std::mem::take(&mut self.history)
    }

    /// The manifest, and the served parts with their bytes.
    #[must_use]
    pub fn into_parts(self) -> (SignedManifest, Vec<(Part, Bytes)>) {
        (self.manifest, self.parts)
    }

    /// The index as one file, without the manifests before this version.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = wire::file_head(wire::INDEX);
        let manifest = self.manifest.to_bytes();
        bytes.extend((manifest.len() as u64).to_le_bytes());
        bytes.extend(manifest);
        for (_, part) in &self.parts {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// Reads an index and checks every byte of it against the owner's signature.
    ///
    /// # Errors
    /// [`Error`] if the index is truncated, changed, longer than its manifest says, or not signed by `owner`.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed { what: "index", why };
        let body = wire::strip_file_head(wire::INDEX, bytes)?;
        let (len, body) = body
            .split_first_chunk()
            .ok_or_else(|| malformed("no manifest".into()))?;
        let (manifest, mut rest) = usize::try_from(u64::from_le_bytes(*len))
            .ok()
            .and_then(|len| body.split_at_checked(len))
            .ok_or_else(|| malformed("a manifest longer than the file".into()))?;
        let manifest = SignedManifest::from_bytes(manifest, owner)?;
        let index = Self::read(manifest, |part| {
            let Some((bytes, after)) = usize::try_from(part.len)
                .ok()
                .and_then(|len| rest.split_at_checked(len))
            else {
                return Err(malformed(format!("truncated in the {}", part.kind.name())));
            };
            digest::check(part.kind.name(), bytes, &part.digest)?;
            rest = after;
            Ok(Bytes::from(bytes.to_vec()))
        })?;
        if !rest.is_empty() {
            return Err(malformed(format!("{} bytes after its end", rest.len())));
        }
        Ok(index)
    }

    /// Copies the newest version in an owner's directory to another directory. That directory is new, or holds an older
    /// copy of the same index, and then only missing files are written. Every byte is checked, in both directories. The
    /// owner's directory is neither locked nor written, so a server or the owner may use it meanwhile. If the copy is
    /// interrupted, the other directory has the version that it had before, or this one.
    ///
    /// # Errors
    /// The first fault in the owner's directory. These errors are about the other directory: [`Error::Occupied`] if it
    /// holds files of something else, [`Error::Locked`] if another process is changing it, [`Error::NotNext`] if its
    /// version is not an older one. [`Error::File`] if a file cannot be read or written.
    pub fn backup(
        dir: impl AsRef<Path>,
        copy: impl AsRef<Path>,
        owner: &OwnerPublicKey,
    ) -> Result<Copied, Error> {
        let to = Folder::new(copy.as_ref(), Files);
        Folder::new(dir.as_ref(), Files).copy_to(&to, owner)
    }

    /// Makes an owner's directory from a [`backup`](Self::backup). The directory must not hold an index, because an
    /// existing version is not rolled back.
    ///
    /// # Errors
    /// [`Error::Exists`] if the directory has an index, and the errors of [`backup`](Self::backup).
    pub fn restore(
        copy: impl AsRef<Path>,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
    ) -> Result<Copied, Error> {
        let to = Folder::new(dir.as_ref(), Files);
        Folder::new(copy.as_ref(), Files).restore_to(&to, owner)
    }

    /// The newest version's manifest in an owner's directory, without the parts.
    ///
    /// # Errors
    /// [`Error`] if the directory has no index, or its manifest is missing, changed or not signed by `owner`.
    pub fn manifest_of_dir(
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        Self::manifest_on(Files, dir, owner)
    }

    /// Like [`manifest_of_dir`](Self::manifest_of_dir), on another disk.
    ///
    /// # Errors
    /// The errors of `manifest_of_dir`.
    pub fn manifest_on(
        disk: impl Disk,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        folder.manifest(&folder.current()?, owner)
    }

    /// Opens the newest version in an owner's directory for serving. It needs no key, and checks every byte against the
    /// owner's signature. Parts are read into memory.
    ///
    /// The owner may change the directory at the same time or later: the opened version stays the same. Up to 256
    /// manifests before the newest are opened, too. If one of them cannot be read, earlier ones are left out.
    ///
    /// # Errors
    /// [`Error`] if the directory has no index, or a file of it is missing, truncated, changed or not signed by
    /// `owner`.
    pub fn open_dir(dir: impl AsRef<Path>, owner: &OwnerPublicKey) -> Result<Self, Error> {
        Self::open_on(Files, dir, owner)
    }

    /// Like [`open_dir`](Self::open_dir), on another disk.
    ///
    /// # Errors
    /// The errors of `open_dir`.
    pub fn open_on(
        disk: impl Disk,
        dir: impl AsRef<Path>,
        owner: &OwnerPublicKey,
    ) -> Result<Self, Error> {
        let folder = Folder::new(dir.as_ref(), disk);
        folder.newest(owner, |manifest| {
            let mut index = Self::read(manifest, |part| folder.part(part))?;
            let (newest, history) = (&index.manifest, &mut index.history);
            // Searches do not need the history, so its error is ignored.
            drop(folder.history(newest, history::KEPT, owner, history));
            Ok(index)
        })
    }
}
