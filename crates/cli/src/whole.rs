//! Files that appear only when they are whole.

use crate::Error;
use sordino_search::{Disk, Files};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A file that is written beside its place, and moved there when all is done. Without that nothing is
/// left of it, and what was there stays.
pub(crate) struct Whole {
    file: NamedTempFile,
    path: PathBuf,
}

impl Whole {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        // In the same folder, so that the file can be moved within its file system.
        let file = NamedTempFile::new_in(folder(path)).map_err(bare)?;
        let path = path.to_owned();
        Ok(Self { file, path })
    }

    /// The place.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to its place.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|error| error.error)?;
        named(&self.path)
    }

    /// Moves the file to its place, if there is none yet.
    pub(crate) fn finish_new(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let moved = self.file.persist_noclobber(&self.path);
        moved.map_err(|error| error.error)?;
        named(&self.path)
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a name durable: a file that is on the disk may still have its old name after a power cut, and a pin file would go back. The file
/// is in its place by now, so that a folder that may not be read, or of a file system without this, is none to fail for.
fn named(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match Files.sync_dir(folder(path)) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

/// Gives a file that is whole its name, if there is none of that name.
pub(crate) fn in_place(path: &Path, file: Whole) -> Result<(), Error> {
    file.finish_new().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => there(path),
        _ => Error::at(path)(error),
    })
}

/// The error of a file that would be written over.
pub(crate) fn there(path: &Path) -> Error {
    let path = path.display();
    Error::Arguments(format!(
        "{path}: it exists already, and is not written over: choose another name, or move it away"
    ))
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(bare)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(bare)
    }
}

/// An error without the name that the file has meanwhile, which says nothing to a user.
fn bare(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        fs::write(&path, "old").unwrap();
        let mut file = Whole::new(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut file = Whole::new(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let file = Whole::new(&path).unwrap();
        let error = file.finish_new().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_no_file_of_which_the_user_knows_nothing() {
        let error = Whole::new(Path::new("/nowhere/whole")).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("tmp"), "{error}");
    }
}
