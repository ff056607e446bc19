//! A server in the same process, which also records what an observer of its messages would see.

use std::time::{Duration, Instant};

use sordino_index::Error;
use sordino_reader::Transport;
use sordino_server::Server;

/// One request and its reply, as an observer sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The request's kind, from its head.
    pub kind: u16,
    /// The size in bytes of the request.
    pub up: usize,
    /// The size in bytes of the reply, or 0 if the server refused.
    pub down: usize,
}

/// A server in the same process: the messages are the same bytes as on a network.
#[derive(Debug)]
pub struct InProcess<'a> {
    server: &'a Server,
    exchanges: Vec<Exchange>,
    server_time: Duration,
}

impl<'a> InProcess<'a> {
    /// Connects to a server.
    #[must_use]
    pub fn new(server: &'a Server) -> Self {
        Self {
            server,
            exchanges: Vec::new(),
            server_time: Duration::ZERO,
        }
    }

    /// Takes the exchanges since the last call, in order.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.exchanges)
    }

    /// The time spent in the server since the last call.
    pub fn take_server_time(&mut self) -> Duration {
        std::mem::take(&mut self.server_time)
    }
}

impl Transport for InProcess<'_> {
    fn call(&mut self, request: &[u8], _limit: usize) -> Result<Vec<u8>, Error> {
        let start = Instant::now();
        let reply = self.server.handle(request);
        self.server_time += start.elapsed();
        let kind = request
            .get(6..8)
            .map_or(0, |kind| u16::from_le_bytes([kind[0], kind[1]]));
        let down = reply.as_ref().map_or(0, Vec::len);
        self.exchanges.push(Exchange {
            kind,
            up: request.len(),
            down,
        });
        reply
    }
}
