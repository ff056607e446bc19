//! Places for those who have proven nothing yet, shared so that nobody can keep others out.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A bounded number of places, shared between addresses, and within an address between connections.
///
/// If no place is free, a newcomer takes that of whoever has more than it: the oldest place of the
/// connection that has the most, of the address that has the most. So a crowd displaces itself, and
/// one that holds little stays. A place that has been [kept](Self::keep) is not taken away, and one of
/// somebody who has proven a key not by somebody who has not.
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
    /// Places of each address, and of each connection.
    addresses: HashMap<IpAddr, usize>,
    connections: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    connection: Option<u64>,
    proven: bool,
    kept: bool,
    displaced: Arc<Notify>,
}

/// Whoever wants a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) address: IpAddr,
    /// Its connection, where a place stands for one of several things that a connection can have.
    pub(crate) connection: Option<u64>,
    /// A known key has signed on the connection.
    pub(crate) proven: bool,
}

impl Newcomer {
    /// Somebody of whom no more is known than the address.
    pub(crate) fn from(address: IpAddr) -> Self {
        Self {
            address,
            connection: None,
            proven: false,
        }
    }
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

    /// A place, if there is one.
    pub(crate) fn admit(self: &Arc<Self>, newcomer: Newcomer) -> Option<Place> {
        let mut taken = self.lock();
        let own = count(&taken.addresses, &newcomer.address);
        let crowded = own >= self.per_address;
        if crowded || taken.places.len() >= self.most {
            taken.displace(newcomer, crowded, self.within)?;
        }
        let number = taken.next;
        taken.next += 1;
        let displaced = Arc::new(Notify::new());
        let entry = Entry {
            address: newcomer.address,
            connection: newcomer.connection,
            proven: newcomer.proven,
            kept: false,
            displaced: Arc::clone(&displaced),
        };
        taken.insert(number, entry);
        Some(Place {
            number,
            displaced,
            shares: Arc::clone(self),
        })
    }

