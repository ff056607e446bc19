//! Routed mode's table: codes under pads, a cluster beside the other, and the hint of it.
//!
//! The table is stored group after group and row after row, three bytes an entry, little-endian: row `i` of a group holds the
//! vectors at place `i` of each of its clusters. The hint, the product of the table with the public matrix, stays
//! with the server, encoded to be multiplied with encrypted secrets. Clients download the hint of that, computed
//! from the table as in masked mode.

use std::ops::Range;

use sordino_ckks::column::{Database, Segments};
use sordino_lwe::{Seed, Table};

use crate::Error;
use crate::manifest::{ENTRY_LEN, Grid, Routed};

/// No segments yet of the hint of a table.
///
/// # Errors
/// Never for a manifest that was checked.
pub fn segments(mode: &Routed) -> Result<Segments, Error> {
    let params = mode.grid.packing.params();
    Ok(Segments::new(&params, mode.hint_seed, Grid::params().n())?)
}

/// Some groups of the table, of their rows, which are dropped as soon as they are in it, and the hint of these groups that
/// clients download. `each` gets the encoded hint of each group, in their order: they are [`segments`].
///
/// # Errors
/// If the rows do not fit the mode, and those of `each`.
pub fn encode(
    mode: &Routed,
    width: usize,
    groups: Range<usize>,
    rows: impl std::ops::Deref<Target = [u8]>,
    mut each: impl FnMut(Database) -> Result<(), Error>,
) -> Result<(Table, Vec<u8>), Error> {
    let whole = mode.grid.shape(width)?;
    let mut table = Table::part(&Grid::params(), whole, groups, &Seed(mode.seed))?;
    let shape = table.shape();
    let found = rows.len();
    let (entries, rest) = rows.as_chunks::<ENTRY_LEN>();
    if !rest.is_empty() || entries.len() != shape.answers() * shape.columns() {
        return Err(Error::Malformed {
            what: "table",
            why: format!(
                "{found} bytes of {} groups, expected {}",
                shape.groups(),
                shape.answers() * shape.columns() * ENTRY_LEN
            ),
        });
    }
    let mut row = Vec::with_capacity(shape.columns());
    for (at, entries) in entries.chunks_exact(shape.columns()).enumerate() {
        row.clear();
        row.extend(entries.iter().copied().map(entry));
        table.set(at, &row)?;
    }
    drop(rows);
    let segments = segments(mode)?;
    let mut downloaded = Vec::with_capacity(shape.groups() * mode.grid.group_hint_len()?);
    for group in 0..shape.groups() {
        let first = group * shape.rows();
        let hint = table.hint(first..first + shape.rows());
        let (database, hint) = segments.encode_modular(&hint)?;
        downloaded.extend(hint.to_bytes());
        each(database)?;
    }
    Ok((table, downloaded))
}

/// The bytes of an entry, an integer mod `P`: the low ones of a padded code.
#[must_use]
pub fn entry_bytes(padded: i32) -> [u8; ENTRY_LEN] {
    let [a, b, c, _] = padded.to_le_bytes();
    [a, b, c]
}

fn entry([a, b, c]: [u8; ENTRY_LEN]) -> i32 {
    i32::from_le_bytes([a, b, c, 0])
}
