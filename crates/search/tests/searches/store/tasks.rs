//! Segments that tasks make. A task may be retried, killed, or done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sordino_search::manifest::{Packing, SignedManifest};
use sordino_search::{
    Assembly, Batch, Client, Column, Disk, Error, Files, Folder, Form, IdKind, InProcess, Index,
    Metric, Piece, Pin, Server, Step, Store, Vectors, synthetic,
};
use sordino_search::{Attributes, Blueprint};
use sordino_testkit::{ROUTED, keys, rng, sealed, strange_keys};

use super::owner::{DIM, spec};

const TASKS: u64 = 4;
const EACH: usize = 60;

fn all() -> Vectors {
    synthetic::uniform(EACH * 4, DIM, 3)
}

fn batch(task: u64) -> Batch {
    let at = usize::try_from(task).unwrap() * EACH;
    let rows = all().as_slice()[at * DIM..(at + EACH) * DIM].to_vec();
    let years = Column::Int((at..at + EACH).map(|at| i64::try_from(at).ok()).collect());
    let attributes = Attributes::new(EACH, [("year".to_owned(), years)]).unwrap();
    Batch::from(Vectors::new(DIM, rows).unwrap())
        .with_attributes(attributes)
        .unwrap()
}

fn begin(dir: &Path, form: Form, seed: u64) -> Result<Assembly, Error> {
    Assembly::begin(dir, &mut rng(seed), &keys(), &spec(form), &all())
}

/// The work of a separate process, which has the folder, the keys and the bytes of the blueprint.
fn made(dir: &Path, blueprint: &[u8], task: u64, seed: u64) -> Result<Vec<u8>, Error> {
    let blueprint = Blueprint::from_bytes(blueprint, &keys())?;
    let folder = Folder::new(dir, Files);
    let first = Some(task * EACH as u64);
    let records = [Ok(batch(task))];
    let mut rng = rng(1000 * seed + task);
    let piece = blueprint.make(
        &mut rng,
        &keys(),
        &folder,
        (task, first),
        records,
        &mut |_| (),
    )?;
    assert_eq!((piece.task(), piece.records() as usize), (task, EACH));
    Ok(piece.to_bytes(&keys()))
}

fn take(assembly: &mut Assembly, piece: &[u8]) -> Result<bool, Error> {
    assembly.take(Piece::from_bytes(piece, &keys())?)
}

fn parts(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(dir.join("parts")).unwrap();
    let files = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(path).unwrap())
    });
    files.collect()
}

