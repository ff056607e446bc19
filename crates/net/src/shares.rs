//! Places for those who have proven nothing yet, shared so that nobody can keep others out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A bounded number of places, shared between addresses, and within an address between connections.
///
/// If no place is free, a newcomer takes that of whoever has more than it: the oldest place of the
/// connection that has the most, of the address that has the most. So a crowd displaces itself, and
/// one that holds little stays. A place that has been [kept](Self::keep) is not taken away.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    per_address: usize,
    /// Connections of one address displace each other; if not, it is refused more than its share.
    within: bool,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    connection: Option<u64>,
    kept: bool,
    displaced: Arc<Notify>,
}

impl Shares {
    pub(crate) fn new(most: usize, per_address: usize, within: bool) -> Arc<Self> {
        Arc::new(Self {
            most,
            per_address,
            within,
            taken: Mutex::default(),
        })
    }

    /// A place for `address`, and there for `connection`, where it stands for one of several things
    /// that a connection can have.
    pub(crate) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        connection: Option<u64>,
    ) -> Option<Place> {
        let mut taken = self.lock();
        let own = taken.of(address).count();
        let crowded = own >= self.per_address;
        if crowded || taken.places.len() >= self.most {
            let number = taken.victim(address, connection, crowded, self.within)?;
            if let Some(entry) = taken.places.remove(&number) {
                entry.displaced.notify_one();
            }
        }
        let number = taken.next;
        taken.next += 1;
        let displaced = Arc::new(Notify::new());
        let entry = Entry {
            address,
            connection,
            kept: false,
            displaced: Arc::clone(&displaced),
        };
        taken.places.insert(number, entry);
        Some(Place {
            number,
            displaced,
            shares: Arc::clone(self),
        })
    }

    /// Says whether the place of this number may be taken away. A place that is gone stays gone.
    pub(crate) fn keep(&self, number: u64, kept: bool) {
        if let Some(entry) = self.lock().places.get_mut(&number) {
            entry.kept = kept;
        }
    }

    /// The counts are whole between any two statements, so a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn of(&self, address: IpAddr) -> impl Iterator<Item = &Entry> {
        let places = self.places.values();
        places.filter(move |entry| entry.address == address)
    }

    /// The place that a newcomer may take, if somebody has more than it.
    fn victim(
        &self,
        address: IpAddr,
        connection: Option<u64>,
        crowded: bool,
        within: bool,
    ) -> Option<u64> {
        let (mut addresses, mut connections) = (HashMap::new(), HashMap::new());
        for entry in self.places.values() {
            *addresses.entry(entry.address).or_insert(0usize) += 1;
            if let Some(connection) = entry.connection {
                *connections.entry(connection).or_insert(0usize) += 1;
            }
        }
        let own = addresses.get(&address).copied().unwrap_or(0);
        let held = |connection: Option<u64>| match connection {
            // A place that belongs to no connection is one of its own.
            None => 1,
            Some(connection) => connections.get(&connection).copied().unwrap_or(0),
        };
        let mine = connection.map_or(0, |connection| held(Some(connection)));
        let candidates = self.places.iter().filter(|(_, entry)| {
            let fair = if entry.address == address {
                within && held(entry.connection) > mine
            } else {
                !crowded && addresses[&entry.address] > own
            };
            fair && !entry.kept
        });
        candidates
            .max_by_key(|(number, entry)| {
                let oldest = std::cmp::Reverse(**number);
                (addresses[&entry.address], held(entry.connection), oldest)
            })
            .map(|(number, _)| *number)
    }
}

/// One of the places. It is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) number: u64,
    /// Told when somebody else takes the place.
    pub(crate) displaced: Arc<Notify>,
    shares: Arc<Shares>,
}

impl Place {
    /// From now on the place is not taken away.
    pub(crate) fn keep(&self) {
        self.shares.keep(self.number, true);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shares.lock().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(host: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, host])
    }

    /// True if it has been displaced.
    fn gone(place: &Place) -> bool {
        !place.shares.lock().places.contains_key(&place.number)
    }

    #[test]
    fn each_address_has_its_places_and_gets_them_back() {
        let shares = Shares::new(100, 2, false);
        let mut held: Vec<Place> = (0..2)
            .map(|_| shares.admit(ip(1), None).expect("a place"))
            .collect();
        assert!(shares.admit(ip(1), None).is_none());
        assert!(shares.admit(ip(2), None).is_some());
        drop(held.pop());
        held.extend(shares.admit(ip(1), None));
        assert_eq!(held.len(), 2);
        assert!(shares.admit(ip(1), None).is_none());
    }

    /// Nothing is kept of an address whose places are given back, however many come.
    #[test]
    fn memory_is_for_taken_places_only() {
        let shares = Shares::new(10, 1, true);
        for host in 0..10_000 {
            let address = std::net::Ipv4Addr::from_bits(host).into();
            assert!(shares.admit(address, None).is_some());
        }
        assert!(shares.lock().places.is_empty());
    }

    /// A crowd on eight connections fills all places; whoever comes with one stays, however often
    /// the crowd comes back.
    #[test]
    fn a_crowd_displaces_itself() {
        let shares = Shares::new(64, 64, true);
        let crowd = |from: u64| {
            let connections = (0..64).map(move |at| from + at % 8);
            connections.filter_map(|connection| shares.admit(ip(1), Some(connection)))
        };
        let mut held: Vec<Place> = crowd(0).collect();
        let honest = shares.admit(ip(1), Some(100)).expect("a place");
        assert_eq!(held.iter().filter(|place| gone(place)).count(), 1);
        for _ in 0..20 {
            held.extend(crowd(0));
            assert!(!gone(&honest));
            assert!(shares.lock().places.len() <= 64);
        }
        // One connection alone cannot take from itself.
        let alone = Shares::new(8, 8, true);
        let held: Vec<_> = (0..20).map(|_| alone.admit(ip(1), Some(1))).collect();
        assert_eq!(held.iter().flatten().count(), 8);
    }

    #[test]
    fn many_addresses_each_with_one_do_not_shut_out_another() {
        let shares = Shares::new(16, 4, false);
        let held: Vec<Place> = (0..16)
            .filter_map(|host| shares.admit(ip(host), None))
            .collect();
        assert_eq!(held.len(), 16);
        let late = shares.admit(ip(200), None).expect("a place");
        assert!(gone(&held[0]), "the oldest makes room");
        assert!(!gone(&late));
        // It has as much as they have, so a second place is not to be had.
        assert!(shares.admit(ip(200), None).is_none());
    }

    #[test]
    fn what_is_kept_is_not_taken_away() {
        let shares = Shares::new(2, 2, true);
        let kept = shares.admit(ip(1), None).expect("a place");
        kept.keep();
        let other = shares.admit(ip(1), None).expect("a place");
        let newcomer = shares.admit(ip(2), None).expect("a place");
        assert!(gone(&other) && !gone(&kept) && !gone(&newcomer));
        newcomer.keep();
        assert!(shares.admit(ip(3), None).is_none());
        shares.keep(newcomer.number, false);
        assert!(shares.admit(ip(3), None).is_some());
    }

    #[tokio::test]
    async fn whoever_is_displaced_is_told() {
        let shares = Shares::new(1, 1, true);
        let first = shares.admit(ip(1), Some(1)).expect("a place");
        let _second = shares.admit(ip(2), Some(2)).expect("a place");
        let minute = std::time::Duration::from_secs(60);
        let told = tokio::time::timeout(minute, first.displaced.notified());
        assert!(told.await.is_ok());
    }
}
