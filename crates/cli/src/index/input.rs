//! Records from a file of vectors, and their ids.

use super::ids::{Ids, twice};
use crate::Error;
use clap::Args;
use sordino_search::vectors::{self, ColumnNames, Reader};
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
    reader: Reader,
    /// Ids from a file of their own.
    ids: Option<Ids>,
    /// Records that have come.
    read: usize,
}

/// Vectors, and the ids that they have of their own.
type Chunk = (Option<Vec<u32>>, Vectors);

impl Input {
    pub(super) fn open(&self) -> Result<Records, Error> {
        let reader = self.reader()?;
        let ids = self.ids.as_deref().map(Ids::open).transpose()?;
        if let (Some(ids), Some(len)) = (&ids, reader.len_hint()) {
            ids.check_count(len, &self.file)?;
        }
        Ok(Records {
            reader,
            ids,
            read: 0,
        })
    }

    fn reader(&self) -> Result<Reader, Error> {
        let columns = ColumnNames {
            vectors: self.vector_column.clone(),
            ids: self.id_column.clone(),
        };
        Reader::open_columns(&self.file, &columns).map_err(Error::vectors(&self.file))
    }

    /// Names the file that an error is about, and the place in it. `first` is the row of the first
    /// vector of those that the error counts.
    pub(super) fn named(&self, first: usize, index: &Path) -> impl Fn(Search) -> Error {
        let index = Error::index(index);
        move |error| match error {
            Search::Vectors(error) => Error::vectors(&self.file)(later(error, first)),
            Search::Dimension { .. } => Error::index(&self.file)(error),
            Search::RepeatedId { id } => self.repeated(id),
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
    fn repeated(&self, id: u32) -> Error {
        let chunks = self.reader().into_iter().flatten();
        let ids = chunks.filter_map(|chunk| chunk.ok()?.ids).flatten();
        twice(&self.file, id, ids)
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
                let extra = self.ids.as_ref().map_or(0, |ids| ids.list.len());
                let left = self.ids.is_some() && extra != self.read;
                let (found, expected) = (extra, self.read);
                return left.then_some(Err(Search::Ids { found, expected }));
            }
        };
        let next = self.read + chunk.vectors.len();
        let own = match &self.ids {
            None => chunk.ids,
            Some(ids) => match ids.list.get(self.read..next) {
                Some(ids) => Some(ids.to_vec()),
                None => {
                    let (found, expected) = (ids.list.len(), next);
                    return Some(Err(Search::Ids { found, expected }));
                }
            },
        };
        self.read = next;
        Some(Ok((own, chunk.vectors)))
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

/// The error of a row that is so many rows later in its file than in what was looked at.
fn later(error: vectors::Error, first: usize) -> vectors::Error {
    match error {
        vectors::Error::ZeroVector { row } => vectors::Error::ZeroVector { row: first + row },
        vectors::Error::Norm { row, norm, most } => vectors::Error::Norm {
            row: first + row,
            norm,
            most,
        },
        error => error,
    }
}

/// Records with ids, gathered until there are enough for one change of an index.
pub(super) struct Gathered {
    pub(super) records: Records,
    /// The id of the next record that has none; beyond the last one there is none to give.
    pub(super) next: u64,
    pub(super) most: usize,
}

impl Gathered {
    pub(super) fn next(&mut self) -> Result<Option<(Vec<u32>, Vectors)>, Search> {
        let (mut ids, mut data) = (Vec::new(), Vec::new());
        while ids.len() < self.most {
            let Some(chunk) = self.records.chunk() else {
                break;
            };
            let (own, vectors) = chunk?;
            data.extend_from_slice(vectors.as_slice());
            match own {
                Some(own) => ids.extend(own),
                None => {
                    let after = self.next + vectors.len() as u64;
                    for id in self.next..after {
                        ids.push(u32::try_from(id).map_err(|_| vectors::Error::IdRange)?);
                    }
                    self.next = after;
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
