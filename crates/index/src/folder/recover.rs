//! Finds the newest whole version of a directory whose `CURRENT` is lost or damaged.

use std::collections::BTreeMap;

use super::Folder;
use super::manifests::signed;
use super::range::Span;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

/// The recovered version, and the newer versions that are not whole.
#[derive(Debug)]
pub struct Recovered {
    /// The index's id.
    pub index: [u8; 16],
    /// The version.
    pub version: u64,
    /// True if `CURRENT` was written. False if `CURRENT` was whole, and so was its version.
    pub written: bool,
    /// Newer versions that are not whole, the newest first, each with its error.
    pub passed: Vec<(u64, Error)>,
}

impl<D: Disk> Folder<D> {
    /// Makes the newest whole version current again, if nothing names the current version any more. Its manifest must
    /// be signed by `owner`, and all its parts must be whole. The next change removes parts of newer versions that are
    /// not whole. `check` must accept that version and the newer ones that are not whole, because a dishonest keeper of the
    /// folder may have removed or damaged these.
    ///
    /// # Errors
    /// The errors of `check`. [`Error::Malformed`] for a folder with manifests of several indexes. [`Error::NoIndex`]
    /// if there is no manifest. [`Error::Locked`] if another process is changing the directory. [`Error::File`] if a
    /// file cannot be read or written. If no version is whole, the error of the newest one. If `CURRENT` names a
    /// version that is not whole, the error of this version; then no older version becomes the current one.
    pub fn recover(
        &self,
        owner: &OwnerPublicKey,
        check: impl FnOnce(&SignedManifest, &[(u64, Error)]) -> Result<(), Error>,
    ) -> Result<Recovered, Error> {
        match self.named() {
            Ok(_) | Err(Error::Lost { .. } | Error::Malformed { .. }) => (),
            Err(error) => return Err(error),
        }
        let _lock = self.lock()?;
        // From here on the lock keeps other programs from writing here.
        match self.named() {
            Ok(current) => {
                let manifest = self.manifest(&current, owner)?;
                self.check_whole(&manifest)?;
                check(&manifest, &[])?;
                return Ok(Recovered {
                    index: manifest.index,
                    version: current.version,
                    written: false,
                    passed: Vec::new(),
                });
            }
            Err(Error::Lost { .. } | Error::Malformed { .. }) => (),
            Err(error) => return Err(error),
        }
        let versions = self.versions()?;
        self.check_one(&versions, owner)?;
        let mut passed = Vec::new();
        for version in versions.into_iter().rev() {
            match self.whole(version, owner) {
                Ok(manifest) => {
                    check(&manifest, &passed)?;
                    self.prepare(&manifest)?;
                    self.switch()?;
                    return Ok(Recovered {
                        index: manifest.index,
                        version,
                        written: true,
                        passed,
                    });
                }
                Err(error) => passed.push((version, error)),
            }
        }
        let path = self.root.clone();
        let newest = passed.into_iter().next();
        Err(newest.map_or(Error::NoIndex { path }, |(_, error)| error))
    }

    /// Refuses manifests of several indexes. Otherwise the highest number would win, although it belongs to
    /// another index.
    fn check_one(&self, versions: &[u64], owner: &OwnerPublicKey) -> Result<(), Error> {
        let signed = versions.iter().filter_map(|&version| {
            let bytes = self.manifest_bytes(version).ok()?;
            signed(&bytes, version, owner).ok()
        });
        let of: BTreeMap<[u8; 16], u64> = signed.map(|it| (it.index, it.version)).collect();
        if of.len() < 2 {
            return Ok(());
        }
        let each = of.iter().map(|(index, version)| {
            let index: String = index.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{index} (up to version {version})")
        });
        let each = each.collect::<Vec<String>>().join(" and ");
        let why = format!(
            "manifests of several indexes of this owner: {each}. Move those away that do not belong here"
        );
        let what = "folder";
        Err(Error::Malformed { what, why })
    }

    /// The manifest of a version, if the version is whole.
    fn whole(&self, version: u64, owner: &OwnerPublicKey) -> Result<SignedManifest, Error> {
        let manifest = signed(&self.manifest_bytes(version)?, version, owner)?;
        self.check_whole(&manifest)?;
        Ok(manifest)
    }

    fn check_whole(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let parts = manifest.parts()?;
        // The parts are read, but not kept.
        let nothing = Span::from(0..0);
        let mut stored = parts.iter().filter(|part| part.holder.is_stored());
        stored.try_for_each(|part| self.part_pieces(part, &nothing, &mut |_| ()))
    }
}
