//! The terms of a proxy.

use crate::records::Records;
use crate::token::Token;
use sordino_net::Origin;
use std::sync::Arc;
use std::time::Duration;

/// The terms of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// The time that a request may take, waiting for a server that is busy or away included.
    pub timeout: Duration,
    /// The origins of pages that may ask from a browser, with the token. None: no page may.
    pub origins: Vec<Origin>,
    /// The index to its owner, whose records programs write and list. None: they cannot.
    pub writing: Option<Writing>,
}

/// The records that programs write and list.
#[derive(Clone, Debug)]
pub struct Writing {
    /// The records.
    pub records: Arc<dyn Records>,
    /// The token of programs that may do so. It must differ from the token of searches: anyone who has it can delete.
    pub token: Token,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            origins: Vec::new(),
            writing: None,
        }
    }
}
