//! The newest whole version of a directory whose `CURRENT` is gone or damaged.

use super::Folder;
use super::manifests::signed;
use super::range::Span;
use crate::manifest::SignedManifest;
use crate::public_key::OwnerPublicKey;
use crate::{Disk, Error};

/// The version that is the newest again, and those that are not.
#[derive(Debug)]
pub struct Recovered {
    /// The version.
    pub version: u64,
    /// True if `CURRENT` was written: otherwise it was whole, and so was the version that it names.
    pub written: bool,
    /// Newer versions that are not whole, the newest first, each with its fault.
    pub passed: Vec<(u64, Error)>,
}

impl<D: Disk> Folder<D> {
    /// Makes the newest whole version the newest again, where nothing says any more which one is: its manifest is signed
    /// by `owner`, and all its parts are whole. The next change removes parts of newer ones that were passed over.
    ///
    /// # Errors
    /// [`Error::NoIndex`], [`Error::Locked`], [`Error::File`]. If no version is whole: the newest one's fault. If `CURRENT`
    /// names a version that is not whole: its fault, and nothing is gone back from.
    pub fn recover(&self, owner: &OwnerPublicKey) -> Result<Recovered, Error> {
        match self.current() {
            Ok(_) | Err(Error::Lost { .. } | Error::Malformed { .. }) => (),
            Err(error) => return Err(error),
        }
        let _lock = self.lock()?;
        // Only now does nobody else write it.
        match self.current() {
            Ok(current) => {
                self.check_whole(&self.manifest(&current, owner)?)?;
                return Ok(Recovered {
                    version: current.version,
                    written: false,
                    passed: Vec::new(),
                });
            }
            Err(Error::Lost { .. } | Error::Malformed { .. }) => (),
            Err(error) => return Err(error),
        }
        let mut passed = Vec::new();
        for version in self.versions()?.into_iter().rev() {
            match self.whole(version, owner) {
                Ok(manifest) => {
                    self.prepare(&manifest)?;
                    self.switch()?;
                    return Ok(Recovered {
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

    /// The manifest of a version, if that is whole.
    fn whole(&self, version: u64, owner: &OwnerPublicKey) -> Result<SignedManifest, Error> {
        let manifest = signed(&self.manifest_bytes(version)?, version, owner)?;
        self.check_whole(&manifest)?;
        Ok(manifest)
    }

    fn check_whole(&self, manifest: &SignedManifest) -> Result<(), Error> {
        let parts = manifest.parts()?;
        // Read, but not kept.
        let nothing = Span::from(0..0);
        let mut stored = parts.iter().filter(|part| part.holder.is_stored());
        stored.try_for_each(|part| self.part_pieces(part, &nothing, &mut |_| ()))
    }
}
