//! The time of the stages of a search.

use std::time::Duration;

/// The time of each stage of one search. A stage that waits for the server includes the server's time.
/// On targets without a clock all are zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stages {
    /// Encrypting the query for scores of centroids or, in open and masked mode, of all vectors.
    pub encrypt: Duration,
    /// The server's scoring; or scoring the centroids on the client, if they were downloaded.
    pub scores: Duration,
    /// Decrypting the scores.
    pub decrypt: Duration,
    /// Making PIR queries, waiting for the server's answers, and recovering the buckets.
    pub fetch: Duration,
    /// Checking digests, and opening and decoding buckets. In masked mode, the pads' products.
    pub open: Duration,
    /// Scoring and ranking.
    pub rank: Duration,
    /// Fetching and opening payloads, and the exact vectors of a second look with their scores.
    pub payloads: Duration,
}

/// Waits for `work`, and adds its time to a stage.
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

/// Calls `work`, and adds its time to a stage.
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
