//! Reads matrices that are stored column by column, as pandas and polars save them.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};

use crate::Error;
use crate::input::Input;

/// The bytes of the rows that are assembled at a time.
const BLOCK: usize = 1 << 24;

/// The rows of a matrix stored column by column, after a header of `head` bytes. A file is read in blocks of rows;
/// input from a pipe is kept in memory.
pub(super) fn by_rows(
    mut input: Input,
    head: usize,
    (rows, dim): (u64, usize),
    size: usize,
) -> Result<Box<dyn Read + Send>, Error> {
    let of = |source| Transposed {
        source,
        head: head as u64,
        rows,
        dim,
        size,
        next: 0,
        block: Cursor::default(),
    };
    if let Some(file) = input.file.take() {
        return Ok(Box::new(of(Source::File(file))));
    }
    let mut bytes = vec![0; head];
    input.bytes.read_to_end(&mut bytes).map_err(Error::Read)?;
    Ok(Box::new(of(Source::Bytes(Cursor::new(bytes)))))
}

enum Source {
    File(File),
    Bytes(Cursor<Vec<u8>>),
}

struct Transposed {
    source: Source,
    head: u64,
    rows: u64,
    dim: usize,
    size: usize,
    /// The row after the current block.
    next: u64,
    block: Cursor<Vec<u8>>,
}

impl Transposed {
    /// Assembles the next rows.
    fn fill(&mut self) -> std::io::Result<()> {
        let fit = (BLOCK / (self.dim * self.size)).max(1) as u64;
        let rows = fit.min(self.rows - self.next);
        // The number is at most a block's, so it fits.
        let count = usize::try_from(rows).unwrap_or(0);
        let mut column = vec![0; count * self.size];
        let mut block = vec![0; count * self.size * self.dim];
        for at in 0..self.dim {
            // A header from a pipe may announce more bytes than can exist.
            let before = (at as u64).saturating_mul(self.rows);
            let before = before.saturating_add(self.next);
            let before = before.saturating_mul(self.size as u64);
            let start = SeekFrom::Start(self.head.saturating_add(before));
            match &mut self.source {
                Source::File(file) => {
                    file.seek(start)?;
                    file.read_exact(&mut column)?;
                }
                Source::Bytes(bytes) => {
                    bytes.seek(start)?;
                    bytes.read_exact(&mut column)?;
                }
            }
            let places = block.chunks_exact_mut(self.size).skip(at).step_by(self.dim);
            for (place, number) in places.zip(column.chunks_exact(self.size)) {
                place.copy_from_slice(number);
            }
        }
        self.next += rows;
        self.block = Cursor::new(block);
        Ok(())
    }
}

impl Read for Transposed {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.block.position() < self.block.get_ref().len() as u64;
        if !left && self.next < self.rows && !out.is_empty() {
            self.fill()?;
        }
        self.block.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests a matrix of several blocks, from a file and from a pipe.
    #[test]
    fn columns_become_rows() {
        let (n, dim) = (5000usize, 4000usize);
        let rows = n as u64;
        let value = |row: u64, column: usize| (row * 7 + column as u64 * 3).to_le_bytes()[0];
        let mut bytes = vec![9; 3];
        for column in 0..dim {
            bytes.extend((0..rows).map(|row| value(row, column)));
        }
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        let from_file = Input {
            file: Some(file),
            ..Input::whole(Vec::new())
        };
        for input in [from_file, Input::whole(bytes[3..].to_vec())] {
            let mut all = Vec::new();
            let mut read = by_rows(input, 3, (rows, dim), 1).unwrap();
            read.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), dim * n);
            let mut rows = (0..rows).zip(all.chunks_exact(dim));
            assert!(rows.all(|(row, found)| (0..dim).all(|at| found[at] == value(row, at))));
        }
        let short = by_rows(Input::whole(vec![0; 5]), 0, (3, 2), 1);
        assert!(short.unwrap().read_to_end(&mut Vec::new()).is_err());
    }
}
