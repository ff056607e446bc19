//! Adding, replacing and deleting records.

use rand_core::CryptoRng;
use sordino_index::ids::IdSet;
use sordino_index::payload::Class;
use sordino_index::{Disk, Error};
use sordino_vectors::Vectors;

use super::Store;
use super::draft::Draft;
use super::payloads::Changes;
use super::waiting::{Waiting, sorted};
use crate::units::units;

impl<D: Disk> Store<D> {
    /// Adds records, or replaces those whose ids are there; the new version.
    ///
    /// # Errors
    /// Before anything is changed: [`Error::Ids`] if there are not as many ids as vectors,
    /// [`Error::RepeatedId`], [`Error::Dimension`], [`Error::Vectors`] for a zero
    /// vector under the cosine and for one beyond the bound of another metric, [`Error::Segments`] if the index
    /// must be compacted first. [`Error::File`] if a file cannot be written: the old version stays,
    /// unless the next change fails with [`Error::Unsure`].
    pub fn upsert<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        ids: &[u32],
        vectors: &Vectors,
    ) -> Result<u64, Error> {
        self.upsert_with(rng, ids, vectors, &[])
    }

    /// [`upsert`](Self::upsert) of records with payloads, one for each, or none at all: then all of
    /// them are empty. Payloads come with an index's first ones; records that had none have empty ones.
    ///
    /// # Errors
    /// Those of [`upsert`](Self::upsert); [`Error::PayloadCount`], and [`Error::Payload`] if one is too long.
    pub fn upsert_with<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        ids: &[u32],
        vectors: &Vectors,
        payloads: &[Vec<u8>],
    ) -> Result<u64, Error> {
        self.check_sure()?;
        let made = self.upserted(rng, ids, vectors, payloads);
        self.settle(made)
    }

    fn upserted<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        ids: &[u32],
        vectors: &Vectors,
        payloads: &[Vec<u8>],
    ) -> Result<u64, Error> {
        if !payloads.is_empty() && payloads.len() != ids.len() {
            return Err(Error::PayloadCount {
                found: payloads.len(),
                expected: ids.len(),
            });
        }
        for payload in payloads {
            Class::of(payload.len())?;
        }
        let has = self.manifest.payloads.is_some() || !payloads.is_empty();
        let given = payloads
            .iter()
            .cloned()
            .chain(std::iter::repeat(Vec::new()));
        let changes: Option<Changes> = has.then(|| ids.iter().copied().zip(given).collect());

        if ids.len() != vectors.len() {
            return Err(Error::Ids {
                found: ids.len(),
                expected: vectors.len(),
            });
        }
        let dim = self.manifest.dim as usize;
        if vectors.dim() != dim {
            return Err(Error::Dimension {
                found: vectors.dim(),
                expected: dim,
            });
        }
        // Here rows are in the order in which they were given.
        self.manifest.space().check(vectors, 0)?;
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let (set, vectors) = sorted(ids, vectors.clone())?;
        let units = units(self.manifest.space(), self.manifest.rotation, vectors)?;
        let mut draft = self.draft();
        draft.check_room()?;
        self.bury(&mut draft, set.iter());

        self.highest = writer.version();
        let mut waiting = Waiting::new(units.dim());
        waiting.ids.extend(set.iter());
        waiting.data.extend_from_slice(units.as_slice());
        drop(units);
        while !waiting.ids.is_empty() {
            let (ids, units) = waiting.take(draft.capacity())?;
            draft.add(rng, &self.folder, &writer, (ids, &units), &mut |_| ())?;
        }
        self.commit(rng, &writer, draft, changes)
    }

    /// Deletes records; the new version. Their vectors stay in the directory, and masked or sealed on
    /// servers, until the store is compacted; no search finds them.
    ///
    /// # Errors
    /// Before anything is changed: [`Error::UnknownId`], [`Error::RepeatedId`], [`Error::NothingLeft`] if
    /// no record would be left. [`Error::File`] as for [`upsert`](Self::upsert).
    pub fn delete<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        ids: &[u32],
    ) -> Result<u64, Error> {
        self.check_sure()?;
        let mut ordered = ids.to_vec();
        ordered.sort_unstable();
        let set = IdSet::from_ascending(ordered).map_err(|id| Error::RepeatedId { id })?;
        if let Some(id) = set.iter().find(|&id| !self.contains(id)) {
            return Err(Error::UnknownId { id });
        }
        if set.len() == self.len() {
            return Err(Error::NothingLeft { n: set.len() });
        }
        let mut draft = self.draft();
        self.bury(&mut draft, set.iter());
        let keys = self.keys.clone();
        let writer = self.writer(&keys);
        let made = self.commit(rng, &writer, draft, None);
        self.settle(made)
    }

    /// The version as it is, to be changed.
    pub(super) fn draft(&self) -> Draft {
        Draft {
            k: self.manifest.k as usize,
            mode: self.manifest.mode.clone(),
            sets: self.sets.clone(),
            dead: self.dead.clone(),
            payloads: self.manifest.payloads.clone(),
            as_query: self.manifest.as_query(),
        }
    }

    /// Marks records as deleted wherever they are now.
    fn bury(&self, draft: &mut Draft, ids: impl Iterator<Item = u32>) {
        let mut dead = vec![Vec::new(); draft.dead.len()];
        for id in ids {
            if let Some(at) = self.segment_of(id) {
                dead[at].push(id);
            }
        }
        for (set, dead) in draft.dead.iter_mut().zip(dead) {
            if !dead.is_empty() {
                set.insert(dead);
            }
        }
    }
}
