//! The unit vectors that rows are lifted to. They are computed when they are needed, because all of them together would
//! take as much memory as the rows.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use sordino_vault::frame::Frame;
use sordino_vault::mean::Mean;

use crate::cluster::Points;
use crate::rows::Rows;

/// The number of vectors that are computed at the same time, before their sum is taken.
const BLOCK: usize = 4096;

/// Rows of an index, and the frame that lifts them to unit vectors.
#[derive(Clone, Copy)]
pub(crate) struct Lifted<'a> {
    pub(crate) rows: &'a Rows,
    pub(crate) frame: &'a Frame,
}

impl<'a> Lifted<'a> {
    pub(crate) fn new(rows: &'a Rows, frame: &'a Frame) -> Self {
        Self { rows, frame }
    }

    /// The unit vector of a row.
    pub(crate) fn unit(&self, row: usize) -> Vec<f32> {
        let base = self.rows.marks[row].base;
        let y = self.frame.whole(base, self.rows.vectors.row(row));
        self.frame.lifted(&y)
    }

    /// The mean of all unit vectors.
    pub(crate) fn mean(&self) -> Mean {
        let blocks = (0..self.len()).step_by(BLOCK).flat_map(|first| {
            let rows = first..self.len().min(first + BLOCK);
            let units = rows.into_par_iter().map(|row| self.unit(row));
            units.collect::<Vec<_>>()
        });
        Mean::of(self.dim(), blocks)
    }

    /// The unit vectors relative to a mean.
    pub(crate) fn centred(self, mean: &'a Mean) -> Centred<'a> {
        Centred { lifted: self, mean }
    }
}

impl Points for Lifted<'_> {
    fn len(&self) -> usize {
        self.rows.vectors.len()
    }

    fn dim(&self) -> usize {
        self.frame.stored_dim()
    }

    fn some(&self, rows: Range<usize>) -> Cow<'_, [f32]> {
        rows.flat_map(|row| self.unit(row)).collect()
    }
}

/// The directions of unit vectors relative to a mean.
pub(crate) struct Centred<'a> {
    lifted: Lifted<'a>,
    mean: &'a Mean,
}

impl Points for Centred<'_> {
    fn len(&self) -> usize {
        self.lifted.len()
    }

    fn dim(&self) -> usize {
        self.lifted.dim()
    }

    fn some(&self, rows: Range<usize>) -> Cow<'_, [f32]> {
        let units = rows.map(|row| self.lifted.unit(row));
        units.flat_map(|unit| self.mean.centred(&unit)).collect()
    }
}
