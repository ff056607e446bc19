//! Rounds 64-bit numbers to 32 bits, and measures the loss in vectors.

use crate::to_f32;

/// Rounds to a 32-bit number. The result is `NaN` if a nonzero number becomes 0 or keeps less than 8 bits of precision. The check
/// of vectors refuses `NaN`, as it refuses a number that is too large.
pub(crate) fn narrowed(x: f64) -> f32 {
    let near = to_f32(x);
    let off = (f64::from(near) - x).abs();
    match near.is_finite() && off > x.abs() / 256.0 {
        true => f32::NAN,
        false => near,
    }
}

/// A distance counts as lost if its relative error is larger than this.
const MUCH: f64 = 1.0 / 1024.0;

/// The loss in a file's vectors: rounding to 32 bits moves more than a quarter of them by more than a 1024th of their distances.
///
/// Euclidean distances do not change if a constant is subtracted from a coordinate of all vectors, and smaller numbers have
/// smaller rounding errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The coordinate with the largest rounding error, from 0.
    pub column: usize,
    /// The coordinate's largest rounding error.
    pub error: f64,
    /// The coordinate's smallest value.
    pub low: f64,
    /// The coordinate's largest value.
    pub high: f64,
}

/// Measures the rounding of a file's vectors in order.
///
/// Each row is compared with an earlier one: the last row whose number is a power of two. So if rows are sorted, most
/// rows are still compared with a row that is far away.
#[derive(Debug)]
pub(crate) struct Rounding {
    columns: Vec<Column>,
    rows: u64,
    /// The number of rows that differ from their comparison row, and the number of those whose distance is lost.
    compared: u64,
    lost: u64,
}

/// One coordinate over all rows so far.
#[derive(Clone, Copy, Debug)]
struct Column {
    low: f64,
    high: f64,
    error: f64,
    /// The value of the comparison row, and its rounding error.
    value: f64,
    moved: f64,
}

impl Rounding {
    pub(crate) fn new(dim: usize) -> Self {
        let none = Column {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            error: 0.0,
            value: 0.0,
            moved: 0.0,
        };
        Self {
            columns: vec![none; dim],
            rows: 0,
            compared: 0,
            lost: 0,
        }
    }

    /// Appends a row's coordinates.
    pub(crate) fn row(&mut self, values: impl Iterator<Item = f64>, out: &mut Vec<f32>) {
        let renewed = self.rows == 0 || self.rows.is_power_of_two();
        let (mut distance, mut off) = (0.0, 0.0);
        for (column, x) in self.columns.iter_mut().zip(values) {
            let near = narrowed(x);
            let moved = f64::from(near) - x;
            distance += (x - column.value).powi(2);
            off += (moved - column.moved).powi(2);
            column.low = column.low.min(x);
            column.high = column.high.max(x);
            column.error = column.error.max(moved.abs());
            if renewed {
                (column.value, column.moved) = (x, moved);
            }
            out.push(near);
        }
        if self.rows > 0 && distance > 0.0 {
            self.compared += 1;
            self.lost += u64::from(off > distance * MUCH * MUCH);
        }
        self.rows += 1;
    }

    /// The loss so far, if it affects more than a quarter of the compared rows. The threshold is below a half because
    /// half of all rows may be compared with one outlier, and their distances to it hide the loss.
    pub(crate) fn loss(&self) -> Option<Loss> {
        if self.lost * 4 <= self.compared {
            return None;
        }
        let columns = self.columns.iter().enumerate();
        let worst = columns.max_by(|(_, a), (_, b)| a.error.total_cmp(&b.error));
        worst.map(|(column, of)| Loss {
            column,
            error: of.error,
            low: of.low,
            high: of.high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(rows: &[[f64; 2]]) -> Option<Loss> {
        let (mut rounding, mut out) = (Rounding::new(2), Vec::new());
        for row in rows {
            rounding.row(row.iter().copied(), &mut out);
        }
        assert_eq!(out.len(), 2 * rows.len());
        rounding.loss()
    }

    /// Numbers between 0 and 1 without order.
    fn scattered(at: u32) -> f64 {
        f64::from(at.wrapping_mul(2_654_435_769)) / f64::from(u32::MAX)
    }

    fn rows(row: impl Fn(f64, f64) -> [f64; 2]) -> Vec<[f64; 2]> {
        (1..1000)
            .map(|at| row(scattered(at), scattered(at ^ 0x5555)))
            .collect()
    }

    #[test]
    fn a_loss_is_that_of_many_distances() {
        let seconds = rows(|x, y| [1.7e9 + 3600.0 * x, y]);
        let found = loss(&seconds).unwrap();
        assert!(found.column == 0 && found.error > 60.0 && found.error <= 64.0);
        assert!(found.low >= 1.7e9 && found.high <= 1.7e9 + 3600.0);
        let metres = rows(|x, y| [500_000.0 + 100.0 * x, 5_500_000.0 + 100.0 * y]);
        assert_eq!(loss(&metres).unwrap().column, 1);
        // One outlier hides no loss, even as the first row.
        for at in [0, 7, 512, 998] {
            let mut metres = metres.clone();
            metres[at] = [0.0, 0.0];
            assert!(loss(&metres).is_some(), "{at}");
        }
        for near in [
            rows(|x, y| [x, y]),
            rows(|x, y| [1e30 * x, 1e-30 * y]),
            // The distances do not depend on the first coordinate.
            rows(|x, y| [1.0 + 1e-15 * x, y]),
            rows(|x, y| [1.7e9 + 3600.0 * x, 1e9 * y]),
            // These are already 32-bit numbers.
            rows(|x, y| [x, y].map(|x| f64::from(to_f32(1e6 + x)))),
            vec![[1.7e9 + 0.1, 0.1]; 9],
            (0..1000).map(|at| [f64::from(at) * 1e-6, 0.0]).collect(),
            vec![[0.1, 0.2]],
        ] {
            assert_eq!(loss(&near), None, "{:?}", near[0]);
        }
    }

    #[test]
    fn what_becomes_nothing_is_none() {
        for x in [1e-46, -1e-46, 1e-45, f64::MIN_POSITIVE, 1e-44] {
            assert!(narrowed(x).is_nan(), "{x}");
        }
        let least = f64::from(f32::from_bits(1));
        for x in [0.0, -0.0, least, -least, 1e-42, 1e-38, 0.1, -3e38] {
            assert!((f64::from(narrowed(x)) - x).abs() <= x.abs() / 256.0, "{x}");
        }
        assert_eq!(narrowed(1e39), f32::INFINITY);
        assert!(narrowed(f64::NAN).is_nan());
    }
}
