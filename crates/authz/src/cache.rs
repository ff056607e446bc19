//! A bounded table from lists of fields to values, read without a lock and without an allocation.
//!
//! # Keys
//!
//! An entry is found by a hash and then compared with the whole [key](crate::key). Hashes that collide cost a
//! comparison, and never give a wrong value, so the hash need not resist collisions. Each process draws new secrets for
//! the hash, so that an attacker cannot easily fill one set. A full set would only cause misses.
//!
//! # Form
//!
//! The table has sets of four slots. A word next to each set holds sixteen bits of the hash of every slot. So a reader
//! nearly always examines at most one slot. The crate `arc-swap` swaps a slot as a whole: a reader sees an entry before
//! or after a change and never waits. Tags are written after their slot. A reader that comes between the two writes
//! misses the entry, or compares an entry whose key differs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;

use crate::key::Key;

/// The slots in each set.
const WAYS: usize = 4;
/// The bytes counted for an entry in addition to its key and to what its value points at: the allocation's overhead,
/// and the value.
const ENTRY: usize = 256;
/// The expected bytes of entries for each slot.
const SLOT: usize = 384;

/// A table from keys of `N` fields to values.
#[derive(Debug)]
pub(crate) struct Cache<V, const N: usize> {
    slots: Box<[ArcSwapOption<Entry<V, N>>]>,
    tags: Box<[AtomicU64]>,
    /// The bytes of all entries, and their bound.
    used: AtomicUsize,
    most: usize,
    /// The slot that is emptied next when memory is needed.
    hand: AtomicUsize,
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Entry<V, const N: usize> {
    /// The bytes of memory that are counted for this entry.
    bytes: usize,
    lengths: [usize; N],
    /// The bytes of all fields, one field after the other.
    fields: Box<[u8]>,
    pub(crate) value: V,
}

impl<V, const N: usize> Entry<V, N> {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if the entry has this key.
    #[inline(always)]
    pub(crate) fn has(&self, key: &Key<'_, N>) -> bool {
        key.is(&self.lengths, &self.fields)
    }
}

impl<V: Clone, const N: usize> Cache<V, N> {
    /// An empty cache whose entries, keys included, stay below `most` bytes, and its slots below a twentieth of that.
    pub(crate) fn new(most: usize) -> Self {
        let sets = (most / SLOT / WAYS).next_power_of_two();
        Self {
            slots: (0..sets * WAYS).map(|_| ArcSwapOption::empty()).collect(),
            tags: (0..sets).map(|_| AtomicU64::new(0)).collect(),
            used: AtomicUsize::new(0),
            most,
            hand: AtomicUsize::new(0),
        }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Key<'_, N>) -> Option<V> {
        self.find(key, |entry| entry.value.clone())
    }

    /// The entry of a key.
    pub(crate) fn entry(&self, key: &Key<'_, N>) -> Option<Arc<Entry<V, N>>> {
        self.find(key, Arc::clone)
    }

    #[inline]
    fn find<T>(&self, key: &Key<'_, N>, of: impl Fn(&Arc<Entry<V, N>>) -> T) -> Option<T> {
        let set = key.set(self.tags.len());
        let tags = self.tags[set].load(Ordering::Acquire);
        (0..WAYS)
            .filter(|way| tags >> (16 * way) & 0xFFFF == key.tag())
            .find_map(|way| {
                let entry = self.slots[WAYS * set + way].load();
                entry.as_ref().filter(|entry| entry.has(key)).map(&of)
            })
    }

    /// Stores a value that points at `beside` more bytes, unless these bytes and the key are longer than an eighth of
    /// the cache.
    pub(crate) fn insert(&self, key: &Key<'_, N>, value: V, beside: usize) {
        let fields = key.fields().iter().map(|field| field.len());
        let bytes = ENTRY + beside + fields.sum::<usize>();
        if bytes > self.most / 8 {
            return;
        }
        let (set, tag) = (key.set(self.tags.len()), key.tag());
        let tags = self.tags[set].load(Ordering::Acquire);
        let of = |wanted: u64| (0..WAYS).find(|way| tags >> (16 * way) & 0xFFFF == wanted);
        let turn = || self.hand.fetch_add(1, Ordering::Relaxed) % WAYS;
        let way = of(tag).or_else(|| of(0)).unwrap_or_else(turn);
        let entry = Entry {
            bytes,
            lengths: key.fields().map(<[u8]>::len),
            fields: key.fields().concat().into(),
            value,
        };
        self.put(WAYS * set + way, Some(entry), tag);
        // Other threads may insert at the same time. Each empties slots until its entry fits, at most all slots.
        for _ in 0..self.slots.len() {
            if self.used.load(Ordering::Relaxed) <= self.most {
                break;
            }
            let slot = self.hand.fetch_add(1, Ordering::Relaxed) % self.slots.len();
            self.put(slot, None, 0);
        }
    }

