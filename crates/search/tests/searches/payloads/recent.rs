//! Payloads of changes are stored in separate parts, until there are many.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};
use sordino_search::manifest::{Manifest, Packing, PartKind};
use sordino_search::payload::FetchKind;
use sordino_search::plan::Conditions;
use sordino_search::{
    Attributes, Batch, Client, Column, Edit, Exchange, Filter, Form, Id, InProcess, Question, Spec,
    Store, Vectors, synthetic,
};

use super::{FETCH_PAYLOADS, ROUTED, keys, rng, sealed, serve};
use sordino_search::Routing;

const N: usize = 600;
const DIM: usize = 16;
const K: usize = 5;

/// A payload of some length that does not shrink much.
fn text(rng: &mut impl Rng, most: usize) -> Vec<u8> {
    let len = rng.random_range(0..most);
    (0..len).map(|_| rng.random_range(b'a'..=b'z')).collect()
}

fn created(
    dir: &std::path::Path,
    form: Form,
    kind: FetchKind,
    look: Option<u32>,
    (base, texts): (&Vectors, &BTreeMap<u64, Vec<u8>>),
) -> Store {
    let years = Column::Int((0..base.len()).map(|_| Some(1900)).collect());
    let attributes = Attributes::new(base.len(), [("year".to_owned(), years)]).unwrap();
    let batch = Batch::from(base.clone());
    let batch = batch.with_payloads(texts.values().cloned().collect());
    let batch = batch.unwrap().with_attributes(attributes).unwrap();
    let conditions = Conditions::default().prefer(kind);
    let spec = Spec::new(form)
        .k(K)
        .conditions(conditions)
        .second_look(look);
    Store::create(dir, &mut rng(1), &keys(), &spec, [Ok(batch)], &mut |_| ()).unwrap()
}

/// A following client and a new client read what the owner wrote, and their searches look alike.
fn check(
    dir: &std::path::Path,
    store: &Store,
    client: &mut Client,
    texts: &BTreeMap<u64, Vec<u8>>,
    near: &[f32],
) -> Vec<Exchange> {
    store.verify().expect("a whole index");
    assert_eq!(store.len(), texts.len());
    let server = serve(dir);
    let mut transport = InProcess::new(&server);
    client.refresh(&mut transport).expect("a newer version");
    let fresh = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let ids: Vec<Id> = texts
        .keys()
        .copied()
        .map(Id::Number)
        .chain([Id::Number(999_999)])
        .collect();
    for client in [&*client, &fresh] {
        let read = client.payloads(&mut rng(3), &mut transport, &ids).unwrap();
        let expected = texts.values().cloned().map(Some).chain([None]);
        assert!(read.into_iter().eq(expected));
    }
    // The first search of a client may bring keys.
    client.search(&mut rng(4), &mut transport, near).unwrap();
    transport.take_exchanges();
    let found = client.search(&mut rng(4), &mut transport, near).unwrap();
    for (hit, payload) in found.hits.iter().zip(&found.payloads) {
        let Id::Number(id) = hit.id else {
            panic!("a number")
        };
        assert_eq!(payload, &texts[&id]);
    }
    transport.take_exchanges()
}

