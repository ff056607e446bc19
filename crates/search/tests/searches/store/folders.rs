//! Folders that contain other files, or that change while a process reads them.

use std::path::Path;

use sordino_index::folder::Folder;
use sordino_search::manifest::{Holder, Packing, Part, PartKind};
use sordino_search::{
    Client, Contents, Error, Files, Form, InProcess, Index, Server, Store, Vectors, synthetic,
};
use sordino_testkit::{keys, rng, sealed};

use super::bed::{bed, number};
use super::owner::{DIM, K, connect, forms, spec};
use super::versions::copy;

fn create(dir: &Path, vectors: Vectors) -> Result<Store, Error> {
    let spec = spec(Form::Masked(Packing::T4));
    let batches = [Ok(vectors.into())];
    Store::create(dir, &mut rng(1), &keys(), &spec, batches, &mut |_| ())
}

fn vectors() -> Vectors {
    synthetic::uniform(40, DIM, 1)
}

/// Every file below a folder, with its content.
fn contents(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The name of a digest, which other programs may also use.
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn a_folder_with_other_files_is_refused_and_left_as_it_is() {
    let digest = format!("parts/{DIGEST}");
    let foreign = [
        "thesis.tmp",
        "parts/gear.step",
        &digest,
        "manifests/notes.txt",
        "manifests/7",
        "CURRENT.txt",
        ".hidden",
        "photos/one.jpg",
    ];
    for name in foreign {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let before = contents(dir.path());
        let error = create(dir.path(), vectors()).unwrap_err();
        let Error::Occupied { path, entry } = &error else {
            panic!("{name}: {error}");
        };
        assert_eq!(path, dir.path());
        assert!(Path::new(name).starts_with(entry), "{name}: {error}");
        assert!(error.to_string().contains(entry.to_str().unwrap()));
        assert_eq!(contents(dir.path()), before, "{name}");
    }
    // A new index takes an empty folder, or one that does not exist.
    let dir = tempfile::tempdir().unwrap();
    create(dir.path(), vectors()).unwrap();
    create(&dir.path().join("not/there/yet"), vectors()).unwrap();
}

#[test]
fn files_of_other_names_in_an_index_are_never_removed() {
    let mut bed = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let dir = bed.dir.path().to_owned();
    let foreign = [
        "thesis.tmp",
        "parts/notes.txt",
        "parts/.nfs0001.tmp",
        "manifests/7.tmp",
        "LOCK.tmp",
    ];
    for name in foreign {
        std::fs::write(dir.join(name), "mine").unwrap();
    }
    // The remains of an interrupted change.
    let left = [
        format!("parts/{DIGEST}"),
        format!("parts/{DIGEST}.tmp"),
        format!("parts/{DIGEST}.0123456789abcdef.tmp"),
        "manifests/00000000000000000007.0123456789abcdef.tmp".to_owned(),
        "CURRENT.fedcba9876543210.tmp".to_owned(),
        "manifests/00000000000000000007.tmp".to_owned(),
        "CURRENT.tmp".to_owned(),
    ];
    for name in &left {
        std::fs::write(dir.join(name), "ours").unwrap();
    }
    bed.delete(&[1, 2]);
    bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
    drop(bed.store);
    Store::open(&dir, &keys()).unwrap();
    for name in foreign {
        assert_eq!(std::fs::read(dir.join(name)).unwrap(), b"mine", "{name}");
    }
    for name in &left {
        assert!(!dir.join(name).exists(), "{name}");
    }
}

#[test]
fn verifying_changes_nothing_and_needs_no_lock() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        bed.upsert(21, &[3, 4], 1.0);
        // These files are not needed, and a check removes no files.
        for name in ["parts/notes.txt", &format!("parts/{DIGEST}"), "CURRENT.tmp"] {
            std::fs::write(bed.dir.path().join(name), "mine").unwrap();
        }
        // Checks a folder that an owner has open, and a copy without a lock.
        let copied = tempfile::tempdir().unwrap();
        copy(bed.dir.path(), copied.path());
        std::fs::remove_file(copied.path().join("LOCK")).unwrap();
        for dir in [bed.dir.path(), copied.path()] {
            let before = contents(dir);
            let verified = Store::verify_dir(dir, &keys().reader()).unwrap();
            assert_eq!(verified, bed.store.verify().unwrap());
            assert_eq!((verified.version, verified.versions), (2, 2));
            assert_eq!(contents(dir), before, "{form:?}");
        }
    }
    let nothing = Store::verify_dir("/nothing/there", &keys().reader());
    assert!(matches!(nothing, Err(Error::NoIndex { .. })));
}

