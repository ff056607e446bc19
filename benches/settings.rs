//! The settings of all benches: short, so that a whole run of hundreds of rows stays under 20 minutes.

use criterion::Criterion;
use std::time::Duration;

/// Criterion's own 100,000 resamples change no median, and drawing them all in the report of one
/// row takes seconds, which was most of a run.
const RESAMPLES: usize = 10_000;

pub(crate) fn short() -> Criterion {
    Criterion::default()
        .nresamples(RESAMPLES)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
}
