//! The file of an owner's pins, which several processes read and change.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sordino_index::{Disk, Error, Files, OwnerFault};

use super::line::Line;

/// The file's first line.
const HEAD: &str = "sordino-owner-pins-1";

/// The largest number of bytes of the file: enough for some hundred thousand indexes.
const MAX_FILE: u64 = 64 << 20;

/// Reads and changes the lines of a file, while no other process does so.
pub(super) fn change<T>(
    path: &Path,
    work: impl FnOnce(&mut Vec<Line>) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error: io::Error| refused(path, error.to_string());
    // If no file can be created next to this file, none can replace it. So this step detects a read-only folder
    // before a change.
    let _held = hold(path).map_err(failed)?;
    let before = read(path)?;
    let mut lines = before.clone();
    let done = work(&mut lines)?;
    if lines != before {
        write(path, &lines).map_err(failed)?;
    }
    Ok(done)
}

fn refused(path: &Path, why: String) -> Error {
    let path = path.to_owned();
    OwnerFault::Pins { path, why }.into()
}

/// Waits until no other process works on the file, and keeps others out until the result is dropped.
fn hold(path: &Path) -> io::Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(beside(path, ".lock"))?;
    file.lock()?;
    Ok(file)
}

/// Reads the current lines. A new file always replaces the old one as a whole.
pub(super) fn read(path: &Path) -> Result<Vec<Line>, Error> {
    let bytes = match Files.read(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes.map_err(|error| refused(path, error.to_string()))?,
    };
    let text = std::str::from_utf8(&bytes).ok();
    let text = text.filter(|text| text.len() as u64 <= MAX_FILE);
    let lines = text.and_then(|text| text.strip_prefix(HEAD)?.strip_prefix('\n'));
    let lines = lines.and_then(|lines| lines.lines().map(Line::parse).collect());
    lines.ok_or_else(|| {
        let why = "not a file of versions as an owner remembers them: look at it, and put it right or move it away";
        refused(path, why.to_owned())
    })
}

/// Replaces the file as a whole.
fn write(path: &Path, lines: &[Line]) -> io::Result<()> {
    let mut text = format!("{HEAD}\n");
    for line in lines {
        text += &line.to_string();
        text.push('\n');
    }
    let new = beside(path, ".new");
    let written = Files.write(&new, text.as_bytes());
    let written = written.and_then(|()| Files.sync(&new));
    written
        .and_then(|()| Files.rename(&new, path))
        .inspect_err(|_| drop(Files.remove(&new)))?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    // The file already has its name. So it is no error if the folder cannot be opened, or its file system does not
    // support this call.
    match Files.sync_dir(folder.unwrap_or(Path::new("."))) {
        Err(error) if is_for_want_of_syncing(&error) => Ok(()),
        synced => synced,
    }
}

fn is_for_want_of_syncing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
