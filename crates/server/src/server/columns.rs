//! Open and masked mode: rows that the server scores under encryption.

use std::sync::Arc;

use sordino_ckks::column::{Database, Segments};
use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::{self, ColumnSegment, Manifest, PartKind};
use sordino_index::shard::Shard;
use sordino_index::{Bytes, Error};

use super::read::Source;

/// The rows of all segments, or a shard's share of each, encoded for scoring.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) segments: Segments,
    encoding: Encoding,
    held: Vec<EncodedSegment>,
}

/// The constants on which encoded rows depend, in addition to their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoding {
    scheme: Scheme,
    seed: [u8; 32],
    width: usize,
}

/// One segment. Servers of other versions that have the same segment share its memory.
#[derive(Clone, Debug)]
struct EncodedSegment {
    column: ColumnSegment,
    database: Arc<Database>,
    hint: Bytes,
}

impl Columns {
    /// Encodes the shard's rows of the segments that `before` does not hold, or maps them if the shelf has them.
    /// `first` is the manifest's number of the first segment. The bytes of each segment are freed before the next is
    /// read.
    pub(super) fn new(
        rows: Rows,
        first: usize,
        mode: &manifest::Columns,
        manifest: &Manifest,
        shard: Shard,
        before: Option<&Self>,
        source: Source<'_, '_>,
    ) -> Result<Self, Error> {
        let Source { read, shelf } = source;
        let encoding = Encoding {
            scheme: Scheme::new(rows, mode),
            seed: mode.seed,
            width: manifest.stored_dim() as usize,
        };
        let mut segments = Segments::new(&encoding.scheme.params(), encoding.seed, encoding.width)?;
        let before = before.filter(|before| before.encoding == encoding);
        let mut held = Vec::with_capacity(mode.segments.len());
        let mut room = Vec::new();
        let mut parts = manifest.parts()?.into_iter();
        for (at, column) in (first..).zip(&mode.segments) {
            let same = before.and_then(|before| before.held.iter().find(|h| h.column == *column));
            // The parts are in the order of their segments.
            let part = parts.find(|part| part.kind == PartKind::Rows && part.segment == Some(at));
            let part = part.ok_or_else(|| Error::Malformed {
                what: "manifest",
                why: format!("no rows of segment {at}"),
            })?;
            let n = column.segment.n as usize;
            let stored = encoding.scheme.stored(n, encoding.width);
            let own = shard.rows(stored, segments.params().block_vectors());
            let row = part.len / stored as u64;
            let range = own.start as u64 * row..own.end as u64 * row;
            let name = shelf.name(&part.digest, range.clone(), &segments);
            let segment = match same {
                Some(segment) => {
                    shelf.share(&segment.database);
                    segment.clone()
                }
                None => {
                    // The manifest has the digest of the hint of all rows, so a shard has none to compare.
                    let expected = Some(&column.hint).filter(|_| own.len() == stored);
                    let (database, hint) = shelf.database(&name, expected, &segments, || {
                        let bytes = match own.is_empty() {
                            true => Bytes::from(Vec::new()),
                            false => read.bytes(&part, range.into(), std::mem::take(&mut room))?,
                        };
                        let encoded = encoding.scheme.encode(&segments, &bytes)?;
                        if !own.is_empty() {
                            room = bytes.into_room();
                        }
                        Ok(encoded)
                    })?;
                    EncodedSegment {
                        column: column.clone(),
                        database: Arc::new(database),
                        hint: Bytes::from(hint),
                    }
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

    /// The hint of this server's rows of segment `at`, which clients download.
    pub(super) fn hint(&self, at: usize) -> Option<Bytes> {
        Some(self.held.get(at)?.hint.clone())
    }
}