    /// Takes a place away that a newcomer could have, for want of what places stand for. False if
    /// there is none.
    pub(crate) fn make_room(&self) -> bool {
        let nobody = Newcomer::from(Ipv4Addr::UNSPECIFIED.into());
        self.lock().displace(nobody, false, self.within).is_some()
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
    fn insert(&mut self, number: u64, entry: Entry) {
        *self.addresses.entry(entry.address).or_insert(0) += 1;
        if let Some(connection) = entry.connection {
            *self.connections.entry(connection).or_insert(0) += 1;
        }
        self.places.insert(number, entry);
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.places.remove(&number)?;
        release(&mut self.addresses, &entry.address);
        if let Some(connection) = &entry.connection {
            release(&mut self.connections, connection);
        }
        Some(entry)
    }

    /// Takes a place away for a newcomer, if it may have one; and says so to whoever had it.
    fn displace(&mut self, newcomer: Newcomer, crowded: bool, within: bool) -> Option<()> {
        let number = self.victim(newcomer, crowded, within)?;
        let entry = self.remove(number)?;
        entry.displaced.notify_one();
        Some(())
    }

    /// The place that a newcomer may take, if somebody has more than it, or less right to it.
    fn victim(&self, newcomer: Newcomer, crowded: bool, within: bool) -> Option<u64> {
        let addresses = |address: &IpAddr| count(&self.addresses, address);
        let own = addresses(&newcomer.address);
        // A place that belongs to no connection is one of its own.
        let held = |connection: Option<u64>| {
            connection.map_or(1, |connection| count(&self.connections, &connection))
        };
        let mine = newcomer.connection.map_or(0, |own| held(Some(own)));
        let candidates = self.places.iter().filter(|(_, entry)| {
            let neighbour = entry.address == newcomer.address;
            let fair = match neighbour {
                true => within && held(entry.connection) > mine,
                false => addresses(&entry.address) > own,
            };
            let may = match (newcomer.proven, entry.proven) {
                (true, false) => true,
                (false, true) => false,
                _ => fair,
            };
            may && !entry.kept && (neighbour || !crowded)
        });
        candidates
            .max_by_key(|(number, entry)| {
                let oldest = std::cmp::Reverse(**number);
                let (address, connection) = (addresses(&entry.address), held(entry.connection));
                (!entry.proven, address, connection, oldest)
            })
            .map(|(number, _)| *number)
    }
}

fn count<K: Eq + Hash>(counts: &HashMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or(0)
}

/// One fewer; none leaves nothing behind.
fn release<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
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
        self.shares.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(host: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, host])
    }

    fn on(host: u8, connection: u64, proven: bool) -> Newcomer {
        Newcomer {
            address: ip(host),
            connection: Some(connection),
            proven,
        }
    }

    /// True if it has been displaced.
    fn gone(place: &Place) -> bool {
        !place.shares.lock().places.contains_key(&place.number)
    }

    #[test]
    fn each_address_has_its_places_and_gets_them_back() {
        let shares = Shares::new(100, 2, false);
        let mut held: Vec<Place> = (0..2)
            .map(|_| shares.admit(Newcomer::from(ip(1))).expect("a place"))
            .collect();
        assert!(shares.admit(Newcomer::from(ip(1))).is_none());
        assert!(shares.admit(Newcomer::from(ip(2))).is_some());
        drop(held.pop());
        held.extend(shares.admit(Newcomer::from(ip(1))));
        assert_eq!(held.len(), 2);
        assert!(shares.admit(Newcomer::from(ip(1))).is_none());
    }

    /// Nothing is kept of an address whose places are given back, however many come.
    #[test]
    fn memory_is_for_taken_places_only() {
        let shares = Shares::new(10, 1, true);
        for host in 0..10_000 {
            let address = Ipv4Addr::from_bits(host).into();
            assert!(shares.admit(Newcomer::from(address)).is_some());
        }
        let taken = shares.lock();
        assert!(taken.places.is_empty() && taken.addresses.is_empty());
    }

    /// A crowd on eight connections fills all places; whoever comes with one stays, however often
    /// the crowd comes back.
    #[test]
    fn a_crowd_displaces_itself() {
        let shares = Shares::new(64, 64, true);
        let crowd = |from: u64| {
            let connections = (0..64).map(move |at| from + at % 8);
            connections.filter_map(|connection| shares.admit(on(1, connection, false)))
        };
        let mut held: Vec<Place> = crowd(0).collect();
        let honest = shares.admit(on(1, 100, false)).expect("a place");
        assert_eq!(held.iter().filter(|place| gone(place)).count(), 1);
        for _ in 0..20 {
            held.extend(crowd(0));
            assert!(!gone(&honest));
            assert!(shares.lock().places.len() <= 64);
        }
        // One connection alone cannot take from itself.
        let alone = Shares::new(8, 8, true);
        let held: Vec<_> = (0..20).map(|_| alone.admit(on(1, 1, false))).collect();
        assert_eq!(held.iter().flatten().count(), 8);
    }

    #[test]
    fn many_addresses_each_with_one_do_not_shut_out_another() {
        let shares = Shares::new(16, 4, false);
        let held: Vec<Place> = (0..16)
            .filter_map(|host| shares.admit(Newcomer::from(ip(host))))
            .collect();
        assert_eq!(held.len(), 16);
        let late = shares.admit(Newcomer::from(ip(200))).expect("a place");
        assert!(gone(&held[0]), "the oldest makes room");
        assert!(!gone(&late));
        // It has as much as they have, so a second place is not to be had.
        assert!(shares.admit(Newcomer::from(ip(200))).is_none());
    }

    #[test]
    fn what_is_kept_is_not_taken_away() {
        let shares = Shares::new(2, 2, true);
        let kept = shares.admit(Newcomer::from(ip(1))).expect("a place");
        kept.keep();
        let other = shares.admit(Newcomer::from(ip(1))).expect("a place");
        let newcomer = shares.admit(Newcomer::from(ip(2))).expect("a place");
        assert!(gone(&other) && !gone(&kept) && !gone(&newcomer));
        newcomer.keep();
        assert!(shares.admit(Newcomer::from(ip(3))).is_none());
        shares.keep(newcomer.number, false);
        assert!(shares.admit(Newcomer::from(ip(3))).is_some());
    }

    #[tokio::test]
    async fn whoever_is_displaced_is_told() {
        let shares = Shares::new(1, 1, true);
        let first = shares.admit(on(1, 1, false)).expect("a place");
        let _second = shares.admit(on(2, 2, false)).expect("a place");
        let minute = std::time::Duration::from_secs(60);
        let told = tokio::time::timeout(minute, first.displaced.notified());
        assert!(told.await.is_ok());
    }

    /// Somebody whose request takes long to arrive, among as many strangers as there may be.
    #[test]
    fn strangers_do_not_take_the_place_of_a_known_key() {
        let shares = Shares::new(4, 4, true);
        let known = shares.admit(on(1, 1, true)).expect("a place");
        let strangers = (2..200).map(|host| shares.admit(on(host, host.into(), false)));
        let mut strangers: Vec<_> = strangers.collect();
        assert!(strangers.iter().all(Option::is_some));
        assert!(!gone(&known));
        // Another known key has the first right to a stranger's place, also at its own address.
        for host in [199, 201] {
            strangers.extend([shares.admit(on(host, 300, true))]);
        }
        assert!(strangers.iter().all(Option::is_some));
        // Between known keys it goes on by shares.
        let more: Vec<_> = (0..4).map(|_| shares.admit(on(1, 1, true))).collect();
        assert_eq!(more.iter().flatten().count(), 1);
        assert!(!gone(&known));
    }

    #[test]
    fn room_is_made_by_whoever_may_be_displaced() {
        let shares = Shares::new(8, 8, true);
        let held: Vec<_> = (0..3)
            .filter_map(|host| shares.admit(Newcomer::from(ip(host))))
            .collect();
        held[0].keep();
        assert!(shares.make_room() && gone(&held[1]) && !gone(&held[2]));
        assert!(shares.make_room() && gone(&held[2]));
        assert!(!shares.make_room() && !gone(&held[0]));
    }
}
