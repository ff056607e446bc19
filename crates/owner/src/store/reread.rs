//! Reads records again that tasks have read before.

use std::vec::IntoIter;

use sordino_index::Error;
use sordino_index::digest::{Digest, Running};

use super::owner_tag::malformed;
use crate::spec::Batch;

/// The digest of vectors one after the other.
#[derive(Default)]
pub(super) struct Vectored(Running, Vec<u8>);

impl Vectored {
    pub(super) fn add(&mut self, vector: &[f32]) {
        self.1.clear();
        self.1.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        self.0.update(&self.1);
    }

    pub(super) fn digest(&self) -> Digest {
        self.0.digest()
    }
}

/// The vectors of a task.
pub(super) struct Range {
    pub(super) task: u64,
    /// The number of its vectors, at least one.
    pub(super) count: usize,
    pub(super) digest: Digest,
}

/// A stream of records that ends with an error if its vectors differ from those that tasks have
/// read.
pub(super) struct Reread<I> {
    batches: I,
    dim: usize,
    ranges: IntoIter<Range>,
    /// The current range, and the digest and number of its vectors so far.
    now: Option<(Range, Vectored, usize)>,
    ended: bool,
}

impl<I: Iterator<Item = Result<Batch, Error>>> Reread<I> {
    /// Records of `dim` coordinates, which must match these ranges one after the other.
    pub(super) fn new(batches: I, dim: usize, ranges: Vec<Range>) -> Self {
        let mut ranges = ranges.into_iter();
        Self {
            batches,
            dim,
            now: ranges.next().map(begun),
            ranges,
            ended: false,
        }
    }

    fn check(&mut self, batch: &Batch) -> Result<(), Error> {
        let (found, expected) = (batch.vectors.dim(), self.dim);
        if found != expected {
            return Err(Error::Dimension { found, expected });
        }
        for vector in batch.vectors.rows() {
            let Some((range, vectored, count)) = &mut self.now else {
                return Err(malformed("there are more records than tasks have read"));
            };
            vectored.add(vector);
            *count += 1;
            if *count < range.count {
                continue;
            }
            if vectored.digest() != range.digest {
                let task = range.task;
                return Err(malformed(&format!(
                    "records are others than task {task} has read"
                )));
            }
            self.now = self.ranges.next().map(begun);
        }
        Ok(())
    }
}

fn begun(range: Range) -> (Range, Vectored, usize) {
    (range, Vectored::default(), 0)
}

impl<I: Iterator<Item = Result<Batch, Error>>> Iterator for Reread<I> {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = match self.batches.next() {
            Some(batch) => batch.and_then(|batch| self.check(&batch).map(|()| batch)),
            None => {
                self.ended = true;
                self.now.as_ref()?;
                Err(malformed("there are fewer records than tasks have read"))
            }
        };
        self.ended |= next.is_err();
        Some(next)
    }
}
