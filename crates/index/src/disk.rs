//! File operations, one by one: so that a test can stop after each of them.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

mod any;
mod memory;

pub use any::AnyDisk;
pub use memory::Memory;

use crate::Bytes;

/// Where a store's files go. [`Files`] is the operating system. Tests put a disk in between that fails.
pub trait Disk {
    /// Makes a directory, and the directories above it.
    ///
    /// # Errors
    /// The errors of the file system.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Writes a file, new or over an old one: not durable before it is synced.
    ///
    /// # Errors
    /// The errors of the file system.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Makes a file's content durable.
    ///
    /// # Errors
    /// The errors of the file system.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, over an old one if there is one: not durable before its directory is synced.
    ///
    /// # Errors
    /// The errors of the file system. [`io::ErrorKind::AlreadyExists`] where no lock keeps owners from one another, and
    /// another owner was here.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes a directory's entries durable.
    ///
    /// # Errors
    /// The errors of the file system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The errors of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Reads a file whole, or one byte more than `most` of a longer one. So no file takes more memory than its reader
    /// expects, nor more time than reading takes.
    ///
    /// # Errors
    /// The errors of the file system, and an error for what is no file: a directory, a pipe, a device.
    fn read(&self, path: &Path, most: u64) -> io::Result<Bytes> {
        self.read_into(path, most, Vec::new())
    }

    /// [`read`](Self::read) into existing memory, which is extended if needed. What it held is gone.
    ///
    /// # Errors
    /// The errors of `read`.
    fn read_into(&self, path: &Path, most: u64, room: Vec<u8>) -> io::Result<Bytes> {
        let file = open(path)?;
        let most = most.saturating_add(1);
        let len = file.metadata()?.len().min(most);
        let mut bytes = room;
        bytes.clear();
        bytes.reserve_exact(usize::try_from(len).unwrap_or(0));
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Bytes::from(bytes))
    }

    /// Gives a file's bytes to `each`, some at a time in their order, or one byte more than `most` of a longer one.
    ///
    /// # Errors
    /// The errors of `read`.
    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        each(&self.read(path, most)?);
        Ok(())
    }

    /// Removes a directory with nothing in it.
    ///
    /// # Errors
    /// The errors of the file system, also if there is something in it.
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// Adds to the end of a file, which is made if need be: not durable before it is synced.
    ///
    /// # Errors
    /// The errors of the file system.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = File::options().create(true).append(true).open(path);
        file?.write_all(bytes)
    }

    /// The length of a file; 0 if there is no such file.
    fn len(&self, path: &Path) -> u64 {
        fs::metadata(path).map_or(0, |file| file.len())
    }

    /// True if a file that no version names stays for as long as a change takes. Where there are locks, no other
    /// program removes one meanwhile.
    fn stays(&self, _path: &Path) -> bool {
        true
    }

    /// True if there is a file or a directory of this name.
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    /// Locks a file, which is made if need be, until the lock is dropped or its process ends.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if it is locked already; the errors of the file system.
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        match file.try_lock() {
            // Its last holder may have removed the file, and another process may have made a new one.
            Ok(()) if !is_at(&file, path)? => Err(io::ErrorKind::WouldBlock.into()),
            Ok(()) => Ok(Lock { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(source)) => Err(source),
        }
    }

    /// The names of a directory's entries.
    ///
    /// # Errors
    /// The errors of the file system.
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(path)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }
}

/// Opens what is a file to read it.
fn open(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Opening a pipe would wait for its writer.
    if !found.is_file() {
        return Err(io::Error::other("a pipe or a device, expected a file"));
    }
    File::open(path)
}

/// True if this open file is the file of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// A file that stays locked as long as this value lives.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// A lock that keeps no one away: for a disk that has no locks, and refuses to rename over the work of another instead.
    #[must_use]
    pub fn none() -> Self {
        Self { _file: None }
    }
}

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Disk for Files {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        File::create(path)?.write_all(bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(unix)]
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Elsewhere a directory cannot be opened, and renames are journalled.
    #[cfg(not(unix))]
    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut file = open(path)?.take(most.saturating_add(1));
        let mut bytes = Vec::with_capacity(STREAMED);
        loop {
            bytes.clear();
            (&mut file).take(STREAMED as u64).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Ok(());
            }
            each(&bytes);
        }
    }
}

/// Bytes of a file that are in memory at a time when it is streamed.
const STREAMED: usize = 4 << 20;
