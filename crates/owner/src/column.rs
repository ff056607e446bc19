//! Segments that are scored whole: open and masked mode.

use rand_core::CryptoRng;
use sordino_index::columns::{Rows as Content, Scheme};
use sordino_index::manifest::ColumnSegment;
use sordino_index::{Error, digest, residue};

use crate::rows::Rows;
use crate::segment::{SegmentWriter, WrittenSegment};
use crate::step::Step;

/// A segment that is scored whole, with the digests of its hint and of the sums that readers hold, if they do.
pub(crate) fn column<R: CryptoRng + ?Sized>(
    rng: &mut R,
    writer: &SegmentWriter<'_>,
    rows: &Rows,
    (scheme, seed): (Scheme, [u8; 32]),
    progress: &mut dyn FnMut(Step),
) -> Result<(ColumnSegment, WrittenSegment), Error> {
    let units = &rows.vectors;
    let written = match scheme.rows {
        Content::Open => writer.open(rng, rows, scheme)?,
        Content::Masked => {
            progress(Step::Mask);
            let codes: Vec<i32> = residue::codes(units.as_slice()).collect();
            writer.masked(rng, rows, &codes, scheme.checking)
        }
    };
    progress(Step::Hint);
    let hint = scheme.hint(seed, units.dim(), &written.rows)?;
    let hint = digest::of(&hint.to_bytes());
    let mut column = ColumnSegment::new(written.segment.clone(), hint);
    column.sums = written.sums.as_deref().map(digest::of);
    Ok((column, written))
}
