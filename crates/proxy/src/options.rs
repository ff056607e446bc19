//! The options of a proxy.

use crate::records::Records;
use crate::token::Token;
use sordino_net::Origin;
use std::sync::Arc;
use std::time::Duration;

/// The options of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyOptions {
    /// The time limit of a request, including the wait for a server that is busy or away.
    pub timeout: Duration,
    /// The origins of web pages that may send requests from a browser, with the token. If the list is empty, no page
    /// may.
    pub origins: Vec<Origin>,
    /// The owner's records, which programs may write and list. With `None`, no program may.
    pub writing: Option<Writing>,
}

/// Records that programs write and list.
#[derive(Clone, Debug)]
pub struct Writing {
    /// The records.
    pub records: Arc<dyn Records>,
    /// The token of programs that may write and list records. It must differ from the token of searches, because anyone
    /// who has it can delete records.
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
