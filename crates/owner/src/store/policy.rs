//! Compaction without being asked for.

use rand_core::CryptoRng;
use sordino_index::{Disk, Error};

use super::Store;

/// The state of a store after which it compacts itself at the end of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compaction {
    /// More segments than this, of those that [`Store::compact`] would write anew.
    pub segments: Option<usize>,
    /// At least this share of the stored records, above 0 and at most 1, deleted or replaced.
    pub deleted: Option<f64>,
}

impl<D: Disk> Store<D> {
    /// Compacts after each [`upsert`](Self::upsert) and [`delete`](Self::delete) that leaves the store in such
    /// a state, as a version of its own. A store that is opened does not do that.
    pub fn compact_after(&mut self, policy: Compaction) {
        self.policy = policy;
    }

    /// Compacts after a change that made `version`, if it is time; the newest version.
    pub(super) fn tidied<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        version: u64,
    ) -> Result<u64, Error> {
        if !self.is_due() {
            return Ok(version);
        }
        let compacted = self.compact(rng, &mut |_| ());
        compacted.map_err(|source| Error::Compaction {
            version,
            source: Box::new(source),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a share of many records")]
    fn is_due(&self) -> bool {
        let Compaction { segments, deleted } = self.policy;
        let dead = self.records.dead();
        let stored = self.records.len() + dead;
        let small = self.records.sets.len() - self.settled();
        // One segment alone is as compact as it gets.
        segments.is_some_and(|most| small > most.max(1))
            || deleted.is_some_and(|share| dead > 0 && dead as f64 >= share * stored as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Form, Spec};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::manifest::Packing;
    use sordino_index::{Memory, OwnerKeys};
    use sordino_vectors::synthetic;

    #[test]
    fn a_store_compacts_itself_when_it_is_time_and_not_before() {
        let (keys, rng) = (
            OwnerKeys::from_master([4; 32]),
            &mut StdRng::seed_from_u64(1),
        );
        let (base, more) = synthetic::clustered(400, 10, 16, 3);
        let sealed = Form::Sealed {
            recall: 0.8,
            queries: 5,
            routing: None,
        };
        for form in [Form::Masked(Packing::T4), Form::Local, sealed] {
            let spec = Spec {
                form,
                ..Spec::default()
            };
            let batches = [Ok(base.clone().into())];
            let none = &mut |_| ();
            let made = Store::create_on(Memory::default(), "/", rng, &keys, &spec, batches, none);
            let mut store = made.unwrap();
            let add = |store: &mut Store<Memory>, rng: &mut StdRng, at: u64| {
                let ids: Vec<u64> = (0..10).map(|id| 1000 * at + id).collect();
                store.upsert(rng, &ids, &more).unwrap();
                store.records.sets.len()
            };
            assert_eq!([1, 2, 3].map(|at| add(&mut store, rng, at)), [2, 3, 4]);
            store.compact_after(Compaction {
                segments: Some(5),
                deleted: None,
            });
            assert_eq!(
                [4, 5, 6].map(|at| add(&mut store, rng, at)),
                [5, 1, 2],
                "{form:?}"
            );
            let version = store.version();
            store.compact_after(Compaction {
                segments: None,
                deleted: Some(0.25),
            });
            let ids: Vec<u64> = (0..50).collect();
            assert_eq!(store.delete(rng, &ids).unwrap(), version + 1);
            let ids: Vec<u64> = (50..120).collect();
            // The deletion, and the compaction after it.
            assert_eq!(store.delete(rng, &ids).unwrap(), version + 3);
            assert_eq!((store.len(), store.records.sets.len()), (340, 1));
            assert_eq!(store.verify().unwrap().deleted, 0);
        }
    }
}
