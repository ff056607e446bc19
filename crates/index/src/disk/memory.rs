//! Files in memory, for an index that needs no directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, Lock};
use crate::Bytes;

/// Files in memory. Copies share them.
///
/// It belongs to one owner, so it needs no locks. Directories need not be created.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: Arc<Mutex<BTreeMap<PathBuf, Bytes>>>,
}

impl Memory {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Bytes>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for Memory {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let bytes = Bytes::from(bytes.to_vec());
        self.files().insert(path.to_owned(), bytes);
        Ok(())
    }

    fn sync(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.files();
        let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.files().remove(path);
        removed.map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn remove_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.files();
        let present = files.get(path).map(|present| present.to_vec());
        let all = [present.unwrap_or_default(), bytes.to_vec()].concat();
        files.insert(path.to_owned(), Bytes::from(all));
        Ok(())
    }

    fn len(&self, path: &Path) -> u64 {
        self.files().get(path).map_or(0, |file| file.len() as u64)
    }

    /// The bytes are shared, not copied.
    fn read_into(&self, path: &Path, _most: u64, _room: Vec<u8>) -> io::Result<Bytes> {
        let files = self.files();
        let bytes = files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes.clone())
    }

    fn exists(&self, path: &Path) -> bool {
        self.files().keys().any(|file| file.starts_with(path))
    }

    fn lock(&self, _path: &Path) -> io::Result<Lock> {
        Ok(Lock::none())
    }

    fn is_locked(&self, _path: &Path) -> bool {
        false
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let files = self.files();
        let below = files.keys().filter_map(|file| file.strip_prefix(path).ok());
        let first = below.filter_map(|rest| rest.components().next());
        let mut names: Vec<String> = first
            .map(|name| name.as_os_str().to_string_lossy().into_owned())
            .collect();
        names.dedup();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_read_renamed_and_removed() {
        let disk = Memory::default();
        let root = Path::new("a");
        for name in ["b/c", "b/d", "e"] {
            disk.write(&root.join(name), name.as_bytes()).expect("room");
        }
        assert_eq!(disk.list(root).expect("a directory"), ["b", "e"]);
        assert_eq!(disk.list(&root.join("b")).expect("a directory"), ["c", "d"]);
        assert!(
            disk.exists(root) && disk.exists(&root.join("b/c")) && !disk.exists(&root.join("x"))
        );
        disk.rename(&root.join("b/c"), &root.join("e"))
            .expect("a file");
        assert_eq!(&disk.read(&root.join("e"), 3).expect("a file")[..], b"b/c");
        disk.remove(&root.join("e")).expect("a file");
        for gone in ["b/c", "e"] {
            let error = disk.read(&root.join(gone), 3).expect_err("no file");
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(disk.remove(&root.join(gone)).is_err());
            assert!(disk.rename(&root.join(gone), root).is_err());
        }
    }
}
