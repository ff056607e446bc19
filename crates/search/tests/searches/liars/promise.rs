//! Changes of answers that are promised to be refused (docs/security), in steps of an answer.

use sordino_ckks::column::Params;
use sordino_index::checks::{self, held};
use sordino_search::manifest::Grid;

/// The smallest changes that are promised to be refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// A change of one answer.
    pub(crate) seen: i64,
    /// Sums of squares in a group: of many changes that are small, and of a few that are seen but together.
    many: f64,
    few: f64,
}

#[expect(clippy::cast_possible_truncation, reason = "some thousand steps")]
fn whole(steps: f64) -> i64 {
    steps.ceil() as i64
}

impl Promise {
    /// Every change is seen. Many are as many as there are rows.
    pub(crate) const fn exact(rows: usize) -> Self {
        Self {
            seen: 1,
            many: rows as f64,
            few: 1.0,
        }
    }

    /// In steps of 2^-15 of P: more than twice the tolerance, and three and 5.3 tolerances in all.
    pub(crate) fn masked(params: &Params, (rows, width): (usize, usize)) -> Self {
        let tolerance = checks::tolerance(params, width, checks::count(rows, width));
        let steps = f64::from(tolerance) / 2048.0;
        Self {
            seen: 2 * whole(steps) + 1,
            many: (3.0 * steps).powi(2),
            few: (5.3 * steps).powi(2),
        }
    }

    /// In steps of 2^-15 of the window, of 2^5 that are decrypted: a quarter of the tolerance's root, and .085 of it.
    pub(crate) fn open(params: &Params, (rows, width): (usize, usize)) -> Self {
        let tolerance = held::tolerance(params, width, rows, 1).unwrap() as f64 / 1024.0;
        Self {
            seen: whole(tolerance.sqrt() / 4.0) + 1,
            many: 0.085 * tolerance,
            few: 0.085 * tolerance,
        }
    }

    /// In steps of 2^-16 of P, of 2^10 256ths of a step of P: half of the tolerance's root, and .35 of it.
    pub(crate) fn routed(grid: &Grid, width: usize) -> Self {
        let tolerance = grid.tolerance(width) as f64 / f64::from(1 << 20);
        Self {
            seen: whole(tolerance.sqrt() / 2.0) + 2,
            many: 0.35 * tolerance,
            few: 0.35 * tolerance,
        }
    }

    /// Changes of equal size that are just enough together, in a group of so many rows: their size, and their number. No change is smaller than a
    /// step, so where a step is coarser than each row's part fewer rows are changed.
    pub(crate) fn small(&self, rows: usize) -> (i64, usize) {
        let steps = whole((self.many / rows as f64).sqrt());
        (steps, least(self.many, steps))
    }

    /// Changes a twentieth below what is seen of one: their size, and the least number of them that is seen.
    pub(crate) fn few(&self) -> (i64, usize) {
        let steps = ((self.seen - 1) * 19 / 20).max(1);
        (steps, least(self.few, steps))
    }
}

/// Changes of so many steps each whose squares add up to this, or to more by less than one of them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no more than the rows of a group"
)]
fn least(squares: f64, steps: i64) -> usize {
    (squares / (steps * steps) as f64).ceil() as usize
}

/// Sizes follow the promises, and no more than a step or one change is added to them.
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
