//! Records from a file of vectors: their ids, payloads and attributes.

mod columns;
pub(super) mod exported;
pub(super) mod layout;
mod missing_members;
mod omission;
mod rounding;

pub(super) use columns::Columns;
pub(super) use layout::Layout;
use missing_members::Unseen;
use rounding::Rounded;
pub(super) use rounding::Rounding;

use super::ids::{Ids, Place, twice};
use super::values::{Attribute, Payloads};
use crate::Error;
use clap::Args;
use indicatif::ProgressBar;
use sordino_search::payload::MOST_PAYLOAD;
use sordino_search::vectors::{self, ColumnNames, Reader};
use sordino_search::{Attributes, Batch, Column, Error as Search, Id, IdKind};
use std::path::{Path, PathBuf};

/// A file of vectors and what goes with it.
#[derive(Args, Debug)]
pub(super) struct Input {
    /// The vectors: .npy, .fvecs, .bvecs, .fbin, .u8bin or .i8bin; or a table with a column of them: .parquet,
    /// .arrow, .feather, .jsonl or .csv.
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
    /// The column of a table that holds the vectors, if there are several that could.
    #[arg(long, value_name = "NAME")]
    vector_column: Option<String>,
    #[command(flatten)]
    columns: Columns,
    /// The file is one that `index export --vectors` wrote: ids, payloads, attributes and vectors are all taken from it.
    #[arg(long, conflicts_with_all = ["ids", "id_column", "vector_column", "payload_column", "attribute"])]
    exported: bool,
    /// True of a file whose vectors are not looked at.
    #[arg(skip)]
    vectorless: bool,
}

/// Records of a file, some at a time.
pub(super) struct Records {
    reader: Reader,
    /// The first records, if they were looked at already.
    first: Option<vectors::Chunk>,
    kind: IdKind,
    /// Ids from a file of their own.
    ids: Option<Ids>,
    payloads: Payloads,
    attributes: Vec<Attribute>,
    /// The label of the records that are wanted, of a file with labels.
    wanted: Option<Option<String>>,
    /// Records that have come.
    read: usize,
    unseen: Unseen,
    rounded: Rounded,
}

impl Input {
    /// These columns of a table, whose vectors are not looked at.
    pub(super) fn without_vectors(file: PathBuf, columns: Columns) -> Self {
        Self {
            file,
            ids: None,
            vector_column: None,
            columns,
            exported: false,
            vectorless: true,
        }
    }

    /// The records of a layout: of a file with labels those of this one, or without one.
    pub(super) fn records(&self, layout: Layout, label: Option<&str>) -> Result<Records, Error> {
        let named = Error::vectors(&self.file);
        let wanted = (!layout.labels().is_empty()).then(|| label.map(str::to_owned));
        let kind = layout.names.id_kind;
        let mut reader = self.reader(&layout)?;
        self.check_all_taken(&reader, &layout)?;
        let mut first = None;
        if kind.is_none() && layout.names.ids.is_some() {
            // The first record says what the column holds. A file may be a pipe, so it is read once.
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
        })
    }

    /// The places of all that is read, with ids of this kind; if there is none, of the kind that the file has.
    pub(super) fn layout(&self, kind: Option<IdKind>) -> Result<Layout, Error> {
        if self.exported {
            return exported::layout(&self.file, kind);
        }
        let names = ColumnNames {
            vectors: self.vector_column.clone(),
            vectorless: self.vectorless,
            id_kind: kind,
            ..ColumnNames::default()
        };
        self.columns.layout(names, &self.file, self.ids.is_some())
    }

    fn reader(&self, layout: &Layout) -> Result<Reader, Error> {
        Reader::open_columns(&self.file, &layout.names).map_err(Error::vectors(&self.file))
    }

    /// The file once more, to say where something is.
    fn again(&self, kind: Option<IdKind>) -> impl Iterator<Item = vectors::Chunk> {
        let reader = self.layout(kind).and_then(|layout| self.reader(&layout));
        reader.into_iter().flatten().map_while(Result::ok)
    }

    /// The same fault with the line that it is in, if the file is one of text.
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

    /// Names the file that an error is about, and the place in it.
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

    /// The error of an id that occurs twice, which is looked for once more to say where.
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

impl Records {
    pub(super) fn dim(&self) -> usize {
        self.reader.dim()
    }

