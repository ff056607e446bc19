//! Raw bytes of a generator are never shown. A copy of the generator, in a child process or a restored
//! machine, may derive a secret from the same bytes.

use std::collections::HashSet;
use std::convert::Infallible;

use ml_kem::kem::Encapsulate;
use ml_kem::{EncapsulationKey, MlKem768};
use rand::Rng;
use rand_core::{TryCryptoRng, TryRng};
use sordino_search::manifest::{Packing, PartKind};
use sordino_search::{
    Assembly, Change, Client, Clustering, Error, Folder, Form, InProcess, Index, Memory, OwnerKeys,
    Plan, ReaderPublicKey, ReaderSecret, Routing, Server, Spec, Store, Transport, Wish, build,
    synthetic,
};
use sordino_testkit::{keys, rng};

const DIM: usize = 16;

/// A transport that keeps all bytes of both directions.
struct Wire<'a> {
    inner: InProcess<'a>,
    seen: Vec<Vec<u8>>,
}

/// True if anything seen contains bytes of the generator, which gives words of four bytes.
fn shows(seen: &[Vec<u8>], stream: &[u8]) -> bool {
    let given: HashSet<&[u8]> = stream.windows(8).step_by(4).collect();
    let mut windows = seen.iter().flat_map(|message| message.windows(8));
    windows.any(|window| given.contains(window))
}

/// The generator's bytes, more than the largest of these draws.
fn stream() -> Vec<u8> {
    let mut stream = vec![0; 1 << 20];
    rng(8).fill_bytes(&mut stream);
    stream
}

impl Transport for Wire<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let reply = self.inner.call(request, limit)?;
        self.seen.push(request.to_vec());
        self.seen.push(reply.clone());
        Ok(reply)
    }
}

#[test]
fn neither_an_index_nor_a_search_shows_bytes_of_the_generator() {
    let keys = keys();
    let (base, queries) = synthetic::clustered(600, 1, DIM, 4);
    let sealed = |routing| {
        let wish = Wish::default()
            .k(5)
            .recall(0.9)
            .queries(10)
            .routing(Some(routing));
        let plan = Plan::new(600, DIM, wish).unwrap();
        let built = build::sealed(&mut rng(8), &keys, &base, &plan, &mut |_| ());
        built.unwrap().index
    };
    let masked = build::masked(&mut rng(8), &keys, &base, 5, Packing::T4, &mut |_| ());
    let stream = stream();
    let indexes = Routing::ALL.map(sealed);
    let wish = Wish::default().k(5);
    let routed = build::routed(&mut rng(8), &keys, &base, wish, &mut |_| ());
    let scored = [masked.unwrap(), routed.unwrap().index];
    for index in indexes.into_iter().chain(scored) {
        let server = Server::new(index).unwrap();
        let mut wire = Wire {
            inner: InProcess::new(&server),
            seen: Vec::new(),
        };
        let client = Client::connect(&mut wire, &keys.reader(), None).unwrap();
        client
            .search(&mut rng(8), &mut wire, queries.row(0))
            .unwrap();
        assert!(!shows(&wire.seen, &stream));
        wire.seen.push(stream[64..80].to_vec());
        assert!(shows(&wire.seen, &stream));
    }
}

/// Facts for tasks are sent to machines of their own, and what these return comes back.
#[test]
fn neither_blueprints_nor_pieces_nor_centroids_show_bytes_of_the_generator() {
    let keys = keys();
    let stream = stream();
    let vectors = || synthetic::clustered(600, 1, DIM, 4).0;
    let batches = || [Ok(vectors().into())];
    let spec = |form| Spec::new(form).k(5);
    let (masked, disk) = (spec(Form::Masked(Packing::T4)), Memory::default());
    let begun = Assembly::begin_on(disk.clone(), "", &mut rng(8), &keys, &masked, &vectors());
    let begun = begun.unwrap();
    let blueprint = begun.blueprint();
    let folder = Folder::new("".as_ref(), disk);
    let none = &mut |_| ();
    let piece = blueprint.make(&mut rng(8), &keys, &folder, (0, Some(0)), batches(), none);
    let mut seen = vec![blueprint.to_bytes(&keys), piece.unwrap().to_bytes(&keys)];
    let sealed = Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: None,
    };
    let routed = Form::Routed {
        recall: 0.9,
        queries: 10,
    };
    for form in [sealed, routed] {
        let begun = Clustering::begin(&mut rng(8), &keys, &spec(form), 600, vectors(), none);
        let begun = begun.unwrap();
        seen.push(begun.centroids().to_bytes(&keys));
        let nearest = begun.centroids().nearest((0, 0), batches(), none);
        seen.push(nearest.unwrap().to_bytes(&keys));
    }
    assert!(!shows(&seen, &stream));
    seen.push([&[1; 7], &stream[68..84]].concat());
    assert!(shows(&seen, &stream));
}

