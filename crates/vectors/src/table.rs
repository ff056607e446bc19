//! Tables. The vectors are a column of lists of the same length. Ids and other values have their own columns.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{Array, ArrayRef};

use crate::id::IdKind;
use crate::input::{FIRST, MAX_BYTES, MAX_VALUES, Rest, check_dim, usual_dim};
use crate::rounding::Rounding;
use crate::{ColumnNames, Error};

mod blobs;
mod dictionary;
mod floats;
mod ipc;
mod json;
mod pandas;
mod parquet;
mod schema;
mod spark;
mod strings;
mod values;
mod vectors;

use dictionary::plain;
use schema::Columns;
use vectors::{list, row};

/// The requested columns of a batch: columns of vectors, the ids, other columns.
type Batch = Vec<ArrayRef>;

/// The batches of a table.
type Batches = Box<dyn Iterator<Item = Result<Batch, Error>> + Send>;

/// The number of rows that are read after a left-out row. It then doubles, so that a table with many such rows is not
/// read again for each.
const FEW: usize = 16;

/// The names of a Parquet file's columns.
pub(super) fn parquet_columns(file: std::fs::File) -> Result<Vec<String>, Error> {
    parquet::names(file)
}

/// The rest of a table.
pub(super) struct Table {
    batches: Batches,
    dim: usize,
    vectorless: bool,
    len: Option<u64>,
    /// The current batch, which is never empty, and the number of its rows that were read.
    current: Option<(Batch, usize)>,
    /// The number of rows that have been read.
    read: u64,
    rounding: Rounding,
    columns: Columns,
    has_ids: bool,
    id_kind: Option<IdKind>,
    /// True if rows that cannot be read are left out.
    skip: bool,
    /// The largest number of rows that are read at a time.
    most: usize,
}

impl Table {
    pub(super) fn parquet<R>(file: R, names: &ColumnNames, skip: bool) -> Result<Self, Error>
    where
        R: ::parquet::file::reader::ChunkReader + 'static,
    {
        let (batches, columns, len) = parquet::open(file, names)?;
        Self::new((batches, columns), Some(len), names, skip)
    }

    /// An Arrow IPC file or stream.
    pub(super) fn ipc(
        bytes: Box<dyn std::io::Read + Send>,
        names: &ColumnNames,
        skip: bool,
    ) -> Result<Self, Error> {
        Self::new(ipc::open(bytes, names)?, None, names, skip)
    }

    /// The first vector determines the dimension, since the type of a list column may not give it. If rows may be left
    /// out, most of the first vectors determine it.
    fn new(
        (mut batches, columns): (Batches, Columns),
        len: Option<u64>,
        names: &ColumnNames,
        skip: bool,
    ) -> Result<Self, Error> {
        let current = next_rows(&mut batches)?;
        let (first, _) = current.as_ref().ok_or(Error::NoVectors)?;
        let vectors = &first[..columns.vectors];
        let mut dim = 1;
        if !names.vectorless {
            blobs::check(&vectors[0], &columns.names[0])?;
            let rows = if skip { first[0].len() } else { 1 };
            let found = (0..rows).filter_map(|at| row(vectors, at).ok().flatten());
            let dims: Vec<usize> = found.take(FIRST).map(|row| row.len()).collect();
            dim = match usual_dim(&dims) {
                Some(dim) => dim,
                None => match row(vectors, 0).map_err(|error| columns.in_row(error, 0))? {
                    Some(one) => check_dim(one.len() as u64)?,
                    None => return Err(columns.null(0, 0)),
                },
            };
        }
        Ok(Self {
            batches,
            dim,
            vectorless: names.vectorless,
            len,
            current,
            read: 0,
            rounding: Rounding::new(dim),
            columns,
            has_ids: names.ids.is_some(),
            id_kind: names.id_kind,
            skip,
            most: usize::MAX,
        })
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn len_hint(&self) -> Option<u64> {
        self.len
    }

    pub(super) fn rounding(&self) -> &Rounding {
        &self.rounding
    }

    /// The names of all columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns.all
    }

    /// True if vectors are read from bytes.
    pub(super) fn has_blobs(&self) -> bool {
        self.columns.blobs
    }

    /// The column that pandas marked as the table's index.
    pub(super) fn index_column(&self) -> Option<&str> {
        self.columns.index.as_deref()
    }