/// An owner changes the index again and again while another process checks it.
#[test]
fn an_index_can_be_verified_while_it_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = create(dir.path(), vectors()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let checks = scope.spawn(|| {
            let mut versions = Vec::new();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let verified = Store::verify_dir(dir.path(), &keys().reader());
                versions.push(verified.map(|verified| verified.version));
            }
            versions
        });
        for id in 100..120u32 {
            let one = synthetic::uniform(1, DIM, id.into());
            store.upsert(&mut rng(2), &[id], &one).unwrap();
        }
        store.compact(&mut rng(2), &mut |_| ()).unwrap();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for version in checks.join().unwrap() {
            version.unwrap();
        }
    });
}

/// An owner changes the index twice, and so removes parts of the version that is being read.
#[test]
fn contents_are_read_again_where_a_change_takes_them_away() {
    let mut bed = bed(&spec(Form::Masked(Packing::T4)), 1.0);
    let dir = bed.dir.path().to_owned();
    let mut versions = Vec::new();
    let read = Contents::read_on(Files, &dir, &keys().reader(), |contents| {
        versions.push(contents.manifest().version);
        if versions.len() == 1 {
            bed.delete(&[1]);
            bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
            bed.delete(&[2]);
        }
        let all = contents.all().collect::<Result<Vec<_>, _>>()?;
        Ok(all.iter().map(|some| some.ids.len()).sum::<usize>())
    });
    assert_eq!((read.unwrap(), versions), (bed.store.len(), vec![1, 4]));
    // If there is no newer version, the fault is returned.
    let mut attempts = 0;
    let none = Contents::read_on(Files, &dir, &keys().reader(), |_| {
        attempts += 1;
        Err::<(), _>(Error::Signature)
    });
    assert!(matches!(none, Err(Error::Signature)));
    assert_eq!(attempts, 1);
}

/// A process truncates or overwrites the files of a served index, as `cp` or a restored backup may. The
/// server does not end, and its answers do not change.
#[test]
fn a_server_keeps_what_it_has_opened() {
    let forms = [Form::Local, sealed(sordino_search::Routing::Downloaded)];
    for form in forms {
        for truncate in [true, false] {
            // The vectors are long enough that a part is larger than a page of memory.
            let dir = tempfile::tempdir().unwrap();
            let (base, queries) = synthetic::clustered(6000, 5, DIM, 11);
            let batches = [Ok(base.into())];
            let made = Store::create(
                dir.path(),
                &mut rng(1),
                &keys(),
                &spec(form),
                batches,
                &mut |_| (),
            );
            drop(made.unwrap());
            let index = Index::open_dir(dir.path(), &keys().public()).unwrap();
            let server = Server::new(index).unwrap();
            let (client, _) = connect(&server);
            let search = |client: &Client| {
                let transport = &mut InProcess::new(&server);
                let found = client.search(&mut rng(5), transport, queries.row(0));
                found.unwrap().hits
            };
            let before = search(&client);
            for entry in std::fs::read_dir(dir.path().join("parts")).unwrap() {
                let path = entry.unwrap().path();
                let len = std::fs::metadata(&path).unwrap().len();
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_len(0).unwrap();
                if !truncate {
                    file.set_len(len).unwrap();
                }
            }
            // A new client downloads all parts.
            let (later, _) = connect(&server);
            assert_eq!(search(&later), before);
            assert_eq!(search(&client), before);
            assert_eq!(before.len(), K);
        }
    }
}

