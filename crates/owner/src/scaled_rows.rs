//! Rows at their scales, in the form that a server stores.

use rayon::prelude::*;
use sordino_vault::frame::{Frame, Lengths, RowScale, Scales};
use sordino_vectors::metric::{Metric, length};
use sordino_vectors::to_f32;

use crate::rows::Rows;

/// The residuals of a segment's rows, each divided by its scale: vectors of at most unit length.
pub(crate) struct ScaledRows {
    pub(crate) units: Vec<f32>,
    pub(crate) scales: Vec<RowScale>,
    /// Bases and scales in their sealed form.
    pub(crate) code: Vec<u8>,
}

impl ScaledRows {
    pub(crate) fn new(frame: &Frame, rows: &Rows) -> Self {
        let width = frame.stored_dim();
        let marks = rows
            .marks
            .par_iter()
            .zip(rows.vectors.as_slice().par_chunks_exact(width));
        // A row that was stored before keeps its scale, so that its code stays the same.
        let lengths = marks.clone().map(|(mark, residual)| match mark.scale {
            0.0 => length(residual),
            scale => f64::from(scale),
        });
        let lengths: Vec<f64> = lengths.collect();
        let code = match frame.metric() {
            Metric::Cosine => lengths_code(&lengths),
            _ => scales_code(frame, rows, &lengths),
        };
        let scales = RowScale::read_all(frame.metric(), lengths.len(), &code);
        let scales = scales.expect("what was just written");
        let mut units = vec![0.0; rows.vectors.as_slice().len()];
        let pairs = units.par_chunks_exact_mut(width).zip(marks).zip(&scales);
        pairs.for_each(|((unit, (_, residual)), row)| {
            let over = f64::from(row.scale.max(f32::MIN_POSITIVE));
            for (unit, &x) in unit.iter_mut().zip(residual) {
                *unit = to_f32(f64::from(x) / over);
            }
        });
        Self {
            units,
            scales,
            code,
        }
    }
}

/// The code of the lengths alone, for the cosine.
fn lengths_code(lengths: &[f64]) -> Vec<u8> {
    let coder = Lengths::of(lengths.iter().copied());
    let mut code = coder.to_bytes().to_vec();
    code.extend(
        lengths
            .iter()
            .flat_map(|&length| coder.code(length).to_le_bytes()),
    );
    code
}

/// The code of bases and scales, and of constants if the metric needs distances.
fn scales_code(frame: &Frame, rows: &Rows, lengths: &[f64]) -> Vec<u8> {
    let coder = Scales::of(lengths.iter().copied());
    let mut code = coder.to_bytes().to_vec();
    for (at, (mark, &length)) in rows.marks.iter().zip(lengths).enumerate() {
        let own = coder.code(length);
        code.extend([mark.base, own]);
        if frame.metric() == Metric::Euclidean {
            let scale = coder.scale(own);
            // A row that was stored with a constant keeps it, like its scale.
            let constant = match mark.scale.to_bits() == scale.to_bits() {
                true => mark.constant,
                false => frame.row(mark.base, scale, rows.vectors.row(at)).constant,
            };
            code.extend(constant.to_le_bytes());
        }
    }
    code
}