    /// Puts an entry into a slot, and the entry's tag into the word next to the set.
    fn put(&self, slot: usize, entry: Option<Entry<V, N>>, tag: u64) {
        let bytes = entry.as_ref().map_or(0, Entry::bytes);
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(old) = self.slots[slot].swap(entry.map(Arc::new)) {
            self.used.fetch_sub(old.bytes(), Ordering::Relaxed);
        }
        let shift = 16 * (slot % WAYS);
        let set = |tags: u64| Some(tags & !(0xFFFF << shift) | tag << shift);
        let tags = &self.tags[slot / WAYS];
        // The closure always gives a value, so the update never fails.
        let _ = tags.fetch_update(Ordering::AcqRel, Ordering::Acquire, set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::hash;

    fn key<const N: usize>(fields: [&[u8]; N]) -> Key<'_, N> {
        Key::new(fields, hash(fields[N - 1]))
    }

    fn one(field: &[u8]) -> Key<'_, 3> {
        key([b"a", field, b"b"]).of_hash(7)
    }

    /// An earlier version hashed fields one after the other, so these pairs had the same key.
    #[test]
    fn borders_of_fields_are_in_the_key() {
        let long = [b'x'; 300];
        for tail in [&b""[..], &long] {
            let cache = Cache::new(1 << 20);
            let first = [&b"user"[..], b"1read", b"", tail];
            cache.insert(&key(first), 1, 0);
            assert_eq!(cache.get(&key(first)), Some(1));
            for other in [
                [&b"user1"[..], b"read", b"", tail],
                [b"user1read", b"", b"", tail],
                [b"user", b"1rea", b"d", tail],
                [b"user", b"1", b"read", tail],
                [b"USER", b"1read", b"", tail],
            ] {
                // The entries stay apart even if both hashes are equal.
                let collides = key(other).of_hash(key(first).hash());
                assert_eq!(cache.get(&key(other)), None);
                assert_eq!(cache.get(&collides), None);
            }
        }
    }

    /// With one hash for all keys, only the comparison of keys keeps them apart: for every length, at every byte.
    #[test]
    fn keys_of_one_hash_are_kept_apart() {
        for len in 0..40 {
            let field: Vec<u8> = (0..len).collect();
            let cache = Cache::new(1 << 20);
            cache.insert(&one(&field), u32::from(len), 0);
            assert_eq!(cache.get(&one(&field)), Some(u32::from(len)));
            for at in 0..usize::from(len) {
                let mut other = field.clone();
                other[at] ^= 0x80;
                assert_eq!(
                    cache.get(&one(&other)),
                    None,
                    "{len} bytes, the one at {at}"
                );
                assert_eq!(cache.get(&one(&field[at + 1..])), None);
            }
        }
    }

    #[test]
    fn it_stays_below_its_bound() {
        let cache = Cache::new(1 << 16);
        for i in 0..20_000_u32 {
            let field = vec![b'k'; (i as usize * 37) % 9000];
            let head = i.to_le_bytes();
            let key = key([&head[..], &field]);
            let beside = (i as usize * 53) % 5000;
            cache.insert(&key, i, beside);
            assert!(cache.used.load(Ordering::Relaxed) <= cache.most);
            let fits = ENTRY + 4 + field.len() + beside <= cache.most / 8;
            assert!(fits || cache.get(&key).is_none());
        }
        let entries = cache.slots.iter().filter_map(|slot| slot.load_full());
        let bytes = entries.map(|entry| entry.bytes()).sum::<usize>();
        assert_eq!(bytes, cache.used.load(Ordering::Relaxed));
        assert!(bytes > cache.most / 2);
    }

    #[test]
    fn threads_find_their_own_values_only() {
        let cache = Cache::new(1 << 15);
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..20_000_u32 {
                        let number = (i * 7 + thread) % 500;
                        let bytes = number.to_le_bytes();
                        let key = key([&bytes[..], b"field"]);
                        match cache.get(&key) {
                            Some(found) => assert_eq!(found, number),
                            None => cache.insert(&key, number, 0),
                        }
                    }
                });
            }
        });
    }
}
