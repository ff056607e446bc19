//! The three modes of BLAKE3 (section 2.3): the values that all compressions of a message share.

use blake3::Hasher;
use blake3::hazmat::HasherExt;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::node::{IV, bytes_of, flag, words_of};

/// From this length on, several threads hash one message faster than one thread.
#[cfg(feature = "rayon")]
const VERY_LONG: usize = 1 << 20;

/// The key words every node starts from, and the flags every block carries.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Mode {
    pub(crate) key: [u32; 8],
    pub(crate) flags: u32,
}

impl Mode {
    pub(crate) fn hash() -> Self {
        Self { key: IV, flags: 0 }
    }

    pub(crate) fn keyed(key: &[u8; 32]) -> Self {
        Self {
            key: words_of(key),
            flags: flag::KEYED_HASH,
        }
    }

    pub(crate) fn derive_key(context: &str) -> Self {
        let key = blake3::hazmat::hash_derive_key_context(context);
        Self {
            key: words_of(&key),
            flags: flag::DERIVE_KEY_MATERIAL,
        }
    }

    /// True if chaining values of this mode may depend on a secret.
    pub(crate) fn is_secret(&self) -> bool {
        self.flags != 0
    }

    /// Hashes one whole message with the official crate, which fills its own lanes from the chunks of a long
    /// input. `threads` lets it use rayon if the input is long enough to gain from it.
    pub(crate) fn official(&self, message: &[u8], threads: bool) -> [u8; 32] {
        #[cfg(feature = "rayon")]
        let threads = threads && message.len() >= VERY_LONG;
        #[cfg(not(feature = "rayon"))]
        debug_assert!(!threads, "only `par_` methods ask for threads");
        if self.flags == 0 && !threads {
            return blake3::hash(message).into();
        }
        let key = Zeroizing::new(bytes_of(&self.key));
        let hasher = match self.flags {
            0 => Hasher::new(),
            flag::KEYED_HASH => Hasher::new_keyed(&key),
            _ => Hasher::new_from_context_key(&key),
        };
        #[cfg(feature = "zeroize")]
        let mut hasher = Zeroizing::new(hasher);
        #[cfg(not(feature = "zeroize"))]
        let mut hasher = hasher;
        #[cfg(feature = "rayon")]
        if threads {
            hasher.update_rayon(message);
            return hasher.finalize().into();
        }
        hasher.update(message);
        hasher.finalize().into()
    }
}