/// The names of the manifest's parts in the folder.
fn named(manifest: &SignedManifest) -> BTreeSet<String> {
    let parts = manifest.parts().unwrap();
    let stored = parts.iter().filter(|part| part.holder.is_stored());
    let hex = |digest: [u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
    stored.map(|part| hex(part.digest)).collect()
}

#[test]
fn an_index_of_tasks_is_one_that_is_searched_changed_and_verified() {
    for form in [Form::Masked(Packing::T4), Form::Open(Packing::T8)] {
        let dir = tempfile::tempdir().unwrap();
        let mut assembly = begin(dir.path(), form, 1).unwrap();
        let blueprint = assembly.blueprint().to_bytes(&keys());
        // The tasks come in any order, and until the end there is no index.
        for task in [2, 0, 3, 1] {
            let piece = made(dir.path(), &blueprint, task, 1).unwrap();
            assert!(take(&mut assembly, &piece).unwrap());
            let none = Index::open_dir(dir.path(), &keys().public()).unwrap_err();
            assert!(matches!(none, Error::NoIndex { .. }), "{none}");
        }
        let made = assembly.finish(&mut rng(9), TASKS).unwrap();
        assert_eq!(
            made,
            Pin::of(&Index::manifest_of_dir(dir.path(), &keys().public()).unwrap())
        );
        drop(assembly);
        let mut store = Store::open(dir.path(), &keys()).unwrap();
        assert_eq!((store.version(), store.len()), (1, EACH * 4));
        assert_eq!(store.manifest().segments().len(), 4);
        assert_eq!(store.verify().unwrap().records, EACH * 4);
        let found = |expected: u64, row: usize| {
            let server = Server::open_dir(dir.path(), &keys().public()).unwrap();
            let mut transport = InProcess::new(&server);
            let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
            let found = client
                .search(&mut rng(2), &mut transport, all().row(row))
                .unwrap();
            assert_eq!(found.hits[0].id, expected);
        };
        for row in [0, 59, 60, 239] {
            found(row as u64, row);
        }
        // Changes and compacts the index, like every index.
        store.delete(&mut rng(3), &[7u64]).unwrap();
        store.compact(&mut rng(4), &mut |_| ()).unwrap();
        drop(store);
        let store = Store::open(dir.path(), &keys()).unwrap();
        assert_eq!(store.verify().unwrap().records, EACH * 4 - 1);
        found(239, 239);
    }
}

/// A task is killed midway and then done twice, and both results are offered. One is taken, and nothing of the others stays.
/// No id, and so no key, pad or nonce, belongs to two contents.
#[test]
fn of_a_task_that_is_made_again_one_segment_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut assembly = begin(dir.path(), Form::Masked(Packing::T4), 1).unwrap();
    let blueprint = assembly.blueprint().to_bytes(&keys());
    // Killed after its first part, and once with a half-written file.
    let killed = std::panic::catch_unwind(|| {
        let folder = Folder::new(dir.path(), Killed::default());
        let blueprint = Blueprint::from_bytes(&blueprint, &keys()).unwrap();
        let records = [Ok(batch(0))];
        blueprint.make(
            &mut rng(5),
            &keys(),
            &folder,
            (0, Some(0)),
            records,
            &mut |_| (),
        )
    });
    assert!(killed.is_err());
    let left = parts(dir.path());
    assert!(!left.is_empty());
    // Does the task twice more, and a third time with the second one's randomness, as a restored
    // machine would.
    let one = made(dir.path(), &blueprint, 0, 1).unwrap();
    let two = made(dir.path(), &blueprint, 0, 2).unwrap();
    let before = parts(dir.path());
    let again = made(dir.path(), &blueprint, 0, 2).unwrap();
    assert!(one != two && two == again);
    assert_eq!(
        before,
        parts(dir.path()),
        "the same content is the same bytes"
    );
    assert!(take(&mut assembly, &two).unwrap());
    for late in [&one, &two, &again] {
        assert!(!take(&mut assembly, late).unwrap());
    }
    for task in 1..TASKS {
        let piece = made(dir.path(), &blueprint, task, 1).unwrap();
        take(&mut assembly, &piece).unwrap();
    }
    // The rows of two attempts differ everywhere, so no pad of one is a pad of the other.
    let rows: Vec<_> = parts(dir.path())
        .into_values()
        .filter(|part| part.len() > 4 * EACH * DIM)
        .collect();
    for (at, a) in rows.iter().enumerate() {
        for b in &rows[at + 1..] {
            let same = a
                .chunks_exact(4)
                .zip(b.chunks_exact(4))
                .filter(|(a, b)| a == b);
            assert!(same.count() < 20);
        }
    }
    assembly.finish(&mut rng(9), TASKS).unwrap();
    drop(assembly);
    let store = Store::open(dir.path(), &keys()).unwrap();
    assert_eq!(store.verify().unwrap().records, EACH * 4);
    let there: BTreeSet<String> = parts(dir.path()).into_keys().collect();
    assert_eq!(
        there,
        named(store.manifest()),
        "nothing of other attempts stays"
    );
    assert!(left.keys().any(|name| !there.contains(name)));
    // A task that did not learn of the end writes parts that no version names.
    made(dir.path(), &blueprint, 1, 7).unwrap();
    drop(store);
    let store = Store::open(dir.path(), &keys()).unwrap();
    let there: BTreeSet<String> = parts(dir.path()).into_keys().collect();
    assert_eq!(there, named(store.manifest()));
    store.verify().unwrap();
}

/// The files of a process that dies while it writes its second part.
#[derive(Debug, Default)]
struct Killed(std::sync::atomic::AtomicUsize);

