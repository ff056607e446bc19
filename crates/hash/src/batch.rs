//! The hasher for lists of messages.

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;

use crate::mode::Mode;
use crate::{Backend, Error, list, single};

/// The value of a digest before it is computed.
pub(crate) const EMPTY: Hash = Hash::from_bytes([0; 32]);

/// BLAKE3 of every message of a list, in one of its three modes.
///
/// It has the constructors of [`blake3::Hasher`], and every digest is what that hasher gives for the message alone.
/// Messages may have any mix of lengths; messages of one length are fastest. A hasher serves any number of lists.
///
/// # Examples
/// ```
/// use sordino_hash::{BatchHasher, hash, keyed_hash};
///
/// let messages = [b"first".as_slice(), b"", b"third"];
/// assert_eq!(BatchHasher::new().hash(&messages)[2], hash(b"third"));
///
/// let mut tags = [[0; 32]; 3];
/// BatchHasher::new_keyed(&[7; 32]).hash_into(&messages, &mut tags)?;
/// assert_eq!(keyed_hash(&[7; 32], b"first"), tags[0]);
/// # Ok::<(), sordino_hash::Error>(())
/// ```
///
/// # Security
/// Time depends only on the lengths of the messages. Under a key or a context, the hasher overwrites the key and
/// chaining values in this crate's buffers. It does not overwrite copies in registers, or copies that the compiler
/// spilled. It overwrites its key when it is dropped. The caller must overwrite derived keys.
#[derive(Clone)]
pub struct BatchHasher {
    pub(crate) mode: Mode,
    /// The backend that the caller chose, if any.
    backend: Option<Backend>,
}

impl core::fmt::Debug for BatchHasher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BatchHasher")
            .field("backend", &self.present().name())
            .finish_non_exhaustive()
    }
}

impl Default for BatchHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchHasher {
    /// A plain hasher: each digest is [`blake3::hash`] of its message.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Mode::hash())
    }

    /// A hasher that authenticates under one key: each tag is [`blake3::keyed_hash`] of its message.
    #[must_use]
    pub fn new_keyed(key: &[u8; 32]) -> Self {
        Self::of(Mode::keyed(key))
    }

    /// A hasher that derives keys: each key is [`blake3::derive_key`] of `context` and its message, the key material.
    ///
    /// `context` should be hard-coded, globally unique and specific to the application. The hasher hashes it once for
    /// all lists.
    #[must_use]
    pub fn new_derive_key(context: &str) -> Self {
        Self::of(Mode::derive_key(context))
    }

    fn of(mode: Mode) -> Self {
        Self {
            mode,
            backend: None,
        }
    }

    /// The same hasher on a backend that the caller chooses, for tests and benchmarks.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// The backend that hashes lists.
    pub(crate) fn present(&self) -> Backend {
        self.backend.unwrap_or_else(Backend::detect)
    }

    /// The digest of every message, in the order of the messages. The result is the only allocation.
    #[must_use]
    pub fn hash<M: AsRef<[u8]>>(&self, messages: &[M]) -> Vec<Hash> {
        let mut digests = vec![EMPTY; messages.len()];
        self.fill(messages, &mut digests);
        digests
    }

    /// Like [`Self::hash`], but writes the digests to memory of the caller and allocates nothing. The elements are
    /// [`struct@Hash`]es or arrays of 32 bytes.
    ///
    /// # Errors
    /// [`Error::Digests`] if the numbers of digests and messages differ. No digest is written then.
    pub fn hash_into<M: AsRef<[u8]>, D: From<[u8; 32]>>(
        &self,
        messages: &[M],
        digests: &mut [D],
    ) -> Result<(), Error> {
        check_lengths(messages, digests)?;
        self.fill(messages, digests);
        Ok(())
    }

    /// Hashes one message for each digest.
    fn fill<M: AsRef<[u8]>, D: From<[u8; 32]>>(&self, messages: &[M], digests: &mut [D]) {
        if let (None, [message], [digest]) = (self.backend, messages, &mut *digests) {
            *digest = single::hash(&self.mode, message.as_ref(), false).into();
            return;
        }
        list::hash(self.present(), &self.mode, messages, digests, false);
    }
}

pub(crate) fn check_lengths<M, D>(messages: &[M], digests: &[D]) -> Result<(), Error> {
    let (expected, found) = (messages.len(), digests.len());
    if found == expected {
        Ok(())
    } else {
        Err(Error::Digests { found, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let hasher = BatchHasher::new_keyed(&[7; 32]).backend(Backend::PORTABLE);
        let text = alloc::format!("{hasher:?}");
        assert_eq!(text, "BatchHasher { backend: \"portable\", .. }");
    }
}
