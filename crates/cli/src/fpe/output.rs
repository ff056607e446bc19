//! Where the result goes: standard output, or a file that appears only when it is whole.

use super::Error;
use crate::whole::Whole;
use std::{
    io::{self, BufWriter, Stdout, Write},
    path::PathBuf,
};

/// A place for the result.
pub(super) enum Destination {
    Stdout(BufWriter<Stdout>),
    File(BufWriter<Whole>),
}

impl Destination {
    pub(super) fn new(path: Option<PathBuf>) -> Result<Self, Error> {
        let Some(path) = path else {
            return Ok(Self::Stdout(BufWriter::new(io::stdout())));
        };
        let file = Whole::new(&path).map_err(Error::at(&path))?;
        Ok(Self::File(BufWriter::new(file)))
    }

    /// Moves the whole file to its place.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File(out) => {
                let path = out.get_ref().path().to_owned();
                let file = out.into_inner().map_err(io::IntoInnerError::into_error);
                file.and_then(Whole::finish).map_err(Error::at(&path))
            }
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}
