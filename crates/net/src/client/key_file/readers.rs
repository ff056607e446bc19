//! Key files of readers.

use sordino_vault::{ReaderKeys, ReaderPublicKey, ReaderSecret};
use zeroize::Zeroizing;

use super::{KeyFile, KeyKind};
use crate::Error;

impl KeyFile {
    /// The file of a reader's keys: of its own pair, or the key that readers share, which is the one that an owner's
    /// lead to.
    ///
    /// # Panics
    /// Never: keys have one of the two.
    #[must_use]
    pub fn of_reader(keys: &ReaderKeys) -> Self {
        let (kind, secret) = match keys.secret() {
            Some(secret) => (KeyKind::ReaderPair, secret.as_bytes()),
            None => (KeyKind::Reader, keys.content().expect("a shared key")),
        };
        let mut key = Zeroizing::new(Vec::with_capacity(kind.len()));
        key.extend_from_slice(secret);
        key.extend(keys.owner().to_bytes());
        Self::new(kind, &key)
    }

    /// The file of a reader's public key.
    #[must_use]
    pub fn of_reader_public(key: &ReaderPublicKey) -> Self {
        Self::new(KeyKind::ReaderPublic, key.as_bytes())
    }

    /// The reader's keys: of a reader's or the owner's file.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if it is another kind of key.
    pub fn reader(&self) -> Result<ReaderKeys, Error> {
        match self.kind {
            KeyKind::Owner => Ok(self.owner()?.reader()),
            KeyKind::Reader => Ok(ReaderKeys::from_content(*self.secret(), self.public()?)),
            KeyKind::ReaderPair => {
                let secret = ReaderSecret::from_bytes(*self.secret());
                Ok(ReaderKeys::from_secret(secret, self.public()?))
            }
            _ => Err(self.wrong("a reader's or the owner's key")),
        }
    }

    /// A reader's public key: of its own or the pair's file.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if it is another kind of key, and [`Error::ReaderKey`] if nothing can be wrapped for it.
    pub fn reader_public(&self) -> Result<ReaderPublicKey, Error> {
        match self.kind {
            KeyKind::ReaderPair => Ok(ReaderSecret::from_bytes(*self.secret()).public()),
            KeyKind::ReaderPublic => ReaderPublicKey::from_bytes(&self.key)
                .map_err(|why| Error::ReaderKey(Box::new(why))),
            _ => Err(self.wrong("a reader's public key, or its pair")),
        }
    }
}
