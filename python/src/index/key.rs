//! The key with which an index was opened.

use std::sync::Arc;

use pyo3::prelude::*;
use sordino_search::{OwnerKeys, OwnerPublicKey, Pins, ReaderKeys, WriterKeys};

use crate::keys::{self, OwnerKey, PublicKey, ReaderKey, WriterKey};

/// The key that an index was opened with, which decides what may be done.
pub(super) enum Key {
    Owner(OwnerKeys, Arc<Pins>),
    Reader(ReaderKeys),
    Writer(WriterKeys),
    Public(OwnerPublicKey),
    None,
}

impl Key {
    /// Converts the key that a caller gave.
    pub(super) fn of(key: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(key) = key else {
            return Ok(Self::None);
        };
        if let Ok(key) = key.cast::<OwnerKey>() {
            Ok(Self::Owner(key.get().0.clone(), Arc::clone(&key.get().1)))
        } else if let Ok(key) = key.cast::<ReaderKey>() {
            Ok(Self::Reader(key.get().0.clone()))
        } else if let Ok(key) = key.cast::<WriterKey>() {
            Ok(Self::Writer(key.get().0.clone()))
        } else if let Ok(key) = key.cast::<PublicKey>() {
            Ok(Self::Public(key.get().0.clone()))
        } else {
            let expected = "an OwnerKey, a ReaderKey, a WriterKey or a PublicKey";
            Err(keys::wrong(key, expected))
        }
    }

    /// The key's name in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Owner(..) => "an owner's key",
            Self::Reader(_) => "a reader's key",
            Self::Writer(_) => "a writer's key",
            Self::Public(_) => "a public key",
            Self::None => "no key",
        }
    }

    /// The key for reading, if this key can read.
    pub(super) fn reader(&self) -> Option<ReaderKeys> {
        match self {
            Self::Owner(keys, _) => Some(keys.reader()),
            Self::Reader(keys) => Some(keys.clone()),
            Self::Writer(keys) => Some(keys.reader()),
            Self::Public(_) | Self::None => None,
        }
    }

    /// The owner's public key.
    pub(super) fn public(&self) -> Option<OwnerPublicKey> {
        match self {
            Self::Owner(keys, _) => Some(keys.public()),
            Self::Reader(keys) => Some(keys.owner().clone()),
            Self::Writer(keys) => Some(keys.owner().clone()),
            Self::Public(key) => Some(key.clone()),
            Self::None => None,
        }
    }
}
