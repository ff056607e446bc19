//! Token buckets.

use std::time::Instant;

/// Lets a number of requests per second through, and that many at once after a rest of a second.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    /// Tokens at once, however few a second they are.
    least: f64,
    tokens: f64,
    at: Instant,
}

impl Rate {
    pub(crate) fn new(per_second: f64, now: Instant) -> Self {
        Self::with_burst(per_second, 1.0, now)
    }

    /// Lets `least` at once through after a rest, however few a second they are.
    pub(crate) fn with_burst(per_second: f64, least: f64, now: Instant) -> Self {
        Self {
            per_second,
            least,
            tokens: per_second.max(least),
            at: now,
        }
    }

    /// The most tokens at once.
    fn burst(&self) -> f64 {
        self.per_second.max(self.least)
    }

    /// Changes the rate; what has been saved up stays, as far as the new rate allows.
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

    /// Gives a token back that need not have been taken.
    pub(crate) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst());
    }

    /// Nothing has been taken lately.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
        // A long rest saves up one second's worth.
        let later = start + Duration::from_secs(1000);
        assert_eq!((0..50).filter(|_| rate.take(later)).count(), 10);
        // Less than one a second: one, then a wait.
        let mut slow = Rate::new(0.5, start);
        assert!(slow.take(start) && !slow.take(start + Duration::from_secs(1)));
        assert!(slow.take(start + Duration::from_secs(2)));
        // At least so many at once, also at another rate.
        let mut few = Rate::with_burst(0.1, 16.0, start);
        assert_eq!((0..50).filter(|_| few.take(start)).count(), 16);
        few.set(0.2, start);
        assert_eq!((0..50).filter(|_| few.take(later)).count(), 16);
        few.set(20.0, later);
        let more = later + Duration::from_secs(2);
        assert_eq!((0..50).filter(|_| few.take(more)).count(), 20);
    }
}
