//! The base and the scale of a row.

use sordino_vectors::metric::Metric;

use super::{Lengths, Scales};
use crate::Error;
use crate::code::SCALES_HEAD_LEN;
use crate::manifest::scales_len;

/// A row as it is stored beside its residual.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowScale {
    /// `b`.
    pub base: u8,
    /// `rho`.
    pub scale: f32,
    /// `k`, where distances are computed.
    pub constant: f32,
}

impl RowScale {
    /// Reads the bases and scales of rows, as they are sealed.
    ///
    /// # Errors
    /// [`Error::Malformed`] for other bytes than those of this number of rows.
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
            let row = |&code| lengths.row(u16::from_le_bytes(code));
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
