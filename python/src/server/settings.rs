//! The choices of an operator.

use std::net::{SocketAddr, ToSocketAddrs};

use pyo3::prelude::*;
use sordino_net::{Access, Identity, Limits, Listen, Origin};
use sordino_search::Shard;
use zeroize::Zeroizing;

use crate::errors;
use crate::keys::{ClientPublicKey, IssuerPublicKey};

/// The choices of an operator.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Settings {
    listen: String,
    /// The keys of clients that may ask.
    clients: Option<Vec<Py<ClientPublicKey>>>,
    /// The keys of issuers whose tokens are accepted, if they name the audience.
    issuers: Option<Vec<Py<IssuerPublicKey>>>,
    audience: Option<String>,
    cert: Option<Vec<u8>>,
    cert_key: Option<Vec<u8>>,
    /// The origins whose pages may ask.
    origins: Vec<String>,
    metrics: Option<String>,
    batch: Option<usize>,
    rate: Option<f64>,
    rate_per_key: Option<f64>,
    rate_per_address: Option<f64>,
    max_connections: Option<usize>,
    max_connections_per_address: Option<usize>,
    /// The number of the shard, and the number of all shards.
    shard: Option<(u16, u16)>,
}

impl Settings {
    /// The clients that may ask. If neither clients nor issuers are given, anyone may ask.
    pub(super) fn access(&self) -> Access {
        let keys = self.clients.iter().flatten();
        let keys = keys.map(|key| key.get().0.clone()).collect();
        match (&self.clients, &self.issuers) {
            (None, None) => Access::Anyone,
            (Some(_), None) => Access::Keys(keys),
            (_, Some(issuers)) => Access::Tokens {
                keys,
                audience: self.audience.clone().unwrap_or_default(),
                issuers: issuers.iter().map(|key| key.get().0.for_tokens()).collect(),
            },
        }
    }

    /// The limits. All requests to a shard come from one address, so its limit is higher.
    pub(super) fn limits(&self) -> Limits {
        let all = match self.shard {
            Some(_) => Limits::default().from_one_address(),
            None => Limits::default(),
        };
        all.batch(self.batch.unwrap_or(all.batch))
            .rate(self.rate.unwrap_or(all.rate))
            .rate_per_key(self.rate_per_key.unwrap_or(all.rate_per_key))
            .rate_per_address(self.rate_per_address.unwrap_or(all.rate_per_address))
            .connections(self.max_connections.unwrap_or(all.connections))
            .per_address(self.max_connections_per_address.unwrap_or(all.per_address))
    }

    /// The shard to serve, if only a shard is served.
    pub(super) fn shard(&self, py: Python<'_>) -> PyResult<Option<Shard>> {
        let Some((number, of)) = self.shard else {
            return Ok(None);
        };
        let shard = Shard::new(number, of);
        let shard = shard.ok_or_else(|| {
            let most = Shard::MOST;
            let text = format!(
                "shard = ({number}, {of}): expected (1, {most}) to ({most}, {most}): (2, 8) is the second of eight"
            );
            errors::raise(py, "InputError", text)
        })?;
        Ok(Some(shard))
    }

    /// The port, and true if it uses TLS.
    pub(super) fn listen(&self, py: Python<'_>) -> PyResult<(Listen, bool)> {
        let mut listen = Listen::on(address(py, &self.listen)?);
        let tls = self.cert.is_some();
        if let (Some(cert), Some(key)) = (&self.cert, &self.cert_key) {
            let key = Zeroizing::new(key.clone());
            listen = listen.tls(Identity::from_pem(cert, &*key));
        }
        for text in &self.origins {
            let origin = text.parse::<Origin>().map_err(|why| {
                let text = format!("allow_origins: {text:?}: {why}");
                errors::raise(py, "InputError", text)
            })?;
            listen = listen.allow_origin(origin);
        }
        if let Some(metrics) = &self.metrics {
            listen = listen.metrics(address(py, metrics)?);
        }
        Ok((listen, tls))
    }
}

/// Parses an address, whose host may be a name.
fn address(py: Python<'_>, text: &str) -> PyResult<SocketAddr> {
    let wrong = |why: &dyn std::fmt::Display| {
        let text = format!("{text:?}: {why}; expected HOST:PORT, for instance \"127.0.0.1:7700\"");
        errors::raise(py, "AddressError", text)
    };
    let found = text.to_socket_addrs().map_err(|error| wrong(&error))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // A name of this machine may have addresses of both families. IPv4 comes first, since programs try
    // it first for URLs.
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| wrong(&"no such host"))
}
