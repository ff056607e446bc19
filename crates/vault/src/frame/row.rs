//! The base and the scale of a row.

use sordino_vectors::metric::Metric;

use super::{Lengths, Scales};
use sordino_index::Error;
use sordino_index::code::SCALES_HEAD_LEN;
use sordino_index::manifest::scales_len;

/// The values that are stored with a row's residual.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowScale {
    /// `b`.
    pub base: u8,
    /// `rho`.
    pub scale: f32,
    /// `k`, if the metric needs distances.
    pub constant: f32,
}

impl RowScale {
    /// The row of a code, for a residual to the centre. The residual's length is at most the coded number, and on
    /// average half a step below it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the nearest")]
    pub fn of_length(lengths: Lengths, code: u16) -> Self {
        let scale = lengths.length(code);
        let mut constant = 0.0;
        if code > 0 {
            let before = f64::from(lengths.length(code - 1).max(scale / 2.0));
            // The first code stands for all shorter lengths.
            let before = if code == 1 { f64::from(scale) } else { before };
            let length = (before + f64::from(scale)) / 2.0;
            constant = (length * length / f64::from(scale)) as f32;
        }
        Self {
            base: 0,
            scale,
            constant,
        }
    }

    /// Reads the bases and scales of rows from their sealed form.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that are not the code of this number of rows.
    pub fn read_all(metric: Metric, n: usize, code: &[u8]) -> Result<Vec<Self>, Error> {
        let wrong = || Error::Malformed {
            what: "scales",
            why: format!("{} bytes for {n} rows", code.len()),
        };
        let head = code.split_first_chunk::<SCALES_HEAD_LEN>();
        let (&head, rows) = head.ok_or_else(wrong)?;
        if code.len() != scales_len(metric, n) {
            return Err(wrong());
        }
        if metric == Metric::Cosine {
            let lengths = Lengths::from_bytes(head)?;
            let (rows, _) = rows.as_chunks();
            let row = |&code| Self::of_length(lengths, u16::from_le_bytes(code));
            return Ok(rows.iter().map(row).collect());
        }
        let scales = Scales::from_bytes(head)?;
        let row = |row: &[u8]| {
            let constant = row.get(2..).and_then(|rest| rest.try_into().ok());
            let constant = constant.map_or(0.0, f32::from_le_bytes);
            constant.is_finite().then_some(Self {
                base: row[0],
                scale: scales.scale(row[1]),
                constant,
            })
        };
        let rows = rows.chunks_exact(scales_len(metric, 1) - SCALES_HEAD_LEN);
        rows.map(row).collect::<Option<_>>().ok_or_else(wrong)
    }
}
