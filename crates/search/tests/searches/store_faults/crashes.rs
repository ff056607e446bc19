//! Changes that a crash or a full disk interrupts.

use std::path::{Path, PathBuf};

use sordino_search::Files;
use sordino_search::{Digest, manifest::Packing};
use sordino_search::{Error, Folder, Form, Index, Store};
use sordino_testkit::keys;

use super::contents::Contents;
use super::disk::{Fault, Faulty, Op};
use super::owner::{Change, base, create, forms};
use super::power::{Model, Survives, files, write_all};

#[test]
fn a_crash_at_any_moment_leaves_the_old_or_the_new_version() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let model = Model::read(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        let mut contents = Contents::default();
        for change in Change::ALL {
            // Records the operations of an uninterrupted change.
            let whole = tempfile::tempdir().unwrap();
            write_all(whole.path(), &before);
            let disk = Faulty::new(whole.path(), Fault::None);
            let mut store = Store::open_on(disk.clone(), whole.path(), &keys(), None).unwrap();
            disk.done.borrow_mut().clear();
            change.make(&mut store, 10).unwrap();
            let ops = disk.done.borrow().clone();
            drop(store);
            let new = Index::open_dir(whole.path(), &owner).unwrap();
            assert_ne!(new, old);
            contents.check_all(whole.path(), &owner);
            let switched = ops
                .iter()
                .rposition(|op| matches!(op, Op::SyncDir(_)))
                .unwrap();

            let mut crashed = model.clone();
            for at in 0..=ops.len() {
                for survives in [Survives::All, Survives::Names, Survives::Synced] {
                    let dir = tempfile::tempdir().unwrap();
                    crashed.restore(dir.path(), survives);
                    let found = Index::open_dir(dir.path(), &owner).unwrap_or_else(|error| {
                        panic!("{form:?} {change:?} {at} {survives:?}: {error}")
                    });
                    assert!(found == old || found == new, "{change:?} {at} {survives:?}");
                    // Everything that was acknowledged is still there.
                    assert!(
                        at <= switched || found == new,
                        "{change:?} {at} {survives:?}"
                    );

                    // The owner continues, with other content and the same randomness.
                    if !matches!(survives, Survives::Synced) {
                        continue;
                    }
                    let mut store = Store::open(dir.path(), &keys()).unwrap();
                    store.verify().unwrap();
                    let version = store.version();
                    let next = Change::Upsert.make(&mut store, 11).unwrap();
                    assert!(next > version);
                    contents.check_all(dir.path(), &owner);
                    // Only the parts of this version and of the version before are left.
                    let mut kept = store.manifest().parts().unwrap();
                    kept.extend(found.manifest().parts().unwrap());
                    kept.retain(|part| part.holder.is_stored());
                    let names: std::collections::HashSet<Digest> =
                        kept.iter().map(|part| part.digest).collect();
                    let files = files(dir.path());
                    let parts = files.keys().filter(|path| path.starts_with("parts"));
                    assert_eq!(parts.count(), names.len(), "{change:?} {at} {survives:?}");
                }
                if let Some(op) = ops.get(at) {
                    crashed.apply(op);
                }
            }
        }
    }
}

#[test]
fn a_process_that_dies_while_it_writes_leaves_the_old_or_the_new_version() {
    let owner = keys().public();
    for form in forms() {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        for change in Change::ALL {
            for at in 0.. {
                let dir = tempfile::tempdir().unwrap();
                write_all(dir.path(), &before);
                let disk = Faulty::new(dir.path(), Fault::None);
                let mut store = Store::open_on(disk.clone(), dir.path(), &keys(), None).unwrap();
                disk.done.borrow_mut().clear();
                *disk.fault.borrow_mut() = Fault::Dies(at);
                let made = change.make(&mut store, 10);
                let operations = disk.done.borrow().len();
                if made.is_err() {
                    // If a store does not know whether its change succeeded, it refuses further
                    // changes.
                    let again = Change::Delete.make(&mut store, 12);
                    assert!(again.is_err());
                }
                drop(store);
                let found = Index::open_dir(dir.path(), &owner).unwrap();
                let store = Store::open(dir.path(), &keys()).unwrap();
                store.verify().unwrap();
                if made.is_ok() {
                    assert_eq!(found.manifest().version, old.manifest().version + 1);
                } else {
                    assert!(found == old || found.manifest().version > old.manifest().version);
                }
                if operations <= at {
                    break;
                }
            }
        }
    }
}

