//! Network addresses, the holder that each counts for, and the holder's budget.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::rate::Rate;

/// The bits of an IPv6 address that name its network. All addresses of a network have the same holder.
const NETWORK: u128 = !(u64::MAX as u128);

/// The number of addresses that have budgets of their own, about 1 MB. All others share one budget.
const ADDRESSES: usize = 8192;

/// The holder for which connections from this address are counted: the IPv4 address, even if it is written as IPv6, or
/// the IPv6 network of 64 bits.
pub(crate) fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

/// Budgets with one rate for each address.
///
/// After a second without requests, an address has a full budget, like a new address. So it is forgotten when there
/// are many addresses.
#[derive(Debug)]
pub(crate) struct Budgets {
    buckets: Mutex<Buckets>,
}

#[derive(Debug)]
struct Buckets {
    per_second: f64,
    of: HashMap<IpAddr, Rate>,
    others: Rate,
}

impl Budgets {
    pub(crate) fn new(per_second: f64, now: Instant) -> Self {
        Self {
            buckets: Mutex::new(Buckets {
                per_second,
                of: HashMap::new(),
                others: Rate::new(per_second, now),
            }),
        }
    }

    /// Changes the rate of every address.
    pub(crate) fn set(&self, per_second: f64, now: Instant) {
        let mut buckets = self.lock();
        buckets.per_second = per_second;
        buckets.others.set(per_second, now);
        for rate in buckets.of.values_mut() {
            rate.set(per_second, now);
        }
    }

    /// Takes one request from the budget of an address, if any is left. [`holder`] made the address.
    pub(crate) fn take(&self, address: IpAddr, now: Instant) -> bool {
        let mut buckets = self.lock();
        if buckets.of.len() >= ADDRESSES && !buckets.of.contains_key(&address) {
            buckets.of.retain(|_, rate| !rate.is_full(now));
            if buckets.of.len() >= ADDRESSES {
                return buckets.others.take(now);
            }
        }
        let per_second = buckets.per_second;
        let new = || Rate::new(per_second, now);
        buckets.of.entry(address).or_insert_with(new).take(now)
    }

    /// Each statement leaves the counts consistent, so a panic in another place does not affect them.
    fn lock(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn other_spellings_and_neighbours_of_an_address_stand_for_one_holder() {
        for (one, other, same) in [
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8::1", "2001:db8::2:3:4:5", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            assert_eq!(holder(ip(one)) == holder(ip(other)), same, "{one} {other}");
        }
    }

    #[test]
    fn one_address_cannot_use_up_the_budget_of_another() {
        let start = Instant::now();
        let budgets = Budgets::new(5.0, start);
        let passed = |address: &str| (0..50).filter(|_| budgets.take(ip(address), start)).count();
        assert_eq!(passed("192.0.2.1"), 5);
        assert_eq!(passed("192.0.2.2"), 5);
        assert_eq!(passed("192.0.2.1"), 0);
    }

    /// A bounded number of addresses is remembered, whatever number of addresses sends requests. Addresses with full
    /// budgets are forgotten.
    #[test]
    fn memory_is_bounded_and_resting_addresses_are_forgotten() {
        let start = Instant::now();
        let budgets = Budgets::new(2.0, start);
        let come = |from: u32, now: Instant| {
            let hosts = (0..20_000).map(|host| IpAddr::from(Ipv4Addr::from_bits(from + host)));
            hosts.filter(|&host| budgets.take(host, now)).count()
        };
        let passed = come(0, start);
        assert_eq!(passed, ADDRESSES + 2, "the others share one budget");
        assert_eq!(budgets.lock().of.len(), ADDRESSES);
        let later = start + Duration::from_secs(2);
        assert_eq!(come(1 << 20, later), ADDRESSES + 2);
        assert_eq!(budgets.lock().of.len(), ADDRESSES);
    }
}