impl Disk for Killed {
    fn create_dir(&self, path: &Path) -> std::io::Result<()> {
        Files.create_dir(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        if self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 {
            Files.write(path, &bytes[..bytes.len() / 2])?;
            panic!("killed");
        }
        Files.write(path, bytes)
    }

    fn sync(&self, path: &Path) -> std::io::Result<()> {
        Files.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        Files.rename(from, to)
    }

    fn sync_dir(&self, path: &Path) -> std::io::Result<()> {
        Files.sync_dir(path)
    }

    fn remove(&self, path: &Path) -> std::io::Result<()> {
        Files.remove(path)
    }
}

#[test]
fn what_is_no_segment_of_this_build_is_refused() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let form = Form::Masked(Packing::T4);
    let mut assembly = begin(dir.path(), form, 1).unwrap();
    let blueprint = assembly.blueprint().to_bytes(&keys());
    let good = made(dir.path(), &blueprint, 0, 1).unwrap();
    // The build refuses a segment that another folder's build made from the same records.
    let foreign = begin(other.path(), form, 2).unwrap();
    let foreign = foreign.blueprint().to_bytes(&keys());
    let piece = made(other.path(), &foreign, 0, 1).unwrap();
    assert!(matches!(
        take(&mut assembly, &piece),
        Err(Error::Malformed { .. })
    ));
    // Another owner's keys can read neither the segment nor the plan of the build. The build refuses changed bytes.
    let stranger = strange_keys();
    assert!(Piece::from_bytes(&good, &stranger).is_err());
    assert!(Blueprint::from_bytes(&blueprint, &stranger).is_err());
    for at in 0..good.len() {
        let mut wrong = good.clone();
        wrong[at] ^= 0x10;
        assert!(take(&mut assembly, &wrong).is_err(), "byte {at}");
    }
    // A segment is refused if its parts are missing or if one part is truncated.
    let elsewhere = made(other.path(), &blueprint, 0, 3).unwrap_err();
    assert!(matches!(elsewhere, Error::File { .. }), "{elsewhere}");
    let (before, _) = (parts(dir.path()), made(dir.path(), &blueprint, 0, 3));
    let moved = made(dir.path(), &blueprint, 0, 4).unwrap();
    for (name, _) in parts(dir.path()) {
        if before.iter().all(|(other, _)| *other != name) {
            std::fs::remove_file(dir.path().join("parts").join(name)).unwrap();
        }
    }
    let missing = take(&mut assembly, &moved).unwrap_err();
    assert!(
        matches!(missing, Error::File { .. } | Error::Digest { .. }),
        "{missing}"
    );
    // The frame is a part too, which all tasks share.
    let frame = 8 + 4 * (DIM + 8192 / (4 * DIM) * DIM) + 16;
    let cut = parts(dir.path())
        .into_iter()
        .filter(|(_, part)| part.len() != frame)
        .max_by_key(|(_, part)| part.len())
        .unwrap();
    std::fs::write(dir.path().join("parts").join(&cut.0), &cut.1[1..]).unwrap();
    let refused = take(&mut assembly, &good).unwrap_err();
    assert!(matches!(refused, Error::Digest { .. }), "{refused}");
    // The task runs again.
    let again = made(dir.path(), &blueprint, 0, 4).unwrap();
    assert!(take(&mut assembly, &again).unwrap());
    // Another task has already made these records.
    let twice = made(dir.path(), &blueprint, 1, 1).unwrap();
    take(&mut assembly, &twice).unwrap();
    let folder = Folder::new(dir.path(), Files);
    let facts = Blueprint::from_bytes(&blueprint, &keys()).unwrap();
    let repeated = facts.make(
        &mut rng(3),
        &keys(),
        &folder,
        (2, Some(30)),
        [Ok(batch(2))],
        &mut |_: Step| (),
    );
    let repeated = assembly.take(repeated.unwrap()).unwrap_err();
    assert!(matches!(repeated, Error::RepeatedId { .. }), "{repeated}");
    // Finishing with too few tasks leaves no index, and the next attempt begins again.
    let early = assembly.finish(&mut rng(9), 3).unwrap_err();
    assert!(
        early.to_string().contains("no segment of task 2"),
        "{early}"
    );
    assert!(Index::open_dir(dir.path(), &keys().public()).is_err());
    drop(assembly);
    let mut assembly = begin(dir.path(), form, 5).unwrap();
    assert_eq!(parts(dir.path()).len(), 1, "its own frame alone");
    assert!(matches!(
        begin(dir.path(), form, 6),
        Err(Error::Locked { .. })
    ));
    assert!(assembly.finish(&mut rng(9), 0).is_err());
}

#[test]
fn what_cannot_be_made_apart_is_refused_at_the_beginning() {
    let dir = tempfile::tempdir().unwrap();
    for form in [
        ROUTED,
        Form::Local,
        sealed(sordino_search::Routing::Downloaded),
    ] {
        assert!(matches!(
            begin(dir.path(), form, 1),
            Err(Error::Mode { .. })
        ));
    }
    let look = spec(Form::Masked(Packing::T4)).second_look(Some(20));
    let refused = Assembly::begin(dir.path(), &mut rng(1), &keys(), &look, &all());
    assert!(matches!(refused, Err(Error::Mode { .. })));
    let none = spec(Form::Masked(Packing::T4)).k(0);
    let refused = Assembly::begin(dir.path(), &mut rng(1), &keys(), &none, &all());
    assert!(matches!(refused, Err(Error::K { .. })));
    let euclidean = spec(Form::Open(Packing::T4))
        .metric(Metric::Euclidean)
        .ids(IdKind::Text);
    let assembly = Assembly::begin(dir.path(), &mut rng(1), &keys(), &euclidean, &all()).unwrap();
    let blueprint = assembly.blueprint().to_bytes(&keys());
    assert_eq!(
        Blueprint::from_bytes(&blueprint, &keys()).unwrap(),
        *assembly.blueprint()
    );
    // A vector so long that scores would not be numbers, and records that need their own ids.
    let numbered = made(dir.path(), &blueprint, 0, 1).unwrap_err();
    assert!(matches!(numbered, Error::NoIds { .. }), "{numbered}");
    let facts = assembly.blueprint();
    let folder = Folder::new(dir.path(), Files);
    let long = Vectors::new(DIM, vec![1e30; DIM]).unwrap();
    let long = Batch::new([IdKind::Text.parse("a").unwrap()], long);
    let long = facts.make(
        &mut rng(1),
        &keys(),
        &folder,
        (0, None),
        [long],
        &mut |_| (),
    );
    assert!(matches!(long, Err(Error::Vectors(_))), "{long:?}");
    let carried = batch(0).with_payloads(vec![vec![1]; EACH]).unwrap();
    let carried = facts.make(
        &mut rng(1),
        &keys(),
        &folder,
        (0, None),
        [Ok(carried)],
        &mut |_| (),
    );
    assert!(matches!(carried, Err(Error::Mode { .. })), "{carried:?}");
}
