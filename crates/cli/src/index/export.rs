//! `sordino index export`.

mod parquet;

use super::values::{attributes, shown};
use crate::whole::Whole;
use crate::{Error, Output, keys};
use clap::Args;
use serde_json::{Map, Value};
use sordino_search::{Contents, Error as Search, Id, Stored};
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
attributes and vector. Vectors come back as far as an index keeps them: of the cosine directions alone, and
with the precision of the mode's codes. `index build` reads such lines, with --id-column id and
--payload-column payload; attributes it reads from .parquet, where each is a column. A file appears when it is whole. A server is not asked for all records: fetched without its learning which, each payload
costs a query, and all of them far more than the index's folder, which `index backup` copies.";

pub(super) fn export(args: &Export, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    if let Some(path) = args.output.as_ref().filter(|path| path.exists()) {
        return Err(there(path));
    }
    let named = Error::index(&args.index);
    let contents = Contents::open_dir(&args.index, &keys).map_err(&named)?;
    let bar = output.progress(Some(contents.len() as u64), "writing");
    let extension = args.output.as_ref().and_then(|path| path.extension());
    if let (Some(path), Some("parquet")) = (&args.output, extension.and_then(|it| it.to_str())) {
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
                writeln!(out, "{}", object(&some, at, args.vectors)).map_err(refused)?;
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

/// Gives a file that is whole its name.
fn in_place(path: &Path, file: Whole) -> Result<(), Error> {
    file.finish_new().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => there(path),
        _ => Error::at(path)(error),
    })
}

fn there(path: &Path) -> Error {
    let path = path.display();
    Error::Arguments(format!(
        "{path}: it exists already, and is not written over: choose another name, or move it away"
    ))
}

/// The columns of a table of these records: attributes are those of any of them.
fn columns(contents: &Contents, vectors: bool) -> Result<parquet::Columns, Search> {
    let manifest = contents.manifest();
    let attributes = contents.attributes()?;
    let attributes = attributes.columns();
    Ok(parquet::Columns {
        ids: manifest.ids,
        payloads: manifest.has_payloads(),
        attributes: attributes
            .map(|(name, column)| (name.to_owned(), column.kind()))
            .collect(),
        // At most 8,192.
        dim: vectors.then(|| manifest.dim.cast_signed()),
    })
}

/// A record as JSON.
pub(super) fn object(some: &Stored, at: usize, vectors: bool) -> Value {
    let payload = some.payloads.as_ref().map(|payloads| &payloads[at][..]);
    let mut object = record(&some.ids[at], payload, attributes(&some.attributes, at));
    if vectors {
        object.insert("vector".to_owned(), some.vectors.row(at).into());
    }
    Value::Object(object)
}

/// A record without its vector.
pub(super) fn record(
    id: &Id,
    payload: Option<&[u8]>,
    attributes: Map<String, Value>,
) -> Map<String, Value> {
    let mut object = Map::new();
    let id = match id {
        Id::Number(number) => Value::from(*number),
        other => Value::from(other.to_string()),
    };
    object.insert("id".to_owned(), id);
    if let Some(payload) = payload {
        let (form, payload) = shown(payload);
        object.insert("payload".to_owned(), payload);
        object.insert("payload_form".to_owned(), form.into());
    }
    if !attributes.is_empty() {
        object.insert("attributes".to_owned(), Value::Object(attributes));
    }
    object
}
