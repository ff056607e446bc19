//! The requests that were accepted before.

use std::collections::HashSet;

use crate::Refusal;

/// The number of the key that signed, and the nonce.
pub(crate) type Seen = (u32, [u8; 16]);

/// Remembers every accepted request for as long as its signature is fresh, so that none is accepted
/// twice.
///
/// Time goes in windows as long as the skew. A signature is fresh if its time is at most the skew from
/// now, so it lies in one of three windows, and older ones can be forgotten whole.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Milliseconds.
    skew: u64,
    capacity: usize,
    /// The clock does not go back, whatever the system's does.
    now: u64,
    windows: [(u64, HashSet<Seen>); 3],
}

impl Replay {
    pub(crate) fn new(skew: u64, capacity: usize) -> Self {
        Self {
            skew: skew.max(1),
            capacity,
            now: 0,
            windows: [0, 1, 2].map(|window| (window, HashSet::new())),
        }
    }

    /// Changes the number of requests that are remembered; none is forgotten before its time.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Refuses what is not fresh or was seen before, and remembers nothing: before a signature is
    /// verified, for which this saves the work.
    pub(crate) fn look(&self, seen: &Seen, time: u64, now: u64) -> Result<(), Refusal> {
        if time.abs_diff(self.now.max(now)) > self.skew {
            return Err(Refusal::Time);
        }
        if self.windows.iter().any(|(_, set)| set.contains(seen)) {
            return Err(Refusal::Replayed);
        }
        Ok(())
    }

    /// Accepts a request that is fresh and was not seen before, and remembers it. Times are
    /// milliseconds since 1970.
    pub(crate) fn accept(&mut self, seen: Seen, time: u64, now: u64) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        let now = self.now;
        if time.abs_diff(now) > self.skew {
            return Err(Refusal::Time);
        }
        // now - skew to now + skew, so the three places never hold two windows that are in use.
        let oldest = now.saturating_sub(self.skew).div_euclid(self.skew);
        for (window, set) in &mut self.windows {
            if *window < oldest || *window > oldest + 2 {
                set.clear();
            }
        }
        let count: usize = self.windows.iter().map(|(_, set)| set.len()).sum();
        let window = time.div_euclid(self.skew);
        let place = usize::try_from(window.rem_euclid(3)).unwrap_or(0);
        let (present, set) = &mut self.windows[place];
        if *present != window {
            set.clear();
            *present = window;
        }
        if set.contains(&seen) {
            return Err(Refusal::Replayed);
        }
        if count >= self.capacity {
            return Err(Refusal::Rate);
        }
        set.insert(seen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u64) -> Seen {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        (0, nonce)
    }

    /// Against a memory that forgets nothing: at any pace of the clock, whatever was accepted is
    /// refused as long as it is fresh, and afterwards for its time.
    #[test]
    fn nothing_is_accepted_twice() {
        for step in [1, 7, 90, 100, 101, 450] {
            let skew = 100;
            let mut replay = Replay::new(skew, usize::MAX);
            let mut accepted: Vec<(u64, u64)> = Vec::new();
            for round in 0..300u64 {
                let now = 10_000 + round * step;
                let time = now - skew + (round * 37) % (2 * skew + 1);
                assert_eq!(replay.accept(seen(round), time, now), Ok(()), "{round}");
                accepted.push((round, time));
                for &(number, time) in &accepted {
                    let again = replay.accept(seen(number), time, now);
                    let expected = if time.abs_diff(now) <= skew {
                        Refusal::Replayed
                    } else {
                        Refusal::Time
                    };
                    assert_eq!(again, Err(expected), "{number} in round {round}");
                }
            }
            let kept: usize = replay.windows.iter().map(|(_, set)| set.len()).sum();
            assert!(kept as u64 <= 3 * skew / step + 3, "{kept} at {step}");
        }
    }

    #[test]
    fn another_key_may_draw_the_same_nonce() {
        let mut replay = Replay::new(100, 10);
        assert_eq!(replay.accept((1, [7; 16]), 500, 500), Ok(()));
        assert_eq!(replay.accept((2, [7; 16]), 500, 500), Ok(()));
        assert_eq!(
            replay.accept((1, [7; 16]), 500, 501),
            Err(Refusal::Replayed)
        );
    }

    #[test]
    fn a_full_memory_refuses_and_forgets_nothing() {
        let mut replay = Replay::new(100, 2);
        assert_eq!(replay.accept(seen(1), 500, 500), Ok(()));
        assert_eq!(replay.accept(seen(2), 500, 500), Ok(()));
        assert_eq!(replay.accept(seen(3), 500, 500), Err(Refusal::Rate));
        assert_eq!(replay.accept(seen(1), 500, 600), Err(Refusal::Replayed));
        // Time frees it.
        assert_eq!(replay.accept(seen(3), 800, 800), Ok(()));
    }

    #[test]
    fn a_clock_that_jumps_does_not_reopen_the_window() {
        let mut replay = Replay::new(100, 10);
        assert_eq!(replay.accept(seen(1), 1000, 1000), Ok(()));
        assert_eq!(replay.accept(seen(2), 5000, 5000), Ok(()));
        assert_eq!(replay.accept(seen(1), 1000, 5000), Err(Refusal::Time));
        assert_eq!(replay.accept(seen(1), 1000, 1000), Err(Refusal::Time));
    }
}