/// Equal vectors under several ids, in one segment and in several. In open mode they have equal rows and
/// equal hints.
#[test]
fn records_with_equal_vectors_are_all_found() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        let (one, _) = synthetic::clustered(1, 1, DIM, 77);
        let three = one.as_slice().repeat(3);
        let three = Vectors::new(DIM, three).unwrap();
        let copies: [&[u32]; 4] = [&[90_001], &[90_000], &[90_007, 90_003, 90_005], &[90_002]];
        for ids in copies {
            let vectors = if ids.len() == 1 { &one } else { &three };
            bed.store.upsert(&mut rng(3), ids, vectors).unwrap();
        }
        let again = bed.server();
        let (client, _) = connect(&again);
        let transport = &mut InProcess::new(&again);
        let found = client.search(&mut rng(4), transport, one.row(0)).unwrap();
        let mut ids: Vec<u32> = found.hits.iter().take(6).map(number).collect();
        ids.sort_unstable();
        let expected = [90_000, 90_001, 90_002, 90_003, 90_005, 90_007];
        assert_eq!(ids, expected, "{form:?}");

        // A client that follows step by step finds the same copies after compaction has put them into one segment.
        bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
        let server = bed.server();
        let mut client = client;
        client.refresh(&mut InProcess::new(&server)).unwrap();
        let transport = &mut InProcess::new(&server);
        let found = client.search(&mut rng(4), transport, one.row(0)).unwrap();
        let mut ids: Vec<u32> = found.hits.iter().take(6).map(number).collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{form:?} compacted");
    }
}

/// Records with equal scores are ordered by their ids, whatever their segments. There are more such records than a
/// search returns.
#[test]
fn equal_scores_are_in_the_order_of_ids() {
    let forms = [Form::Local, sealed(sordino_search::Routing::Downloaded)];
    for form in forms {
        let mut bed = bed(&spec(form), 1.0);
        let (one, _) = synthetic::clustered(1, 1, DIM, 77);
        let mut all: Vec<u32> = (0..40).map(|at| 90_000 + at * 7919 % 1000).collect();
        for ids in all.chunks(14) {
            let copies = Vectors::new(DIM, one.as_slice().repeat(ids.len())).unwrap();
            bed.store.upsert(&mut rng(3), ids, &copies).unwrap();
        }
        all.sort_unstable();
        for _ in 0..2 {
            let server = bed.server();
            let (client, _) = connect(&server);
            let transport = &mut InProcess::new(&server);
            let found = client.search(&mut rng(4), transport, one.row(0)).unwrap();
            let ids: Vec<u32> = found.hits.iter().map(number).collect();
            assert_eq!(ids, all[..K], "{form:?}");
            bed.store.compact(&mut rng(3), &mut |_| ()).unwrap();
        }
    }
}

/// A shard reads its share of a part, but checks the whole part.
#[test]
fn any_share_of_a_part_is_that_of_the_whole_and_all_of_it_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path(), Files);
    folder.create().unwrap();
    // More bytes than are in memory at once.
    let whole: Vec<u8> = (0..9_000_000_u32)
        .map(|i| (i % 251).to_le_bytes()[0])
        .collect();
    let (len, bytes) = (9_000_000, 9_000_000_usize);
    let part = Part {
        kind: PartKind::Rows,
        len,
        digest: folder.put(&whole).unwrap(),
        holder: Holder::Server,
        segment: None,
    };
    let middle = 4 << 20;
    for range in [
        0..bytes,
        0..0,
        5..6,
        middle - 3..middle + 3,
        middle..bytes,
        bytes..bytes,
    ] {
        let wanted = range.start as u64..range.end as u64;
        let own = folder
            .part_range(&part, &wanted.into(), vec![7; 9])
            .unwrap();
        assert!(own[..] == whole[range.clone()], "{range:?}");
    }
    for beyond in [0..len + 1, len..len + 1] {
        let refused = folder.part_range(&part, &beyond.into(), Vec::new());
        assert!(matches!(refused, Err(Error::Malformed { .. })));
    }
    let parts = std::fs::read_dir(dir.path().join("parts")).unwrap();
    let path = parts.map(|entry| entry.unwrap().path()).next().unwrap();
    // Damages a byte outside the share.
    let mut damaged = whole.clone();
    damaged[bytes - 1] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let refused = folder.part_range(&part, &(0..5).into(), Vec::new());
    assert!(matches!(refused, Err(Error::Digest { .. })));
    let longer = [&whole[..], &[0; 9]].concat();
    for (bytes, said) in [
        (&whole[1..], "8999999 bytes, expected 9000000"),
        (&longer, "9000001 bytes and more, expected 9000000"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let refused = folder
            .part_range(&part, &(0..5).into(), Vec::new())
            .unwrap_err();
        assert!(refused.to_string().contains(said), "{refused}");
        assert!(refused.to_string().ends_with("or a backup"), "{refused}");
    }
}
