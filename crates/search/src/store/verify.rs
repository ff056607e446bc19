//! Checking everything in a store.

use super::records::find;
use super::{Disk, Store, records};
use crate::bucket::Opened;
use crate::columns::Rows;
use crate::manifest::{Columns, Mode, Part, Sealed};
use crate::recall::number;
use crate::{Error, index};

/// What [`Store::verify`] found in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Manifests, from the newest back to the first.
    pub versions: usize,
    /// Records that searches can find.
    pub records: usize,
    /// Records that are deleted or replaced and still stored.
    pub deleted: usize,
    /// Bytes of the newest version's parts.
    pub bytes: u64,
}

impl<D: Disk> Store<D> {
    /// Reads every file of the newest version and every manifest before it, and checks all that can be
    /// checked: digests, signatures, the chain of versions, that every sealed part opens, that hints
    /// belong to their rows, and that record ids and deletions agree.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn verify(&self) -> Result<Verified, Error> {
        self.check_sure()?;
        let (reader, owner) = (self.keys.reader(), self.keys.public());
        let current = self.folder.current()?;
        let manifest = self.folder.manifest(&current, &owner)?;
        if manifest != self.manifest {
            return Err(Error::Fork {
                version: manifest.version,
            });
        }
        let versions = self.history()?.len();
        let parts = manifest.parts()?;
        let mut bytes = 0;
        for part in parts.iter().filter(|part| part.holder.is_stored()) {
            bytes += self.folder.part(part)?.len() as u64;
        }
        let (sets, dead) = records::read(&self.folder, &manifest, &reader)?;
        for (at, ids) in sets.iter().enumerate() {
            let units = records::units(&self.folder, &manifest, &reader, at)?;
            if units.len() != ids.len() {
                return Err(Error::Ids {
                    found: ids.len(),
                    expected: units.len(),
                });
            }
        }
        match &manifest.mode {
            Mode::Open(mode) => self.check_hints(Rows::Open, mode, &parts)?,
            Mode::Masked(mode) => self.check_hints(Rows::Masked, mode, &parts)?,
            Mode::Sealed(mode) => self.check_buckets(mode, &parts)?,
            Mode::Local(_) => {}
        }
        let count = |sets: &[crate::ids::IdSet]| sets.iter().map(|set| set.len()).sum::<usize>();
        Ok(Verified {
            versions,
            records: count(&sets) - count(&dead),
            deleted: count(&dead),
            bytes,
        })
    }

    fn check_hints(&self, form: Rows, mode: &Columns, parts: &[Part]) -> Result<(), Error> {
        let width = self.manifest.width() as usize;
        for (at, column) in mode.segments.iter().enumerate() {
            let rows = self.folder.part(find(parts, "rows", Some(at))?)?;
            let hint = form.hint(mode.packing, mode.seed, width, &rows)?;
            index::check_digest("hint", &hint.to_bytes(), &column.hint)?;
        }
        Ok(())
    }

    fn check_buckets(&self, mode: &Sealed, parts: &[Part]) -> Result<(), Error> {
        let buckets = self.folder.part(find(parts, "buckets", Some(0))?)?;
        let digests = self.folder.part(find(parts, "bucket digests", Some(0))?)?;
        let len = mode.layout.sealed_len();
        if index::bucket_digests(&buckets, len) != digests[..] {
            return Err(Error::Digest { what: "buckets" });
        }
        let reader = self.keys.reader();
        let seal = reader.seal("bucket", &mode.base.id, mode.base.version);
        for (bucket, sealed) in buckets.chunks_exact(len).enumerate() {
            let mut opened = Opened::default();
            mode.layout
                .open(&seal, number(bucket), sealed, &mut opened)?;
        }
        Ok(())
    }
}
