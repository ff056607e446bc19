//! Routed mode's table: codes under pads, a cluster beside the other, and the hint of it.
//!
//! The table is stored group after group and row after row, three bytes an entry, little-endian: row `i` of a group holds the
//! vectors at place `i` of each of its clusters. The hint, the product of the table with the public matrix, stays
//! with the server, encoded to be multiplied with encrypted secrets. Clients download the hint of that, computed
//! from the table as in masked mode.

use std::ops::Range;

use sordino_ckks::column::{Database, Hint, Segments};
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

/// Some groups of the table, of their rows, which are dropped as soon as they are in it.
///
/// # Errors
/// If the rows do not fit the mode.
pub fn load(
    mode: &Routed,
    width: usize,
    groups: Range<usize>,
    rows: impl std::ops::Deref<Target = [u8]>,
) -> Result<Table, Error> {
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
    Ok(table)
}

/// The hint of one of the table's groups, encoded beside `segments`, and the hint of that.
///
/// # Errors
/// Never for a table of [`load`], and the [`segments`] of its mode.
///
/// # Panics
/// If the table has no such group.
pub fn group_hint(
    table: &Table,
    segments: &Segments,
    group: usize,
) -> Result<(Database, Hint), Error> {
    let rows = table.shape().rows();
    let hint = table.hint(group * rows..(group + 1) * rows);
    Ok(segments.encode_modular(&hint)?)
}

/// The hint of some groups that clients download, of the groups' rows. `each` is told after each group.
///
/// # Errors
/// If the rows do not fit the mode, and those of `each`.
pub fn downloaded(
    mode: &Routed,
    width: usize,
    groups: Range<usize>,
    rows: impl std::ops::Deref<Target = [u8]>,
    mut each: impl FnMut() -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let table = load(mode, width, groups, rows)?;
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

/// The bytes of an entry, an integer mod `P`: the low ones of a padded code.
#[must_use]
pub fn entry_bytes(padded: i32) -> [u8; ENTRY_LEN] {
    let [a, b, c, _] = padded.to_le_bytes();
    [a, b, c]
}

fn entry([a, b, c]: [u8; ENTRY_LEN]) -> i32 {
    i32::from_le_bytes([a, b, c, 0])
}
