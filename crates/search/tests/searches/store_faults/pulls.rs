//! Pulls that a crash interrupts, and pulls from servers that show another history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sordino_search::{
    Error, Files, Folder, Form, InProcess, Index, OwnerFault, Pin, Pins, Pulled, Store,
};
use sordino_testkit::{keys, serve};
use tempfile::TempDir;

use super::disk::{Fault, Faulty};
use super::owner::{Change, base, create};
use super::power::{Model, Survives, files, write_all};

type Content = BTreeMap<PathBuf, Vec<u8>>;

/// A folder with the content of `start` and these changes.
fn changed(start: &Content, changes: &[(Change, u64)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_all(dir.path(), start);
    let mut store = Store::open(dir.path(), &keys()).unwrap();
    for (change, seed) in changes {
        change.make(&mut store, *seed).unwrap();
    }
    dir
}

fn start() -> Content {
    let dir = tempfile::tempdir().unwrap();
    base(dir.path(), Form::Local);
    files(dir.path())
}

fn pin(dir: &Path) -> Pin {
    let owner = keys().public();
    Pin::of(Index::open_dir(dir, &owner).unwrap().manifest())
}

/// Pulls from a server of the folder `there`.
fn pull<D: sordino_search::Disk>(
    there: &Path,
    folder: &Folder<D>,
    after: Option<&Pin>,
    known: &[Pin],
) -> Result<Pulled, Error> {
    let server = serve(there);
    let mut transport = InProcess::new(&server);
    let reader = keys().reader();
    sordino_search::pull(&mut transport, &reader, folder, after, |_| {
        Ok(known.to_vec())
    })
}

/// The fault of a pull that is refused because of what the owner knows.
fn undone(pulled: Result<Pulled, Error>) -> Error {
    match pulled {
        Err(Error::Owner(OwnerFault::Undone(fault))) => *fault,
        other => panic!("{other:?}"),
    }
}

/// A crash leaves the old version or the new one, or no version if a version was abandoned. The next pull completes the folder.
#[test]
fn a_pull_that_is_interrupted_at_any_moment_is_completed_by_the_next() {
    use Change::{Compact, Delete, Upsert};
    let (owner, start) = (keys().public(), start());
    let first = changed(&start, &[]);
    let known = [pin(first.path())];
    let two = &[(Upsert, 10), (Compact, 0)][..];
    // The folder's changes, the server's, and whether the folder's are abandoned. A new folder has no changes.
    for (here, there, abandoned) in [
        (None, two, false),
        (Some(&[][..]), two, false),
        (Some(&[(Delete, 9)][..]), &[(Upsert, 10)][..], true),
        (Some(&[(Delete, 9)][..]), two, true),
        (Some(&[(Delete, 9), (Upsert, 12)][..]), two, true),
    ] {
        let server = changed(&start, there);
        let new = Index::open_dir(server.path(), &owner).unwrap();
        // The model of a disk has no locks, so a new folder begins with its lock file.
        let new_folder = || Content::from([(PathBuf::from("LOCK"), Vec::new())]);
        let before = here.map_or_else(new_folder, |here| files(changed(&start, here).path()));
        let after = abandoned.then_some(&known[0]);
        let known = if abandoned { &[][..] } else { &known[..] };

        let whole = tempfile::tempdir().unwrap();
        write_all(whole.path(), &before);
        let model = Model::read(whole.path());
        let old = Index::open_dir(whole.path(), &owner).ok();
        let disk = Faulty::new(whole.path(), Fault::None);
        pull(
            server.path(),
            &Folder::new(whole.path(), disk.clone()),
            after,
            known,
        )
        .unwrap();
        assert!(Index::open_dir(whole.path(), &owner).unwrap() == new);
        let ops = disk.done.borrow().clone();
        assert!(ops.len() > 9);

        let (mut crashed, mut lost) = (model, 0);
        for at in 0..=ops.len() {
            for survives in [Survives::All, Survives::Names, Survives::Synced] {
                let case = format!("{here:?} {there:?} {at} {survives:?}");
                let dir = tempfile::tempdir().unwrap();
                crashed.restore(dir.path(), survives);
                match Index::open_dir(dir.path(), &owner) {
                    Ok(found) => assert!(Some(&found) == old.as_ref() || found == new, "{case}"),
                    Err(Error::NoIndex { .. }) if here.is_none() => (),
                    Err(Error::Lost { .. }) if here.is_none() || abandoned => lost += 1,
                    Err(error) => panic!("{case}: {error}"),
                }
                let folder = Folder::new(dir.path(), Files);
                let again = pull(server.path(), &folder, after, known);
                again.unwrap_or_else(|error| panic!("{case}: {error}"));
                assert!(
                    Index::open_dir(dir.path(), &owner).unwrap() == new,
                    "{case}"
                );
                // The owner finds its own version on the way to the new one.
                let store = Store::open_on(Files, dir.path(), &keys(), Some(&pin(first.path())));
                store.unwrap().verify().unwrap();
            }
            if let Some(op) = ops.get(at) {
                crashed.apply(op);
            }
        }
        assert_eq!(lost > 0, here.is_none() || abandoned, "{here:?} {there:?}");

        // An operation fails on a full disk, and the next pull succeeds.
        for at in 0..ops.len() {
            let dir = tempfile::tempdir().unwrap();
            write_all(dir.path(), &before);
            let disk = Faulty::new(dir.path(), Fault::Full(at));
            let pulled = pull(server.path(), &Folder::new(dir.path(), disk), after, known);
            let found = Index::open_dir(dir.path(), &owner).ok();
            assert!(pulled.is_err() || found.as_ref() == Some(&new), "{at}");
            let may_be_none = here.is_none() || abandoned;
            assert!(
                found == old || found.as_ref() == Some(&new) || (may_be_none && found.is_none()),
                "{at}"
            );
            pull(server.path(), &Folder::new(dir.path(), Files), after, known).unwrap();
            assert!(Index::open_dir(dir.path(), &owner).unwrap() == new, "{at}");
        }
    }
}

/// The pulled version must follow from the folder's version and from the versions that the owner knows. A refused pull leaves
/// everything as it was.
#[test]
fn a_pull_refuses_a_history_without_the_versions_that_the_owner_knows() {
    use Change::{Delete, Upsert};
    let start = start();
    let known = pin(changed(&start, &[(Delete, 9)]).path());
    // The server's history has no version of the known number: a version of this number was never its newest.
    let skipping = changed(&start, &[(Upsert, 10)]);
    std::fs::write(
        skipping.path().join("CURRENT"),
        &start[Path::new("CURRENT")],
    )
    .unwrap();
    for more in [1, 2] {
        let mut store = Store::open(skipping.path(), &keys()).unwrap();
        assert_eq!(
            Upsert.make(&mut store, 20 + more).unwrap(),
            known.version + more
        );
        drop(store);
        let folders = [Content::new(), start.clone()];
        for before in folders {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("index");
            if !before.is_empty() {
                write_all(&root, &before);
            }
            // An older version than the known one is refused, too.
            let older = changed(&start, &[]);
            for (server, is_fork) in [(&skipping, true), (&older, false)] {
                let folder = Folder::new(&root, Files);
                let fault = undone(pull(server.path(), &folder, None, &[known]));
                match is_fork {
                    true => assert!(matches!(fault, Error::Fork { .. }), "{fault}"),
                    false => assert!(matches!(fault, Error::Rollback { .. }), "{fault}"),
                }
                assert_eq!(root.exists(), !before.is_empty());
                assert!(before.is_empty() || files(&root) == before);
            }
        }
    }
}

/// A pin does not turn a folder into one of another index. A damaged version that was never sent is not passed over.
#[test]
fn a_pull_replaces_neither_another_index_nor_a_damaged_version() {
    let start = start();
    let other = tempfile::tempdir().unwrap();
    create(Files, other.path(), Form::Local, 5)
        .map(drop)
        .unwrap();
    let here = changed(&start, &[]);
    let folder = Folder::new(here.path(), Files);
    let before = files(here.path());
    let refused = pull(other.path(), &folder, Some(&pin(other.path())), &[]);
    assert!(
        matches!(refused, Err(Error::OtherIndex { .. })),
        "{refused:?}"
    );
    assert!(files(here.path()) == before);

    let server = changed(&start, &[(Change::Delete, 12)]);
    let own = changed(&start, &[(Change::Upsert, 10)]);
    let new = files(own.path())
        .into_keys()
        .find(|path| path.starts_with("parts") && !start.contains_key(path));
    std::fs::write(own.path().join(new.unwrap()), b"damaged").unwrap();
    std::fs::remove_file(own.path().join("CURRENT")).unwrap();
    let before = files(own.path());
    let refused = pull(server.path(), &Folder::new(own.path(), Files), None, &[]);
    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
    assert!(files(own.path()) == before);
}

/// A part of a wrong length comes again, even if the server's version is the folder's.
#[test]
fn a_pull_fetches_a_part_that_was_cut() {
    let (start, owner) = (start(), keys().public());
    let server = changed(&start, &[]);
    let here = changed(&start, &[]);
    let folder = Folder::new(here.path(), Files);
    assert_eq!(pull(server.path(), &folder, None, &[]).unwrap().parts, 0);
    let parts = start.keys().filter(|path| path.starts_with("parts"));
    for (at, part) in parts.enumerate() {
        let path = here.path().join(part);
        match at % 2 {
            0 => std::fs::write(&path, &start[part][1..]).unwrap(),
            _ => std::fs::remove_file(&path).unwrap(),
        }
        assert_eq!(pull(server.path(), &folder, None, &[]).unwrap().parts, 1);
        assert_eq!(std::fs::read(&path).unwrap(), start[part]);
    }
    Index::open_dir(here.path(), &owner).unwrap();
}

/// A pull that gives up a version of the folder may stop before or after it has replaced that version. The owner's pins accept both
/// versions then, and none that is older than where the two part.
#[test]
fn a_pull_that_stops_leaves_pins_that_accept_both_versions() {
    use Change::{Compact, Delete, Upsert};
    let (start, place) = (start(), "here");
    let first = changed(&start, &[]);
    let own = changed(&start, &[(Delete, 9)]);
    let other = changed(&start, &[(Upsert, 10), (Upsert, 11)]);
    let found = Index::open_dir(other.path(), &keys().public()).unwrap();
    let later = changed(&files(other.path()), &[(Compact, 0)]);
    let after = pin(first.path());
    for left in [&own, &other, &later, &first] {
        let left = left.path();
        let (pins, dir) = (Pins::in_memory(), tempfile::tempdir().unwrap());
        let here = dir.path().join(place);
        write_all(&here, &files(own.path()));
        let open = || pins.open(Files, &here, &Pins::place(&here), &keys());
        drop(open().unwrap());
        // The owner knows its own version, so it asks for it without `after`.
        let asked = pins.before_pull(&here, found.manifest(), None).unwrap();
        assert_eq!(asked, [pin(own.path())]);
        let asked = pins.before_pull(&here, found.manifest(), Some(&after));
        assert_eq!(asked.unwrap(), []);
        std::fs::remove_dir_all(&here).unwrap();
        write_all(&here, &files(left));
        drop(open().unwrap());
        pins.after_pull(Files, &here, &keys()).unwrap();
        assert_eq!(pins.expected(&here, found.manifest()).unwrap(), [pin(left)]);
    }
}

/// A folder whose keeper puts an older version into it during such a pull is refused afterwards.
#[test]
fn a_pull_that_gives_up_a_version_accepts_no_older_one() {
    use Change::{Delete, Upsert};
    let start = start();
    let first = changed(&start, &[(Delete, 9)]);
    let other = changed(&files(first.path()), &[(Upsert, 10)]);
    let found = Index::open_dir(other.path(), &keys().public()).unwrap();
    let (pins, dir) = (Pins::in_memory(), tempfile::tempdir().unwrap());
    write_all(dir.path(), &files(first.path()));
    pins.after_pull(Files, dir.path(), &keys()).unwrap();
    let asked = pins.before_pull(dir.path(), found.manifest(), Some(&pin(first.path())));
    assert_eq!(asked.unwrap(), []);
    let older = tempfile::tempdir().unwrap();
    write_all(older.path(), &start);
    std::fs::remove_dir_all(dir.path()).unwrap();
    write_all(dir.path(), &files(older.path()));
    let refused = pins.after_pull(Files, dir.path(), &keys());
    let Err(Error::Owner(OwnerFault::Undone(fault))) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(*fault, Error::Rollback { .. }), "{fault}");
}
