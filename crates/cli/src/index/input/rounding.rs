//! The loss of vectors whose 64-bit numbers were rounded to 32 bits.

use crate::Output;
use serde::Serialize;
use sordino_search::vectors::Loss;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// The loss of the vectors read so far, if rounding changed a large share of them noticeably.
#[derive(Clone, Default)]
pub(in crate::index) struct Rounded(Rc<Cell<Option<Loss>>>);

/// The rounding loss in reports.
#[derive(Clone, Copy, Serialize)]
pub(in crate::index) struct Rounding {
    /// The coordinate with the largest rounding error, counted from 0.
    column: usize,
    error: f64,
    low: f64,
    high: f64,
}

impl Rounded {
    pub(super) fn set(&self, loss: Option<Loss>) {
        self.0.set(loss);
    }

    /// Warns of the rounding loss, and says what helps.
    pub(in crate::index) fn say(&self, file: &Path, output: Output) -> Option<Rounding> {
        let Loss {
            column,
            error,
            low,
            high,
        } = self.0.get()?;
        let file = file.display();
        output.note(&format!(
            "warning: {file}: numbers are kept in 32 bits, which moves many vectors by more than a 1024th of their \
             distances. Coordinate {column}, counted from 0, lies between {low} and {high} and is rounded by up to {error:.2e}. \
             Subtract a constant from each coordinate of all vectors and queries first, such as {low} from this one: Euclidean \
             distances stay the same"
        ));
        Some(Rounding {
            column,
            error,
            low,
            high,
        })
    }
}
