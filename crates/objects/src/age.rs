//! The time for which a file stays that no version names.
//!
//! An object store has no locks, so an owner who removes files cannot know which of them another owner is about to name. No owner
//! removes one that is younger than [`GRACE`], or names in a version what it wrote longer than half of that
//! before. Ages are differences of times that the store itself gave: the clocks of owners do not matter, but for the length of a
//! day on them.

use std::time::{Duration, Instant, SystemTime};

/// The age below which nothing is removed.
pub(crate) const GRACE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The store's time, as it was when an owner began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    store: SystemTime,
    here: Since,
}

impl Clock {
    /// The time that the store gave to an object that was written just now.
    pub(crate) fn new(store: SystemTime) -> Self {
        Self {
            store,
            here: Since::now(),
        }
    }

    /// The least age of an object that the store has from that time, as if this machine had not slept: what is removed is older. One from the
    /// future has none.
    pub(crate) fn age(&self, of: SystemTime) -> Duration {
        let now = self.store + self.here.awake();
        now.duration_since(of).unwrap_or_default()
    }

    /// The most that its age can be, sleep included: what is named in a version is younger.
    pub(crate) fn age_at_most(&self, of: SystemTime) -> Duration {
        let now = self.store + self.here.elapsed();
        now.duration_since(of).unwrap_or_default()
    }
}

/// A moment of this machine, and the time since then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    here: Instant,
    /// A machine that sleeps has this one going on.
    clock: SystemTime,
}

impl Since {
    pub(crate) fn now() -> Self {
        Self {
            here: Instant::now(),
            clock: SystemTime::now(),
        }
    }

    /// The time since then, without sleep where the system does not count it.
    fn awake(&self) -> Duration {
        self.here.elapsed()
    }

    /// The time since then, sleep included. A clock that was set meanwhile makes it longer, never shorter.
    pub(crate) fn elapsed(&self) -> Duration {
        let slept = self.clock.elapsed().unwrap_or_default();
        self.here.elapsed().max(slept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_the_store() {
        let day = Duration::from_secs(86_400);
        // A store whose clock is years away from ours.
        let asleep = Since {
            clock: SystemTime::now() - day,
            ..Since::now()
        };
        assert!(asleep.elapsed() >= day && Since::now().elapsed() < day);
        for store in [SystemTime::UNIX_EPOCH + day, SystemTime::now() + 9999 * day] {
            let clock = Clock::new(store);
            let age = clock.age(store - day);
            assert!(age >= day && age < day + Duration::from_secs(60));
            assert_eq!(clock.age(store + day), Duration::ZERO);
        }
    }
}
