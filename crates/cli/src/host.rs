//! Addresses to listen on, by number or by name.

use crate::Error;
use std::{
    fmt::Display,
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
};

/// HOST:PORT, and the addresses that it stands for: several where a host's name has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    text: String,
    addresses: Vec<SocketAddr>,
}

impl Host {
    /// Finds the addresses.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let why = |why: &dyn Display| {
            format!("{why}; expected HOST:PORT, for instance 127.0.0.1:7700 or localhost:7700")
        };
        let found = text.to_socket_addrs().map_err(|error| why(&error))?;
        let mut addresses: Vec<SocketAddr> = found.collect();
        // The older family is what URLs are tried with first.
        addresses.sort_by_key(SocketAddr::is_ipv6);
        addresses.dedup();
        let first = addresses.first().ok_or_else(|| why(&"no such host"))?;
        if first.port() == 0 {
            // Two families would get two ports.
            addresses.truncate(1);
        }
        let text = text.to_owned();
        Ok(Self { text, addresses })
    }

    /// The first address.
    pub(crate) fn first(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The addresses that this machine has. A name may stand for one of a family that is switched off here,
    /// which is passed over as long as there is another.
    pub(crate) fn here(&self) -> Result<Vec<SocketAddr>, Error> {
        if let [only] = self.addresses[..] {
            return Ok(vec![only]);
        }
        let missing = |address: &SocketAddr| {
            let bound = TcpListener::bind((address.ip(), 0));
            let kind = bound.err().map(|error| error.kind());
            matches!(
                kind,
                Some(io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
            )
        };
        let (missing, here): (Vec<_>, Vec<_>) = self.addresses.iter().copied().partition(missing);
        if here.is_empty() {
            let why = format!(
                "--listen {}: this machine has none of its addresses",
                self.text
            );
            return Err(Error::Arguments(why));
        }
        for address in missing {
            tracing::warn!(%address, "{}: this machine has no such address", self.text);
        }
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_a_number_with_a_port() {
        let local = Host::read("localhost:7700").unwrap();
        assert!(
            local
                .addresses
                .iter()
                .all(|a| a.ip().is_loopback() && a.port() == 7700)
        );
        assert!(!local.here().unwrap().is_empty());
        assert_eq!(Host::read("localhost:0").unwrap().addresses.len(), 1);
        let six = Host::read("[::1]:80").unwrap();
        assert_eq!(six.first(), "[::1]:80".parse().unwrap());
        for wrong in ["localhost", "127.0.0.1", ":x", "", "127.0.0.1:70000"] {
            let error = Host::read(wrong).unwrap_err();
            assert!(error.contains("expected HOST:PORT"), "{wrong}: {error}");
        }
    }
}