/// Many changes of all kinds, by the records that a model says there are.
#[test]
fn changes_of_all_kinds_leave_what_the_owner_wrote() {
    let kinds = [
        FetchKind::Scan,
        FetchKind::Download,
        FetchKind::Pir,
        FetchKind::Hintless,
    ];
    let forms = [
        (Form::Local, None),
        (Form::Masked(Packing::T8), Some(12)),
        (ROUTED, None),
        (sealed(Routing::Downloaded), None),
    ];
    for (at, (form, look)) in forms.into_iter().enumerate() {
        let rng = &mut rng(7 + at as u64);
        let (base, more) = synthetic::clustered(N, 400, DIM, 3);
        let mut texts: BTreeMap<u64, Vec<u8>> =
            (0..N as u64).map(|id| (id, text(rng, 900))).collect();
        let dir = tempfile::tempdir().unwrap();
        let mut store = created(dir.path(), form, kinds[at], look, (&base, &texts));
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let mut client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        let main = store.manifest().payloads.clone();
        let mut seen: Option<(Vec<Exchange>, Option<_>)> = None;
        for turn in 0..14usize {
            let round = turn as u64;
            let known: Vec<u64> = texts.keys().copied().collect();
            let some: Vec<u64> = (0..4)
                .map(|i| known[(turn * 97 + i * 31) % known.len()])
                .collect();
            let vectors = |n: usize| {
                let from = (turn * 13) % 300;
                Vectors::new(DIM, more.as_slice()[from * DIM..(from + n) * DIM].to_vec()).unwrap()
            };
            match round % 7 {
                // New records, and some replaced ones.
                0 | 3 => {
                    let mut ids = vec![10_000 + round, 20_000 - round];
                    ids.extend(&some[..2]);
                    ids.sort_unstable();
                    let new: Vec<Vec<u8>> = ids.iter().map(|_| text(rng, 700)).collect();
                    let batch = Batch::new(ids.clone(), vectors(4)).unwrap();
                    let batch = batch.with_payloads(new.clone()).unwrap();
                    store.add(rng, [Ok(batch)], &mut |_| ()).unwrap();
                    texts.extend(ids.into_iter().zip(new));
                }
                // Only the payloads change.
                1 | 4 => {
                    let new: Vec<Vec<u8>> = some.iter().map(|_| text(rng, 700)).collect();
                    let edit = Edit::new(some.clone()).with_payloads(new.clone()).unwrap();
                    store.update(rng, edit).unwrap();
                    texts.extend(some.into_iter().zip(new));
                }
                2 => {
                    store.delete(rng, &some).unwrap();
                    texts.retain(|id, _| !some.contains(id));
                }
                // Only attributes change, and one payload.
                5 => {
                    let years = Column::Int(vec![Some(2000), None]);
                    let new = Attributes::new(2, [("year".to_owned(), years)]).unwrap();
                    let edit = Edit::new(some[..2].to_vec()).with_attributes(new).unwrap();
                    store.update(rng, edit).unwrap();
                }
                _ if round > 7 => {
                    store.compact(rng, &mut |_| ()).unwrap();
                    assert!(store.manifest().recent.is_empty());
                }
                // Records without payloads replace some with: these are empty.
                _ => {
                    let batch = Batch::new(some[..1].to_vec(), vectors(1)).unwrap();
                    store.add(rng, [Ok(batch)], &mut |_| ()).unwrap();
                    texts.insert(some[0], Vec::new());
                }
            }
            if store.manifest().payloads == main {
                assert!(store.manifest().recent.len() < 4, "{form:?} {round}");
            } else {
                assert!(round >= 13, "{form:?} {round}: all was written again");
            }
            let mut exchanges = check(dir.path(), &store, &mut client, &texts, more.row(2));
            // The same messages for payloads, whatever changes brought.
            exchanges.retain(|exchange| exchange.kind == FETCH_PAYLOADS);
            let last = (exchanges, store.manifest().payloads.clone());
            if let Some((before, payloads)) = &seen
                && payloads == &last.1
            {
                assert_eq!(*before, last.0, "{form:?} {round}");
            }
            seen = Some(last);
        }
    }
}

fn given(manifest: &Manifest) -> Vec<(PartKind, u64)> {
    let parts = manifest.parts().unwrap();
    parts.iter().map(|part| (part.kind, part.len)).collect()
}

