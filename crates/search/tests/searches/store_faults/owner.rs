//! The owner, its stores, and the interrupted changes.

use std::path::Path;

use sordino_search::manifest::Packing;
use sordino_search::{Batch, Error, Form, Spec, Store, synthetic};
use sordino_search::{Disk, Files};
use sordino_testkit::{keys, rng};

pub(crate) const DIM: usize = 6;
pub(crate) const N: usize = 30;

pub(crate) fn forms() -> [Form; 5] {
    [
        Form::Masked(Packing::T4),
        Form::Open(Packing::T4),
        Form::Routed {
            recall: 0.5,
            queries: 1,
        },
        Form::Local,
        Form::Sealed {
            recall: 0.5,
            queries: 1,
            routing: None,
        },
    ]
}

pub(crate) fn spec(form: Form) -> Spec {
    Spec::new(form).k(3)
}

pub(crate) fn batch(seed: u64) -> Result<Batch, Error> {
    let payloads = (0..N).map(|id| vec![seed.to_le_bytes()[0]; id % 7]);
    Batch::from(synthetic::uniform(N, DIM, seed)).with_payloads(payloads.collect())
}

pub(crate) fn create<D: Disk>(
    disk: D,
    dir: &Path,
    form: Form,
    seed: u64,
) -> Result<Store<D>, Error> {
    let rng = &mut rng(1);
    let batches = [batch(seed)];
    Store::create_on(disk, dir, rng, &keys(), &spec(form), batches, &mut |_| ())
}

/// A store with two segments and deletions.
pub(crate) fn base(dir: &Path, form: Form) {
    let mut store = create(Files, dir, form, 1).unwrap();
    let more = synthetic::uniform(4, DIM, 2);
    store
        .upsert(&mut rng(2), &[2u32, 3, 100, 101], &more)
        .unwrap();
    store.delete(&mut rng(3), &[5u32, 100]).unwrap();
    drop(store);
    // Opening removes the files of the version before, which are kept for servers that still open
    // it.
    Store::open(dir, &keys()).unwrap();
}

/// The changes that are interrupted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Upsert,
    Delete,
    Compact,
}

impl Change {
    pub(crate) const ALL: [Self; 3] = [Self::Upsert, Self::Delete, Self::Compact];

    /// Makes the change. Its content depends on `seed`, but its randomness does not.
    pub(crate) fn make<D: Disk>(self, store: &mut Store<D>, seed: u64) -> Result<u64, Error> {
        let rng = &mut rng(7);
        match self {
            Self::Upsert => {
                let vectors = synthetic::uniform(3, DIM, seed);
                let payloads = [seed.to_le_bytes().to_vec(), Vec::new(), vec![9; 40]];
                let batch = Batch::new([1u32, 2, 200], vectors)?.with_payloads(payloads.to_vec());
                Ok(store.add(rng, [batch], &mut |_| ())?.version)
            }
            Self::Delete => store.delete(rng, &[7u32, u32::try_from(seed).unwrap()]),
            Self::Compact => store.compact(rng, &mut |_| ()),
        }
    }
}
