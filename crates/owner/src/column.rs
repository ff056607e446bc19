//! Segments that are scored whole: open and masked mode.

use rand_core::CryptoRng;
use sordino_index::columns;
use sordino_index::manifest::{ColumnSegment, Packing};
use sordino_index::{Error, digest, residue};

use crate::rows::Rows;
use crate::segment::{SegmentWriter, WrittenSegment};
use crate::step::Step;

/// A segment that is scored whole, with its hint's digest.
pub(crate) fn column<R: CryptoRng + ?Sized>(
    rng: &mut R,
    writer: &SegmentWriter<'_>,
    rows: &Rows,
    (form, packing, seed): (columns::Rows, Packing, [u8; 32]),
    progress: &mut dyn FnMut(Step),
) -> Result<(ColumnSegment, WrittenSegment), Error> {
    let units = &rows.vectors;
    let written = match form {
        columns::Rows::Open => writer.open(rng, rows),
        columns::Rows::Masked => {
            progress(Step::Mask);
            let codes: Vec<i32> = residue::codes(units.as_slice()).collect();
            writer.masked(rng, rows, &codes)
        }
    };
    progress(Step::Hint);
    let hint = form.hint(packing, seed, units.dim(), &written.rows)?;
    let hint = digest::of(&hint.to_bytes());
    Ok((ColumnSegment::new(written.segment.clone(), hint), written))
}
