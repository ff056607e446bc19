//! A disk that is chosen while a program runs.

use std::io;
use std::path::Path;

use super::{Disk, Lock};
use crate::Bytes;

/// Any disk, so that code for it is compiled only once. A copy of it holds a copy of the inner disk: if its copies are
/// separate owners, so are the copies of this disk.
pub struct AnyDisk(Box<dyn Copies + Send + Sync>);

/// A disk that can be copied, whatever its type.
trait Copies: Disk {
    fn copied(&self) -> AnyDisk;
}

impl<D: Disk + Clone + Send + Sync + 'static> Copies for D {
    fn copied(&self) -> AnyDisk {
        AnyDisk::new(self.clone())
    }
}

impl AnyDisk {
    /// A disk of some kind.
    pub fn new(disk: impl Disk + Clone + Send + Sync + 'static) -> Self {
        Self(Box::new(disk))
    }
}

impl Clone for AnyDisk {
    fn clone(&self) -> Self {
        self.0.copied()
    }
}

impl std::fmt::Debug for AnyDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyDisk").finish_non_exhaustive()
    }
}

impl Disk for AnyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.0.write(path, bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.0.sync(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Bytes> {
        self.0.read(path, most)
    }

    fn read_into(&self, path: &Path, most: u64, room: Vec<u8>) -> io::Result<Bytes> {
        self.0.read_into(path, most, room)
    }

    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.0.stream(path, most, each)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.0.append(path, bytes)
    }

    fn len(&self, path: &Path) -> u64 {
        self.0.len(path)
    }

    fn stays(&self, path: &Path) -> bool {
        self.0.stays(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.0.lock(path)
    }

    fn is_locked(&self, path: &Path) -> bool {
        self.0.is_locked(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
}
