//! `sordino index export`.

pub(super) mod line;
mod parquet;

use crate::place::Place;
use crate::whole::{Whole, in_place, there};
use crate::{Error, Output, keys};
use clap::Args;
use sordino_search::vectors::Format;
use sordino_search::{AnyDisk, Contents, Error as Search};
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

const NOTE: &str = "\
A record is a line with a JSON object, or a row: id, payload with payload_form (json, text, or base64 for other bytes),
attributes, label and vector. Labels are written with the owner's key: a reader's does not tell their names. Vectors come back as far as an index keeps them: of the cosine directions alone, and
with the precision of the mode's codes. `index build --exported` and `index add --exported` read files of either kind
that have vectors, with all that is in them. A file appears when it is whole. A server is not asked for all records:
fetched without its learning which, each payload costs a query, and all of them far more than the index's folder, which
`index backup` copies.";

pub(super) fn export(args: &Export, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    let format = match &args.output {
        Some(path) if path.exists() => return Err(there(path)),
        Some(path) => format_of(path)?,
        None => Format::Jsonl,
    };
    let named = Error::index(&args.index);
    let contents = Place::of(&args.index)?.contents(&keys).map_err(&named)?;
    let unnamed = contents.unnamed();
    if unnamed > 0 {
        output.note(&format!(
            "sordino: warning: {unnamed} of {} records have labels, which are not written: this key does not tell their names, the \
             owner's does",
            contents.len()
        ));
    }
    let bar = output.progress(Some(contents.len() as u64), "writing");
    if let (Some(path), Format::Parquet) = (&args.output, format) {
        let columns = columns(&contents, args.vectors).map_err(&named)?;
        let mut table = parquet::Table::create(path, columns)?;
        for some in contents.all() {
            let some = some.map_err(&named)?;
            table.write(&some)?;
            bar.inc(some.ids.len() as u64);
        }
        bar.finish_and_clear();
        return table.finish();
    }
    let write = |out: &mut dyn Write, refused: &dyn Fn(io::Error) -> Error| -> Result<(), Error> {
        for some in contents.all() {
            let some = some.map_err(&named)?;
            for at in 0..some.ids.len() {
                writeln!(out, "{}", line::stored(&some, at, args.vectors)).map_err(refused)?;
            }
            bar.inc(some.ids.len() as u64);
        }
        out.flush().map_err(refused)
    };
    match &args.output {
        None => write(&mut BufWriter::new(io::stdout().lock()), &Error::from)?,
        Some(path) => {
            let refused = |error| Error::at(path)(error);
            let mut file = BufWriter::new(Whole::new(path).map_err(refused)?);
            write(&mut file, &refused)?;
            let file = file
                .into_inner()
                .map_err(|error| refused(error.into_error()))?;
            in_place(path, file)?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The format of a file that is written: what the name says, or lines of JSON where it says nothing.
fn format_of(path: &Path) -> Result<Format, Error> {
    match Format::of(path) {
        Ok(format @ (Format::Parquet | Format::Jsonl)) => Ok(format),
        // No format of vectors: `.txt`, for instance.
        Err(_) => Ok(Format::Jsonl),
        Ok(_) => Err(Error::Arguments(format!(
            "{}: expected .parquet, or .jsonl for lines of JSON: those are the two that are written",
            path.display()
        ))),
    }
}

/// The columns of a table of these records: attributes are those of any of them.
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
        // At most 8,192.
        dim: vectors.then(|| manifest.dim.cast_signed()),
    })
}
