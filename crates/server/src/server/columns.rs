//! Open and masked mode: rows that are scored under encryption.

use sordino_index::Error;
use sordino_index::columns::Rows;
use sordino_index::manifest::{Columns, Manifest};

use super::{Kind, Stored};

/// The encoded rows of all segments, and the hints that clients download.
pub(super) fn encode(
    form: Rows,
    manifest: &Manifest,
    mode: &Columns,
    rows: Vec<Stored<'_>>,
) -> Result<(Kind, Vec<Vec<u8>>), Error> {
    let rows = rows.into_iter().map(|(_, bytes)| bytes);
    let (database, hints) = form.encode(mode, manifest.width() as usize, rows)?;
    Ok((Kind::Columns(Box::new(database)), hints))
}
