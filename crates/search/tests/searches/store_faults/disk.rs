//! A disk that fails at a chosen operation.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sordino_search::{Disk, Files};

/// One operation on files, with paths relative to the store's folder.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    CreateDir,
    Write(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    SyncDir(PathBuf),
    Remove(PathBuf),
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The disk does not fail.
    None,
    /// Operation number `.0` and all later ones fail. If operation `.0` is a write, the disk does half of it.
    Dies(usize),
    /// Only operation number `.0` fails, and only if it needs space.
    Full(usize),
}

/// A disk that records all operations, and fails at a chosen one.
#[derive(Clone)]
pub(crate) struct Faulty {
    pub(crate) root: PathBuf,
    pub(crate) fault: Rc<RefCell<Fault>>,
    pub(crate) done: Rc<RefCell<Vec<Op>>>,
}

impl Faulty {
    pub(crate) fn new(root: &Path, fault: Fault) -> Self {
        Self {
            root: root.to_owned(),
            fault: Rc::new(RefCell::new(fault)),
            done: Rc::default(),
        }
    }

    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_owned()
    }

    pub(crate) fn run(&self, op: Op, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let at = self.done.borrow().len();
        let needs_room = !matches!(op, Op::Remove(_));
        if let Op::Write(path, bytes) = &op
            && matches!(*self.fault.borrow(), Fault::Dies(n) | Fault::Full(n) if n == at)
        {
            std::fs::write(self.root.join(path), &bytes[..bytes.len() / 2])?;
        }
        self.done.borrow_mut().push(op);
        match *self.fault.borrow() {
            Fault::Dies(n) if at >= n => Err(io::Error::other("dead")),
            Fault::Full(n) if at == n && needs_room => Err(io::ErrorKind::StorageFull.into()),
            _ => act(),
        }
    }
}

impl Disk for Faulty {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Op::CreateDir, || Files.create_dir(path))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let op = Op::Write(self.inside(path), bytes.to_vec());
        self.run(op, || Files.write(path, bytes))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.run(Op::Sync(self.inside(path)), || Files.sync(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let op = Op::Rename(self.inside(from), self.inside(to));
        self.run(op, || Files.rename(from, to))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Op::SyncDir(self.inside(path)), || Files.sync_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Op::Remove(self.inside(path)), || Files.remove_dir(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run(Op::Remove(self.inside(path)), || Files.remove(path))
    }
}