    /// The next rows, at most a chunk; empty at the end. A row that is left out ends the chunk.
    pub(super) fn next(&mut self) -> Result<Rest, Error> {
        if self.current.is_none() {
            self.current = next_rows(&mut self.batches)?;
        }
        let Some((batch, start)) = self.current.take() else {
            return Ok(Rest::default());
        };
        // Values are copied a chunk at a time, for any number of rows in a batch.
        let all = batch[0].len();
        let bytes: usize = batch
            .iter()
            .map(|column| column.get_array_memory_size())
            .sum();
        let repeated: usize = batch.iter().map(values::longest).sum();
        let bytes = (bytes / all).saturating_add(repeated).max(1);
        let most = (MAX_VALUES / self.dim)
            .min(MAX_BYTES / bytes)
            .min(self.most);
        let mut rows = most.max(1).min(all - start);
        let mut left_out = None;
        let mut rest = loop {
            match self.rows(&batch, start, rows) {
                Err(error) if self.skip => {
                    let Some(at) = self.place(&error) else {
                        return Err(error);
                    };
                    self.most = FEW;
                    rows = at;
                    left_out = Some(error);
                    if rows == 0 {
                        break Rest::default();
                    }
                }
                read => break read?,
            }
        };
        self.most = self.most.saturating_mul(2);
        let passed = rows + usize::from(left_out.is_some());
        rest.fault = left_out;
        self.read += passed as u64;
        if start + passed < all {
            self.current = Some((batch, start + passed));
        }
        Ok(rest)
    }

    /// The row that an error is about, counted from the next row.
    fn place(&self, error: &Error) -> Option<usize> {
        usize::try_from(error.row()?.checked_sub(self.read)?).ok()
    }

    /// Reads some rows of a batch.
    fn rows(&mut self, batch: &[ArrayRef], start: usize, rows: usize) -> Result<Rest, Error> {
        let (vectors, others) = batch.split_at(self.columns.vectors);
        let mut others = others.iter().map(|column| column.slice(start, rows));
        let mut data = Vec::with_capacity(rows * self.dim);
        if self.vectorless {
            data.resize(rows, 0.0);
        }
        let mut ids = None;
        if self.has_ids
            && let Some(column) = others.next()
        {
            let column = plain(&column)?;
            if let Some(at) = (0..rows).find(|&at| column.is_null(at)) {
                return Err(self
                    .columns
                    .null(self.columns.vectors, self.read + at as u64));
            }
            ids = Some(values::ids(&column, self.id_kind, self.read)?);
        }
        let read = if self.vectorless { 0 } else { rows };
        for at in start..start + read {
            self.vector(vectors, at, self.read + (at - start) as u64, &mut data)?;
        }
        let names = self.columns.names[self.columns.vectors..].iter();
        let names = names.skip(usize::from(self.has_ids));
        let values = others
            .zip(names)
            .map(|(column, name)| values::column(&plain(&column)?, name, self.read));
        let values = values.collect::<Result<_, Error>>()?;
        Ok(Rest {
            data,
            ids,
            values,
            ..Rest::default()
        })
    }

    /// Appends the vector of a batch's row `at`, which is row `number` of the table.
    fn vector(
        &mut self,
        vectors: &[ArrayRef],
        at: usize,
        number: u64,
        data: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let values = row(vectors, at).map_err(|error| self.columns.in_row(error, number))?;
        let values = values.ok_or_else(|| self.columns.null(0, number))?;
        if values.len() != self.dim {
            let (row, found, expected) = (number, values.len() as u64, self.dim as u64);
            return Err(match self.skip {
                true => Error::OddDimension {
                    row,
                    found,
                    expected,
                },
                false => Error::RowDimension {
                    row,
                    found,
                    expected,
                },
            });
        }
        if values.has_null() {
            return Err(self.columns.null(0, number));
        }
        values.append(&mut self.rounding, data);
        Ok(())
    }
}

/// The next batch that has rows.
fn next_rows(batches: &mut Batches) -> Result<Option<(Batch, usize)>, Error> {
    for batch in batches {
        let batch = batch?;
        if batch.first().is_some_and(|column| !column.is_empty()) {
            return Ok(Some((batch, 0)));
        }
    }
    Ok(None)
}

/// Runs `decode`, and returns an error if it panics.
///
/// The decoders of these formats have had assertions that a damaged file can trigger, and a file must not end the program. A
/// decoder that panicked is not used again.
fn caught<T>(format: &'static str, decode: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(|_| Error::Table {
        format,
        why: "it is damaged".to_owned(),
    })
}
