//! An owner and readers over an object store in memory.

use sordino_testkit::{keys, rng};
use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{self, address, batch, objects, put_raw, served, spec};
use object_store::memory::InMemory;
use sordino_index::Error;
use sordino_search::{Assembly, Blueprint, Files, Folder, Index, OpenOptions, Shard, Store};

#[test]
fn a_bucket_is_a_folder_to_owners_servers_and_shards() {
    let disk = objects(Arc::new(InMemory::new()));
    let keys = keys();
    let create = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(1),
        &keys,
        &spec(),
        [Ok(batch(0, 300))],
        &mut |_| (),
    );
    let mut store = create.unwrap();
    assert_eq!(served(&disk, &keys), vec![1, 300]);
    store
        .add(&mut rng(2), [Ok(batch(300, 40))], &mut |_| ())
        .unwrap();
    assert_eq!(served(&disk, &keys), vec![2, 340]);
    // An index exists there, so the owner cannot create one.
    let again = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(3),
        &keys,
        &spec(),
        [Ok(batch(0, 300))],
        &mut |_| (),
    );
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    drop(store);
    let mut store = Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap();
    store.delete(&mut rng(4), &[7u64]).unwrap();
    assert_eq!(store.verify().unwrap().records, 339);
    // Opens all shards of the index, and the shards of a folder with a copy.
    let local = tempfile::tempdir().unwrap();
    let folder = Folder::new(&local.path().join("copy"), Files);
    let copied = disk.folder().copy_to(&folder, &keys.public()).unwrap();
    assert_eq!((copied.version, copied.versions), (3, 3));
    for shard in Shard::all(3) {
        let public = keys.public();
        let options = OpenOptions::new(&public).shard(Some(shard));
        let there = options.open(&disk.folder()).unwrap();
        let here = options.open(&folder).unwrap();
        assert_eq!(there.manifest().digest(), here.manifest().digest());
    }
    // Copies it back to another bucket, twice. The second time, nothing is written.
    let other = objects(Arc::new(InMemory::new()));
    let back = folder.copy_to(&other.folder(), &keys.public()).unwrap();
    assert_eq!(back.written, back.parts);
    let back = folder.copy_to(&other.folder(), &keys.public()).unwrap();
    assert_eq!(back.written, 0);
    assert_eq!(served(&other, &keys), vec![3, 340]);
}

#[test]
fn of_two_owners_one_is_told_that_it_was_overtaken() {
    let memory = Arc::new(InMemory::new());
    let disk = objects(memory);
    let keys = keys();
    drop(
        Store::create_on(
            disk.clone(),
            disk.root(),
            &mut rng(1),
            &keys,
            &spec(),
            [Ok(batch(0, 200))],
            &mut |_| (),
        )
        .unwrap(),
    );
    let open = || Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap();
    let (mut one, mut two) = (open(), open());
    one.add(&mut rng(2), [Ok(batch(200, 20))], &mut |_| ())
        .unwrap();
    // Both owners give the next version the same number, so the second owner finds the number
    // taken.
    let late = two.add(&mut rng(3), [Ok(batch(200, 30))], &mut |_| ());
    assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    // Even with another number, this version does not follow from the newest one.
    let late = two.add(&mut rng(4), [Ok(batch(200, 30))], &mut |_| ());
    assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    // The owner sees the newer version, but still may not overwrite it.
    assert!(two.verify().is_err());
    let late = two.add(&mut rng(5), [Ok(batch(200, 30))], &mut |_| ());
    assert!(late.is_err());
    assert_eq!(served(&disk, &keys), vec![2, 220]);
    one.add(&mut rng(6), [Ok(batch(220, 20))], &mut |_| ())
        .unwrap();
    // The number of an incomplete change is not used again.
    let mut two = open();
    two.delete(&mut rng(7), &[3u64]).unwrap();
    assert!(two.version() > 3);
    two.verify().unwrap();
}

/// An owner opens the index, which removes unused parts. Meanwhile another owner has written parts but not its
/// version.
#[test]
fn nobody_removes_the_parts_of_a_change_that_is_under_way() {
    let memory = Arc::new(InMemory::new());
    let disk = objects(memory.clone());
    let keys = keys();
    let mut one = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(1),
        &keys,
        &spec(),
        [Ok(batch(0, 200))],
        &mut |_| (),
    )
    .unwrap();
    let parts = || fixture::count(&memory, "parts");
    let before = parts();
    let mut seen = 0;
    one.add(
        &mut rng(2),
        [Ok(batch(200, 100)), Ok(batch(300, 100))],
        &mut |_| {
            seen += 1;
            drop(Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap());
        },
    )
    .unwrap();
    assert!(seen > 0 && parts() > before);
    one.verify().unwrap();
    // The parts of a failed change stay until they are old.
    put_raw(&memory, &format!("parts/{}", "ab".repeat(32)), b"left over");
    let left = parts();
    drop(Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap());
    assert_eq!(parts(), left);
    let short = disk.clone().with_grace(Duration::ZERO);
    drop(Store::open_on(short.clone(), short.root(), &keys, None).unwrap());
    assert!(parts() < left);
    assert_eq!(served(&disk, &keys), vec![2, 400]);
    assert!(
        Store::open_on(disk.clone(), disk.root(), &keys, None)
            .unwrap()
            .verify()
            .is_ok()
    );
}

