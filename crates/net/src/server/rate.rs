//! Token buckets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Admits a number of requests per second, and the same number at once after a second without
/// requests.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    /// The smallest number of tokens that a full rate has.
    least: f64,
    tokens: f64,
    at: Instant,
}

impl Rate {
    pub(crate) fn new(per_second: f64, now: Instant) -> Self {
        Self::with_burst(per_second, 1.0, now)
    }

    /// Admits at least `least` requests at once after a rest, whatever the rate.
    pub(crate) fn with_burst(per_second: f64, least: f64, now: Instant) -> Self {
        Self {
            per_second,
            least,
            tokens: per_second.max(least),
            at: now,
        }
    }

    /// The largest number of saved tokens.
    fn burst(&self) -> f64 {
        self.per_second.max(self.least)
    }

    /// Changes the rate. Saved tokens stay, up to what the new rate allows.
    pub(crate) fn set(&mut self, per_second: f64, now: Instant) {
        self.rest(now);
        self.per_second = per_second;
        self.tokens = self.tokens.min(self.burst());
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.rest(now);
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    /// Returns a token that was not used.
    pub(crate) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst());
    }

    /// True if no token was taken recently.
    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.rest(now);
        self.tokens >= self.burst()
    }

    fn rest(&mut self, now: Instant) {
        let rested = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now.max(self.at);
        self.tokens = (self.tokens + rested * self.per_second).min(self.burst());
    }
}

/// A rate against which several requests count at the same time.
pub(crate) type SharedRate = Arc<Mutex<Rate>>;

/// Tokens that were taken for a request that may still be refused. A drop gives them back, unless they are spent.
#[derive(Debug, Default)]
pub(crate) struct Reservation(Vec<SharedRate>);

impl Reservation {
    /// Takes a token of a rate, if there is one.
    pub(crate) fn take(&mut self, rate: &SharedRate, now: Instant) -> bool {
        let enough = lock(rate).take(now);
        if enough {
            self.0.push(Arc::clone(rate));
        }
        enough
    }

    /// The request continues, so its tokens are used up.
    pub(crate) fn spend(mut self) {
        self.0.clear();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        for rate in &self.0 {
            lock(rate).give_back();
        }
    }
}

/// Each statement leaves a rate consistent, so a panic in another place does not affect it.
fn lock(rate: &Mutex<Rate>) -> MutexGuard<'_, Rate> {
    rate.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_reserved_comes_back_unless_it_is_spent() {
        let now = Instant::now();
        let [one, other] = [2.0, 1.0].map(|most| Arc::new(Mutex::new(Rate::new(most, now))));
        for _ in 0..3 {
            let mut refused = Reservation::default();
            assert!(refused.take(&one, now) && refused.take(&other, now));
            // A rate that gave no token gets none back.
            assert!(!refused.take(&other, now));
        }
        let mut answered = Reservation::default();
        assert!(answered.take(&one, now) && answered.take(&other, now));
        answered.spend();
        assert!(lock(&one).take(now) && !lock(&one).take(now));
        assert!(!lock(&other).take(now));
    }

    #[test]
    fn as_many_as_the_rate_pass() {
        let start = Instant::now();
        let mut rate = Rate::new(10.0, start);
        let burst = (0..50).filter(|_| rate.take(start)).count();
        assert_eq!(burst, 10);
        let passed = (1..=3000)
            .filter(|&ms| rate.take(start + Duration::from_millis(ms)))
            .count();
        assert!((29..=30).contains(&passed), "{passed}");
        // A long rest saves up only the tokens of one second.
        let later = start + Duration::from_secs(1000);
        assert_eq!((0..50).filter(|_| rate.take(later)).count(), 10);
        // At less than one request per second, one request is admitted, and the next one must wait.
        let mut slow = Rate::new(0.5, start);
        assert!(slow.take(start) && !slow.take(start + Duration::from_secs(1)));
        assert!(slow.take(start + Duration::from_secs(2)));
        // The burst does not change with the rate.
        let mut few = Rate::with_burst(0.1, 16.0, start);
        assert_eq!((0..50).filter(|_| few.take(start)).count(), 16);
        few.set(0.2, start);
        assert_eq!((0..50).filter(|_| few.take(later)).count(), 16);
        few.set(20.0, later);
        let more = later + Duration::from_secs(2);
        assert_eq!((0..50).filter(|_| few.take(more)).count(), 20);
    }
}
