//! The results of searches after changes.

use sordino_search::manifest::Packing;
use sordino_search::{
    Attributes, Batch, Column, Contents, Error, Form, Id, InProcess, Index, Metric, Routing,
    Server, Spec, Store, Vectors, synthetic, vectors,
};
use sordino_testkit::{ROUTED, keys, rng, sealed, serve};

use super::bed::{Model, bed};
use super::owner::{DIM, K, N, connect, forms, spec};

#[test]
fn searches_follow_every_change_in_every_mode() {
    for form in forms() {
        let least = match form {
            Form::Sealed { .. } | Form::Routed { .. } => 0.85,
            Form::Local => 0.93,
            _ => 0.97,
        };
        let mut bed = bed(&spec(form), 1.0);
        assert_eq!(bed.store.len(), N as usize);
        let server = bed.server();
        let (mut client, _) = connect(&server);
        let recall = bed.recall(&server, &client);
        assert!(recall > least, "{form:?}: {recall}");

        let fresh: Vec<u32> = (50_000..50_090).collect();
        bed.upsert(21, &fresh, 1.0);
        let old: Vec<u32> = (0..N).step_by(9).filter(|id| *id < 1200).collect();
        bed.upsert(22, &old, 1.0);
        bed.delete(&(300..500).filter(|id| id % 9 != 0).collect::<Vec<_>>());
        bed.delete(&[0, 12_340, 50_007]);
        bed.upsert(23, &[0, 50_007, 7], 1.0);
        assert_eq!(bed.store.len(), bed.model.0.len());
        assert!(bed.store.ids().all(|id| {
            let id = u32::try_from(id.number().unwrap()).unwrap();
            bed.model.0.contains_key(&id)
        }));
        assert!(!bed.store.contains(12_340u32) && bed.store.contains(7u32));

        let server = bed.server();
        let refreshed = client.refresh(&mut InProcess::new(&server)).unwrap();
        assert!(refreshed);
        let (new, _) = connect(&server);
        for client in [&client, &new] {
            assert_eq!(client.manifest(), bed.store.manifest());
            let recall = bed.recall(&server, client);
            assert!(recall > least, "{form:?}: {recall}");
        }

        let deleted = bed.store.verify().unwrap().deleted;
        assert!(deleted > 300, "{deleted}");
        let before = bed.store.version();
        assert_eq!(
            bed.store.compact(&mut rng(31), &mut |_| ()).unwrap(),
            before + 1
        );
        let verified = bed.store.verify().unwrap();
        assert_eq!((verified.deleted, verified.versions), (0, 7));
        assert_eq!(verified.records, bed.model.0.len());
        assert_eq!(bed.store.manifest().segments().len(), 1);
        // A second compaction changes nothing.
        assert_eq!(
            bed.store.compact(&mut rng(32), &mut |_| ()).unwrap(),
            before + 1
        );
        let server = bed.server();
        assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
        assert!(!client.refresh(&mut InProcess::new(&server)).unwrap());
        let recall = bed.recall(&server, &client);
        assert!(recall > least, "{form:?} compacted: {recall}");

        // Another process of the owner opens the same state.
        let ids: Vec<Id> = bed.store.ids().collect();
        let manifest = bed.store.manifest().clone();
        drop(bed.store);
        let store = Store::open(bed.dir.path(), &keys()).unwrap();
        assert_eq!(store.manifest(), &manifest);
        assert!(store.ids().eq(ids));
        assert_eq!(store.history().unwrap().len(), 7);
    }
}

#[test]
fn every_metric_finds_its_own_nearest() {
    for metric in [Metric::InnerProduct, Metric::Euclidean] {
        for form in forms() {
            let spec = spec(form).metric(metric);
            let mut bed = bed(&spec, 90.0);
            bed.upsert(41, &[5, 6, 7, 90_000], 120.0);
            bed.delete(&[1, 2, 3]);
            let server = bed.server();
            let (client, _) = connect(&server);
            let recall = bed.recall(&server, &client);
            let least = match form {
                Form::Masked(_) | Form::Open(_) => 0.95,
                Form::Local => 0.98,
                // For so few vectors, a download is soon cheaper than reading buckets, so fewer
                // buckets are read than this recall needs.
                Form::Sealed { .. } => 0.6,
                Form::Routed { .. } => 0.7,
            };
            assert!(recall > least, "{metric:?} {form:?}: {recall}");
            // A row that is far longer than all others does not reduce their precision.
            bed.upsert(41, &[90_001], 1e7);
            let server = bed.server();
            let (client, _) = connect(&server);
            let beside = bed.recall(&server, &client);
            assert!(beside > recall - 0.03, "{metric:?} {form:?}: {beside}");
            let long = Vectors::new(DIM, vec![1e30; DIM]).unwrap();
            let refused = bed.store.upsert(&mut rng(1), &[1u32], &long);
            assert!(matches!(
                refused,
                Err(Error::Vectors(vectors::Error::Norm { row: 0, .. }))
            ));
        }
    }
}

