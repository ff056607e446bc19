//! The terms of a proxy.

use crate::origins::Origin;
use crate::records::Records;
use std::sync::Arc;
use std::time::Duration;

/// The terms of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// The time that a request may take, waiting for a server that is busy or away included.
    pub timeout: Duration,
    /// The origins of pages that may ask from a browser, with the token. None: no page may.
    pub origins: Vec<Origin>,
    /// The index to its owner, by which programs that have the token write and list records. None: they cannot.
    pub records: Option<Arc<dyn Records>>,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            origins: Vec::new(),
            records: None,
        }
    }
}
