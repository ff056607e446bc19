//! Making a new version: parts first, then the manifest, then the switch.

use rand_core::CryptoRng;

use super::payloads::Changes;
use super::{Disk, Folder, Store};
use crate::build::{self, form};
use crate::ids::IdSet;
use crate::keys::OwnerKeys;
use crate::manifest::{Manifest, Mode, SignedManifest};
use crate::metric::AsQuery;
use crate::payload::Payloads;
use crate::segment::Scribe;
use crate::{Error, manifest};

/// A version that is being made: its parts are written as they come.
pub(super) struct Draft {
    /// Results of a search.
    pub(super) k: usize,
    pub(super) mode: Mode,
    pub(super) sets: Vec<IdSet>,
    pub(super) dead: Vec<IdSet>,
    pub(super) payloads: Option<Payloads>,
    /// Vectors as queries, to measure with.
    pub(super) as_query: AsQuery,
}

impl Draft {
    /// Refuses what has too many segments, before anything is written that needs one more.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        let found = self.sets.len();
        if found < manifest::MAX_SEGMENTS {
            return Ok(());
        }
        Err(Error::Segments {
            found,
            most: manifest::MAX_SEGMENTS,
        })
    }

    /// Writes the list of deletions and the manifest. Everything but the mode, the version and what
    /// follows from them is as in `frame`.
    pub(super) fn finish<D: Disk, R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        folder: &Folder<D>,
        keys: &OwnerKeys,
        scribe: &Scribe<'_>,
        frame: Manifest,
    ) -> Result<SignedManifest, Error> {
        let n: u64 = self.sets.iter().map(|ids| ids.len() as u64).sum();
        let n = u32::try_from(n).map_err(|_| Error::TooLarge {
            n: usize::try_from(n).unwrap_or(usize::MAX),
            dim: frame.dim as usize,
        })?;
        let (deleted, list) = scribe.deleted(rng, &self.dead);
        folder.put(&list)?;
        let mut manifest = Manifest {
            version: scribe.version(),
            n,
            deleted,
            payloads: self.payloads.clone(),
            mode: self.mode.clone(),
            ..frame
        };
        if manifest.is_first() {
            manifest.index = build::index_id(keys, &manifest);
        }
        let signed = SignedManifest::sign(manifest, keys);
        // What cannot be read must not become the newest version.
        let signed = SignedManifest::from_bytes(signed.to_bytes(), &keys.public())?;
        folder.put_manifest(&signed)?;
        Ok(signed)
    }
}

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

    /// What a new version's segments are written with. Its number is above every number before it,
    /// also those of versions that a crash kept from becoming the newest.
    pub(super) fn scribe<'a>(&self, keys: &'a OwnerKeys) -> Scribe<'a> {
        let Manifest { rotation, dim, .. } = &**self.manifest();
        let form = form(
            self.manifest.mode.name(),
            &self.manifest.space(),
            rotation,
            *dim as usize,
        );
        Scribe::new(keys, self.highest + 1, form)
    }

    /// Makes the draft the newest version.
    pub(super) fn commit<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        scribe: &Scribe<'_>,
        mut draft: Draft,
        changes: Option<Changes>,
    ) -> Result<u64, Error> {
        self.change_payloads(rng, scribe, &mut draft, changes)?;
        let frame = Manifest {
            previous: self.manifest.digest(),
            ..(*self.manifest).clone()
        };
        // The number is used up even if what follows fails: a manifest with it may have been written.
        self.highest = scribe.version();
        let signed = draft.finish(rng, &self.folder, &self.keys, scribe, frame)?;
        self.folder.prepare(&signed)?;
        self.unsure = true;
        self.folder.switch()?;
        self.unsure = false;
        // The version before stays whole for servers that are just opening it.
        let mut keep = self.manifest.parts()?;
        keep.extend(signed.parts()?);
        self.manifest = signed;
        self.sets = draft.sets;
        self.dead = draft.dead;
        // What cannot be removed now goes at the next change or opening: this change is made.
        drop(self.folder.collect(&keep));
        Ok(self.manifest.version)
    }

    /// Ends a change: what one that failed has written is removed, so that a full disk has room again.
    pub(super) fn settle<T>(&self, made: Result<T, Error>) -> Result<T, Error> {
        // A version that may have become the newest needs its parts.
        if made.is_err() && !self.unsure {
            self.folder.discard();
        } else {
            self.folder.keep();
        }
        made
    }

    /// All signed manifests from the newest back to the first, each checked against the digest in the
    /// one after it.
    ///
    /// # Errors
    /// If one is missing, damaged, or not the owner's.
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
