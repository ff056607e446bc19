//! The choices of a session.

use sordino_index::Pin;

use super::pin_store::PinStore;
use super::retry::Retry;
use crate::cache::Cache;

/// The choices of a session. By [`SessionOptions::default`] it remembers nothing, caches nothing and makes no second
/// attempt.
#[non_exhaustive]
pub struct SessionOptions {
    /// The store in which versions are remembered.
    pub pins: Box<dyn PinStore>,
    /// Connects even if the server does not show that its version follows from the remembered one.
    pub over_gap: bool,
    /// The folder of downloads.
    pub cache: Option<Cache>,
    /// How long calls are repeated.
    pub retry: Retry,
    /// The largest number of idle transports that are kept.
    pub transports: usize,
}

sordino_index::setters! {
    SessionOptions {
        pins: Box<dyn PinStore>,
        over_gap: bool,
        cache: Option<Cache>,
        retry: Retry,
        transports: usize,
    }
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionOptions")
            .field("newest", &self.pins.newest())
            .field("over_gap", &self.over_gap)
            .field("cache", &self.cache)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            pins: Box::new(None::<Pin>),
            over_gap: false,
            cache: None,
            retry: Retry::default(),
            transports: 8,
        }
    }
}
