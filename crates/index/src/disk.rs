//! File operations, one by one, so that a test can stop after each of them.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

mod any;
mod memory;

pub use any::AnyDisk;
pub use memory::Memory;

use crate::Bytes;

/// The place for a store's files. [`Files`] is the operating system. Tests use a disk that fails.
pub trait Disk {
    /// Makes a directory, and the directories above it.
    ///
    /// # Errors
    /// The errors of the file system.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Writes a file, and replaces an existing one. The content is durable only after a sync.
    ///
    /// # Errors
    /// The errors of the file system.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Makes a file's content durable.
    ///
    /// # Errors
    /// The errors of the file system.
    fn sync(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, and replaces an existing one. The new name is durable only after a sync of the directory.
    ///
    /// # Errors
    /// The errors of the file system. [`io::ErrorKind::AlreadyExists`] if the disk has no locks and another owner has
    /// written this file.
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

    /// Reads a whole file, or the first `most + 1` bytes of a longer one. So no file takes more memory or time than its
    /// reader expects.
    ///
    /// # Errors
    /// The errors of the file system, and an error for anything that is not a file: a directory, a pipe, a device.
    fn read(&self, path: &Path, most: u64) -> io::Result<Bytes> {
        self.read_into(path, most, Vec::new())
    }

    /// Like [`read`](Self::read), into existing memory, which is extended if needed. Its old content is lost.
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

    /// Passes a file's bytes to `each` in order, piece by piece, or the first `most + 1` bytes of a longer file.
    ///
    /// # Errors
    /// The errors of `read`.
    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        each(&self.read(path, most)?);
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The errors of the file system, and an error if the directory is not empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// Appends to a file, which is created if it does not exist. The bytes are durable only after a sync.
    ///
    /// # Errors
    /// The errors of the file system.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = File::options().create(true).append(true).open(path);
        file?.write_all(bytes)
    }

    /// The length of a file, or 0 if there is no such file.
    fn len(&self, path: &Path) -> u64 {
        fs::metadata(path).map_or(0, |file| file.len())
    }

    /// True if a file that no version names stays during a change. If the disk has locks, no other program removes such a
    /// file meanwhile.
    fn stays(&self, _path: &Path) -> bool {
        true
    }

    /// True if a file or a directory of this name exists.
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    /// Locks a file, which is created if it does not exist, until the lock is dropped or its process ends.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if it is locked already; the errors of the file system.
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => io::Error::new(
                error.kind(),
                "the file system is read-only, and an owner's command locks the index: copy its folder to a place where \
                 you can write",
            ),
            _ => error,
        })?;
        match file.try_lock() {
            // The last holder may have removed the file, and another process may have made a new one.
            Ok(()) if !is_at(&file, path)? => Err(io::ErrorKind::WouldBlock.into()),
            Ok(()) => Ok(Lock { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(source)) => Err(source),
        }
    }

    /// True if a program holds the lock of this file. No file is created.
    fn is_locked(&self, path: &Path) -> bool {
        // A lock that readers share lets other readers look at the same time.
        let found = File::open(path).map(|file| file.try_lock_shared());
        matches!(found, Ok(Err(TryLockError::WouldBlock)))
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

/// Opens a file for reading, and refuses anything that is not a file.
fn open(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Opening a pipe would wait for its writer, so the kind of the file is checked first.
    if !found.is_file() {
        return Err(io::Error::other("a pipe or a device, expected a file"));
    }
    File::open(path)
}

/// True if this open file still has that name.
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

/// On other systems an open file cannot be removed.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Keeps a file locked until this value is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// A lock without effect, for a disk that has no locks and instead refuses to replace another owner's work.
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

    /// On other systems a directory cannot be opened, and renames are journalled.
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

/// The bytes of a streamed file that are in memory at the same time.
const STREAMED: usize = 4 << 20;
