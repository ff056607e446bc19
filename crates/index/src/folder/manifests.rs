//! The signed manifests of a directory.

use std::io;

use super::{Current, Folder, names};
use crate::manifest::{MAX_SIGNED_LEN, SignedManifest};
use crate::public_key::OwnerPublicKey;
use crate::{Bytes, Disk, Error, digest};

impl<D: Disk> Folder<D> {
    /// The manifest of a version, with this digest.
    ///
    /// # Errors
    /// [`Error`] if the manifest cannot be read, its digest or version is different, or `owner` did not sign it.
    pub fn manifest(
        &self,
        wanted: &Current,
        owner: &OwnerPublicKey,
    ) -> Result<SignedManifest, Error> {
        let bytes = self.manifest_bytes(wanted.version)?;
        // The digest is checked before the signature, so that a damaged file and a file of another owner give
        // different errors.
        digest::check("manifest", &bytes, &wanted.manifest)?;
        signed(&bytes, wanted.version, owner)
    }

    pub(super) fn manifest_bytes(&self, version: u64) -> Result<Bytes, Error> {
        let path = self.manifests().join(names::of_version(version));
        self.run(&path, self.disk.read(&path, MAX_SIGNED_LEN as u64))
    }

    /// Writes a manifest, after its parts were written.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn put_manifest(&self, manifest: &SignedManifest) -> Result<(), Error> {
        self.sync_parts()?;
        let dir = self.manifests();
        self.replace(
            &dir,
            &names::of_version(manifest.version),
            manifest.to_bytes(),
        )?;
        self.written().manifest = Some(manifest.version);
        self.sync_dir(&dir)
    }

    /// Removes the manifests that the newest one includes, except for the last: a reader may be opening that
    /// version now. Manifests that cannot be removed stay.
    pub fn drop_shown(&self, newest: &SignedManifest) {
        for shown in newest.shown().rev().skip(1) {
            let path = self.manifests().join(names::of_version(shown.version));
            drop(self.disk.remove(&path));
        }
    }

    /// The highest number of a manifest here, even if that version was never the newest.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn highest(&self) -> Result<u64, Error> {
        Ok(self.versions()?.pop().unwrap_or(0))
    }

    /// The numbers of all manifests, in order. The list is empty if their directory does not exist.
    pub(super) fn versions(&self) -> Result<Vec<u64>, Error> {
        let dir = self.manifests();
        let names = match self.disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => self.run(&dir, names)?,
        };
        let versions = names.iter().filter_map(|name| names::version(name));
        let mut versions: Vec<u64> = versions.collect();
        versions.sort_unstable();
        Ok(versions)
    }
}

/// The manifest of a version, signed by `owner`.
pub(super) fn signed(
    bytes: &[u8],
    version: u64,
    owner: &OwnerPublicKey,
) -> Result<SignedManifest, Error> {
    let manifest = SignedManifest::from_bytes(bytes, owner)?;
    if manifest.version != version {
        return Err(Error::Malformed {
            what: "manifest",
            why: format!("of version {}, not {version}", manifest.version),
        });
    }
    Ok(manifest)
}
