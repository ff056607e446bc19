//! The owner of the attacked indexes, and a server that keeps its requests and changes its replies.

use rand::Rng;
use sordino_search::manifest::{Checking, Packing};
use sordino_search::payload::FetchKind;
use sordino_search::{Batch, Form, Index, Memory, Server, Spec, Store, Vectors, build, synthetic};
use sordino_testkit::{ASKED, by, copies, dealt, keys, rng};

pub(crate) const DIM: usize = 16;
pub(crate) const K: usize = 5;

pub(crate) fn vectors(n: usize) -> Vectors {
    synthetic::clustered(n, 1, DIM, 4).0
}

pub(crate) fn masked(seed: u64, vectors: &Vectors) -> Index {
    let (rng, keys) = (&mut rng(seed), keys());
    build::masked(rng, &keys, vectors, K, Packing::T4, &mut |_| ()).unwrap()
}

/// An open index without checks of scores.
pub(crate) fn open(seed: u64, vectors: &Vectors) -> Index {
    let spec = Spec::new(Form::Open(Packing::T4))
        .k(K)
        .checking(Checking::None);
    let batches = [Ok(vectors.clone().into())];
    build::in_memory(&mut rng(seed), &keys(), &spec, batches, &mut |_| ()).unwrap()
}

/// An open index whose readers hold sums of its rows.
pub(crate) fn open_with_sums(seed: u64, vectors: &Vectors) -> Index {
    let (rng, keys) = (&mut rng(seed), keys());
    build::open(rng, &keys, vectors, K, Packing::T4, &mut |_| ()).unwrap()
}

/// An index with one record for each payload.
pub(crate) fn with_payloads(spec: &Spec, payloads: Vec<Vec<u8>>) -> Index {
    let batch = Batch::from(vectors(payloads.len())).with_payloads(payloads);
    let (disk, rng, keys) = (Memory::default(), &mut rng(1), keys());
    Store::create_on(disk.clone(), "", rng, &keys, spec, [batch], &mut |_| ()).unwrap();
    Index::open_on(disk, "", &keys.public()).unwrap()
}

/// A server of `n` records with payloads of these lengths, for clients that connect once. Payloads are fetched without a
/// hint.
pub(crate) fn without_hint(n: usize, len: impl Fn(usize) -> usize) -> Server {
    Server::new(fetched_by(FetchKind::Hintless, n, len)).unwrap()
}

/// An index of records whose payloads have these lengths and do not compress. They are fetched in this
/// way.
pub(crate) fn fetched_by(way: FetchKind, n: usize, len: impl Fn(usize) -> usize) -> Index {
    let spec = by(way, Spec::new(Form::Masked(Packing::T4)).k(K));
    let index = with_payloads(&spec, random(n, len));
    let payloads = index.manifest().payloads.as_ref().unwrap();
    assert_eq!(payloads.fetch.kind(), way);
    index
}

/// Indexes of records whose payloads have these lengths, one for each way in which clients ask a server for pages. One
/// further index has dealt pages.
pub(crate) fn of_all_ways(
    n: usize,
    len: impl Fn(usize) -> usize + Copy,
) -> Vec<(&'static str, Index)> {
    let of_way = |way: FetchKind| (way.name(), fetched_by(way, n, len));
    let spec = dealt(Spec::new(Form::Masked(Packing::T4)).k(24));
    let of_deal = with_payloads(&spec, random(n, len));
    assert!(copies(of_deal.manifest()) > 0);
    let all = ASKED.into_iter().map(of_way);
    all.chain([("dealt", of_deal)]).collect()
}

/// Payloads of these lengths, which do not compress.
fn random(n: usize, len: impl Fn(usize) -> usize) -> Vec<Vec<u8>> {
    let payloads = (0..n).map(|row| {
        let mut payload = vec![0; len(row)];
        rng(row as u64).fill_bytes(&mut payload);
        payload
    });
    payloads.collect()
}

/// The share of the bytes in which two messages are equal, which is 1 in 256 by chance.
pub(crate) fn agreement(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    equal as f64 / a.len() as f64
}
