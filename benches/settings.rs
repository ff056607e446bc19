//! The settings of all benches, which keep a run of hundreds of rows under 20 minutes.

use criterion::Criterion;
use std::time::Duration;

/// Criterion's default of 100,000 resamples changes no median. Drawing them takes seconds for each
/// row, which was most of a run.
const RESAMPLES: usize = 10_000;

pub(crate) fn short() -> Criterion {
    Criterion::default()
        .nresamples(RESAMPLES)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
}
