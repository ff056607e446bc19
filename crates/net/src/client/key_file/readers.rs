//! Key files of readers and writers.

use sordino_vault::{
    ReaderKeys, ReaderPublicKey, ReaderSecret, WriterKeys, WriterPublicKey, WriterSecret,
};
use zeroize::Zeroizing;

use super::{KeyFile, KeyKind};
use crate::Error;

impl KeyFile {
    /// The file of a reader's keys: its own pair, or the key that readers share. An owner's keys give the shared key.
    ///
    /// # Panics
    /// Never panics: a reader's keys are a pair or the shared key.
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

    /// The reader's keys, from a reader's file or the owner's.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn reader(&self) -> Result<ReaderKeys, Error> {
        match self.kind {
            KeyKind::Owner => Ok(self.owner()?.reader()),
            KeyKind::Reader => Ok(ReaderKeys::from_content(*self.secret(), self.public()?)),
            KeyKind::ReaderPair => {
                let secret = ReaderSecret::from_bytes(*self.secret());
                Ok(ReaderKeys::from_secret(secret, self.public()?))
            }
            KeyKind::Writer => Ok(self.writer()?.reader()),
            _ => Err(self.wrong("a reader's or the owner's key")),
        }
    }

    /// A reader's public key, from its own file or the pair's.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key, and [`Error::ReaderKey`] if nothing can be wrapped
    /// for it.
    pub fn reader_public(&self) -> Result<ReaderPublicKey, Error> {
        match self.kind {
            KeyKind::ReaderPair => Ok(ReaderSecret::from_bytes(*self.secret()).public()),
            KeyKind::ReaderPublic => ReaderPublicKey::from_bytes(&self.key)
                .map_err(|why| Error::ReaderKey(Box::new(why))),
            KeyKind::Writer | KeyKind::WriterPublic => Ok(self.writer_public()?.reader),
            _ => Err(self.wrong("a reader's public key, or its pair")),
        }
    }

    /// The file of a writer's keys.
    #[must_use]
    pub fn of_writer(keys: &WriterKeys) -> Self {
        let mut key = Zeroizing::new(Vec::with_capacity(KeyKind::Writer.len()));
        key.extend_from_slice(keys.secret().as_bytes());
        key.extend(keys.owner().to_bytes());
        Self::new(KeyKind::Writer, &key)
    }

    /// The file of a writer's public key.
    #[must_use]
    pub fn of_writer_public(key: &WriterPublicKey) -> Self {
        Self::new(KeyKind::WriterPublic, &key.to_bytes())
    }

    /// The writer's keys.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn writer(&self) -> Result<WriterKeys, Error> {
        match self.kind {
            KeyKind::Writer => {
                let secret = WriterSecret::from_bytes(*self.secret());
                Ok(WriterKeys::new(secret, self.public()?))
            }
            _ => Err(self.wrong("a writer's key")),
        }
    }

    /// A writer's public key, from its file or the secret key's.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key, and [`Error::ReaderKey`] if nothing can be wrapped
    /// for it.
    pub fn writer_public(&self) -> Result<WriterPublicKey, Error> {
        match self.kind {
            KeyKind::Writer => Ok(self.writer()?.secret().public()),
            KeyKind::WriterPublic => WriterPublicKey::from_bytes(&self.key)
                .map_err(|why| Error::ReaderKey(Box::new(why))),
            _ => Err(self.wrong("a writer's public key, or its key")),
        }
    }
}