    /// The kind of the ids.
    pub(super) fn kind(&self) -> IdKind {
        self.kind
    }

    pub(super) fn len_hint(&self) -> Option<u64> {
        self.reader.len_hint()
    }

    /// The members that no record has, when all have been read.
    pub(super) fn unseen(&self) -> Unseen {
        self.unseen.clone()
    }

    /// The loss by rounding, when all have been read.
    pub(super) fn rounded(&self) -> Rounded {
        self.rounded.clone()
    }

    /// The same, counted by a bar.
    pub(super) fn counted(self, bar: &ProgressBar) -> impl Iterator<Item = Result<Batch, Search>> {
        self.inspect(|batch| {
            if let Ok(batch) = batch {
                bar.inc(batch.len() as u64);
            }
        })
    }

    /// The records of a chunk that are wanted, if there are any.
    fn batch(&mut self, chunk: vectors::Chunk) -> Result<Option<Batch>, Search> {
        let next = self.read + chunk.vectors.len();
        let own = match &self.ids {
            None => chunk.ids,
            Some(ids) => {
                let (found, expected) = (ids.list.len(), next);
                let own = ids.list.get(self.read..next);
                Some(own.ok_or(Search::Ids { found, expected })?.to_vec())
            }
        };
        let rows = chunk.vectors.len();
        let names = self.payloads.columns();
        let names = names.chain(self.attributes.iter().map(|it| it.name.clone()));
        for (name, column) in names.zip(&chunk.values) {
            self.unseen.saw(&name, column);
        }
        let lines = chunk.lines.is_some();
        let mut values = chunk.values.into_iter();
        let count = self.payloads.columns().len();
        let payloads: Vec<Column> = values.by_ref().take(count).collect();
        let attributes = self.attributes.iter().zip(values.by_ref());
        let attributes = attributes.map(|(it, column)| {
            it.check(&column, self.read, lines)?;
            it.read(column, self.read)
        });
        let attributes: Vec<(String, Column)> = attributes.collect::<Result<_, _>>()?;
        let attributes = Attributes::new(rows, attributes)?;
        let mut batch = match own {
            Some(ids) => Batch::new(ids, chunk.vectors)?,
            None => chunk.vectors.into(),
        };
        if !attributes.is_none() {
            batch = batch.with_attributes(attributes)?;
        }
        if !payloads.is_empty() {
            let payloads = self.payloads.of(payloads, rows, lines).map_err(|at| {
                self.wrong_payload(at, "a payload in the form that `index export` names")
            })?;
            self.check(&payloads)?;
            batch = batch.with_payloads(payloads)?;
        }
        self.read = next;
        let Some(wanted) = &self.wanted else {
            return Ok(Some(batch));
        };
        let labels = values
            .next()
            .and_then(|column| exported::labels_of(&column));
        let labels = labels.into_iter().flatten().zip(0..);
        let kept: Vec<usize> = labels
            .filter_map(|(label, at)| (label == *wanted).then_some(at))
            .collect();
        (!kept.is_empty()).then(|| batch.select(&kept)).transpose()
    }
}

impl Records {
    /// Names the first of the next payloads that is too long.
    fn check(&self, payloads: &[Vec<u8>]) -> Result<(), Search> {
        let long = |payload: &Vec<u8>| payload.len() > MOST_PAYLOAD;
        let Some(at) = payloads.iter().position(long) else {
            return Ok(());
        };
        Err(self.wrong_payload(at, "a payload of at most 1048572 bytes"))
    }

    /// The error of a payload of the batch that is being read.
    fn wrong_payload(&self, at: usize, expected: &'static str) -> Search {
        let columns: Vec<String> = self.payloads.columns().collect();
        let value = vectors::Error::Value {
            row: (self.read + at) as u64,
            column: columns.join(","),
            expected,
        };
        value.into()
    }
}

impl Iterator for Records {
    type Item = Result<Batch, Search>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let first = self.first.take().map(Ok);
            let next = first.or_else(|| self.reader.next());
            self.rounded.set(self.reader.loss());
            let Some(chunk) = next else {
                let found = self.ids.as_ref()?.list.len();
                let expected = self.read;
                return (found != expected).then_some(Err(Search::Ids { found, expected }));
            };
            let batch = chunk
                .map_err(Search::from)
                .and_then(|chunk| self.batch(chunk));
            if let Some(batch) = batch.transpose() {
                return Some(batch);
            }
        }
    }
}
