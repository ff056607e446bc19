//! Places for clients that have proven nothing yet, shared so that no client can keep others out.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::places::{Asker, release};

/// A bounded number of places, shared between addresses, and within an address between connections.
///
/// If no place is free, a newcomer takes a place of a client that has more than the newcomer. It takes the oldest place
/// of the connection with the most places, within the address with the most. So a crowd displaces itself, and a client
/// with few places keeps them. A place that was [kept](Self::keep) is not taken. A client without a proven key does not
/// take the place of a client with one. If no other place is left, the key with the most places loses its newest one,
/// if it has more than an equal share. So if a key has too many programs, most of them continue.
#[derive(Debug)]
pub(crate) struct Shares {
    most: usize,
    per_address: usize,
    /// True if connections of one address displace each other. Otherwise a connection above the
    /// address's share is refused.
    within: bool,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    places: HashMap<u64, Entry>,
    /// The number of places of each address, and of each connection.
    addresses: HashMap<IpAddr, usize>,
    connections: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    connection: Option<u64>,
    kept: bool,
    /// The client that has proven a key on the connection of this place.
    holder: Option<Asker>,
    displaced: Arc<Notify>,
}

/// A client that wants a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) address: IpAddr,
    /// Its connection, if one connection can have several places.
    pub(crate) connection: Option<u64>,
    /// The client that has proven a key on the connection.
    pub(crate) holder: Option<Asker>,
}

impl Newcomer {
    /// A client that is known only by its address.
    pub(crate) fn from(address: IpAddr) -> Self {
        Self {
            address,
            connection: None,
            holder: None,
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
            self.displace(&mut taken, newcomer, crowded)?;
        }
        let number = taken.next;
        taken.next += 1;
        let displaced = Arc::new(Notify::new());
        let entry = Entry {
            address: newcomer.address,
            connection: newcomer.connection,
            kept: false,
            holder: newcomer.holder,
            displaced: Arc::clone(&displaced),
        };
        taken.insert(number, entry);
        Some(Place {
            number,
            displaced,
            shares: Arc::clone(self),
        })
    }

    /// Takes away a place that a newcomer could take, because the system has none left. Returns false if there is
    /// no such place.
    pub(crate) fn make_room(&self) -> bool {
        let stranger = Newcomer::from(Ipv4Addr::UNSPECIFIED.into());
        self.displace(&mut self.lock(), stranger, false).is_some()
    }

    /// Sets whether the place with this number is protected. A place that was taken away does not come back.
    pub(crate) fn keep(&self, number: u64, kept: bool) {
        if let Some(entry) = self.lock().places.get_mut(&number) {
            entry.kept = kept;
        }
    }

    /// Keeps the place with this number for the client that has proven a key there.
    pub(crate) fn keep_for(&self, number: u64, holder: Asker) {
        self.of(number, Some(holder));
    }

    /// Removes the protection of the place.
    pub(crate) fn release(&self, number: u64) {
        self.of(number, None);
    }

    fn of(&self, number: u64, holder: Option<Asker>) {
        if let Some(entry) = self.lock().places.get_mut(&number) {
            entry.kept = holder.is_some();
            entry.holder = holder;
        }
    }

    /// Takes a place for a newcomer, if it may have one, and notifies the place's holder.
    fn displace(&self, taken: &mut Taken, newcomer: Newcomer, crowded: bool) -> Option<()> {
        let victim = taken.victim(newcomer, crowded, self.within);
        let all = if crowded { self.per_address } else { self.most };
        let victim = victim.or_else(|| taken.newest_of_most(newcomer, crowded, all));
        taken.remove(victim?)?.displaced.notify_one();
        Some(())
    }

    /// Each statement leaves the counts consistent, so a panic in another place does not affect them.
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

    /// The place that a newcomer may take: its client has more places than the newcomer, or a weaker
    /// right to it.
    fn victim(&self, newcomer: Newcomer, crowded: bool, within: bool) -> Option<u64> {
        let addresses = |address: &IpAddr| count(&self.addresses, address);
        let own = addresses(&newcomer.address);
        // A place without a connection counts as a connection of its own.
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
            let may = match (newcomer.holder.is_some(), entry.holder.is_some()) {
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
                (entry.holder.is_none(), address, connection, oldest)
            })
            .map(|(number, _)| *number)
    }

    /// The newest place of the key for which the most places are kept, if these are more than an equal share of
    /// `all` such places. One share stays for the next key.
    fn newest_of_most(&self, newcomer: Newcomer, crowded: bool, all: usize) -> Option<u64> {
        let mut held: HashMap<Asker, (usize, u64)> = HashMap::new();
        for (&number, entry) in &self.places {
            // A place for a complete request is given back soon.
            let may = entry.connection.is_none() || !entry.kept;
            let near = !crowded || entry.address == newcomer.address;
            let (Some(holder), true) = (entry.holder, may && near) else {
                continue;
            };
            let (count, newest) = held.entry(holder).or_insert((0, number));
            *count += 1;
            *newest = number.max(*newest);
        }
        let share = (all / (held.len() + 1)).max(1);
        let (holder, (most, newest)) = held.into_iter().max_by_key(|(_, held)| *held)?;
        // A key does not give up a place for another place of its own.
        (most > share && newcomer.holder != Some(holder)).then_some(newest)
    }
}

fn count<K: Eq + Hash>(counts: &HashMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or(0)
}

/// A place, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) number: u64,
    /// Notified when another client takes the place.
    pub(crate) displaced: Arc<Notify>,
    shares: Arc<Shares>,
}

impl Place {
    /// Keeps the place from now on.
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
mod tests;
