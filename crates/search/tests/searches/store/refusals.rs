//! Changes and records that are refused.

use sordino_search::manifest::Packing;
use sordino_search::{Batch, Error, Form, Id, Index, Spec, Store, Vectors, synthetic, vectors};
use sordino_testkit::{keys, rng, strange_keys};

use super::bed::bed;
use super::owner::{DIM, connect, spec};

#[test]
fn what_cannot_be_done_is_named_and_changes_nothing() {
    let mut bed = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let path = bed.dir.path().to_owned();
    let locked = Store::open(&path, &keys());
    assert!(matches!(locked, Err(Error::Locked { .. })), "{locked:?}");
    let vectors = synthetic::uniform(2, DIM, 1);
    let store = &mut bed.store;
    let before = store.manifest().clone();
    let rng = &mut rng(1);
    let wide = synthetic::uniform(2, DIM + 1, 1);
    assert!(matches!(
        store.upsert(rng, &[1u32], &vectors),
        Err(Error::Ids {
            found: 1,
            expected: 2
        })
    ));
    assert!(matches!(
        store.upsert(rng, &[1u32, 1], &vectors),
        Err(Error::RepeatedId { id: Id::Number(1) })
    ));
    assert!(matches!(
        store.upsert(rng, &[1u32, 2], &wide),
        Err(Error::Dimension {
            found: 25,
            expected: 24
        })
    ));
    let zero = Vectors::new(DIM, vec![0.0; DIM]).unwrap();
    assert!(matches!(
        store.upsert(rng, &[1u32], &zero),
        Err(Error::Vectors(vectors::Error::ZeroVector { row: 0 }))
    ));
    assert!(matches!(
        store.delete(rng, &[4_000_000u32]),
        Err(Error::UnknownId {
            id: Id::Number(4_000_000)
        })
    ));
    assert!(matches!(
        store.delete(rng, &[4u32, 4]),
        Err(Error::RepeatedId { id: Id::Number(4) })
    ));
    let all: Vec<Id> = store.ids().collect();
    assert!(matches!(
        store.delete(rng, &all),
        Err(Error::NothingLeft { n: 1500 })
    ));
    assert_eq!(store.manifest(), &before);
    store.verify().unwrap();

    // All but one can go, and then fewer than k are found.
    store.delete(rng, &all[1..]).unwrap();
    bed.model.0.retain(|id, _| all[0] == *id);
    let server = bed.server();
    let (client, _) = connect(&server);
    bed.recall(&server, &client);
    bed.store.compact(rng, &mut |_| ()).unwrap();
    let server = bed.server();
    let (client, _) = connect(&server);
    bed.recall(&server, &client);
    drop(bed.store);

    let again = Store::create(
        &path,
        rng,
        &keys(),
        &Spec::default(),
        [Ok(vectors.into())],
        &mut |_| (),
    );
    assert!(matches!(again, Err(Error::Exists { .. })));
    let stranger = Store::open(&path, &strange_keys());
    assert!(matches!(stranger, Err(Error::Signature)));
    let nothing = Store::open(path.join("nothing"), &keys());
    assert!(matches!(nothing, Err(Error::NoIndex { .. })));
}

#[test]
fn streams_that_cannot_be_stored_leave_no_index() {
    type Case = (Vec<Result<Batch, Error>>, fn(&Error) -> bool);
    let vectors = || synthetic::uniform(20, DIM, 1);
    let cases: [Case; 5] = [
        (vec![], |e| {
            matches!(e, Error::Vectors(vectors::Error::NoVectors))
        }),
        (
            vec![
                Ok(vectors().into()),
                Ok(synthetic::uniform(5, DIM + 1, 1).into()),
            ],
            |e| matches!(e, Error::Dimension { .. }),
        ),
        (
            vec![Ok(vectors().into()), Batch::new(19..39u32, vectors())],
            |e| matches!(e, Error::RepeatedId { id: Id::Number(19) }),
        ),
        (
            vec![
                Ok(vectors().into()),
                Err(vectors::Error::NegativeNeighbour.into()),
            ],
            |e| matches!(e, Error::Vectors(vectors::Error::NegativeNeighbour)),
        ),
        (vec![Batch::new([1u32], vectors())], |e| {
            matches!(e, Error::Ids { .. })
        }),
    ];
    for (batches, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let make = |batches| {
            Store::create(
                dir.path(),
                &mut rng(1),
                &keys(),
                &Spec::default(),
                batches,
                &mut |_| (),
            )
        };
        let error = make(batches).unwrap_err();
        assert!(expected(&error), "{error}");
        assert_eq!(entries(dir.path()), 0);
        // The directory can still be used.
        let store = make(vec![Ok(vectors().into())]).unwrap();
        store.verify().unwrap();
    }
}

fn entries(dir: &std::path::Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_build_that_fails_leaves_no_folder_that_was_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let make = |batches: Vec<Result<Batch, Error>>| {
        let (keys, spec) = (keys(), Spec::default());
        Store::create(&path, &mut rng(1), &keys, &spec, batches, &mut |_| ())
    };
    let late = vec![
        Ok(synthetic::uniform(20, DIM, 1).into()),
        Err(vectors::Error::NegativeNeighbour.into()),
    ];
    assert!(make(late).is_err());
    assert_eq!(entries(dir.path()), 0);
    // One that others have put something into meanwhile stays, with what they put there.
    std::fs::create_dir(&path).unwrap();
    assert!(make(vec![]).is_err());
    assert_eq!((entries(dir.path()), entries(&path)), (1, 0));
    make(vec![Ok(synthetic::uniform(20, DIM, 1).into())]).unwrap();
}

#[test]
fn a_build_that_is_unwound_leaves_no_index_and_no_parts() {
    let vectors = synthetic::uniform(400, DIM, 1);
    let dir = tempfile::tempdir().unwrap();
    let steps = |stop_at: usize| {
        let mut step = 0;
        let mut progress = |_| {
            step += 1;
            if step == stop_at {
                std::panic::resume_unwind(Box::new("stopped"));
            }
        };
        let spec = spec(Form::Masked(Packing::T4));
        let batches = [Ok(vectors.clone().into())];
        let make = || {
            let made = Store::create(
                dir.path(),
                &mut rng(1),
                &keys(),
                &spec,
                batches,
                &mut progress,
            );
            made.map(drop)
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).map_err(drop)
    };
    let mut stopped = 0;
    while steps(stopped + 1).is_err() {
        stopped += 1;
        assert!(matches!(
            Index::open_dir(dir.path(), &keys().public()),
            Err(Error::NoIndex { .. })
        ));
        assert_eq!(entries(dir.path()), 0, "after step {stopped}");
    }
    assert!(stopped >= 2, "{stopped} steps");
    Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
}
