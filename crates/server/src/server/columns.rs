//! Open and masked mode: rows that are scored under encryption.

use std::sync::Arc;

use sordino_ckks::column::{Database, Segments};
use sordino_index::columns::Rows;
use sordino_index::manifest::{self, ColumnSegment, Manifest, Packing, PartKind};
use sordino_index::{Bytes, Error, digest};

use super::open::Read;

/// The rows of all segments, encoded for scoring.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) segments: Segments,
    encoding: Encoding,
    held: Vec<Held>,
}

/// The constants that encoded rows depend on beside their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoding {
    rows: Rows,
    packing: Packing,
    seed: [u8; 32],
    width: usize,
}

/// One segment. Its memory is shared with the server of another version that has it too.
#[derive(Clone, Debug)]
struct Held {
    column: ColumnSegment,
    database: Arc<Database>,
    hint: Bytes,
}

impl Columns {
    /// Encodes the segments that `before` does not hold, the first of which is the manifest's number `first`. The bytes of each are let go before the next is read.
    pub(super) fn new(
        rows: Rows,
        (first, mode): (usize, &manifest::Columns),
        manifest: &Manifest,
        before: Option<&Self>,
        read: &mut Read<'_>,
    ) -> Result<Self, Error> {
        let encoding = Encoding {
            rows,
            packing: mode.packing,
            seed: mode.seed,
            width: manifest.width() as usize,
        };
        let mut segments = Segments::new(
            &rows.params(encoding.packing),
            encoding.seed,
            encoding.width,
        )?;
        let before = before.filter(|before| before.encoding == encoding);
        let mut held = Vec::with_capacity(mode.segments.len());
        let mut room = Vec::new();
        for (at, column) in (first..).zip(&mode.segments) {
            let same = before.and_then(|before| before.held.iter().find(|h| h.column == *column));
            let segment = match same {
                Some(segment) => segment.clone(),
                None => {
                    let part = manifest.part(PartKind::Rows, Some(at))?;
                    let bytes = read(&part, room)?;
                    let segment = Held::new(rows, column, &segments, &bytes)?;
                    room = bytes.into_room();
                    segment
                }
            };
            segments.push(Arc::clone(&segment.database))?;
            held.push(segment);
        }
        Ok(Self {
            segments,
            encoding,
            held,
        })
    }

    /// The hint of the rows of segment `at`, which clients download.
    pub(super) fn hint(&self, at: usize) -> Option<Bytes> {
        Some(self.held.get(at)?.hint.clone())
    }
}

impl Held {
    fn new(
        rows: Rows,
        column: &ColumnSegment,
        segments: &Segments,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let (database, hint) = rows.encode(segments, bytes)?;
        let hint = hint.to_bytes();
        digest::check(PartKind::RowsHint.name(), &hint, &column.hint)?;
        Ok(Self {
            column: column.clone(),
            database: Arc::new(database),
            hint: Bytes::from(hint),
        })
    }
}
