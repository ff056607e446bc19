//! A bounded store of expanded keys, which are found by their encoding.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::key::RawKey;
use crate::params::Set;

/// At most `capacity` expanded keys. A new key replaces the one that was unused for longest.
///
/// A look-up scans one word per key, then compares whole encodings. So keys that deliberately share their first bytes
/// cost only one comparison each.
pub(crate) struct Cache {
    capacity: usize,
    /// The list grows to `capacity`, then reuses its entries.
    pub(crate) keys: Vec<RawKey>,
    encoded: Vec<Box<[u8]>>,
    /// The first eight bytes of each encoding.
    tags: Vec<[u8; 8]>,
    /// For each key, the number of the look-up that last used it.
    used: Vec<u64>,
    clock: u64,
}

/// The position of a key, which the caller may still have to expand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Ready(usize),
    Vacant(usize),
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            keys: Vec::new(),
            encoded: Vec::new(),
            tags: Vec::new(),
            used: Vec::new(),
            clock: 0,
        }
    }

    /// Finds `encoded` (a key of the right length), or assigns it the position of the key that was unused for longest.
    /// The last `capacity` distinct keys are never replaced.
    pub(crate) fn place(&mut self, set: &Set, encoded: &[u8]) -> Found {
        self.clock += 1;
        let tag: [u8; 8] = *encoded.first_chunk().expect("a key is longer than a tag");
        let known =
            (0..self.tags.len()).find(|&i| self.tags[i] == tag && *self.encoded[i] == *encoded);
        if let Some(index) = known {
            self.used[index] = self.clock;
            return Found::Ready(index);
        }
        if self.keys.len() < self.capacity {
            self.keys.push(RawKey::zero(set));
            self.encoded.push(encoded.into());
            self.tags.push(tag);
            self.used.push(self.clock);
            return Found::Vacant(self.keys.len() - 1);
        }
        let (index, _) = self
            .used
            .iter()
            .enumerate()
            .min_by_key(|(_, used)| **used)
            .expect("capacity is not 0");
        self.encoded[index].copy_from_slice(encoded);
        self.tags[index] = tag;
        self.used[index] = self.clock;
        Found::Vacant(index)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::params::{MlDsa44, Sealed};

    fn key(name: u8) -> Vec<u8> {
        // All keys have the same tag, so that whole encodings decide.
        let mut key = vec![7; MlDsa44::SET.public_key_len()];
        key[100] = name;
        key
    }

    #[test]
    fn the_key_used_longest_ago_makes_room() {
        let set = &MlDsa44::SET;
        let mut cache = Cache::new(2);
        assert_eq!(cache.place(set, &key(1)), Found::Vacant(0));
        assert_eq!(cache.place(set, &key(2)), Found::Vacant(1));
        assert_eq!(cache.place(set, &key(1)), Found::Ready(0));
        assert_eq!(cache.place(set, &key(3)), Found::Vacant(1));
        assert_eq!(cache.place(set, &key(1)), Found::Ready(0));
        assert_eq!(cache.place(set, &key(2)), Found::Vacant(1));
        assert_eq!(cache.place(set, &key(2)), Found::Ready(1));
    }
}
