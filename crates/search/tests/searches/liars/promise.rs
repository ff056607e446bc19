//! The changes of answers that checks must refuse (docs/security), in steps of an answer.

use sordino_ckks::column::Params;
use sordino_index::checks::{self, held};
use sordino_search::manifest::Grid;

/// The smallest changes that checks must refuse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// The size of a change of one answer.
    pub(crate) seen: i64,
    /// Two sums of squares in a group: of many small changes, and of a few changes that are found only
    /// together.
    many: f64,
    few: f64,
}

#[expect(clippy::cast_possible_truncation, reason = "some thousand steps")]
fn whole(steps: f64) -> i64 {
    steps.ceil() as i64
}

impl Promise {
    /// The promise of a mode whose checks find every change. `many` is the sum of squares for a change of one step in
    /// each row.
    pub(crate) const fn exact(rows: usize) -> Self {
        Self {
            seen: 1,
            many: rows as f64,
            few: 1.0,
        }
    }

    /// The steps are 2^-15 of P. A single change exceeds twice the tolerance. The sums are the squares of 3 and of 5.3
    /// tolerances.
    pub(crate) fn masked(params: &Params, (rows, width): (usize, usize)) -> Self {
        let tolerance = checks::tolerance(params, width, checks::count(rows, width));
        let steps = f64::from(tolerance) / 2048.0;
        Self {
            seen: 2 * whole(steps) + 1,
            many: (3.0 * steps).powi(2),
            few: (5.3 * steps).powi(2),
        }
    }

    /// The steps are 2^-15 of the window, or 2^5 steps of decryption. A single change is a quarter of the tolerance's
    /// root, and the sums are 0.085 of the tolerance.
    pub(crate) fn open(params: &Params, (rows, width): (usize, usize)) -> Self {
        let tolerance = held::tolerance(params, width, rows, 1).unwrap() as f64 / 1024.0;
        Self {
            seen: whole(tolerance.sqrt() / 4.0) + 1,
            many: 0.085 * tolerance,
            few: 0.085 * tolerance,
        }
    }

    /// The steps are 2^-16 of P, and the tolerance is in 256ths of a step of P, of which a step has 2^10.
    /// A single change is half of the tolerance's root, and the sums are 0.35 of the tolerance.
    pub(crate) fn routed(grid: &Grid, width: usize) -> Self {
        let tolerance = grid.tolerance(width) as f64 / f64::from(1 << 20);
        Self {
            seen: whole(tolerance.sqrt() / 2.0) + 2,
            many: 0.35 * tolerance,
            few: 0.35 * tolerance,
        }
    }

    /// The size and the number of equal small changes in a group of `rows` rows that are together just large enough. A
    /// change has at least one step. If a row's share is smaller than a step, fewer rows change.
    pub(crate) fn small(&self, rows: usize) -> (i64, usize) {
        let steps = whole((self.many / rows as f64).sqrt());
        (steps, least(self.many, steps))
    }

    /// The size and the number of changes that are found only together. Each is a twentieth smaller than the
    /// smallest change that is found alone.
    pub(crate) fn few(&self) -> (i64, usize) {
        let steps = ((self.seen - 1) * 19 / 20).max(1);
        (steps, least(self.few, steps))
    }
}

/// The smallest number of changes of `steps` steps whose squares add up to at least this sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no more than the rows of a group"
)]
fn least(squares: f64, steps: i64) -> usize {
    (squares / (steps * steps) as f64).ceil() as usize
}

/// The sizes of changes agree with the promises, and exceed them by at most one step or one change.
#[test]
fn changes_are_no_larger_than_promised() {
    let shape = (2000, 16);
    let masked = Promise::masked(&sordino_search::manifest::Packing::T4.masked(), shape);
    let open = Promise::open(&sordino_search::manifest::Packing::T4.open(), shape);
    for (promise, rows, few) in [(masked, 1216, 8), (masked, 784, 8), (open, 2000, 2)] {
        let squares = |(steps, count): (i64, usize)| (steps * steps) as f64 * count as f64;
        let (steps, count) = promise.small(rows);
        assert!(steps < promise.seen / 10 && count <= rows, "{promise:?}");
        let over = squares((steps, count)) / promise.many;
        assert!((1.0..1.01).contains(&over), "{promise:?}: {over}");
        let (steps, count) = promise.few();
        assert!(steps < promise.seen && count == few, "{promise:?}");
        assert!(squares((steps, count)) >= promise.few, "{promise:?}");
    }
}
