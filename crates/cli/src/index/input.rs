//! Records from a file of vectors: their ids, payloads and attributes.

mod columns;
pub(super) mod exported;
pub(super) mod layout;
mod left_out;
mod missing_members;
mod omission;
mod records;
mod rounding;

pub(super) use columns::Columns;
pub(super) use layout::Layout;
pub(super) use left_out::OnErrorArgs;
pub(super) use records::Records;
pub(super) use rounding::Rounding;

use super::ids::{Ids, Place, twice};
use crate::Error;
use crate::file_args::{FileArgs, path};
use clap::Args;
use missing_members::Unseen;
use rounding::Rounded;
use sordino_search::vectors::{self, ColumnNames, FileOptions, Reader};
use sordino_search::{Error as Search, Id, IdKind};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// A file of vectors and what goes with it.
#[derive(Args, Debug)]
pub(super) struct Input {
    /// The vectors: .npy, .fvecs, .bvecs, .fbin, .u8bin or .i8bin. A table needs a column of vectors: .parquet,
    /// .arrow, .feather, .jsonl, .json, .csv or .tsv, the last four also compressed (.csv.gz, .jsonl.zst). `-` is
    /// standard input, with --format.
    #[arg(value_name = "VECTORS")]
    pub(super) file: PathBuf,
    /// Record ids, one for each vector: .npy of integers, or text with one a line.
    #[arg(
        long,
        alias = "ids-file",
        value_name = "FILE",
        conflicts_with = "id_column"
    )]
    ids: Option<PathBuf>,
    /// The column of vectors, if a table has several candidates: lists, texts such as [0.1, 0.2], or bytes of 32-bit
    /// floats. A *, as in 'f*', names columns that hold one coordinate each; a.b names a column within a structure.
    #[arg(long, alias = "vector-columns", value_name = "NAME")]
    vector_column: Option<String>,
    #[command(flatten)]
    file_args: FileArgs,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    columns: Columns,
    /// The file was written by `index export --vectors`: take ids, payloads, attributes and vectors from it.
    #[arg(long, conflicts_with_all = ["ids", "id_column", "vector_column", "payload_column", "attribute"])]
    exported: bool,
    /// True if the command does not read the file's vectors.
    #[arg(skip)]
    vectorless: bool,
}

impl Input {
    /// The layout of these columns of a table whose vectors are not read.
    pub(super) fn without_vectors(
        file: PathBuf,
        columns: Columns,
        file_args: FileArgs,
        on_error: OnErrorArgs,
    ) -> Self {
        Self {
            file,
            file_args,
            on_error,
            ids: None,
            vector_column: None,
            columns,
            exported: false,
            vectorless: true,
        }
    }

