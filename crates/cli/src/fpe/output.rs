//! The destination of the result: standard output, or a file that appears only when it is complete.

use crate::{atomic_file::AtomicFile, stdio::stdout};
use sordino_fpe_files::Error;
use std::{
    io::{self, BufWriter, Stdout, Write},
    path::PathBuf,
};

/// The destination of the result.
pub(super) struct Destination {
    out: Out,
    /// The first error of writing. The code that calls this writer wraps it in its own errors.
    failed: Option<io::Error>,
}

enum Out {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<AtomicFile>),
}

impl Destination {
    pub(super) fn new(path: Option<PathBuf>) -> Result<Self, Error> {
        let out = match path {
            None => Out::Stdout(BufWriter::new(stdout()?)),
            Some(path) => {
                let file = AtomicFile::new(&path).map_err(Error::at(&path))?;
                Out::File(BufWriter::new(file))
            }
        };
        let failed = None;
        Ok(Self { out, failed })
    }

    /// Adds the name of this destination to an error, if the error came from writing here.
    pub(super) fn blame(&mut self, error: Error) -> Error {
        match (self.failed.take(), &self.out) {
            (Some(failed), Out::Stdout(_)) => failed.into(),
            (Some(failed), Out::File(out)) => Error::at(out.get_ref().path())(failed),
            (None, _) => error,
        }
    }

    /// Moves the complete file to its place.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.out {
            Out::Stdout(mut out) => Ok(out.flush()?),
            Out::File(out) => {
                let path = out.get_ref().path().to_owned();
                let file = out.into_inner().map_err(io::IntoInnerError::into_error);
                file.and_then(AtomicFile::finish).map_err(Error::at(&path))
            }
        }
    }

    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done {
            let copy = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            self.failed.get_or_insert(copy);
        }
        done
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = match &mut self.out {
            Out::Stdout(out) => out.write(bytes),
            Out::File(out) => out.write(bytes),
        };
        self.note(done)
    }
    fn flush(&mut self) -> io::Result<()> {
        let done = match &mut self.out {
            Out::Stdout(out) => out.flush(),
            Out::File(out) => out.flush(),
        };
        self.note(done)
    }
}
