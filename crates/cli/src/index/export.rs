//! `sordino index get` and `sordino index export`.

mod parquet;

use super::ids::{Ids, parsed};
use super::values::{json, shown};
use crate::{Error, Output, keys};
use clap::Args;
use serde_json::{Map, Value};
use sordino_search::{Contents, Error as Search, Id, Stored};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Arguments of `sordino index get`.
#[derive(Args, Debug)]
#[command(after_help = NOTE)]
pub(super) struct Get {
    /// The index.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// Record ids, separated by commas.
    #[arg(long, value_delimiter = ',', required_unless_present = "ids_file")]
    id: Vec<String>,
    /// Record ids from a file: .npy of integers, or text with one a line.
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    ids_file: Option<PathBuf>,
    /// A reader's key file, or the owner's.
    #[arg(long, value_name = "READER_KEY")]
    key: PathBuf,
    /// Show the vectors too.
    #[arg(long)]
    vectors: bool,
}

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
--payload-column payload.";

pub(super) fn get(args: &Get, _: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
    let named = Error::index(&args.index);
    let contents = Contents::open_dir(&args.index, &keys).map_err(&named)?;
    let kind = contents.manifest().ids;
    let ids = match &args.ids_file {
        Some(path) => Ids::open(path, kind)?.list,
        None => parsed(&args.id, kind)?,
    };
    let mut found = HashMap::new();
    for some in contents.get(&ids) {
        let some = some.map_err(&named)?;
        for (at, id) in some.ids.iter().enumerate() {
            found.insert(id.clone(), object(&some, at, args.vectors));
        }
    }
    let mut out = io::stdout().lock();
    // In the order asked for, up to the first that is not there.
    for id in &ids {
        let Some(object) = found.get(id) else {
            let id = id.clone();
            out.flush()?;
            return Err(named(Search::UnknownId { id }));
        };
        writeln!(out, "{object}")?;
    }
    Ok(out.flush()?)
}

pub(super) fn export(args: &Export, output: Output) -> Result<(), Error> {
    let keys = keys::reader(&args.key)?;
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
    let write = |out: &mut dyn Write| -> Result<(), Error> {
        for some in contents.all() {
            let some = some.map_err(&named)?;
            for at in 0..some.ids.len() {
                writeln!(out, "{}", object(&some, at, args.vectors))?;
            }
            bar.inc(some.ids.len() as u64);
        }
        Ok(out.flush()?)
    };
    match &args.output {
        None => write(&mut BufWriter::new(io::stdout().lock()))?,
        Some(path) => {
            let at = Error::at(path);
            let file = File::create_new(path).map_err(at)?;
            write(&mut BufWriter::new(file))?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The columns of a table of these records: attributes are those of any of them.
fn columns(contents: &Contents, vectors: bool) -> Result<parquet::Columns, Search> {
    let manifest = contents.manifest();
    let attributes = contents.attributes()?;
    let attributes = attributes.columns();
    Ok(parquet::Columns {
        ids: manifest.ids,
        payloads: manifest.payloads.is_some(),
        attributes: attributes
            .map(|(name, column)| (name.to_owned(), column.kind()))
            .collect(),
        // At most 8,192.
        dim: vectors.then(|| manifest.dim.cast_signed()),
    })
}

/// A record as JSON.
fn object(some: &Stored, at: usize, vectors: bool) -> Value {
    let mut object = Map::new();
    let id = match &some.ids[at] {
        Id::Number(number) => Value::from(*number),
        other => Value::from(other.to_string()),
    };
    object.insert("id".to_owned(), id);
    if let Some(payloads) = &some.payloads {
        let (form, payload) = shown(&payloads[at]);
        object.insert("payload".to_owned(), payload);
        object.insert("payload_form".to_owned(), form.into());
    }
    for (name, column) in some.attributes.columns() {
        let attributes = object
            .entry("attributes")
            .or_insert(Value::Object(Map::new()));
        if let Value::Object(attributes) = attributes {
            attributes.insert(name.to_owned(), json(column, at));
        }
    }
    if vectors {
        object.insert("vector".to_owned(), some.vectors.row(at).into());
    }
    Value::Object(object)
}
