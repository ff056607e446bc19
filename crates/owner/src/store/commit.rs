//! Makes a new version: writes the parts, then the manifest, then switches to it.

use rand_core::CryptoRng;
use sordino_index::manifest::{Manifest, SignedManifest};
use sordino_index::{Disk, Error};
use sordino_vault::directory::UNLABELLED;
use sordino_vault::keys::OwnerKeys;

use super::Store;
use super::draft::Draft;
use super::payloads::Carried;
use crate::binding::{Binding, Variant};
use crate::build_context::Build;
use crate::segment::SegmentWriter;

impl<D: Disk> Store<D> {
    /// Refuses to build on a version that may not be the newest.
    pub(super) fn check_sure(&self) -> Result<(), Error> {
        if !self.unsure {
            return Ok(());
        }
        Err(Error::Unsure {
            path: self.folder.root().to_owned(),
        })
    }

    /// The writer of a new version's segments. The version's number is above all earlier ones, including versions that a crash
    /// kept from becoming the newest.
    pub(super) fn writer<'a>(&self, keys: &'a OwnerKeys) -> SegmentWriter<'a> {
        let Manifest {
            rotation, dim, ids, ..
        } = &**self.manifest();
        let variant = Variant::from(&self.manifest.mode);
        let metric = self.manifest.metric;
        let index = Binding::of_index(variant, *ids, metric, *dim as usize, rotation);
        let writer = SegmentWriter::new(keys, self.highest + 1, index);
        writer.of_label(self.access.as_ref(), UNLABELLED)
    }

    /// Makes the draft the newest version.
    pub(super) fn commit<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        writer: &SegmentWriter<'_>,
        mut draft: Draft,
        changes: Carried,
    ) -> Result<u64, Error> {
        let mut build = Build {
            rng,
            folder: &self.folder,
            writer,
            progress: &mut |_| (),
        };
        self.change_payloads(&mut build, &mut draft, changes)?;
        let mut frame = (*self.manifest).clone();
        frame.previous = self.newest;
        // The number is used up even if a later step fails, because a manifest with this number may have been written.
        self.highest = writer.version();
        let signed = draft.finish(&mut build, frame, self.access.as_ref())?;
        self.folder.put_manifest(&signed)?;
        self.folder.prepare(&signed)?;
        self.unsure = true;
        self.folder.switch()?;
        self.unsure = false;
        // The version before stays complete for servers that are opening it now.
        let mut keep = self.manifest.parts()?;
        keep.extend(signed.parts()?);
        self.newest = signed.digest();
        self.manifest = signed;
        self.records = draft.records;
        self.frame = draft.frame;
        self.access = draft.access;
        // Files that cannot be removed now are removed at the next change or opening. The change itself is done.
        drop(self.folder.collect(&keep));
        Ok(self.manifest.version)
    }

    /// Ends a change. The files of a failed change are removed, so that a full disk has space again.
    pub(super) fn settle<T>(&self, made: Result<T, Error>) -> Result<T, Error> {
        // If a version may have become the newest, its parts must stay.
        if made.is_err() && !self.unsure {
            self.folder.discard();
        } else {
            self.folder.keep();
        }
        made
    }

    /// Removes the signed manifests of all versions but the newest and the `keep` before it. A client that knows an older version
    /// then gets an error about a gap. A server shows at most 256 versions in any case. Add the versions to a log first. Returns
    /// the number of removed files.
    ///
    /// # Errors
    /// [`Error`] if a manifest to keep is missing, damaged, or not the owner's; nothing is removed then.
    /// [`Error::File`] if a file cannot be removed.
    pub fn forget_versions(&self, keep: usize) -> Result<usize, Error> {
        let owner = self.keys.public();
        self.folder.forget(&self.manifest, keep, &owner)
    }

    /// All signed manifests from the newest back to the first, or to the oldest that exists. Each is checked against the digest
    /// in the one after it.
    ///
    /// # Errors
    /// [`Error`] if a manifest is missing, damaged, or not the owner's.
    pub fn history(&self) -> Result<Vec<SignedManifest>, Error> {
        let owner = self.keys.public();
        let mut versions = vec![self.manifest.clone()];
        let mut before = Vec::new();
        self.folder
            .history(&self.manifest, usize::MAX, &owner, &mut before)?;
        versions.append(&mut before);
        Ok(versions)
    }
}
