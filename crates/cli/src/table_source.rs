//! The source of a table, which is opened several times: once to see its columns, and then to read them.

use crate::file_args::path;
use sordino_search::vectors::{ColumnNames, Error, FileOptions, Format, Reader};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file, or a pipe.
#[derive(Clone)]
pub(crate) enum TableSource {
    File(PathBuf),
    Pipe(Pipe),
}

impl TableSource {
    /// Opens a pipe; a file is opened when it is read.
    ///
    /// # Errors
    /// Fails if a pipe cannot be opened.
    pub(crate) fn of(file: &Path) -> Result<Self, Error> {
        let path = path(file);
        if !is_pipe(&path) || path.is_dir() {
            return Ok(Self::File(path));
        }
        match File::open(&path) {
            Ok(file) => {
                let seen = Arc::new(Mutex::new(Seen {
                    bytes: Vec::new(),
                    rest: Some(file),
                }));
                Ok(Self::Pipe(Pipe { path, seen }))
            }
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// Reads from the beginning. The bytes of a pipe are kept for another reader.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn reader(
        &self,
        names: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Reader, Error> {
        match self {
            Self::File(path) => Reader::open_with(path, names, options),
            Self::Pipe(pipe) => {
                let bytes = Box::new(Replay {
                    pipe: pipe.clone(),
                    read: 0,
                });
                Reader::from_stream(bytes, names, &pipe.options(options)?)
            }
        }
    }

    /// Reads from the beginning for the last time, so that no more bytes are kept.
    ///
    /// # Errors
    /// The errors of the reader.
    pub(crate) fn last_reader(
        self,
        names: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Reader, Error> {
        match &self {
            Self::File(_) => self.reader(names, options),
            Self::Pipe(pipe) => Reader::from_stream(pipe.all(), names, &pipe.options(options)?),
        }
    }
}

pub(crate) fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_file())
}

/// A pipe whose first bytes are kept.
#[derive(Clone)]
pub(crate) struct Pipe {
    path: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

/// The bytes that were read, and the pipe that has the rest.
struct Seen {
    bytes: Vec<u8>,
    rest: Option<File>,
}

impl Pipe {
    /// The options with a format, which the name gives if they do not.
    fn options(&self, given: &FileOptions) -> Result<FileOptions, Error> {
        let format = given.format.map_or_else(|| Format::of(&self.path), Ok)?;
        Ok(FileOptions {
            format: Some(format),
            ..given.clone()
        })
    }

    /// All bytes, of which none are kept any more.
    fn all(&self) -> Box<dyn Read + Send> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Cursor::new(std::mem::take(&mut seen.bytes));
        match seen.rest.take() {
            Some(rest) => Box::new(start.chain(rest)),
            None => Box::new(start),
        }
    }
}

/// Reads the kept bytes of a pipe, and keeps those that it then reads from the pipe.
struct Replay {
    pipe: Pipe,
    read: usize,
}

impl Read for Replay {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut seen = self
            .pipe
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Seen { bytes, rest } = &mut *seen;
        let mut kept = bytes.get(self.read..).unwrap_or_default();
        let read = match (kept.is_empty(), rest) {
            (true, Some(rest)) => {
                let read = rest.read(out)?;
                bytes.extend_from_slice(out.get(..read).unwrap_or_default());
                read
            }
            _ => kept.read(out)?,
        };
        self.read += read;
        Ok(read)
    }
}
