//! How many connections each address has open.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts connections by who made them. An address without connections takes no memory, so there
/// are never more entries than connections.
#[derive(Debug)]
pub(crate) struct Addresses {
    most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl Addresses {
    /// With so many connections for each address.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            open: Mutex::new(HashMap::new()),
        })
    }

    /// A place for one more connection from `address`, if it does not have too many.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let holder = holder(address);
        let mut open = self.lock();
        let present = open.get(&holder).copied().unwrap_or(0);
        if present >= self.most {
            return None;
        }
        open.insert(holder, present + 1);
        Some(Place {
            holder,
            addresses: Arc::clone(self),
        })
    }

    /// The counts are whole between any two statements, so a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bits of an IPv6 address that name a network: whoever has one has all addresses in it.
const NETWORK: u128 = !(u64::MAX as u128);

/// Whom connections from this address are counted for: the IPv4 address, also where it comes in
/// IPv6's form, or the IPv6 network of 64 bits.
fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

/// A connection's place among those of its address. It is given back when the connection ends.
#[derive(Debug)]
pub(crate) struct Place {
    holder: IpAddr,
    addresses: Arc<Addresses>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.addresses.lock();
        if let Some(count) = open.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn each_address_has_its_places_and_gets_them_back() {
        let addresses = Addresses::new(2);
        let mut held: Vec<Place> = (0..2)
            .map(|_| addresses.admit(ip("192.0.2.1")).expect("a place"))
            .collect();
        assert!(addresses.admit(ip("192.0.2.1")).is_none());
        assert!(addresses.admit(ip("192.0.2.2")).is_some());
        drop(held.pop());
        held.extend(addresses.admit(ip("192.0.2.1")));
        assert_eq!(held.len(), 2);
        assert!(addresses.admit(ip("192.0.2.1")).is_none());
    }

    /// Nothing is kept of an address whose connections have ended, however many come.
    #[test]
    fn memory_is_for_open_connections_only() {
        let addresses = Addresses::new(1);
        for host in 0..10_000 {
            let address = std::net::Ipv4Addr::from_bits(host).into();
            assert!(addresses.admit(address).is_some());
        }
        assert!(addresses.lock().is_empty());
    }

    #[test]
    fn other_spellings_and_neighbours_of_an_address_are_counted_with_it() {
        for (one, other, same) in [
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8::1", "2001:db8::2:3:4:5", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let addresses = Addresses::new(1);
            let _held = addresses.admit(ip(one));
            assert_eq!(addresses.admit(ip(other)).is_none(), same, "{one} {other}");
        }
    }
}
