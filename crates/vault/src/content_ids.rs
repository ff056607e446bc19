//! The key of the ids of contents. Keys, pads and nonces follow from an id, so two contents must never share one.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The words that are hashed at a time.
const CHUNK: usize = 1 << 20;

/// The key of the ids of contents. It belongs to an owner or to a writer.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ContentIds([u8; 32]);

impl ContentIds {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The id of a content in this form: a keyed digest of fresh randomness and of the whole content.
    ///
    /// Two contents must never share nonces or pads, so the id does not depend on randomness alone. A generator that
    /// repeats itself, for instance on a restored machine, repeats an id only for the same content. Only the holder of
    /// the key can tell whether an id belongs to a given content.
    pub fn id(
        &self,
        fresh: &[u8; 32],
        binding: &[u8],
        ids: &[u8],
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(fresh);
        for piece in [binding, ids] {
            hasher
                .update(&(piece.len() as u64).to_le_bytes())
                .update(piece);
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(CHUNK * size_of::<u32>()));
        for word in words {
            bytes.extend(word.to_le_bytes());
            if bytes.len() == bytes.capacity() {
                hasher.update_rayon(&bytes);
                bytes.clear();
            }
        }
        hasher.update_rayon(&bytes);
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hasher.zeroize();
        id
    }
}

impl fmt::Debug for ContentIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentIds").finish_non_exhaustive()
    }
}
