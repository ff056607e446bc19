//! The logins and steps of changes that were accepted before.

use std::collections::{BTreeMap, HashSet};

use crate::Refusal;

/// The number of the key that signed, and the nonce.
pub(crate) type Seen = (u32, [u8; 16]);

/// Remembers every accepted signed request, a login or a step of a change, while its signature is fresh. So no request
/// is accepted twice.
///
/// Time is divided into windows as long as the skew. A signature is fresh if its time differs from now by at most the
/// skew. So it lies in one of three windows, and older windows can be forgotten completely.
///
/// The system's clock may jump, even back. A request is refused if its window was ever forgotten, whatever the clock
/// says later. Windows after now are kept. So a clock that was wrong for a while costs the requests of one window, not
/// all requests until the next start.
#[derive(Debug)]
pub(crate) struct Replay {
    /// The skew in milliseconds.
    skew: u64,
    capacity: usize,
    /// Requests of windows before this one may have been forgotten.
    floor: u64,
    /// Each window has at least one entry.
    windows: BTreeMap<u64, HashSet<Seen>>,
}

impl Replay {
    pub(crate) fn new(skew: u64, capacity: usize) -> Self {
        Self {
            skew: skew.max(1),
            capacity,
            floor: 0,
            windows: BTreeMap::new(),
        }
    }

    /// Changes the number of remembered requests. No request is forgotten before its time.
    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Refuses a request that is not fresh or was seen before. It remembers nothing, because it
    /// runs before the signature is verified, and saves that work.
    pub(crate) fn look(&self, seen: &Seen, time: u64, now: u64) -> Result<(), Refusal> {
        let window = self.window(time);
        if time.abs_diff(now) > self.skew || window < self.floor {
            return Err(Refusal::Time);
        }
        let set = self.windows.get(&window);
        match set.is_some_and(|set| set.contains(seen)) {
            true => Err(Refusal::Replayed),
            false => Ok(()),
        }
    }

    /// Accepts a request that is fresh and was not seen before, and remembers it. Times are
    /// milliseconds since 1970.
    pub(crate) fn accept(&mut self, seen: Seen, time: u64, now: u64) -> Result<(), Refusal> {
        self.look(&seen, time, now)?;
        self.forget(now);
        let count: usize = self.windows.values().map(HashSet::len).sum();
        if count >= self.capacity {
            return Err(Refusal::Rate);
        }
        let window = self.window(time);
        self.windows.entry(window).or_default().insert(seen);
        Ok(())
    }

    /// Forgets entries that are no longer fresh.
    pub(crate) fn forget(&mut self, now: u64) {
        let oldest = self.window(now.saturating_sub(self.skew));
        while let Some(first) = self.windows.first_entry().filter(|it| *it.key() < oldest) {
            self.floor = self.floor.max(first.key() + 1);
            first.remove();
        }
    }

    fn window(&self, time: u64) -> u64 {
        time.div_euclid(self.skew)
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

    /// Compares the memory with one that forgets nothing. However fast the clock runs, an accepted request is refused
    /// while it is fresh, and later for its time.
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
            let kept: usize = replay.windows.values().map(HashSet::len).sum();
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
        // After some time there is memory for more entries.
        assert_eq!(replay.accept(seen(3), 800, 800), Ok(()));
    }

    #[test]
    fn a_clock_that_jumps_does_not_reopen_the_window() {
        let mut replay = Replay::new(100, 10);
        assert_eq!(replay.accept(seen(1), 1000, 1000), Ok(()));
        assert_eq!(replay.accept(seen(2), 5000, 5000), Ok(()));
        assert_eq!(replay.accept(seen(1), 1000, 5000), Err(Refusal::Time));
        // The clock goes back. Requests that may have been forgotten are refused.
        for time in [1000, 1001, 1099] {
            assert_eq!(replay.accept(seen(1), time, 1000), Err(Refusal::Time));
            assert_eq!(replay.look(&seen(1), time, 1000), Err(Refusal::Time));
        }
        // Later requests are accepted at once.
        assert_eq!(replay.accept(seen(3), 1100, 1000), Ok(()));
        assert_eq!(replay.accept(seen(3), 1100, 1050), Err(Refusal::Replayed));
        // The jump back does not reopen a window either.
        assert_eq!(replay.accept(seen(2), 5000, 5000), Err(Refusal::Replayed));
        assert_eq!(replay.accept(seen(3), 1100, 1100), Err(Refusal::Replayed));
    }

    /// Compares the memory with one that forgets nothing, while the clock jumps. Nothing is accepted twice, and
    /// requests at the right time are accepted again.
    #[test]
    fn nothing_is_accepted_twice_whatever_the_clock_does() {
        let mut replay = Replay::new(100, usize::MAX);
        let mut accepted: Vec<(u64, u64)> = Vec::new();
        let mut state = 1u64;
        let mut draw = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % most
        };
        for round in 0..400u64 {
            let right = 10_000 + round * 60;
            let now = match draw(3) {
                0 => right,
                1 => right + draw(9000),
                _ => right.saturating_sub(draw(9000)),
            };
            let time = (now + draw(201)).saturating_sub(100);
            if replay.accept(seen(round), time, now) == Ok(()) {
                accepted.push((round, time));
            }
            for &(number, time) in &accepted {
                for at in [now, time, right] {
                    assert!(
                        replay.accept(seen(number), time, at).is_err(),
                        "{number} in {round}"
                    );
                }
            }
        }
        assert!(accepted.len() > 50, "{}", accepted.len());
    }
}
