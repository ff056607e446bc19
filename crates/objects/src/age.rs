//! The age at which files that no version names may be removed.
//!
//! An object store has no locks, so an owner who removes files cannot know which of them another owner is about to
//! name. So no owner removes a file that is younger than [`GRACE`]. And an owner names a new file in a version only if
//! it wrote the file at most half of [`GRACE`] before. Ages are differences of times that the store itself gave. So it
//! does not matter what time the owners' clocks show. They only measure durations.

use std::time::{Duration, Instant, SystemTime};

/// The store does not remove files that are younger than this.
pub(crate) const GRACE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The store's time at the moment when an owner began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    store: SystemTime,
    here: Since,
}

impl Clock {
    /// Starts from the time that the store gave to a newly written object.
    pub(crate) fn new(store: SystemTime) -> Self {
        Self {
            store,
            here: Since::now(),
        }
    }

    /// The smallest possible age of an object to which the store gave that time. It assumes that this machine did not
    /// sleep. An object is removed only if even this age is old enough. The age of an object from the future is zero.
    pub(crate) fn age(&self, of: SystemTime) -> Duration {
        let now = self.store + self.here.awake();
        now.duration_since(of).unwrap_or_default()
    }

    /// The largest possible age of the object, including the time in which this machine slept. An object is named in a
    /// version only if even this age is young enough.
    pub(crate) fn age_at_most(&self, of: SystemTime) -> Duration {
        let now = self.store + self.here.elapsed();
        now.duration_since(of).unwrap_or_default()
    }
}

/// A moment on this machine, for measuring the time since then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    here: Instant,
    /// The system clock, which also runs while a machine sleeps.
    clock: SystemTime,
}

impl Since {
    pub(crate) fn now() -> Self {
        Self {
            here: Instant::now(),
            clock: SystemTime::now(),
        }
    }

    /// The time since then, without sleep if the system does not count that.
    fn awake(&self) -> Duration {
        self.here.elapsed()
    }

    /// The time since then, including sleep. If the clock was changed meanwhile, the result is longer, never shorter.
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
        // A store whose clock is years away from this machine's.
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
