//! Records from a file of vectors, and their ids.

use crate::Error;
use clap::Args;
use sordino_search::vectors::{ColumnNames, Reader, ids};
use sordino_search::{Batch, Error as Search, Vectors};
use std::path::{Path, PathBuf};

/// A file of vectors and the ids that go with it.
#[derive(Args, Debug)]
pub(super) struct Input {
    /// The vectors: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, .parquet, .arrow or .feather.
    #[arg(value_name = "VECTORS")]
    pub(super) file: PathBuf,
    /// Record ids, one for each vector: .npy of integers, or text with one a line.
    #[arg(long, value_name = "FILE", conflicts_with = "id_column")]
    ids: Option<PathBuf>,
    /// The column of a table that holds record ids.
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// The column of a table that holds the vectors, if there are several that could.
    #[arg(long, value_name = "NAME")]
    vector_column: Option<String>,
}

/// Records of a file, some at a time.
pub(super) struct Records {
    file: PathBuf,
    reader: Reader,
    /// Ids from a file of their own.
    ids: Option<Vec<u32>>,
    /// Records that have come.
    read: usize,
}

/// Vectors, and the ids that they have of their own.
type Chunk = (Option<Vec<u32>>, Vectors);

impl Input {
    pub(super) fn open(&self) -> Result<Records, Error> {
        let columns = ColumnNames {
            vectors: self.vector_column.clone(),
            ids: self.id_column.clone(),
        };
        let at = Error::vectors(&self.file);
        let reader = Reader::open_columns(&self.file, &columns).map_err(at)?;
        let ids = self.ids.as_ref();
        let ids = ids.map(|path| ids::open(path).map_err(Error::vectors(path)));
        Ok(Records {
            file: self.file.clone(),
            reader,
            ids: ids.transpose()?,
            read: 0,
        })
    }

    /// True if the records have ids of their own.
    pub(super) fn has_ids(&self) -> bool {
        self.ids.is_some() || self.id_column.is_some()
    }

    /// The length of the longest vector, which takes reading the file.
    pub(super) fn longest(&self) -> Result<f32, Error> {
        let mut longest = 0.0f64;
        for batch in self.open()?.reader {
            let vectors = batch.map_err(Error::vectors(&self.file))?.vectors;
            let squares = |row: &[f32]| {
                row.iter()
                    .map(|&x| f64::from(x) * f64::from(x))
                    .sum::<f64>()
            };
            longest = vectors.rows().map(squares).fold(longest, f64::max);
        }
        // A hair more, so that rounding to f32 leaves no vector outside.
        #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
        Ok((longest.sqrt() * (1.0 + 1e-6)) as f32)
    }
}

impl Records {
    pub(super) fn dim(&self) -> usize {
        self.reader.dim()
    }

    pub(super) fn len_hint(&self) -> Option<u64> {
        self.reader.len_hint()
    }

    /// The next records, with the ids that they have of their own.
    fn chunk(&mut self) -> Option<Result<Chunk, Search>> {
        let chunk = match self.reader.next() {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => return Some(Err(error.into())),
            None => {
                let extra = self.ids.as_ref().map_or(0, Vec::len);
                let left = self.ids.is_some() && extra != self.read;
                let (found, expected) = (extra, self.read);
                return left.then_some(Err(Search::Ids { found, expected }));
            }
        };
        let next = self.read + chunk.vectors.len();
        let own = match &self.ids {
            None => chunk.ids,
            Some(ids) => match ids.get(self.read..next) {
                Some(ids) => Some(ids.to_vec()),
                None => {
                    let (found, expected) = (ids.len(), next);
                    return Some(Err(Search::Ids { found, expected }));
                }
            },
        };
        self.read = next;
        Some(Ok((own, chunk.vectors)))
    }

    /// The file's name for an error of it.
    pub(super) fn named(file: &Path) -> impl Fn(Search) -> Error + use<> {
        let vectors = Error::vectors(file);
        // The reader's errors are about the file; the rest are about the index.
        move |error| match error {
            Search::Vectors(error) => vectors(error),
            other => Error::from(other),
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

impl Iterator for Records {
    type Item = Result<Batch, Search>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.chunk()?.and_then(|(ids, vectors)| match ids {
            Some(ids) => Batch::new(ids, vectors),
            None => Ok(vectors.into()),
        });
        Some(batch)
    }
}

fn no_number() -> Error {
    let why = "record 4294967295 is there, and no number comes after it: give the new records ids, with \
               --ids or --id-column";
    Error::Arguments(why.to_owned())
}

/// Records with ids, gathered until there are enough for one change of an index.
pub(super) struct Gathered {
    pub(super) records: Records,
    /// Ids of records that have none, if they are to be given any.
    pub(super) next: Option<u32>,
    pub(super) most: usize,
}

impl Gathered {
    pub(super) fn next(&mut self) -> Result<Option<(Vec<u32>, Vectors)>, Error> {
        let named = Records::named(self.records.file());
        let (mut ids, mut data) = (Vec::new(), Vec::new());
        while ids.len() < self.most {
            let Some(chunk) = self.records.chunk() else {
                break;
            };
            let (own, vectors) = chunk.map_err(&named)?;
            data.extend_from_slice(vectors.as_slice());
            match own {
                Some(own) => ids.extend(own),
                None => {
                    for _ in 0..vectors.len() {
                        let id = self.next.ok_or_else(no_number)?;
                        ids.push(id);
                        self.next = id.checked_add(1);
                    }
                }
            }
        }
        if ids.is_empty() {
            return Ok(None);
        }
        let vectors = Vectors::new(self.records.dim(), data)?;
        Ok(Some((ids, vectors)))
    }
}