#[test]
fn many_segments_are_searched_and_compacted() {
    const MANY: u32 = 100;
    let dir = tempfile::tempdir().unwrap();
    let vectors = synthetic::uniform(40, DIM, 1);
    let mut store = Store::create(
        dir.path(),
        &mut rng(1),
        &keys(),
        &Spec::default(),
        [Ok(vectors.into())],
        &mut |_| (),
    )
    .unwrap();
    let one = synthetic::uniform(1, DIM, 2);
    for id in 1..=MANY {
        store.upsert(&mut rng(2), &[1000 + id], &one).unwrap();
    }
    assert_eq!(store.manifest().segments().len(), 1 + MANY as usize);
    let server = serve(dir.path());
    let (mut client, _) = connect(&server);
    let query = synthetic::uniform(1, DIM, 2);
    let found = client.search(&mut rng(1), &mut InProcess::new(&server), query.row(0));
    assert!(
        found
            .unwrap()
            .hits
            .iter()
            .all(|hit| hit.id.number() > Some(1000))
    );
    store.compact(&mut rng(3), &mut |_| ()).unwrap();
    store.upsert(&mut rng(2), &[1u32], &one).unwrap();
    assert_eq!(store.manifest().segments().len(), 2);
    assert_eq!(store.verify().unwrap().versions, 3 + MANY as usize);
    let server = serve(dir.path());
    assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
    let found = client.search(&mut rng(1), &mut InProcess::new(&server), query.row(0));
    assert!(
        found
            .unwrap()
            .hits
            .iter()
            .all(|hit| hit.id.number() > Some(1000) || hit.id == 1u32)
    );
}

/// A batch of more records than a segment is cut into segments. Each record keeps its vector and attribute, and
/// segments take records in the order of the batch.
#[test]
fn one_batch_fills_several_segments() {
    // The first segments have 131,072 records, and a stream takes parts of 65,536 records.
    const FIRST: usize = 131_072;
    for n in [FIRST, FIRST + 1, FIRST + 65_536 + 7] {
        let vectors = synthetic::uniform(n, 4, 1);
        let number = |row: usize| i64::try_from(3 * row).unwrap();
        let ids = (0..n as u64).rev();
        let column = Column::Int((0..n).map(|row| Some(number(row))).collect());
        let attributes = Attributes::new(n, [("number".to_owned(), column)]).unwrap();
        let batch = Batch::new(ids, vectors.clone()).unwrap();
        let batch = batch.with_attributes(attributes).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(Form::Local);
        Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            [Ok(batch)],
            &mut |_| (),
        )
        .unwrap();
        let contents = Contents::open_dir(dir.path(), &keys().reader()).unwrap();
        let mut before = n as u64;
        for stored in contents.all() {
            let stored = stored.unwrap();
            let len = stored.ids.len() as u64;
            assert_eq!(len, before.min(FIRST as u64), "{n}");
            for (at, id) in stored.ids.iter().enumerate() {
                let id = id.number().unwrap();
                assert_eq!(id, before - len + at as u64, "{n}");
                let row = n - 1 - usize::try_from(id).unwrap();
                let (one, other) = (stored.vectors.row(at), vectors.row(row));
                assert!(
                    Model::measure(Metric::Cosine, one, other) > 0.99,
                    "{n}, {id}"
                );
            }
            let rows = stored
                .ids
                .iter()
                .map(|id| n - 1 - usize::try_from(id.number().unwrap()).unwrap());
            let expected = Column::Int(rows.map(|row| Some(number(row))).collect());
            assert_eq!(stored.attributes.column("number"), Some(&expected), "{n}");
            before -= len;
        }
        assert_eq!(before, 0);
    }
}

/// A folder and a file give the same index.
#[test]
fn a_directory_survives_as_one_file() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        bed.upsert(21, &[3, 4], 1.0);
        let index = Index::open_dir(bed.dir.path(), &keys().public()).unwrap();
        let read = Index::from_bytes(&index.to_bytes(), &keys().public()).unwrap();
        assert_eq!(read, index);
        let server = Server::new(read).unwrap();
        let (client, _) = connect(&server);
        bed.recall(&server, &client);
    }
}

#[test]
fn an_index_may_begin_with_fewer_records_than_results() {
    let vectors = synthetic::uniform(40, DIM, 1);
    let row = |id: usize| Vectors::new(DIM, vectors.row(id).to_vec()).unwrap();
    for form in [
        Form::Masked(Packing::T8),
        Form::Open(Packing::T4),
        ROUTED,
        Form::Local,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let batch = Batch::from(row(0)).with_payloads(vec![vec![7; 3]]).unwrap();
        let made = Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec(form),
            [Ok(batch)],
            &mut |_| (),
        );
        let mut store = made.unwrap();
        let found = |count: usize, query: &[f32]| {
            assert_eq!(
                Store::count_dir(dir.path(), &keys().reader()).unwrap(),
                count
            );
            let server = serve(dir.path());
            let mut transport = InProcess::new(&server);
            let (client, _) = connect(&server);
            client
                .search(&mut rng(2), &mut transport, query)
                .unwrap()
                .hits
        };
        assert_eq!(found(1, vectors.row(0)).len(), 1);
        for id in 1..40u32 {
            store
                .upsert(&mut rng(id.into()), &[id], &row(id as usize))
                .unwrap();
        }
        let hits = found(40, vectors.row(17));
        assert!(hits.len() == K && hits[0].id == 17u32);
        store.verify().unwrap();
        let manifest = Index::manifest_of_dir(dir.path(), &keys().public()).unwrap();
        assert_eq!(&manifest, store.manifest());
    }
    let refused = |form, k, most| {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(form).k(k);
        let batches = [Ok(vectors.clone().into())];
        let made = Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        );
        matches!(made, Err(Error::K { n, .. }) if n == most)
    };
    assert!(refused(Form::Local, 0, 1024) && refused(Form::Local, 1025, 1024));
    assert!(refused(sealed(Routing::Downloaded), 41, 40));
}