    /// The records of a layout. In a file with labels, these are the records with this label, or without one.
    pub(super) fn records(
        &self,
        layout: Layout,
        label: Option<&str>,
    ) -> Result<Records<'_>, Error> {
        let named = Error::vectors(&self.file);
        let wanted = (!layout.labels().is_empty()).then(|| label.map(str::to_owned));
        let kind = layout.names.id_kind;
        let mut reader = self.reader(&layout)?;
        self.check_all_taken(&reader, &layout)?;
        let mut first = None;
        if kind.is_none() && layout.names.ids.is_some() {
            // The first record shows what the column contains. A file may be a pipe, so it is read
            // once.
            first = reader.next().transpose().map_err(&named)?;
        }
        let asked = match self.exported {
            true => Vec::new(),
            false => layout.names.values.clone(),
        };
        let unseen = Unseen::of(asked);
        let found = first.as_ref().and_then(|chunk| chunk.ids.as_ref());
        let found = found.and_then(|ids| ids.first()).map(Id::kind);
        let kind = kind.or(found).unwrap_or_default();
        let ids = self.ids.as_deref().map(|path| Ids::open(path, kind));
        let ids = ids.transpose()?;
        if let (Some(ids), Some(len)) = (&ids, reader.len_hint()) {
            ids.check_count(len, &self.file)?;
        }
        Ok(Records {
            reader,
            first,
            kind,
            ids,
            payloads: layout.payloads,
            attributes: layout.attributes,
            wanted,
            read: 0,
            unseen,
            rounded: Rounded::default(),
            skip: self.on_error.skips(),
            left_out: self.on_error.left_out()?,
            metric: None,
            first_number: Some(0),
            waiting: VecDeque::new(),
            known: None,
            kept: 0,
        })
    }

    /// The layout of the file, with ids of this kind, or of the file's own kind if `kind` is `None`.
    pub(super) fn layout(&self, kind: Option<IdKind>) -> Result<Layout, Error> {
        if self.exported {
            if self.on_error.skips() {
                let why = "--on-error cannot be used with --exported: `sordino index export` writes no faulty records";
                return Err(Error::Arguments(why.to_owned()));
            }
            return exported::layout(&self.file, kind);
        }
        let names = ColumnNames {
            vectors: self.vector_column.clone(),
            vectorless: self.vectorless,
            id_kind: kind,
            ..ColumnNames::default()
        };
        self.columns
            .layout(names, &self.file, &self.options(), self.ids.is_some())
    }

    fn options(&self) -> FileOptions {
        FileOptions {
            skip: self.on_error.skips(),
            ..self.file_args.options()
        }
    }

    fn reader(&self, layout: &Layout) -> Result<Reader, Error> {
        let reader = Reader::open_with(path(&self.file), &layout.names, &self.options());
        reader.map_err(Error::vectors(&self.file))
    }

    /// Reads the file a second time, to find the place of a fault.
    pub(super) fn again(&self, kind: Option<IdKind>) -> impl Iterator<Item = vectors::Chunk> {
        // A pipe has no more content, and reading it might wait.
        let is_file = path(&self.file).is_file();
        let reader = is_file.then(|| self.layout(kind).and_then(|layout| self.reader(&layout)));
        let reader = reader.into_iter().flatten();
        reader.flatten().map_while(Result::ok)
    }

    /// Adds the line to an error, if the file is a text file.
    fn in_its_line(&self, error: vectors::Error) -> vectors::Error {
        let line = error.row().and_then(|row| {
            let mut chunks = self.again(None);
            let chunk = chunks.find(|chunk| row < chunk.first + chunk.vectors.len() as u64)?;
            let at = usize::try_from(row.checked_sub(chunk.first)?).ok()?;
            chunk.lines?.get(at).copied()
        });
        match line {
            Some(line) => error.in_line(line),
            None => error,
        }
    }

    /// Adds to an error the name of the file and the place in the file.
    pub(super) fn named(&self, index: &Path) -> impl Fn(Search) -> Error {
        let index = Error::index(index);
        move |error| match error {
            Search::Vectors(error) => Error::vectors(&self.file)(self.in_its_line(error)),
            Search::Dimension { .. }
            | Search::Attribute { .. }
            | Search::IdKind { .. }
            | Search::Payload { .. } => Error::index(&self.file)(error),
            Search::RepeatedId { id } => self.repeated(&id),
            Search::NoNextId { .. } | Search::NoIds { .. } => {
                Error::Arguments(format!("{error}: with --ids or --id-column"))
            }
            Search::Ids { found, expected } => {
                let path = self.ids.as_ref().unwrap_or(&self.file).clone();
                let file = self.file.display();
                let why = match found < expected {
                    true => format!("{found} record ids, and {expected} vectors or more in {file}"),
                    false => format!("{found} record ids for the {expected} vectors of {file}"),
                };
                Error::Ids { path, why }
            }
            error => index(error),
        }
    }

    /// The error of a repeated id, with the two places, for which the file is read again.
    fn repeated(&self, id: &Id) -> Error {
        let chunks = self.again(Some(id.kind()));
        let places = chunks.flat_map(|chunk| {
            let rows = chunk.first..;
            let ids = chunk.ids.into_iter().flatten();
            let places: Box<dyn Iterator<Item = Place>> = match chunk.lines {
                Some(lines) => Box::new(lines.into_iter().map(Place::Line)),
                None => Box::new(rows.map(Place::Row)),
            };
            places.zip(ids)
        });
        twice(&self.file, id, places)
    }

    /// True if the records have ids of their own.
    pub(super) fn has_ids(&self, layout: &Layout) -> bool {
        self.ids.is_some() || layout.has_id_column()
    }
}