/// One record changed is little to download, and the parts are few however many changes there are.
#[test]
fn many_small_changes_make_few_parts() {
    let rng = &mut rng(5);
    let (base, more) = synthetic::clustered(3000, 1, DIM, 3);
    let mut texts: BTreeMap<u64, Vec<u8>> = (0..3000).map(|id| (id, text(rng, 900))).collect();
    let dir = tempfile::tempdir().unwrap();
    let form = Form::Masked(Packing::T8);
    let mut store = created(dir.path(), form, FetchKind::Scan, None, (&base, &texts));
    let server = serve(dir.path());
    let mut transport = InProcess::new(&server);
    let mut client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    let (mut most, mut bytes) = (0, client.bytes_once());
    for round in 0..120u64 {
        let id = round * 17 % 3000;
        let new = text(rng, 900);
        let edit = Edit::new([id]).with_payloads(vec![new.clone()]).unwrap();
        store.update(rng, edit).unwrap();
        texts.insert(id, new);
        let server = serve(dir.path());
        client.refresh(&mut InProcess::new(&server)).unwrap();
        most = most.max(store.manifest().recent.len());
        assert_eq!(store.manifest().segments().len(), 1);
    }
    bytes = client.bytes_once() - bytes;
    assert!(most <= 6, "{most} parts");
    // Each record is written a few times, and a version has its manifest.
    assert!(bytes < 120 * 20_000, "{bytes} bytes for 120 changes");
    check(dir.path(), &store, &mut client, &texts, more.row(0));
    let before = given(store.manifest());
    store.compact(rng, &mut |_| ()).unwrap();
    assert!(store.manifest().recent.is_empty(), "{before:?}");
    check(dir.path(), &store, &mut client, &texts, more.row(0));
}

#[test]
fn edits_leave_vectors_and_other_attributes_as_they_are() {
    let rng = &mut rng(6);
    let (base, _) = synthetic::clustered(N, 1, DIM, 3);
    let texts: BTreeMap<u64, Vec<u8>> = (0..N as u64).map(|id| (id, text(rng, 200))).collect();
    for form in [
        Form::Local,
        Form::Masked(Packing::T4),
        Form::Open(Packing::T8),
        ROUTED,
        sealed(Routing::Downloaded),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = created(dir.path(), form, FetchKind::Download, None, (&base, &texts));
        let tags = Column::Text(vec![Some("a".into()), Some("b".into())]);
        let years = Column::Int(vec![Some(2024), None]);
        let new = [("tag".to_owned(), tags)];
        let edit = Edit::new([7u64, 3]).with_attributes(Attributes::new(2, new).unwrap());
        store.update(rng, edit.unwrap()).unwrap();
        let edit = Edit::new([7u64, 9])
            .with_attributes(Attributes::new(2, [("year".to_owned(), years)]).unwrap());
        store.update(rng, edit.unwrap()).unwrap();
        store.verify().unwrap();
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        for (filter, vector, expected) in [
            ("tag == \"a\" and year == 2024", 7, 7u64),
            ("tag == \"b\" and year == 1900", 3, 3),
        ] {
            let filter = Filter::parse(filter).unwrap();
            let mut question = Question::new(base.row(vector));
            question.filter = Some(&filter);
            let found = client.ask(rng, &mut transport, &question).unwrap();
            let found_ids: Vec<&Id> = found.hits.iter().map(|hit| &hit.id).collect();
            assert_eq!(found_ids, [&Id::Number(expected)], "{form:?}");
            assert!(
                found.hits[0].score > 0.99,
                "{form:?}: {}",
                found.hits[0].score
            );
            assert_eq!(found.payloads[0], texts[&expected]);
        }
        let filter = Filter::parse("year == 1900").unwrap();
        let mut question = Question::new(base.row(9));
        question.filter = Some(&filter);
        let found = client.ask(rng, &mut transport, &question).unwrap();
        assert!(
            found.hits.iter().all(|hit| hit.id != Id::Number(9)),
            "{form:?}"
        );
        // Refused before anything is changed.
        let version = store.version();
        for wrong in [
            Edit::new([7u64, 7]),
            Edit::new([600u64]),
            Edit::new([Id::Text("a".into())]),
        ] {
            let n = wrong.len();
            let wrong = wrong.with_payloads(vec![Vec::new(); n]).unwrap();
            store.update(rng, wrong).unwrap_err();
        }
        let text = Column::Text(vec![Some("x".into())]);
        let wrong = Attributes::new(1, [("year".to_owned(), text)]).unwrap();
        store
            .update(rng, Edit::new([7u64]).with_attributes(wrong).unwrap())
            .unwrap_err();
        store.update(rng, Edit::new([7u64])).unwrap();
        assert_eq!(store.version(), version);
    }
}
