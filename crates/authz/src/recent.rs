//! The last decisions of each thread, in a table in front of the cache that all threads share.
//!
//! # Why nothing in it is stale
//!
//! Every state of every engine in this process has its own number. An entry of this table has the number of the state
//! whose cache it came from. An engine publishes the number of its next state *before* that state, and a replacement
//! returns after both are published. A check reads the number first, and uses an entry only if it has exactly that
//! number.
//!
//! - A check that begins after a replacement has returned reads its number or a later one. So what it finds was decided
//!   by that state or a later one.
//! - A check that got a decision of a state has seen that state published, and with it the state's number. A later
//!   check, in this thread or in a thread that learned of the decision, reads that number or a later one. So it never
//!   goes back to an older state.
//! - Between the two publications a check reads the new number, and finds nothing under it. It asks the state that it
//!   loads, the old one or the new one. It overlaps the replacement, so either will do. The decision is remembered
//!   under the number of the state that was asked, not the one that was read.
//!
//! One 64-bit counter gives all numbers. So an engine that takes a dropped engine's place in memory has other numbers.
//!
//! # Bounds
//!
//! A thread has 16 KiB for its table, and keeps at most 1,024 entries of at most 1 KiB each. It shares the memory of an
//! entry with the cache while the cache keeps it. Longer entries are found only in the cache. Entries of replaced
//! states or dropped engines stay within that bound, until other entries take their slots or the thread ends. This
//! module allocates nothing.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::Entry;
use crate::decision::Decision;
use crate::key::Key;

/// The fields of a request in a key.
pub(crate) const FIELDS: usize = 7;
/// The number of sets, of two slots each.
const SETS: usize = 512;
/// The size in bytes of the longest entry.
const LONGEST: usize = 1024;

type Remembered = Arc<Entry<Decision, FIELDS>>;

/// The number of a state, and an entry of its cache.
type Slot = (u64, Option<Remembered>);

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent::NONE) };
}

/// A new number that no state has had. The first is 1, so no state has 0.
pub(crate) fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The decision by the state with this number, if this thread remembers it.
#[inline(always)]
pub(crate) fn get(number: u64, key: &Key<'_, FIELDS>) -> Option<Decision> {
    // A thread that is ending has no table any more.
    let found = RECENT.try_with(|recent| recent.borrow().get(number, key));
    found.ok().flatten()
}

/// Remembers an entry from the cache of the state with this number.
pub(crate) fn put(number: u64, key: &Key<'_, FIELDS>, entry: Remembered) {
    if entry.bytes() <= LONGEST {
        let _ = RECENT.try_with(|recent| recent.borrow_mut().put(number, key, entry));
    }
}

/// The table of a thread. In each set, the newest entry is first.
struct Recent([[Slot; 2]; SETS]);

impl Recent {
    const NONE: Self = Self([const { [(0, None), (0, None)] }; SETS]);

    #[inline(always)]
    fn get(&self, number: u64, key: &Key<'_, FIELDS>) -> Option<Decision> {
        self.0[key.set(SETS)].iter().find_map(|(of, entry)| {
            let entry = entry.as_ref().filter(|_| *of == number)?;
            entry.has(key).then(|| entry.value.clone())
        })
    }

    fn put(&mut self, number: u64, key: &Key<'_, FIELDS>, entry: Remembered) {
        let set = &mut self.0[key.set(SETS)];
        set.swap(0, 1);
        set[0] = (number, Some(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::decision::Epochs;
    use crate::key::hash;

    /// A decision that can be recognised by its number.
    fn decision(policies: u64) -> Decision {
        let epochs = Epochs {
            policies,
            entities: 0,
        };
        Decision::new(true, Vec::new(), Vec::new(), epochs)
    }

    fn key<'a>(name: &'a [u8], context: &'a [u8]) -> Key<'a, FIELDS> {
        let fields = [
            b"Reader", name, b"Action", b"search", b"Index", name, context,
        ];
        Key::new(fields, hash(context))
    }

    /// The entry of a cache that holds nothing else.
    fn entry(key: &Key<'_, FIELDS>, which: u64) -> Remembered {
        let cache = Cache::new(1 << 20);
        let decision = decision(which);
        cache.insert(key, decision.clone(), decision.bytes());
        cache.entry(key).unwrap()
    }

    fn found(number: u64, key: &Key<'_, FIELDS>) -> Option<u64> {
        get(number, key).map(|decision| decision.epochs().policies)
    }

    #[test]
    fn entries_are_of_their_state_alone() {
        let key = key(b"ann", b"");
        let (one, other) = (number(), number());
        put(one, &key, entry(&key, 1));
        assert_eq!((found(one, &key), found(other, &key)), (Some(1), None));
        put(other, &key, entry(&key, 2));
        assert_eq!((found(one, &key), found(other, &key)), (Some(1), Some(2)));
        // No state has number 0, which empty slots have.
        assert_eq!(found(0, &key), None);
        let elsewhere = std::thread::spawn(move || found(one, &self::key(b"ann", b"")));
        assert_eq!(elsewhere.join().unwrap(), None);
    }

    #[test]
    fn hashes_that_collide_give_no_other_decision() {
        let number = number();
        let names: [&[u8]; 4] = [b"ann", b"bob", b"", b"a name of more than sixteen bytes"];
        let keys = names.map(|name| key(name, b"context").of_hash(5));
        for (which, one) in keys.iter().enumerate() {
            put(number, one, entry(one, which as u64));
            let before = which.checked_sub(1);
            for (at, other) in keys.iter().enumerate() {
                // A set has two slots: the newest entry, and the one before.
                let expected = (at == which || Some(at) == before).then_some(at as u64);
                assert_eq!(found(number, other), expected);
            }
        }
    }

    #[test]
    fn a_thread_keeps_as_many_as_it_says_and_no_long_ones() {
        let number = number();
        let long = vec![b'x'; LONGEST];
        let one = key(b"ann", &long);
        put(number, &one, entry(&one, 1));
        assert_eq!(found(number, &one), None);
        let (one, many) = (key(b"ann", b""), vec!["policy".into(); LONGEST / 16]);
        let decision = Decision::new(true, many, Vec::new(), Epochs::default());
        let cache = Cache::new(1 << 20);
        cache.insert(&one, decision.clone(), decision.bytes());
        put(number, &one, cache.entry(&one).unwrap());
        assert_eq!(found(number, &one), None);
        let kept: Vec<_> = (0..5000_u32)
            .map(|name| {
                let name = name.to_le_bytes();
                let (key, context) = (name, [b'x'; 500]);
                let key = self::key(&key, &context);
                let entry = entry(&key, 1);
                let weak = Arc::downgrade(&entry);
                put(number, &key, entry);
                assert_eq!(found(number, &key), Some(1));
                weak
            })
            .collect();
        let alive = || kept.iter().filter(|entry| entry.strong_count() > 0).count();
        // Names that are consecutive numbers reach nearly all sets. One process in 300 draws secrets with which they
        // miss some dozen more.
        let most = 2 * SETS;
        assert!((most * 3 / 4..=most).contains(&alive()), "{}", alive());
        RECENT.with(|recent| *recent.borrow_mut() = Recent::NONE);
        assert_eq!(alive(), 0);
    }
}
