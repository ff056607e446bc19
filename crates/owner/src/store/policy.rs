//! Automatic compaction.

use std::collections::BTreeMap;

use rand_core::CryptoRng;
use sordino_index::{Disk, Error, OwnerFault};

use super::Store;
use super::access::label_of;

/// The state in which a store compacts itself at the end of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compaction {
    /// The store has more segments than this, counting segments that [`Store::compact`] would rewrite. Compaction
    /// leaves one segment for each label. So for each rewritten label but one, one segment does not count.
    pub segments: Option<usize>,
    /// At least this share of the stored records, above 0 and at most 1, is deleted or replaced.
    pub deleted: Option<f64>,
}

impl<D: Disk> Store<D> {
    /// Compacts after each [`upsert`](Self::upsert) and [`delete`](Self::delete) that leaves the store in a state that
    /// `policy` names, as a separate version. A store does not have this policy when it is opened.
    pub fn compact_after(&mut self, policy: Compaction) {
        self.policy = policy;
    }

    /// Compacts, if it is time, after a change that made `version`. Returns the newest version.
    pub(super) fn tidied<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
        version: u64,
    ) -> Result<u64, Error> {
        if !self.is_due() {
            return Ok(version);
        }
        let compacted = self.compact(rng, &mut |_| ());
        compacted.map_err(|source| {
            let source = Box::new(source);
            OwnerFault::Compaction { version, source }.into()
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a share of many records")]
    fn is_due(&self) -> bool {
        let Compaction { segments, deleted } = self.policy;
        let dead = self.records.dead();
        let stored = self.records.len() + dead;
        // A single segment cannot be compacted further.
        segments.is_some_and(|most| self.mergeable() > most.max(1))
            || deleted.is_some_and(|share| dead > 0 && dead as f64 >= share * stored as f64)
    }

    /// The number of segments that compaction rewrites, minus those that it must leave.
    fn mergeable(&self) -> usize {
        let (access, settled) = (self.access.as_ref(), self.settled());
        let segments = self.manifest.segments().into_iter().enumerate();
        counted(segments.map(|(at, segment)| {
            // The leading whole segments stay. If the index has labels, whole segments of later labels stay, too.
            let stays = at < settled || (access.is_some() && self.is_whole(at));
            (label_of(access, segment.key), stays)
        }))
    }
}

/// The number of segments after the segments that stay at the front of their label. They are counted as if all had one
/// label.
fn counted<'a>(segments: impl IntoIterator<Item = (Option<&'a str>, bool)>) -> usize {
    let mut behind: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for (label, stays) in segments {
        let count = behind.entry(label).or_default();
        if *count > 0 || !stays {
            *count += 1;
        }
    }
    let more = behind.values().map(|count| count.saturating_sub(1));
    more.sum::<usize>() + usize::from(behind.values().any(|count| *count > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Batch, Form, Spec};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::Memory;
    use sordino_index::manifest::Packing;
    use sordino_vault::OwnerKeys;
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
            // The deletion makes one version, and the compaction makes another.
            assert_eq!(store.delete(rng, &ids).unwrap(), version + 3);
            assert_eq!((store.len(), store.records.sets.len()), (340, 1));
            assert_eq!(store.verify().unwrap().deleted, 0);
        }
    }

    /// A compacted index has a segment for each label. Compacting it again would not change that.
    #[test]
    fn labels_alone_do_not_make_it_time() {
        let keys = OwnerKeys::from_master([4; 32]);
        let (base, more) = synthetic::clustered(400, 10, 16, 3);
        for form in [Form::Masked(Packing::T4), Form::Local] {
            let rng = &mut StdRng::seed_from_u64(1);
            let spec = Spec {
                form,
                own_readers: true,
                ..Spec::default()
            };
            let batches = [Ok(base.clone().into())];
            let none = &mut |_| ();
            let made = Store::create_on(Memory::default(), "/", rng, &keys, &spec, batches, none);
            let mut store = made.unwrap();
            store.compact_after(Compaction {
                segments: Some(3),
                deleted: None,
            });
            let mut at = 0_u64;
            let mut add = |store: &mut Store<Memory>, label: &str| {
                at += 1;
                let batch = Batch::new((0..10).map(|id| 1000 * at + id), more.clone()).unwrap();
                let added = store.add_labelled(rng, Some(label), [Ok(batch)], &mut |_| ());
                // An addition makes one version, and the compaction after it makes another version.
                (added.unwrap().version, store.records.sets.len())
            };
            let first = store.version();
            let five = ["a", "b", "c", "d", "e"].map(|label| add(&mut store, label));
            assert_eq!(
                five,
                [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)].map(|(n, segments)| (first + n, segments)),
                "{form:?}"
            );
            let again = ["a", "b", "a"].map(|label| add(&mut store, label));
            assert_eq!(
                again,
                [(first + 6, 7), (first + 7, 8), (first + 9, 6)],
                "{form:?}"
            );
            let version = store.version();
            let again = ["a", "a", "a"].map(|label| add(&mut store, label));
            assert_eq!(
                again,
                [(version + 1, 7), (version + 2, 8), (version + 4, 6)],
                "{form:?}"
            );
            assert_eq!(store.len(), 400 + 110);
        }
    }

    #[test]
    fn without_labels_all_behind_the_settled_ones_count() {
        for settled in 0..4 {
            for behind in 0..5 {
                let segments = (0..settled + behind).map(|at| (None, at < settled));
                assert_eq!(counted(segments), behind);
            }
        }
    }

    #[test]
    fn whole_segments_of_every_label_are_as_compact_as_they_get() {
        let (none, a, b) = (None, Some("a"), Some("b"));
        let compacted = [
            (none, true),
            (none, false),
            (a, true),
            (a, true),
            (a, false),
            (b, true),
        ];
        assert_eq!(counted(compacted), 1);
        let whole = [(none, true), (a, true), (b, true)];
        assert_eq!(counted(whole), 0);
        // A full segment after a rewritten one is rewritten, too.
        let more = [(none, true), (a, false), (a, true), (b, false), (a, false)];
        assert_eq!(counted(more), 3);
    }
}