#[test]
fn creation_that_is_interrupted_leaves_no_index_or_a_whole_one() {
    let owner = keys().public();
    for form in forms() {
        let (mut contents, mut lost) = (Contents::default(), 0);
        for at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let disk = Faulty::new(dir.path(), Fault::Dies(at));
            let made = create(disk.clone(), dir.path(), form, 1).map(drop);
            let found = Index::open_dir(dir.path(), &owner);
            assert!(made.is_err() || found.is_ok(), "{at}: {found:?}");
            contents.check_all(dir.path(), &owner);
            match found {
                Ok(_) => {
                    Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
                }
                // Its manifest is complete, so another build must not overwrite it.
                Err(Error::Lost { versions, .. }) => {
                    let refused = create(Files, dir.path(), form, 2).map(drop);
                    assert!(matches!(refused, Err(Error::Lost { .. })), "{refused:?}");
                    let folder = Folder::new(dir.path(), Files);
                    let recovered = folder.recover(&owner, |_, _| Ok(())).unwrap();
                    assert_eq!(vec![recovered.version], versions);
                    Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
                    contents.check_all(dir.path(), &owner);
                    lost += 1;
                }
                // Builds again, with other vectors and the same randomness.
                Err(_) => {
                    let store = create(Files, dir.path(), form, 2).unwrap();
                    store.verify().unwrap();
                    contents.check_all(dir.path(), &owner);
                }
            }
            if disk.done.borrow().len() <= at {
                break;
            }
        }
        assert!(lost > 0, "{form:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_next_attempt_works() {
    let owner = keys().public();
    for form in [Form::Masked(Packing::T4), Form::Local] {
        let start = tempfile::tempdir().unwrap();
        base(start.path(), form);
        let before = files(start.path());
        let old = Index::open_dir(start.path(), &owner).unwrap();
        for change in Change::ALL {
            let mut failures = 0;
            for at in 0.. {
                let dir = tempfile::tempdir().unwrap();
                write_all(dir.path(), &before);
                let disk = Faulty::new(dir.path(), Fault::None);
                let mut store = Store::open_on(disk.clone(), dir.path(), &keys(), None).unwrap();
                disk.done.borrow_mut().clear();
                *disk.fault.borrow_mut() = Fault::Full(at);
                let made = change.make(&mut store, 10);
                if let Err(error) = &made {
                    failures += 1;
                    assert!(matches!(error, Error::File { .. }), "{error}");
                    let found = Index::open_dir(dir.path(), &owner).unwrap();
                    let left = files(dir.path());
                    let mut new = left.keys().filter(|path| !before.contains_key(*path));
                    // The manifest's file stays, because its number is used up.
                    let leftover = new.find(|path| !path.starts_with("manifests"));
                    match change.make(&mut store, 10) {
                        Ok(_) => {
                            assert_eq!(found, old);
                            assert_eq!(leftover, None, "{change:?} {at}: the disk stays full");
                        }
                        // A version that may have become the newest needs its parts.
                        Err(Error::Unsure { .. }) => {
                            let part = |path: &PathBuf| path.starts_with("parts");
                            assert!(leftover.is_none_or(part), "{change:?} {at}");
                            drop(store);
                            store =
                                Store::open_on(disk.clone(), dir.path(), &keys(), None).unwrap();
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                store.verify().unwrap();
                drop(store);
                Store::open(dir.path(), &keys()).unwrap().verify().unwrap();
                if disk.done.borrow().len() <= at || (made.is_ok() && failures > 0) {
                    break;
                }
            }
            assert!(failures > 9, "{change:?}: {failures}");
        }
    }
}

#[test]
fn a_new_index_that_does_not_fit_leaves_nothing() {
    for form in forms() {
        for at in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let disk = Faulty::new(dir.path(), Fault::Full(at));
            let made = create(disk.clone(), dir.path(), form, 1).map(drop);
            let failed = disk.done.borrow().get(at).cloned();
            let switching =
                matches!(&failed, Some(Op::Rename(_, to)) if to == Path::new("CURRENT"));
            if made.is_err() && !switching && !dir.path().join("CURRENT").exists() {
                let left = files(dir.path());
                let left = left.keys().find(|path| {
                    !path.ends_with("LOCK") || path.extension().is_some_and(|end| end == "tmp")
                });
                assert_eq!(left, None, "{form:?} {at}");
            }
            if disk.done.borrow().len() <= at {
                break;
            }
        }
    }
}
