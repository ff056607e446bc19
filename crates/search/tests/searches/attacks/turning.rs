//! A store that shows its owner one thing and a different one a moment later: while the owner opens an index, and while it compares versions.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sordino_search::{Bytes, Change, Disk, Error, Files, OwnerFault, Pins, Store};
use sordino_testkit::{keys, rng};

use super::forks::copy;
use super::rollback::{Kept, add};

/// A disk that runs a function before files are read.
#[derive(Clone)]
struct Turning<'a> {
    reads: Rc<Cell<usize>>,
    /// Told the number of times that the newest version was asked for, or 0 where another file is read.
    before: Rc<dyn Fn(usize) + 'a>,
}

fn turning<'a>(before: impl Fn(usize) + 'a) -> Turning<'a> {
    let (reads, before) = (Rc::default(), Rc::new(before));
    Turning { reads, before }
}

impl Disk for Turning<'_> {
    fn read_into(&self, path: &Path, most: u64, room: Vec<u8>) -> io::Result<Bytes> {
        let newest = path.ends_with("CURRENT");
        self.reads.update(|reads| reads + usize::from(newest));
        (self.before)(if newest { self.reads.get() } else { 0 });
        Files.read_into(path, most, room)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        Files.create_dir(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Files.write(path, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        Files.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Files.rename(from, to)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Files.sync_dir(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Files.remove(path)
    }
}

fn opened(kept: &Kept, disk: Turning<'_>, name: &str) -> Result<u64, Error> {
    let dir = kept.at(name);
    let store = kept.pins().open(disk, &dir, &Pins::place(&dir), &keys());
    store.map(|store| store.version())
}

fn undone(opened: Result<u64, Error>) {
    let undone = matches!(&opened, Err(Error::Owner(OwnerFault::Undone(_))));
    assert!(undone, "{opened:?}");
}

/// Puts an index of this owner there that is in no memory.
fn put_unknown(to: &Path) {
    let stranger = Kept::new();
    stranger.make("another", 9);
    put(&stranger.at("another"), to);
}

fn put(from: &Path, to: &Path) {
    drop(fs::remove_dir_all(to));
    copy(from, to);
}

#[test]
fn a_new_place_that_shows_an_unknown_index_first_and_an_old_one_then_is_refused() {
    let kept = Kept::new();
    kept.keep("old");
    kept.change(add).unwrap();
    put_unknown(&kept.at("new"));
    let disk = turning(|newest| {
        if newest == 2 {
            put(&kept.at("old"), &kept.at("new"));
        }
    });
    undone(opened(&kept, disk, "new"));
}

#[test]
fn a_version_that_another_process_makes_meanwhile_is_not_gone_back_from() {
    for comes_back in [false, true] {
        let kept = Kept::new();
        kept.keep("old");
        let revoked = || {
            let revoke = Change::revoke("bob");
            kept.change(|store| store.change_access(&mut rng(5), revoke))
        };
        let disk = turning(|newest| match newest {
            2 => {
                assert_eq!(revoked().unwrap(), 3);
                kept.keep("newer");
                kept.show("old");
            }
            // The other process was between the two looks, and the store hides nothing.
            4 if comes_back => kept.show("newer"),
            _ => (),
        });
        let opened = opened(&kept, disk, "index");
        match comes_back {
            true => assert_eq!(opened.unwrap(), 3),
            false => undone(opened),
        }
        let text = fs::read_to_string(kept.at("owner.key.pins")).unwrap();
        assert!(text.contains(" 3 "), "{text}");
    }
}

/// The versions between two are read from a store that somebody else keeps, who may let the owner wait.
#[test]
fn a_slow_store_keeps_no_other_command_of_the_owner_waiting() {
    let kept = Kept::new();
    let (dir, lock): (PathBuf, PathBuf) = (kept.at("index"), kept.at("owner.key.pins.lock"));
    let (read, held) = (Cell::new(0), Cell::new(0));
    let disk = turning(|_| {
        let file = File::options().write(true).open(&lock).unwrap();
        read.set(read.get() + 1);
        held.set(held.get() + usize::from(file.try_lock().is_err()));
    });
    let mut store = Store::open_on(disk, &dir, &keys(), None).unwrap();
    for id in [1u32, 2, 3] {
        store.delete(&mut rng(5), &[id]).unwrap();
    }
    read.set(0);
    kept.pins().remember(&Pins::place(&dir), &store).unwrap();
    assert!(read.get() > 0);
    assert_eq!(held.get(), 0);
}

/// A link in a folder of theirs, by which the owner asks for an index.
#[cfg(unix)]
#[test]
fn a_link_that_is_turned_to_another_index_is_refused() {
    use std::os::unix::fs::symlink;
    let kept = Kept::new();
    let link = kept.at("link");
    symlink(kept.at("index"), &link).unwrap();
    assert_eq!(opened(&kept, turning(|_| ()), "link").unwrap(), 2);
    put_unknown(&kept.at("other"));
    fs::remove_file(&link).unwrap();
    symlink(kept.at("other"), &link).unwrap();
    undone(opened(&kept, turning(|_| ()), "link"));
    let (disk, place) = (turning(|_| ()), Pins::place(&link));
    let restored = kept.pins().open_restored(disk, &link, &place, &keys());
    assert_eq!(restored.unwrap().version(), 1);
    assert_eq!(opened(&kept, turning(|_| ()), "link").unwrap(), 1);
}
