//! An owner whose readers have their own keys, and the records that each finds.

use rand::rngs::StdRng;
use sordino_search::manifest::{Packing, PartKind, SignedManifest};
use sordino_search::payload::FetchKind;
use sordino_search::{
    Added, Attributes, Batch, Bytes, Change, Client, Column, Error, Form, Id, InProcess, Index,
    Memory, ReaderKeys, ReaderSecret, Server, Spec, Store, Vectors, synthetic,
};
use sordino_testkit::{by, keys, rng};

pub(crate) const DIM: usize = 16;
pub(crate) const K: usize = 8;
/// The number of records of each addition.
pub(crate) const EACH: u64 = 40;

pub(crate) fn secret(name: &str) -> ReaderSecret {
    ReaderSecret::from_bytes([name.as_bytes()[0]; 32])
}

pub(crate) fn reader(name: &str) -> ReaderKeys {
    ReaderKeys::from_secret(secret(name), keys().public())
}

pub(crate) fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn masked() -> Form {
    Form::Masked(Packing::T4)
}

/// A store, in memory, of an index whose readers have their own keys.
pub(crate) struct Bed {
    pub(crate) disk: Memory,
    pub(crate) store: Store<Memory>,
    seed: u64,
}

/// The vectors of the records whose ids begin with `first`.
pub(crate) fn vectors(first: u64) -> Vectors {
    synthetic::uniform(usize::try_from(EACH).unwrap(), DIM, 1000 + first)
}

/// Records whose payloads and attributes name them.
pub(crate) fn batch(first: u64) -> Batch {
    let ids = first..first + EACH;
    let payloads = ids.clone().map(|id| format!("payload {id}").into_bytes());
    let numbers = Column::Int(ids.clone().map(|id| i64::try_from(id).ok()).collect());
    let rows = usize::try_from(EACH).unwrap();
    let attributes = Attributes::new(rows, [("number".to_owned(), numbers)]).unwrap();
    let batch = Batch::new(ids, vectors(first)).unwrap();
    let batch = batch.with_payloads(payloads.collect()).unwrap();
    batch.with_attributes(attributes).unwrap()
}

impl Bed {
    /// An index of the records from 0 on, without a label. It has no readers yet.
    pub(crate) fn new(form: Form) -> Self {
        Self::made(form, true)
    }

    /// The same index, with payloads that are fetched in this way.
    pub(crate) fn by(way: FetchKind, form: Form) -> Self {
        let bed = Self::with(&by(way, Spec::new(form).own_readers(true)));
        assert_eq!(bed.way(), way);
        bed
    }

    pub(crate) fn way(&self) -> FetchKind {
        let manifest = self.manifest();
        manifest.payloads.as_ref().unwrap().fetch.kind()
    }

    pub(crate) fn made(form: Form, own_readers: bool) -> Self {
        Self::with(&Spec::new(form).own_readers(own_readers))
    }

    fn with(spec: &Spec) -> Self {
        let disk = Memory::default();
        let spec = spec.clone().k(K);
        let batches = [Ok(batch(0))];
        let made = Store::create_on(
            disk.clone(),
            "",
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        );
        Self {
            disk,
            store: made.unwrap(),
            seed: 1,
        }
    }

    pub(crate) fn rng(&mut self) -> StdRng {
        self.seed += 1;
        rng(self.seed)
    }

    pub(crate) fn change(&mut self, change: Change<'_>) -> Result<u64, Error> {
        let rng = &mut self.rng();
        self.store.change_access(rng, change)
    }

    pub(crate) fn grant(&mut self, name: &str, labels: &[&str], groups: &[&str]) {
        let (public, labels, groups) = (secret(name).public(), words(labels), words(groups));
        let change = Change::grant(name, Some(&public), &labels, &groups);
        self.change(change).unwrap();
    }

    pub(crate) fn revoke(&mut self, name: &str) {
        self.change(Change::revoke(name)).unwrap();
    }

    /// Adds the records from `first` on, under a label.
    pub(crate) fn add(&mut self, first: u64, label: Option<&str>) {
        self.try_add(first, label).unwrap();
    }

    pub(crate) fn added(&mut self, first: u64, label: Option<&str>) -> Added {
        self.try_add(first, label).unwrap()
    }

    pub(crate) fn try_add(&mut self, first: u64, label: Option<&str>) -> Result<Added, Error> {
        let rng = &mut self.rng();
        let batches = [Ok(batch(first))];
        self.store.add_labelled(rng, label, batches, &mut |_| ())
    }

    pub(crate) fn compact(&mut self) -> u64 {
        let rng = &mut self.rng();
        self.store.compact(rng, &mut |_| ()).unwrap()
    }

    pub(crate) fn index(&self) -> Index {
        Index::open_on(self.disk.clone(), "", &keys().public()).unwrap()
    }

    pub(crate) fn server(&self) -> Server {
        Server::new(self.index()).unwrap()
    }

    pub(crate) fn manifest(&self) -> SignedManifest {
        self.store.manifest().clone()
    }

    pub(crate) fn part(&self, kind: PartKind, segment: Option<usize>) -> Bytes {
        let (_, parts) = self.index().into_parts();
        let part = parts
            .into_iter()
            .find(|(part, _)| part.kind == kind && part.segment == segment);
        part.unwrap().1
    }
}

/// `firsts` are the first ids of additions. Returns those ids whose addition's records a client finds when it searches
/// for their vectors. Checks that each result has its own payload and attribute.
pub(crate) fn finds(client: &Client, server: &Server, firsts: &[u64]) -> Vec<u64> {
    let mut transport = InProcess::new(server);
    let mut all = Vec::new();
    for &first in firsts {
        let mut own = 0;
        for (at, query) in (0..).zip(vectors(first).rows()) {
            let found = client.search(&mut rng(9), &mut transport, query).unwrap();
            for (hit, payload) in found.hits.iter().zip(&found.payloads) {
                let number = hit.id.number().unwrap();
                assert_eq!(*payload, format!("payload {number}").into_bytes());
                let attributes = client.attributes(&hit.id).unwrap();
                let column = attributes.column("number");
                assert_eq!(column, Some(&Column::Int(vec![i64::try_from(number).ok()])));
            }
            let best = found.hits.first().map(|hit| hit.id.clone());
            own += u64::from(best == Some(Id::Number(first + at)));
        }
        assert!(
            own == 0 || own == EACH,
            "{own} of the records from {first} on"
        );
        if own > 0 {
            all.push(first);
        }
    }
    all
}

pub(crate) fn connect(server: &Server, keys: &ReaderKeys) -> Result<Client, Error> {
    Client::connect(&mut InProcess::new(server), keys, None)
}

/// The additions that a newly connected reader finds.
pub(crate) fn reads(server: &Server, keys: &ReaderKeys, firsts: &[u64]) -> Vec<u64> {
    finds(&connect(server, keys).unwrap(), server, firsts)
}
