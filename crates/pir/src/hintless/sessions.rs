//! The keys that a server holds, by their names.

use std::collections::HashMap;
use std::sync::Arc;

use super::keys::{Digest, Evaluation, Keys};
use crate::Error;

/// Keys of sessions, at most a fixed number of them: 1.5 MB each. When there is no room, those go that were asked
/// for longest ago; a client whose keys are gone sends them again.
///
/// Whoever may fill it may drive out the keys of others: a server admits clients before it takes their keys.
#[derive(Debug)]
pub struct Sessions {
    most: usize,
    /// Each with the time at which it was asked for last.
    keys: HashMap<Digest, (u64, Arc<Evaluation>)>,
    /// Counts what is asked.
    now: u64,
}

impl Sessions {
    /// Room for the keys of `most` sessions, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            keys: HashMap::new(),
            now: 0,
        }
    }

    /// The sessions whose keys are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Takes keys, and gives them back as a server uses them: the same ones, where they are held already.
    pub fn insert(&mut self, keys: &Keys) -> Arc<Evaluation> {
        let digest = keys.digest();
        if let Ok(held) = self.get(&digest) {
            return held;
        }
        if self.keys.len() >= self.most {
            let oldest = self.keys.iter().min_by_key(|(_, (asked, _))| *asked);
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.map(|digest| self.keys.remove(&digest));
        }
        let evaluation = Arc::new(Evaluation::from(keys));
        self.now += 1;
        self.keys
            .insert(digest, (self.now, Arc::clone(&evaluation)));
        evaluation
    }

    /// The keys of this name.
    ///
    /// # Errors
    /// [`Error::SessionUnknown`] if they are not held: the client sends them again.
    pub fn get(&mut self, digest: &Digest) -> Result<Arc<Evaluation>, Error> {
        self.now += 1;
        let (asked, keys) = self.keys.get_mut(digest).ok_or(Error::SessionUnknown)?;
        *asked = self.now;
        Ok(Arc::clone(keys))
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
        // Again, so that the second is the one asked for longest ago.
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
}
