//! A server that records requests and changes replies.

use sordino_search::{Error, InProcess, Server, Transport};

/// The request for a manifest, as on the wire.
pub const GET_MANIFEST: u16 = 101;
/// The request for parts.
pub const GET_PARTS: u16 = 103;
/// The request for scores.
pub const SCORE: u16 = 105;
/// The request for buckets.
pub const FETCH: u16 = 107;
/// The request for payloads.
pub const FETCH_PAYLOADS: u16 = 109;
/// The request for the manifests between two versions.
pub const GET_HISTORY: u16 = 111;

/// The kind of a request.
#[must_use]
pub fn kind(request: &[u8]) -> u16 {
    u16::from_le_bytes([request[6], request[7]])
}

/// A server that records all requests, and changes its replies: `change` gets the request and the reply.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Hostile<'a, F> {
    /// The server, which counts its exchanges.
    pub inner: InProcess<'a>,
    /// All requests, in order.
    pub requests: Vec<Vec<u8>>,
    change: F,
}

impl<'a, F: FnMut(&[u8], &mut Vec<u8>)> Hostile<'a, F> {
    /// Connects to a server.
    #[must_use]
    pub fn new(server: &'a Server, change: F) -> Self {
        Self {
            inner: InProcess::new(server),
            requests: Vec::new(),
            change,
        }
    }
}

impl<F: FnMut(&[u8], &mut Vec<u8>)> Transport for Hostile<'_, F> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        self.requests.push(request.to_vec());
        let mut reply = self.inner.call(request, limit)?;
        assert!(
            reply.len() <= limit,
            "the limit is the honest length or more"
        );
        (self.change)(request, &mut reply);
        Ok(reply)
    }
}
