//! The hasher of lists of messages.

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;

use crate::mode::Mode;
use crate::{Backend, Error, list, single};

/// A place for a digest, before there is one.
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
/// Time depends on the lengths of the messages only. Under a key or a context, the key and chaining values that are
/// left in this crate's buffers are overwritten. Copies in registers, or spilled by the compiler, are not. The hasher
/// overwrites its key when it is dropped. Derived keys are the caller's to overwrite.
#[derive(Clone)]
pub struct BatchHasher {
    pub(crate) mode: Mode,
    /// The caller's choice, if it made one.
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
    /// The plain hash: each digest is [`blake3::hash`] of its message.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Mode::hash())
    }

    /// Authentication under one key: each tag is [`blake3::keyed_hash`] of its message.
    #[must_use]
    pub fn new_keyed(key: &[u8; 32]) -> Self {
        Self::of(Mode::keyed(key))
    }

    /// Derivation of keys: each key is [`blake3::derive_key`] of `context` and its message, the key material.
    ///
    /// `context` should be hard-coded, globally unique and specific to the application; it is hashed here, once
    /// for all lists.
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

    /// The same hasher on a backend of the caller's choice, for tests and benchmarks.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// The backend that lists are hashed on.
    pub(crate) fn present(&self) -> Backend {
        self.backend.unwrap_or_else(Backend::detect)
    }

    /// The digest of every message, in the order of the messages. Nothing but the result is allocated.
    #[must_use]
    pub fn hash<M: AsRef<[u8]>>(&self, messages: &[M]) -> Vec<Hash> {
        let mut digests = vec![EMPTY; messages.len()];
        self.fill(messages, &mut digests);
        digests
    }

    /// [`Self::hash`] into room of the caller's, of [`struct@Hash`]es or of 32 bytes each: nothing is allocated.
    ///
    /// # Errors
    /// [`Error::Digests`] if the numbers of digests and messages differ; no digest is written then.
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
