//! Limits on simultaneous connections, with and without the token.
//!
//! The proxy closes the oldest connection without the token if there are too many of them. So silent connections never
//! keep out a connection that sends a request.

use std::collections::VecDeque;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::Notify;

/// The largest number of connections that have not shown the token.
pub(crate) const STRANGERS: usize = 128;

/// The largest number of connections that have shown the token.
pub(crate) const KNOWN: usize = 128;

/// The places of all connections.
#[derive(Default)]
pub(crate) struct Places(Mutex<Occupancy>);

#[derive(Default)]
struct Occupancy {
    next: u64,
    /// The connections without the token, in the order of their arrival.
    strangers: VecDeque<(u64, Arc<Notify>)>,
    known: usize,
}

/// The place of a connection, until it is dropped.
pub(crate) struct Place {
    all: Arc<Places>,
    number: u64,
    end: Arc<Notify>,
    known: AtomicBool,
}

impl Places {
    /// A place for a new connection. The oldest connection without the token may lose its place to it.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let end = Arc::new(Notify::new());
        let mut occupancy = self.lock();
        let number = occupancy.next;
        occupancy.next += 1;
        if occupancy.strangers.len() >= STRANGERS
            && let Some((_, first)) = occupancy.strangers.pop_front()
        {
            first.notify_one();
        }
        occupancy.strangers.push_back((number, Arc::clone(&end)));
        drop(occupancy);
        Place {
            all: Arc::clone(self),
            number,
            end,
            known: AtomicBool::new(false),
        }
    }

    /// The counts are valid between any two statements, so a poisoned lock is harmless.
    fn lock(&self) -> MutexGuard<'_, Occupancy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Occupancy {
    /// Removes a connection from those that have not shown the token. Returns false if it no longer has a place.
    fn leave(&mut self, number: u64) -> bool {
        let at = self
            .strangers
            .iter()
            .position(|(other, _)| *other == number);
        at.and_then(|at| self.strangers.remove(at)).is_some()
    }
}

impl Place {
    /// Records that the connection has shown the token. Returns false if too many connections have, or if this one has
    /// lost its place.
    pub(crate) fn prove(&self) -> bool {
        if self.known.load(Ordering::Relaxed) {
            return true;
        }
        let mut occupancy = self.all.lock();
        let proven = occupancy.known < KNOWN && occupancy.leave(self.number);
        occupancy.known += usize::from(proven);
        self.known.store(proven, Ordering::Relaxed);
        proven
    }

    /// Waits until the connection loses its place.
    pub(crate) async fn lost(&self) {
        self.end.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut occupancy = self.all.lock();
        match self.known.load(Ordering::Relaxed) {
            true => occupancy.known -= 1,
            false => drop(occupancy.leave(self.number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_of_the_silent_goes_and_one_with_the_token_stays() {
        let places = Arc::new(Places::default());
        let known = places.enter();
        assert!(known.prove() && known.prove());
        let silent: Vec<Place> = (0..STRANGERS).map(|_| places.enter()).collect();
        let late = places.enter();
        silent[0].lost().await;
        assert!(!silent[0].prove(), "it has no place to show the token in");
        assert!(silent[1].prove() && late.prove());
        assert_eq!(places.lock().known, 3);
        drop((known, silent, late));
        let occupancy = places.lock();
        assert_eq!((occupancy.known, occupancy.strangers.len()), (0, 0));
    }

    #[test]
    fn those_who_have_the_token_are_bounded_too() {
        let places = Arc::new(Places::default());
        let all: Vec<Place> = (0..KNOWN).map(|_| places.enter()).collect();
        assert!(all.iter().all(Place::prove));
        let more = places.enter();
        assert!(!more.prove());
        drop(all);
        assert!(more.prove());
    }
}
