//! Files that are read and written whole, by one command at a time.

use crate::{Error, whole::Whole};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// The longest file that is read: a log of two million versions.
pub(super) const MAX_FILE: u64 = 1 << 26;

/// Waits until no other command works on a file, and keeps others from it until this is dropped: by a lock on a file beside it.
pub(super) fn hold(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(Error::at(&path))?;
    file.lock().map_err(Error::at(&path))?;
    Ok(file)
}

/// All of a file, up to the longest.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a whole file in the place of an old one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = Whole::new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish()
    });
    written.map_err(Error::at(path))
}
