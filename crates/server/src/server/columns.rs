//! Open and masked mode: rows that are scored under encryption.

use std::sync::Arc;

use sordino_ckks::column::{Database, Segments};
use sordino_index::columns::Rows;
use sordino_index::manifest::{self, ColumnSegment, Manifest, Packing, PartKind};
use sordino_index::shard::Shard;
use sordino_index::{Bytes, Error, digest};

use super::open::Read;

/// The rows of all segments, or a shard's share of each, encoded for scoring.
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
    /// Encodes the shard's rows of the segments that `before` does not hold, the first of which is the manifest's number
    /// `first`. The bytes of each are let go before the next is read.
    pub(super) fn new(
        rows: Rows,
        (first, mode): (usize, &manifest::Columns),
        manifest: &Manifest,
        shard: Shard,
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
                    let stored = rows.stored(column.segment.n as usize, encoding.width);
                    let own = shard.rows(stored, segments.params().block_vectors());
                    let row = part.len / stored as u64;
                    let range = own.start as u64 * row..own.end as u64 * row;
                    let bytes = match own.is_empty() {
                        true => Bytes::from(Vec::new()),
                        false => read(&part, range.into(), std::mem::take(&mut room))?,
                    };
                    let whole = own.len() == stored;
                    let segment = Held::new(rows, column, &segments, (&bytes[..], whole))?;
                    if !own.is_empty() {
                        room = bytes.into_room();
                    }
                    segment
                }
            };
            segments.push(Arc::clone(&segment.database))?;
            held.push(segment);
        }
        if !shard.is_last() {
            segments.complete()?;
        }
        Ok(Self {
            segments,
            encoding,
            held,
        })
    }

    /// The hint of the rows that are here of segment `at`, which clients download.
    pub(super) fn hint(&self, at: usize) -> Option<Bytes> {
        Some(self.held.get(at)?.hint.clone())
    }
}

impl Held {
    /// Encodes rows of a segment. The manifest has the digest of the hint of all of them.
    fn new(
        rows: Rows,
        column: &ColumnSegment,
        segments: &Segments,
        (bytes, whole): (&[u8], bool),
    ) -> Result<Self, Error> {
        let (database, hint) = rows.encode(segments, bytes)?;
        let hint = hint.to_bytes();
        if whole {
            digest::check(PartKind::RowsHint.name(), &hint, &column.hint)?;
        }
        Ok(Self {
            column: column.clone(),
            database: Arc::new(database),
            hint: Bytes::from(hint),
        })
    }
}