/// A generator that gives these bytes.
struct Given<'a>(&'a [u8]);

impl TryRng for Given<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("bytes alone")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        panic!("bytes alone")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let (given, rest) = self.0.split_at(out.len());
        out.copy_from_slice(given);
        self.0 = rest;
        Ok(())
    }
}

impl TryCryptoRng for Given<'_> {}

/// The bytes of ML-KEM's half of an X-Wing public key.
const KEM_KEY_LEN: usize = 1184;

/// ML-KEM's half of what is encapsulated for a reader with these bytes, which the reader learns.
fn encapsulated(reader: &ReaderPublicKey, bytes: &[u8]) -> Vec<u8> {
    let key = &reader.as_bytes()[..KEM_KEY_LEN];
    let key = EncapsulationKey::<MlKem768>::new(key.try_into().unwrap()).unwrap();
    key.encapsulate_with_rng(&mut Given(bytes)).0.to_vec()
}

/// The places in a generator's stream whose bytes somebody who opens the ring learns.
fn learned(ring: &[u8], reader: &ReaderPublicKey, stream: &[u8]) -> Vec<usize> {
    let windows: HashSet<&[u8]> = ring.windows(32).collect();
    let drawn = stream.windows(32).step_by(4).zip((0..).step_by(4));
    let drawn = drawn.filter(|(bytes, _)| windows.contains(&encapsulated(reader, bytes)[..32]));
    drawn.map(|(_, at)| at).collect()
}

/// By decapsulation, a reader learns the bytes with which its entry was made.
#[test]
fn a_ring_shows_its_readers_no_bytes_of_the_generator() {
    let keys = keys();
    let disk = Memory::default();
    let spec = Spec::new(Form::Local).k(5).own_readers(true);
    let batches = [Ok(synthetic::uniform(20, DIM, 1).into())];
    let made = Store::create_on(
        disk.clone(),
        "",
        &mut rng(8),
        &keys,
        &spec,
        batches,
        &mut |_| (),
    );
    let reader = ReaderSecret::from_bytes([2; 32]).public();
    let none: [String; 0] = [];
    let change = Change::grant("mallory", Some(&reader), &none, &none);
    made.unwrap().change_access(&mut rng(8), change).unwrap();
    let (_, parts) = Index::open_on(disk, "", &keys.public())
        .unwrap()
        .into_parts();
    let ring = parts
        .into_iter()
        .find(|(part, _)| part.kind == PartKind::Ring);
    let ring = ring.unwrap().1.to_vec();
    // This is far more than a change of readers draws.
    let stream = &stream()[..1024];
    assert!(learned(&ring, &reader, stream).is_empty());
    assert!(!shows(&[ring], stream));
    let shown = encapsulated(&reader, &stream[72..]);
    assert_eq!(learned(&shown, &reader, stream), [72_usize]);
}

/// A person who sees 32 bytes of a generator has no key that a copy of it makes.
#[test]
fn keys_are_no_bytes_of_the_generator() {
    let stream = stream();
    assert_ne!(OwnerKeys::generate(&mut rng(8)).master()[..], stream[..32]);
    assert_ne!(
        ReaderSecret::generate(&mut rng(8)).as_bytes()[..],
        stream[..32]
    );
}
