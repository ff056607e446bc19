//! The places for requests in flight, and the share of them that each client may take.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::address::holder;

/// The client for which a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// The holder of the key with this number.
    Key(u32),
    /// A network address, if anyone may ask.
    Address(IpAddr),
    /// All clients of the index with this number, if there are several indexes.
    Index(u64),
    /// The owner of the index with this number, or of the only index.
    Owner(u64),
}

impl Asker {
    /// A unique number of the asker. Addresses of one network are one asker.
    pub(crate) fn number(self) -> u128 {
        const KIND: u32 = 64;
        let (kind, number) = match self {
            Self::Key(key) => (0, key.into()),
            Self::Address(address) => match holder(address) {
                IpAddr::V4(address) => (1, address.to_bits().into()),
                IpAddr::V6(network) => (2, network.to_bits() >> KIND),
            },
            Self::Index(index) => (3, index.into()),
            Self::Owner(index) => (4, index.into()),
        };
        kind << KIND | number
    }
}

/// Decreases a count, and removes it at zero.
pub(crate) fn release<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// A bounded number of places. A client may take a further place as long as it has fewer places than are free.
///
/// So one client alone has at most half of them. If n clients ask for all that they can get, each has `1 / (n + 1)`
/// of the places, and the same share stays free for the next client. The same rule holds among the clients of one
/// index, for the places that the index could still take.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by: HashMap<Asker, usize>,
    /// The places of an index, by client.
    within: HashMap<(Asker, Asker), usize>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
        })
    }

    /// A place for a request of `asker`, if its share has one.
    pub(crate) fn take(self: &Arc<Self>, asker: Asker) -> Option<InFlight> {
        let mut taken = self.lock();
        let own = taken.by.get(&asker).copied().unwrap_or(0);
        if own >= self.most - taken.all {
            return None;
        }
        taken.all += 1;
        taken.by.insert(asker, own + 1);
        Some(InFlight {
            asker,
            within: None,
            places: Arc::clone(self),
        })
    }

    /// A place for a request of `asker` about an index, if the index's share and the asker's share of it have room.
    pub(crate) fn take_within(self: &Arc<Self>, index: Asker, asker: Asker) -> Option<InFlight> {
        let mut taken = self.lock();
        let own = taken.by.get(&index).copied().unwrap_or(0);
        // Each place that the index takes leaves one free place fewer.
        let left = (self.most - taken.all).saturating_sub(own).div_ceil(2);
        let asked = (index, asker);
        let mine = taken.within.get(&asked).copied().unwrap_or(0);
        if mine >= left {
            return None;
        }
        taken.all += 1;
        taken.by.insert(index, own + 1);
        taken.within.insert(asked, mine + 1);
        Some(InFlight {
            asker: index,
            within: Some(asker),
            places: Arc::clone(self),
        })
    }

    /// The number of places taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().all
    }

    /// Each statement leaves the counts consistent, so a panic in another place does not affect them.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    asker: Asker,
    within: Option<Asker>,
    places: Arc<Places>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        release(&mut taken.by, &self.asker);
        if let Some(within) = self.within {
            release(&mut taken.within, &(self.asker, within));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn askers_have_numbers_of_their_own() {
        let address = |text: &str| Asker::Address(text.parse().expect("an address"));
        let askers = [
            Asker::Key(1),
            Asker::Key(u32::MAX),
            Asker::Index(1),
            address("0.0.0.1"),
            address("::1"),
            address("0:0:0:1::"),
            address("2001:db8::1"),
        ];
        let numbers = askers.map(Asker::number);
        let different: std::collections::BTreeSet<u128> = numbers.into_iter().collect();
        assert_eq!(different.len(), askers.len());
        // A network counts as one holder. The two forms of an IPv4 address count as one holder, too.
        assert_eq!(
            address("2001:db8::2").number(),
            address("2001:db8::1").number()
        );
        assert_eq!(
            address("::ffff:0.0.0.1").number(),
            address("0.0.0.1").number()
        );
    }

    #[test]
    fn one_that_asks_alone_leaves_half_to_the_others() {
        let places = Places::new(64);
        let take = |key: u32| {
            std::iter::from_fn(|| places.take(Asker::Key(key))).collect::<Vec<InFlight>>()
        };
        let first = take(1);
        assert_eq!(first.len(), 32);
        let second = take(2);
        assert_eq!(second.len(), 16);
        // Whatever number of clients ask for all that they can get, one more gets in.
        let others: Vec<_> = (3..6).flat_map(take).collect();
        assert!(places.take(Asker::Key(9)).is_some(), "{}", others.len());
        drop((first, second, others));
        assert_eq!(places.taken(), 0);
        assert!(places.lock().by.is_empty());
    }

    /// If a client takes all places of an index that it can get, the index's other clients still get places.
    /// Together these clients leave places to other indexes.
    #[test]
    fn a_client_leaves_places_of_an_index_to_others() {
        let places = Places::new(64);
        let take = |index: u64, key: u32| {
            let place = || places.take_within(Asker::Index(index), Asker::Key(key));
            std::iter::from_fn(place).collect::<Vec<InFlight>>()
        };
        let first = take(1, 1);
        assert_eq!(first.len(), 16);
        let second = take(1, 2);
        assert_eq!(second.len(), 8);
        let others: Vec<_> = (3..40).flat_map(|key| take(1, key)).collect();
        let of_index = first.len() + second.len() + others.len();
        assert!(of_index <= 32, "{of_index}");
        assert!(!take(2, 1).is_empty());
        drop((first, second, others));
        assert_eq!(places.taken(), 0);
        assert!(places.lock().by.is_empty() && places.lock().within.is_empty());
    }

    #[test]
    fn a_single_place_is_one() {
        let places = Places::new(1);
        let held = places.take(Asker::Key(1));
        assert!(held.is_some() && places.take(Asker::Key(2)).is_none());
        drop(held);
        let held = places.take_within(Asker::Index(1), Asker::Key(1));
        assert!(held.is_some());
        let more = places.take_within(Asker::Index(1), Asker::Key(2));
        assert!(more.is_none());
        drop(held);
        assert!(places.take(Asker::Key(2)).is_some());
    }
}
