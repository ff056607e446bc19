//! `sordino index export`.

pub(super) mod line;
mod parquet;

use crate::atomic_file::{AtomicFile, in_place, is_taken, there};
use crate::file_args::named;
use crate::place::Place;
use crate::stdio::stdout;
use crate::{Error, Output, keys};
use clap::Args;
pub(crate) use line::shown;
use sordino_search::vectors::Format;
use sordino_search::{AnyDisk, Contents, Error as Search};
use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Arguments of `sordino index export`.
#[derive(Args, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Export {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    /// The file to write: .parquet, or else lines of JSON. Without it, lines on standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the vectors too.
    #[arg(long)]
    vectors: bool,
}

impl Export {
    /// True if nothing is printed: the records go to a file.
    pub(super) fn is_silent(&self) -> bool {
        self.file().is_some()
    }

    fn file(&self) -> Option<&Path> {
        named(self.output.as_deref())
    }
}

const NOTE: &str = "\
Each record is a line with a JSON object, or a row of Parquet: id, payload, attributes, label and vector. In a line,
payload_form names the form of the payload: json, text, or base64 for other bytes. Parquet has the bytes themselves
and a column for each attribute.

Labels need the owner's key, because a reader's key does not show their names. Vectors come back as precisely as the
index stores them: under cosine only their directions, and with the precision of the mode's codes. `index build
--exported` and `index add --exported` read files of both kinds that have vectors. A file appears when it is complete.

The command does not export from a server: each payload would cost a query, and all of them far more than the index's
folder, which `index backup` copies.";

pub(super) fn export(args: &Export, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    let format = match args.file() {
        Some(path) if is_taken(path) => return Err(there(path)),
        Some(path) => format_of(path)?,
        None => Format::Jsonl,
    };
    let mut held = Held::default();
    let exported = Place::of(&args.index)?.read(&keys, |contents| {
        match args.write(contents, format, &mut held, output) {
            Ok(()) => Ok(Ok(())),
            Err(Fault::Read(error)) => Err(error),
            Err(Fault::Write(error)) => Ok(Err(error)),
        }
    });
    exported.map_err(Error::index(&args.index))??;
    Ok(held.finish()?)
}

/// The reason why an export stops.
enum Fault {
    /// A part cannot be read. It may belong to a version that is no longer the newest.
    Read(Search),
    Write(Error),
}

impl From<Search> for Fault {
    fn from(error: Search) -> Self {
        Self::Read(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Write(error)
    }
}

impl Export {
    /// Writes all records of a version.
    fn write(
        &self,
        contents: &Contents<AnyDisk>,
        format: Format,
        held: &mut Held,
        output: Output,
    ) -> Result<(), Fault> {
        let version = contents.manifest().version;
        held.begin().map_err(|()| Error::Changing { version })?;
        let unnamed = contents.unnamed();
        if unnamed > 0 {
            output.note(&format!(
                "sordino: warning: {unnamed} of {} records have labels, which are not written: this key does not tell their names, the \
                 owner's does",
                contents.len()
            ));
        }
        let bar = output.progress(Some(contents.len() as u64), "writing");
        match (self.file(), format) {
            (Some(path), Format::Parquet) => {
                let mut table = parquet::Table::create(path, columns(contents, self.vectors)?)?;
                for some in contents.all() {
                    let some = some?;
                    table.write(&some)?;
                    bar.inc(some.ids.len() as u64);
                }
                table.finish()?;
            }
            (Some(path), _) => {
                let refused = |error| Error::at(path)(error);
                let mut file = BufWriter::new(AtomicFile::new(path).map_err(refused)?);
                self.lines(contents, &mut file, &refused, &bar)?;
                let file = file.into_inner();
                let file = file.map_err(|error| refused(error.into_error()))?;
                in_place(path, file)?;
            }
            (None, _) => self.lines(contents, held, &Error::from, &bar)?,
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn lines(
        &self,
        contents: &Contents<AnyDisk>,
        out: &mut dyn Write,
        refused: &dyn Fn(io::Error) -> Error,
        bar: &indicatif::ProgressBar,
    ) -> Result<(), Fault> {
        for some in contents.all() {
            let some = some?;
            for at in 0..some.ids.len() {
                writeln!(out, "{}", line::stored(&some, at, self.vectors)).map_err(refused)?;
            }
            bar.inc(some.ids.len() as u64);
        }
        Ok(out.flush().map_err(refused)?)
    }
}

/// The number of bytes that are held back from standard output, because the export may have to start again
/// with another version.
const HELD: usize = 64 << 20;

/// Standard output, whose first bytes are held back.
#[derive(Default)]
struct Held {
    first: Vec<u8>,
    /// True once there were too many bytes to hold back.
    passed: bool,
}

impl Held {
    /// Starts again, unless some bytes were already written.
    fn begin(&mut self) -> Result<(), ()> {
        self.first.clear();
        if self.passed { Err(()) } else { Ok(()) }
    }

    /// Writes the bytes that are held back. If a file was written, there are none.
    fn finish(self) -> io::Result<()> {
        if self.first.is_empty() && !self.passed {
            return Ok(());
        }
        let mut out = stdout()?.lock();
        out.write_all(&self.first)?;
        out.flush()
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.first.len() + bytes.len() > HELD {
            self.passed = true;
            stdout()?.lock().write_all(&self.first)?;
            self.first.clear();
        }
        self.first.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The format of the written file: the format of its ending, or lines of JSON without one.
fn format_of(path: &Path) -> Result<Format, Error> {
    let packed = path.extension().and_then(OsStr::to_str);
    if packed.is_some_and(|end| {
        ["gz", "gzip", "zst", "zstd", "bz2", "xz"].contains(&end.to_lowercase().as_str())
    }) {
        return Err(Error::Arguments(format!(
            "{}: the command does not pack files: write .jsonl and pack it, with `gzip FILE`, or write .parquet, which is packed",
            path.display()
        )));
    }
    match Format::of(path) {
        Ok(format @ (Format::Parquet | Format::Jsonl)) => Ok(format),
        // The ending names no format of vectors, for example `.txt`.
        Err(_) => Ok(Format::Jsonl),
        Ok(_) => Err(Error::Arguments(format!(
            "{}: expected .parquet, or .jsonl for lines of JSON: those are the two that are written",
            path.display()
        ))),
    }
}

/// The columns of a table for these records, with each attribute that a record has.
fn columns(contents: &Contents<AnyDisk>, vectors: bool) -> Result<parquet::Columns, Search> {
    let manifest = contents.manifest();
    let attributes = contents.attributes()?;
    let attributes = attributes.columns();
    Ok(parquet::Columns {
        ids: manifest.ids,
        payloads: manifest.has_payloads(),
        attributes: attributes
            .map(|(name, column)| (name.to_owned(), column.kind()))
            .collect(),
        labels: !contents.labels().is_empty(),
        // The dimension is at most 8,192.
        dim: vectors.then(|| manifest.dim.cast_signed()),
    })
}
