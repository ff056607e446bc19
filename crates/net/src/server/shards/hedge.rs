//! Asks a second server if the first one is late.
//!
//! # Security
//! The same ciphertext goes to a second server of the same shard. It holds the same rows and could have been asked in
//! the first place. So no one learns more than the one server that would be asked without hedging. The time at which
//! the ciphertext goes there depends on how long answers took. The time of an answer depends on machines and links,
//! since a shard scans all its rows for every query.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of answers whose times are remembered.
const REMEMBERED: usize = 128;

/// The number of answers before the first request is sent twice.
const ENOUGH: usize = 32;

/// One in this number of requests may be sent twice. So servers that are late because they are busy do not get much busier.
const SPARE: u32 = 10;

/// The largest number of consecutive requests that may be sent twice, after a long time without
/// any.
const MOST: u32 = 8;

/// The recent times of a shard's answers, which decide when a second server is asked.
#[derive(Debug, Default)]
pub(super) struct Hedge {
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    /// The last times, in a ring.
    times: Vec<Duration>,
    next: usize,
    /// The saved permissions to send a request twice, in shares of [`SPARE`].
    saved: u32,
}

impl Hedge {
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the time from a request to its answer.
    pub(super) fn took(&self, time: Duration) {
        let mut recent = self.recent();
        let next = recent.next;
        match recent.times.get_mut(next) {
            Some(place) => *place = time,
            None => recent.times.push(time),
        }
        recent.next = (next + 1) % REMEMBERED;
        recent.saved = (recent.saved + 1).min(MOST * SPARE);
    }

    /// The time after which an answer is late: 95 of 100 answers came within it. `None` while there are
    /// not enough times.
    pub(super) fn late(&self) -> Option<Duration> {
        let mut times = self.recent().times.clone();
        if times.len() < ENOUGH {
            return None;
        }
        let at = times.len() * 95 / 100;
        let (_, late, _) = times.select_nth_unstable(at);
        Some(*late)
    }

    /// True if one more request may be sent twice, which is then counted.
    pub(super) fn spend(&self) -> bool {
        let mut recent = self.recent();
        match recent.saved.checked_sub(SPARE) {
            Some(rest) => {
                recent.saved = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_one_in_twenty_is() {
        let hedge = Hedge::default();
        for time in 1..ENOUGH as u64 {
            hedge.took(Duration::from_millis(time));
        }
        assert_eq!(hedge.late(), None);
        for time in 0..1000 {
            hedge.took(Duration::from_millis(if time % 20 == 7 { 500 } else { 20 }));
        }
        let late = hedge.late().unwrap();
        assert!([20, 500].contains(&late.as_millis()), "{late:?}");
        // Old times are forgotten.
        for time in 0..REMEMBERED as u64 {
            hedge.took(Duration::from_millis(100 + time));
        }
        let times = 100..100 + REMEMBERED as u64;
        let later = times.filter(|&time| Duration::from_millis(time) > hedge.late().unwrap());
        assert!((4..=8).contains(&later.count()));
    }

    #[test]
    fn no_more_than_one_in_ten_is_sent_twice() {
        let hedge = Hedge::default();
        assert!(!hedge.spend());
        let mut twice = 0;
        for _ in 0..1000 {
            hedge.took(Duration::ZERO);
            twice += u32::from(hedge.spend());
        }
        assert_eq!(twice, 100);
        (0..10_000).for_each(|_| hedge.took(Duration::ZERO));
        let burst = std::iter::repeat_with(|| hedge.spend()).take_while(|&may| may);
        assert_eq!(burst.count(), MOST as usize);
    }
}
