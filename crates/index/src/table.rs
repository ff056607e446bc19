//! Routed mode's table, and its hint. The table has codes under pads, with the clusters side by side.
//!
//! The table is stored group after group and row after row, three bytes an entry, little-endian. Row `i` of a group
//! holds the vectors at place `i` of each of its clusters. The hint is the product of the table with the public matrix.
//! It stays with the server, encoded for multiplication with encrypted secrets. Clients download the hint of that
//! encoded hint, computed as in masked mode.

use std::ops::Range;

use sordino_ckks::column::{Database, Hint, Segments};
use sordino_lwe::{Seed, Table};

use crate::Error;
use crate::manifest::{ENTRY_LEN, Grid, Routed};

/// An empty list of segments for the hint of a table.
///
/// # Errors
/// No error for a manifest that was checked.
pub fn segments(mode: &Routed) -> Result<Segments, Error> {
    let params = mode.grid.packing.params();
    Ok(Segments::new(&params, mode.hint_seed, Grid::params().n())?)
}

/// Some groups of the table that are being filled. The bytes of their rows are used as they arrive, so a streamed file
/// does not need memory of its own.
#[derive(Debug)]
pub struct Filling {
    table: Table,
    /// The number of bytes that arrived.
    found: usize,
    /// The number of complete rows that arrived.
    rows: usize,
    /// The beginning of the next row.
    begun: Vec<u8>,
    entries: Vec<i32>,
}

impl Filling {
    /// A table of these groups, without rows so far.
    ///
    /// # Errors
    /// [`Error`] if there are no such groups.
    pub fn new(mode: &Routed, width: usize, groups: Range<usize>) -> Result<Self, Error> {
        let whole = mode.grid.shape(width)?;
        Ok(Self {
            table: Table::part(&Grid::params(), whole, groups, &Seed(mode.seed))?,
            found: 0,
            rows: 0,
            begun: Vec::new(),
            entries: Vec::new(),
        })
    }

    fn row_len(&self) -> usize {
        self.table.shape().columns() * ENTRY_LEN
    }

    /// Takes the next bytes. Bytes beyond the last row are only counted.
    pub fn take(&mut self, mut bytes: &[u8]) {
        self.found += bytes.len();
        let len = self.row_len();
        while !bytes.is_empty() && self.rows < self.table.shape().answers() {
            let (next, rest) = bytes.split_at(bytes.len().min(len - self.begun.len()));
            self.begun.extend_from_slice(next);
            bytes = rest;
            if self.begun.len() == len {
                let entries = self.begun.as_chunks().0.iter().copied();
                self.entries.clear();
                self.entries.extend(entries.map(entry));
                let set = self.table.set(self.rows, &self.entries);
                self.rows += usize::from(set.is_ok());
                self.begun.clear();
            }
        }
    }

    /// The table.
    ///
    /// # Errors
    /// [`Error::Malformed`] if more or fewer bytes arrived than the table has.
    pub fn finish(self) -> Result<Table, Error> {
        let shape = self.table.shape();
        let expected = shape.answers() * self.row_len();
        if self.found == expected && self.rows == shape.answers() {
            return Ok(self.table);
        }
        let (found, groups) = (self.found, shape.groups());
        Err(Error::Malformed {
            what: "table",
            why: format!("{found} bytes of {groups} groups, expected {expected}"),
        })
    }
}

/// The hint of one group of the table as a database encoded by `segments`, and the hint of this database.
///
/// # Errors
/// No error for a table that was [filled](Filling), with the [`segments`] of its mode.
///
/// # Panics
/// Panics if the table has no such group.
pub fn group_hint(
    table: &Table,
    segments: &Segments,
    group: usize,
) -> Result<(Database, Hint), Error> {
    let rows = table.shape().rows();
    let hint = table.hint(group * rows..(group + 1) * rows);
    Ok(segments.encode_modular(&hint)?)
}

/// The hint of all groups that clients download. `read` passes the table's bytes to its argument, in pieces. `each` is called
/// after each group.
///
/// # Errors
/// [`Error`] if the table does not fit the mode, and the errors of `read` and `each`.
pub fn downloaded(
    mode: &Routed,
    width: usize,
    read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), Error>,
    mut each: impl FnMut() -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut table = Filling::new(mode, width, 0..mode.grid.groups as usize)?;
    read(&mut |bytes| table.take(bytes))?;
    let table = table.finish()?;
    let segments = segments(mode)?;
    let groups = table.shape().groups();
    let mut downloaded = Vec::with_capacity(groups * mode.grid.group_hint_len()?);
    for group in 0..groups {
        let (_, hint) = group_hint(&table, &segments, group)?;
        downloaded.extend(hint.to_bytes());
        each()?;
    }
    Ok(downloaded)
}

/// The bytes of an entry, an integer mod `P`: the low bytes of a padded code.
#[must_use]
pub fn entry_bytes(padded: i32) -> [u8; ENTRY_LEN] {
    let [a, b, c, _] = padded.to_le_bytes();
    [a, b, c]
}

fn entry([a, b, c]: [u8; ENTRY_LEN]) -> i32 {
    i32::from_le_bytes([a, b, c, 0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Coded;
    use crate::manifest::{Columns, Packing, SecretPacking, Segment};

    #[test]
    fn however_the_bytes_come_the_table_is_the_same() {
        let grid = Grid {
            groups: 2,
            clusters: 3,
            slots: 32,
            packing: SecretPacking::T64,
        };
        let ids = Coded {
            len: 0,
            digest: [0; 32],
        };
        let base = Segment::new([0; 16], 1, 5, [0; 32], ids);
        let mode = Routed::new(base, grid, Columns::new(Packing::T64, [4; 32]));
        let len = grid.table_len(5);
        let bytes: Vec<u8> = (0..len).map(|at| (at * 7 / 3).to_le_bytes()[0]).collect();
        let shape = grid.shape(5).unwrap();
        let mut all = Table::zeroed(&Grid::params(), shape, &Seed(mode.seed));
        for (row, bytes) in bytes.chunks(15 * ENTRY_LEN).enumerate() {
            let number = |at: usize| i32::from(bytes[at]) << (8 * (at % 3));
            let entries: Vec<i32> = (0..15)
                .map(|at| (3 * at..3 * at + 3).map(number).sum())
                .collect();
            all.set(row, &entries).unwrap();
        }
        for sizes in [1, 44, 45, 46, 1000, len] {
            for groups in [0..2, 1..2, 0..1] {
                let own = groups.start * shape.rows()..groups.end * shape.rows();
                let mut table = Filling::new(&mode, 5, groups).unwrap();
                let pieces =
                    bytes[own.start * 15 * ENTRY_LEN..own.end * 15 * ENTRY_LEN].chunks(sizes);
                pieces.for_each(|bytes| table.take(bytes));
                let table = table.finish().unwrap();
                let hint = table.hint(0..table.shape().answers());
                assert_eq!(hint, all.hint(own), "{sizes} bytes at a time");
            }
        }
        for other in [&bytes[1..], &[&bytes[..], &[0]].concat(), &[]] {
            let mut table = Filling::new(&mode, 5, 0..2).unwrap();
            table.take(other);
            let error = table.finish().unwrap_err().to_string();
            let found = other.len();
            let expected = format!("malformed table: {found} bytes of 2 groups, expected {len}");
            assert_eq!(error, expected);
        }
    }
}
