//! Where the result goes: standard output, or a file that appears only when it is whole.

use super::Error;
use std::{
    io::{self, BufWriter, Stdout, Write},
    path::PathBuf,
};
use tempfile::NamedTempFile;

/// A place for the result.
pub(super) enum Destination {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<NamedTempFile>, PathBuf),
}

impl Destination {
    pub(super) fn new(path: Option<PathBuf>) -> Result<Self, Error> {
        let Some(path) = path else {
            return Ok(Self::Stdout(BufWriter::new(io::stdout())));
        };
        // In the same folder, so that the file can be moved within its file system.
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let file = NamedTempFile::new_in(&folder).map_err(Error::at(&path))?;
        Ok(Self::File(BufWriter::new(file), path))
    }

    /// Moves the whole file to its place.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(out, path) => {
                let at = || Error::at(&path);
                let file = out.into_inner().map_err(|error| at()(error.into_error()))?;
                file.as_file().sync_all().map_err(at())?;
                file.persist(&path).map_err(|error| at()(error.error))?;
                Ok(())
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out, _) => out.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out, _) => out.flush(),
        }
    }
}