#[test]
fn a_change_that_takes_longer_than_its_parts_are_safe_is_refused() {
    let disk = objects(Arc::new(InMemory::new()));
    let keys = keys();
    let made = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(1),
        &keys,
        &spec(),
        [Ok(batch(0, 200))],
        &mut |_| (),
    );
    drop(made.unwrap());
    // The grace is zero, and any change takes longer.
    let short = disk.clone().with_grace(Duration::ZERO);
    let mut store = Store::open_on(short.clone(), short.root(), &keys, None).unwrap();
    let slow = store.add(&mut rng(2), [Ok(batch(200, 100))], &mut |_| ());
    let late = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
    assert!(
        matches!(&slow, Err(Error::File { source, .. }) if late(source)),
        "{slow:?}"
    );
    assert_eq!(served(&disk, &keys), vec![1, 200]);
}

#[test]
fn an_older_copy_is_not_put_over_a_newer_one() {
    let disk = objects(Arc::new(InMemory::new()));
    let keys = keys();
    let local = tempfile::tempdir().unwrap();
    let dir = local.path().join("base");
    let mut store = Store::create(
        &dir,
        &mut rng(1),
        &keys,
        &spec(),
        [Ok(batch(0, 200))],
        &mut |_| (),
    )
    .unwrap();
    let old = local.path().join("old");
    Index::backup(&dir, &old, &keys.public()).unwrap();
    store
        .add(&mut rng(2), [Ok(batch(200, 20))], &mut |_| ())
        .unwrap();
    let folder = |dir| Folder::new(dir, Files);
    folder(&dir)
        .copy_to(&disk.folder(), &keys.public())
        .unwrap();
    let back = folder(&old).copy_to(&disk.folder(), &keys.public());
    assert!(matches!(back, Err(Error::NotNext(_))), "{back:?}");
    // A copy that was changed differently, from the same version.
    let mut other = Store::open(&old, &keys).unwrap();
    other
        .add(&mut rng(3), [Ok(batch(200, 30))], &mut |_| ())
        .unwrap();
    other
        .add(&mut rng(4), [Ok(batch(230, 30))], &mut |_| ())
        .unwrap();
    let forked = folder(&old).copy_to(&disk.folder(), &keys.public());
    assert!(matches!(forked, Err(Error::NotNext(_))), "{forked:?}");
    assert_eq!(served(&disk, &keys), vec![2, 220]);
    assert_eq!(address().to_string(), "s3://bucket/a/base.index");
}

/// Tasks with only the store and the keys make segments, one of them twice. Two coordinators cannot both finish.
#[test]
fn tasks_write_their_segments_into_the_store() {
    let memory = Arc::new(InMemory::new());
    let disk = objects(memory.clone());
    let keys = keys();
    let begin = |seed| {
        let sample = sordino_search::synthetic::uniform(4, 16, 1);
        Assembly::begin_on(
            disk.clone(),
            disk.root(),
            &mut rng(seed),
            &keys,
            &spec(),
            &sample,
        )
        .unwrap()
    };
    let (mut one, two) = (begin(1), begin(2));
    let facts = one.blueprint().to_bytes(&keys);
    let make = |task: u64, seed| {
        let facts = Blueprint::from_bytes(&facts, &keys).unwrap();
        let records = [Ok(batch(task * 50, 50))];
        let folder = objects(memory.clone()).folder();
        facts.make(
            &mut rng(seed),
            &keys,
            &folder,
            (task, None),
            records,
            &mut |_| (),
        )
    };
    for (task, seed, taken) in [(1, 3, true), (1, 4, false), (0, 5, true)] {
        assert_eq!(one.take(make(task, seed).unwrap()).unwrap(), taken);
    }
    // These are rows, scales and ids of three segments, and the frames of both coordinators.
    assert_eq!(fixture::count(&memory, "parts"), 3 * 3 + 2);
    // Old parts are refused, because other owners may remove them.
    let old = make(2, 6).unwrap();
    let short = disk.clone().with_grace(Duration::ZERO);
    let sample = sordino_search::synthetic::uniform(4, 16, 1);
    // Another assembly, without grace, removes all parts.
    let third = Assembly::begin_on(
        short.clone(),
        short.root(),
        &mut rng(7),
        &keys,
        &spec(),
        &sample,
    );
    drop(third.unwrap());
    assert!(one.take(old).is_err());
    // The frame is gone too, so tasks can make no segment.
    assert!(matches!(make(0, 8), Err(Error::File { .. })));
    // The accepted segments are gone as well, so the first coordinator makes no version that would
    // name them.
    let gone = one.finish(&mut rng(10), 2).unwrap_err();
    assert!(matches!(gone, Error::Digest { .. }), "{gone}");
    drop(two);
    let (mut one, mut two) = (begin(10), begin(11));
    let facts = one.blueprint().clone();
    for task in 0..2u64 {
        let records = [Ok(batch(task * 50, 50))];
        let folder = disk.folder();
        let piece = facts.make(
            &mut rng(12 + task),
            &keys,
            &folder,
            (task, None),
            records,
            &mut |_| (),
        );
        one.take(piece.unwrap()).unwrap();
    }
    let piece = two.blueprint().clone().make(
        &mut rng(22),
        &keys,
        two.folder(),
        (0, None),
        [Ok(batch(0, 30))],
        &mut |_| (),
    );
    two.take(piece.unwrap()).unwrap();
    assert_eq!(one.finish(&mut rng(20), 2).unwrap().version, 1);
    for seed in [21, 22] {
        let late = two.finish(&mut rng(seed), 1);
        assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    }
    drop((one, two));
    let store = Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap();
    assert_eq!(store.verify().unwrap().records, 100);
    assert_eq!(served(&disk, &keys), vec![1, 100]);
}
