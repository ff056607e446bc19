//! Where the time of a search goes, and the one error that must not shorten it.

use std::time::Duration;

/// Time of each stage of one search. A stage that waits for the server includes the server. On targets
/// without a clock all are zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    /// Encrypting the query for scores of centroids or, in open and masked mode, of all vectors.
    pub encrypt: Duration,
    /// The server scoring them; scoring the centroids here if they were downloaded.
    pub scores: Duration,
    /// Decrypting the scores.
    pub decrypt: Duration,
    /// Making PIR queries, the server's answers, recovering the buckets.
    pub fetch: Duration,
    /// Checking digests, opening and decoding buckets; in masked mode the pads' products.
    pub open: Duration,
    /// Scoring and ranking.
    pub rank: Duration,
    /// Fetching and opening payloads.
    pub payloads: Duration,
}

impl Stages {
    /// Does `work`, whose time counts to the stage that `stage` gives.
    pub(crate) fn time<T>(
        &mut self,
        stage: impl FnOnce(&mut Self) -> &mut Duration,
        work: impl FnOnce() -> T,
    ) -> T {
        #[cfg(not(target_family = "wasm"))]
        {
            let start = std::time::Instant::now();
            let done = work();
            *stage(self) += start.elapsed();
            done
        }
        #[cfg(target_family = "wasm")]
        {
            let _ = stage;
            work()
        }
    }
}

/// A reply that does not belong to this index.
///
/// It is no `Error`, so that `?` cannot end a search with it: the messages that are left are sent all the
/// same, or the server would see that its reply was refused, and learn about the query from when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong;
