//! The limits of a server.

use std::time::Duration;

use crate::Error;

/// Limits of a server's memory and time, whatever its clients do.
///
/// The defaults suit one machine with an index of a few hundred thousand vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest number of connections; further ones are closed at once.
    pub connections: usize,
    /// The largest number of connections of one IPv4 address or one IPv6 network of 64 bits. A program that passes
    /// connections on, such as a proxy, is one address.
    pub per_address: usize,
    /// The largest number of new connections per second of one address. Further ones are closed as they come.
    pub connects_per_address: f64,
    /// The largest number of requests in flight on one connection; HTTP/2 lets no client start more.
    pub per_connection: u32,
    /// The largest number of requests that the server is receiving or verifying, and of which it knows nothing yet. All
    /// addresses and connections share these places. If there are too many, the server gives up requests of the address
    /// or connection with the most, the oldest first.
    pub receiving: usize,
    /// The same bound as `receiving`, for one address.
    pub receiving_per_address: usize,
    /// The largest number of requests in flight. These requests are complete and, if clients must prove a key, have
    /// a good tag or signature. A key, or an address if anyone may ask, gets another place as long as it has fewer
    /// places than are free. If there are several indexes, the same rule holds for each index.
    pub in_flight: usize,
    /// The largest number of requests that one scan answers. The others wait for the next scan.
    pub batch: usize,
    /// The largest number of answered requests per second. Requests of clients without a proven key have the same
    /// bound, and are counted separately.
    pub rate: f64,
    /// The largest number of requests per second of one client key.
    pub rate_per_key: f64,
    /// The largest number of requests per second about one of several indexes. It should be less than `rate`, so that
    /// one index leaves requests to the others.
    pub rate_per_index: f64,
    /// The largest number of requests per second of one address that has proven no key. If keys are known, these are
    /// questions for the server's run and requests that are refused. If anyone may ask, these are all requests.
    pub rate_per_address: f64,
    /// A new connection must make a request within this time. If keys are known, the request must have a good tag or
    /// signature.
    pub first_request: Duration,
    /// A connection without requests is closed after this time.
    pub idle: Duration,
    /// A request must be whole within this time and the time of its longest form at `slowest`.
    pub receive: Duration,
    /// A request must be received and answered within this time. Sending a long reply may take longer, as far as
    /// `slowest` allows.
    pub request: Duration,
    /// The smallest number of bytes per second at which a client must send its request and take its reply.
    pub slowest: u32,
    /// The largest time by which a client's clock may differ from the server's. Signatures are remembered twice as
    /// long.
    pub skew: Duration,
    /// The time by which an issuer's clock may differ from the server's. Tokens are valid earlier and longer by this
    /// time.
    pub leeway: Duration,
    /// The time that requests in flight have to end after the server is stopped.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            per_address: 256,
            connects_per_address: 2000.0,
            per_connection: 8,
            receiving: 256,
            receiving_per_address: 64,
            in_flight: 64,
            batch: 16,
            rate: 1000.0,
            rate_per_key: 100.0,
            rate_per_index: 500.0,
            rate_per_address: 500.0,
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            receive: Duration::from_secs(3),
            request: Duration::from_secs(30),
            slowest: 64 << 10,
            skew: Duration::from_secs(60),
            leeway: Duration::ZERO,
            drain: Duration::from_secs(30),
        }
    }
}

sordino_index::setters! {
    Limits {
        connections: usize,
        per_address: usize,
        connects_per_address: f64,
        per_connection: u32,
        receiving: usize,
        receiving_per_address: usize,
        in_flight: usize,
        batch: usize,
        rate: f64,
        rate_per_key: f64,
        rate_per_index: f64,
        rate_per_address: f64,
        first_request: Duration,
        idle: Duration,
        receive: Duration,
        request: Duration,
        slowest: u32,
        skew: Duration,
        leeway: Duration,
        drain: Duration,
    }
}

impl Limits {
    /// These bounds for a server whose clients all come from one address: a shard, or a server behind a proxy.
    #[must_use]
    pub fn from_one_address(self) -> Self {
        Self {
            per_connection: u32::try_from(self.in_flight).unwrap_or(u32::MAX),
            // One address may take half of the places.
            in_flight: 2 * self.in_flight,
            receiving_per_address: self.receiving,
            rate_per_address: self.rate,
            ..self
        }
    }

    /// Refuses limits with which the server could answer nothing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let counts = [
            self.connections,
            self.per_address,
            self.receiving,
            self.receiving_per_address,
            self.in_flight,
            self.batch,
        ];
        if counts.contains(&0) || self.per_connection == 0 || self.slowest == 0 {
            return Err(Error::Limits("expected counts of at least 1"));
        }
        let rates = [
            self.rate,
            self.rate_per_key,
            self.rate_per_index,
            self.rate_per_address,
            self.connects_per_address,
        ];
        if !rates.iter().all(|rate| (0.001..=1e9).contains(rate)) {
            return Err(Error::Limits(
                "expected rates of 0.001 to 10^9 requests per second",
            ));
        }
        let times = [self.first_request, self.idle, self.receive, self.request];
        if times.iter().any(|time| time.is_zero()) {
            return Err(Error::Limits("expected times above zero"));
        }
        if self.skew.max(self.leeway) > Duration::from_secs(3600) {
            return Err(Error::Limits(
                "expected a skew and a leeway of at most an hour",
            ));
        }
        Ok(())
    }

    /// The time for receiving a request of at most `longest` bytes.
    pub(crate) fn receiving_time(&self, longest: usize) -> Duration {
        self.receive + self.moving(longest)
    }

    /// The time for `bytes` at the slowest allowed speed.
    #[expect(clippy::cast_precision_loss, reason = "a time for many bytes")]
    pub(crate) fn moving(&self, bytes: usize) -> Duration {
        Duration::from_secs_f64(bytes as f64 / f64::from(self.slowest))
    }

    /// The number of nonces that the server remembers. It is the number of requests that the rate admits while a
    /// signature is fresh.
    pub(crate) fn nonces(&self) -> usize {
        let window = 2.0 * self.skew.as_secs_f64() + 2.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and a conversion that ends at the largest"
        )]
        let nonces = (self.rate * window) as usize;
        nonces.clamp(1, MAX_NONCES)
    }
}

/// The largest number of remembered nonces, which take about 64 MB. The server then refuses further nonces with the
/// reason `rate`.
pub(crate) const MAX_NONCES: usize = 1_000_000;
