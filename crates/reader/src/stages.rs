//! Where the time of a search goes.

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
    /// Fetching and opening payloads, and the exact vectors of a second look with their scores.
    pub payloads: Duration,
}

/// Waits for `work`, and adds its time to the time of a stage.
pub(crate) async fn waited<T>(stage: &mut Duration, work: impl Future<Output = T>) -> T {
    #[cfg(not(target_family = "wasm"))]
    {
        let start = std::time::Instant::now();
        let done = work.await;
        *stage += start.elapsed();
        done
    }
    #[cfg(target_family = "wasm")]
    {
        let _ = stage;
        work.await
    }
}

/// Does `work`, and adds its time to the time of a stage.
pub(crate) fn time<T>(stage: &mut Duration, work: impl FnOnce() -> T) -> T {
    #[cfg(not(target_family = "wasm"))]
    {
        let start = std::time::Instant::now();
        let done = work();
        *stage += start.elapsed();
        done
    }
    #[cfg(target_family = "wasm")]
    {
        let _ = stage;
        work()
    }
}
