//! Segments whose rows are all scored, in open and masked mode.

use rand_core::CryptoRng;
use sordino_index::columns::{Rows as Content, Scheme};
use sordino_index::manifest::ColumnSegment;
use sordino_index::{Disk, Error, digest};
use sordino_vault::frame::Frame;
use sordino_vault::residue;

use crate::build_context::Build;
use crate::recall::{Noise, Recall, keys_of_units};
use crate::rows::Rows;
use crate::scaled_rows::ScaledRows;
use crate::step::Step;

/// Writes a segment whose rows are all scored. The result has the digests of its hint, and of the sums that readers hold, if
/// the mode has such sums.
pub(crate) fn column<D: Disk, R: CryptoRng + ?Sized>(
    build: &mut Build<'_, D, R>,
    frame: &Frame,
    rows: &Rows,
    scheme: Scheme,
    seed: [u8; 32],
    recall: Option<&mut Recall>,
) -> Result<ColumnSegment, Error> {
    // At most three copies of a segment are in memory. Each copy is freed when the next one has been made from it.
    let mut scaled = ScaledRows::new(frame, rows);
    let written = match scheme.rows {
        Content::Open => build.writer.open(build.rng, rows, &scaled, scheme)?,
        Content::Masked => {
            build.tell(Step::Mask);
            let units = std::mem::take(&mut scaled.units);
            let codes: Vec<i32> = residue::codes(&units).collect();
            drop(units);
            let writer = build.writer;
            writer.masked(build.rng, rows, &codes, &scaled, scheme.checking)
        }
    };
    drop(scaled);
    if let Some(recall) = recall {
        build.tell(Step::Probe);
        measure(recall, frame, rows, scheme);
    }
    build.tell(Step::Hint);
    let hint = scheme.hint(seed, rows.vectors.dim(), &written.rows)?;
    let hint = digest::of(&hint.to_bytes());
    let mut column = ColumnSegment::new(written.segment.clone(), hint);
    column.sums = written.sums.as_deref().map(digest::of);
    build.put(&written)?;
    Ok(column)
}

/// Measures which of these rows searches find. It scores the stored numbers, with the noise of encrypted scores.
pub(crate) fn measure(recall: &mut Recall, frame: &Frame, rows: &Rows, scheme: Scheme) {
    let mut scaled = ScaledRows::new(frame, rows);
    let error = scheme.params().statistical_error(frame.stored_dim());
    let (stored, deviation): (fn(&mut [f32]), f64) = match scheme.rows {
        Content::Open => (|_| (), error),
        Content::Masked => (coded, error * f64::from(residue::score(1))),
    };
    stored(&mut scaled.units);
    recall.add(frame, rows, |asked, seed| {
        let mut query = asked.unit().to_vec();
        stored(&mut query);
        let noise = Noise { seed, deviation };
        keys_of_units(&scaled.units, &scaled.scales, asked, &query, &noise)
    });
}

/// Replaces coordinates by the values that their codes decode to.
fn coded(coordinates: &mut [f32]) {
    for at in 0..coordinates.len() {
        let code = residue::codes(&coordinates[at..=at]).next();
        coordinates[at] = residue::coordinate(code.unwrap_or(0));
    }
}
