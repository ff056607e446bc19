//! Files of rows of the same length.

use std::io::{Cursor, Read};

use crate::Error;
use crate::element::Element;
use crate::input::MAX_VALUES;
use crate::rounding::Rounding;

/// The rows of a file that were not read yet.
pub(super) struct Rows {
    input: Box<dyn Read + Send>,
    element: Element,
    dim: usize,
    /// True if every row begins with its dimension.
    prefixed: bool,
    /// The number of rows left to read, if a header gave the number of all rows.
    left: Option<u64>,
    /// The number of rows that have been read.
    read: u64,
    rounding: Rounding,
}

impl Rows {
    /// Reads rows whose number is in a header.
    pub(super) fn counted(
        input: Box<dyn Read + Send>,
        element: Element,
        dim: usize,
        rows: u64,
    ) -> Self {
        Self {
            input,
            element,
            dim,
            prefixed: false,
            left: Some(rows),
            read: 0,
            rounding: Rounding::new(dim),
        }
    }

    /// Reads rows that each begin with their dimension, until the file ends. `first` was already
    /// read.
    pub(super) fn prefixed(
        first: [u8; 4],
        input: Box<dyn Read + Send>,
        element: Element,
        dim: usize,
    ) -> Self {
        Self {
            input: Box::new(Cursor::new(first).chain(input)),
            element,
            dim,
            prefixed: true,
            left: None,
            read: 0,
            rounding: Rounding::new(dim),
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn rounding(&self) -> &Rounding {
        &self.rounding
    }

    /// The coordinates of the next rows, at most a chunk; empty at the end.
    pub(super) fn next(&mut self) -> Result<Vec<f32>, Error> {
        let prefix = if self.prefixed { size_of::<u32>() } else { 0 };
        let row = prefix + self.dim * self.element.size();
        let fit = (MAX_VALUES / self.dim).max(1);
        let wanted = self.left.map_or(fit, |left| {
            usize::try_from(left).map_or(fit, |left| left.min(fit))
        });
        // The buffer grows with the bytes that arrive, not with the number that a header announced.
        let mut bytes = Vec::new();
        let mut input = (&mut self.input).take((wanted * row) as u64);
        input.read_to_end(&mut bytes).map_err(Error::Read)?;
        let rows = bytes.len() / row;
        if !bytes.len().is_multiple_of(row) || (self.left.is_some() && rows < wanted) {
            return Err(Error::EndsInRow {
                row: self.read + rows as u64,
            });
        }

        let mut data = Vec::with_capacity(rows * self.dim);
        for (at, row) in (self.read..).zip(bytes.chunks_exact(row)) {
            let (head, values) = row.split_at(prefix);
            if let Some(head) = head.first_chunk() {
                let found = u64::from(u32::from_le_bytes(*head));
                let expected = self.dim as u64;
                if found != expected {
                    let row = at;
                    return Err(Error::RowDimension {
                        row,
                        found,
                        expected,
                    });
                }
            }
            self.element
                .coordinates(values, &mut self.rounding, &mut data);
        }
        self.read += rows as u64;
        if let Some(left) = &mut self.left {
            *left -= rows as u64;
            if *left == 0 && self.input.read(&mut [0]).map_err(Error::Read)? > 0 {
                return Err(Error::TrailingBytes { rows: self.read });
            }
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_chunks_of_bounded_size() {
        let dim = 1000;
        let rows = MAX_VALUES / dim + 5;
        let bytes = vec![7u8; rows * dim];
        let input = Box::new(Cursor::new(bytes));
        let mut source = Rows::counted(input, Element::U8, dim, rows as u64);
        let first = source.next().unwrap();
        assert_eq!(first.len(), MAX_VALUES / dim * dim);
        assert_eq!(source.next().unwrap().len(), 5 * dim);
        assert!(source.next().unwrap().is_empty());
    }

    #[test]
    fn what_follows_the_promised_rows_is_noticed_without_a_length() {
        let source = |len: usize, rows| {
            let input = Box::new(Cursor::new(vec![1u8; len]));
            Rows::counted(input, Element::U8, 2, rows)
        };
        assert_eq!(source(4, 2).next().unwrap().len(), 4);
        assert!(matches!(
            source(5, 2).next(),
            Err(Error::TrailingBytes { rows: 2 })
        ));
        assert!(matches!(
            source(3, 2).next(),
            Err(Error::EndsInRow { row: 1 })
        ));
        // A header that announces 2^60 rows causes no allocation.
        assert!(matches!(
            source(2, 1 << 60).next(),
            Err(Error::EndsInRow { row: 1 })
        ));
    }
}
