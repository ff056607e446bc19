//! Segments that are scored whole: open and masked mode.

use rand_core::CryptoRng;
use sordino_index::columns::Rows;
use sordino_index::ids::IdSet;
use sordino_index::manifest::{ColumnSegment, Packing};
use sordino_index::{Error, digest, residue};
use sordino_vectors::Vectors;

use crate::segment::{SegmentWriter, Written};
use crate::step::Step;

/// A segment that is scored whole, its rows and its sealed ids.
pub(crate) fn column<R: CryptoRng + ?Sized>(
    rng: &mut R,
    writer: &SegmentWriter<'_>,
    ids: &IdSet,
    units: &Vectors,
    (form, packing, seed): (Rows, Packing, [u8; 32]),
    progress: &mut dyn FnMut(Step),
) -> Result<(ColumnSegment, Vec<u8>, Vec<u8>), Error> {
    let written = match form {
        Rows::Open => writer.open(rng, ids, units.as_slice()),
        Rows::Masked => {
            progress(Step::Mask);
            let codes: Vec<i32> = residue::codes(units.as_slice()).collect();
            writer.masked(rng, ids, &codes, units.dim())
        }
    };
    progress(Step::Hint);
    hinted(written, units.dim(), (form, packing, seed))
}

/// A written segment with its hint's digest.
pub(crate) fn hinted(
    written: Written,
    width: usize,
    (form, packing, seed): (Rows, Packing, [u8; 32]),
) -> Result<(ColumnSegment, Vec<u8>, Vec<u8>), Error> {
    let Written { segment, rows, ids } = written;
    let hint = form.hint(packing, seed, width, &rows)?;
    let hint = digest::of(&hint.to_bytes());
    Ok((ColumnSegment::new(segment, hint), rows, ids))
}
