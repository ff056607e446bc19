//! The keys that a server holds, by their names.

use std::collections::HashMap;
use std::sync::Arc;

use super::keys::{Digest, Evaluation, Keys};
use crate::Error;

/// Keys of sessions, 1.5 MB each, up to a fixed number. When there is no room, the holder with the most keys loses the
/// keys that were unused for the longest time. A client whose keys are gone sends them again.
///
/// So no holder can drive out the keys of a holder that has fewer: each of `n` holders keeps an `n`-th of the room. The
/// server decides which clients count as one holder.
#[derive(Debug)]
pub struct Sessions {
    most: usize,
    keys: HashMap<Digest, Held>,
    /// The number of requests so far, which serves as a clock.
    now: u64,
}

/// The keys of a session.
#[derive(Debug)]
struct Held {
    /// The value of `now` at the last request for these keys.
    asked: u64,
    /// The holder that first sent these keys.
    holder: u128,
    keys: Arc<Evaluation>,
}

impl Sessions {
    /// Room for the keys of up to `most` sessions, and at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            keys: HashMap::new(),
            now: 0,
        }
    }

    /// The number of sessions whose keys are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if it holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Stores the keys that a server's only holder sent, and returns them in the form for computing. If they are stored
    /// already, it returns the existing ones.
    pub fn insert(&mut self, keys: &Keys) -> Arc<Evaluation> {
        self.insert_of(0, keys)
    }

    /// Like [`insert`](Self::insert), for one of several holders. `holder` is the number by which the server knows it.
    pub fn insert_of(&mut self, holder: u128, keys: &Keys) -> Arc<Evaluation> {
        let digest = keys.digest();
        if let Ok(held) = self.get(&digest) {
            return held;
        }
        if self.keys.len() >= self.most {
            self.forget(holder);
        }
        let keys = Arc::new(Evaluation::from(keys));
        self.now += 1;
        let held = Held {
            asked: self.now,
            holder,
            keys: Arc::clone(&keys),
        };
        self.keys.insert(digest, held);
        keys
    }

    /// The keys with this digest.
    ///
    /// # Errors
    /// [`Error::SessionUnknown`] if the server does not hold them. The client then sends them again.
    pub fn get(&mut self, digest: &Digest) -> Result<Arc<Evaluation>, Error> {
        self.now += 1;
        let held = self.keys.get_mut(digest).ok_or(Error::SessionUnknown)?;
        held.asked = self.now;
        Ok(Arc::clone(&held.keys))
    }

    /// Makes room for a holder's new keys. The holder that would have the most keys loses those that were unused for the
    /// longest time.
    fn forget(&mut self, coming: u128) {
        let mut counts = HashMap::from([(coming, 1)]);
        for held in self.keys.values() {
            *counts.entry(held.holder).or_insert(0) += 1;
        }
        let most = self.keys.values().map(|held| counts[&held.holder]).max();
        let of_most = self
            .keys
            .iter()
            .filter(|(_, held)| Some(counts[&held.holder]) == most);
        let oldest = of_most.min_by_key(|(_, held)| held.asked);
        let oldest = oldest.map(|(digest, _)| *digest);
        oldest.map(|digest| self.keys.remove(&digest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hintless::Session;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn keys_are_found_by_name_and_the_ones_asked_for_longest_ago_go() {
        let keys = [1, 2, 3].map(|seed| Session::new(&mut ChaCha20Rng::from_seed([seed; 32])).1);
        let mut sessions = Sessions::new(2);
        assert!(sessions.is_empty());
        for keys in &keys[..2] {
            assert_eq!(sessions.insert(keys).digest(), &keys.digest());
        }
        // The request names the first session again, so that the second session is now the one unused for longest.
        let first = sessions.insert(&keys[0]);
        assert!(Arc::ptr_eq(&first, &sessions.insert(&keys[0])));
        assert_eq!(sessions.len(), 2);
        sessions.insert(&keys[2]);
        assert_eq!(sessions.len(), 2);
        assert!(sessions.get(&keys[0].digest()).is_ok());
        let gone = sessions.get(&keys[1].digest());
        assert!(matches!(gone, Err(Error::SessionUnknown)));
        assert!(sessions.get(&keys[2].digest()).is_ok());
    }

    /// However many sessions one holder opens, and however often it names them, a second holder keeps its share.
    #[test]
    fn a_holder_drives_out_no_more_than_its_share() {
        let keys: Vec<Keys> = (0..12)
            .map(|seed| Session::new(&mut ChaCha20Rng::from_seed([seed; 32])).1)
            .collect();
        let mut sessions = Sessions::new(4);
        for keys in &keys[..4] {
            sessions.insert_of(1, keys);
        }
        for keys in &keys[4..6] {
            sessions.insert_of(2, keys);
        }
        for keys in &keys[6..] {
            sessions.insert_of(1, keys);
            assert_eq!(sessions.len(), 4);
        }
        // A third holder takes room from the holder that has the most.
        let kept = |sessions: &mut Sessions, at: usize| sessions.get(&keys[at].digest()).is_ok();
        assert!(kept(&mut sessions, 4) && kept(&mut sessions, 5));
        assert!(kept(&mut sessions, 11));
        sessions.insert_of(3, &keys[0]);
        assert!(kept(&mut sessions, 0));
        let of_two = usize::from(kept(&mut sessions, 4)) + usize::from(kept(&mut sessions, 5));
        assert!(of_two >= 1 && sessions.len() == 4);
    }
}
