//! Addresses to listen on, by number or by name.

use crate::Error;
use std::{
    fmt::Display,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs},
};

/// HOST:PORT, and its addresses: several if a host's name has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    text: String,
    addresses: Vec<SocketAddr>,
}

impl Host {
    /// Finds the addresses. `:7700` and `*:7700` mean all addresses of this machine.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let why = |why: &dyn Display| {
            let near = nearly(text);
            let expected = near.unwrap_or_else(|| {
                "HOST:PORT, for instance 127.0.0.1:7700 or localhost:7700, or :7700 for all addresses of this machine".to_owned()
            });
            format!("{why}; expected {expected}")
        };
        let port = text.strip_prefix('*').unwrap_or(text);
        let port = port.strip_prefix(':').and_then(|port| port.parse().ok());
        let mut addresses: Vec<SocketAddr> = match port {
            Some(port) => every(port),
            None => {
                let found = text.to_socket_addrs().map_err(|error| why(&error))?;
                found.collect()
            }
        };
        // Clients try the older address family first.
        addresses.sort_by_key(SocketAddr::is_ipv6);
        addresses.dedup();
        let first = addresses.first().ok_or_else(|| why(&"no such host"))?;
        if first.port() == 0 {
            // With two families, each would get its own port.
            addresses.truncate(1);
        }
        let text = text.to_owned();
        Ok(Self { text, addresses })
    }

    /// The first address.
    pub(crate) fn first(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The addresses that this machine can use. A name may have an address of a family that is switched off
    /// here. Such an address is skipped if there is another.
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

/// All addresses of this machine. An IPv6 socket also accepts IPv4 connections, unless the system separates them.
fn every(port: u16) -> Vec<SocketAddr> {
    let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let tried = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0));
    let Ok(tried) = tried.and_then(|listener| Ok((listener.local_addr()?.port(), listener))) else {
        return vec![four];
    };
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, tried.0)) {
        Ok(_) => vec![four, six],
        Err(_) => vec![six],
    }
}

/// The correct address that a text with a small mistake probably means.
fn nearly(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once("://") {
        return Some(format!("no scheme: {}", rest.trim_end_matches('/')));
    }
    if text.parse::<u16>().is_ok() {
        return Some(format!(
            "127.0.0.1:{text} for this machine alone, or :{text} for all of its addresses"
        ));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some(format!(
            "HOST:PORT, with an address of IPv6 in brackets: [{text}]:7700"
        ));
    }
    let is_host = !text.is_empty() && !text.contains(':');
    is_host.then(|| format!("a port, too: {text}:7700"))
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
            assert!(error.contains("; expected "), "{wrong}: {error}");
        }
        for (wrong, words) in [
            ("localhost", "expected a port, too: localhost:7700"),
            ("7700", ":7700 for all of its addresses"),
            ("::1", "in brackets: [::1]:7700"),
            (
                "http://localhost:7700/",
                "expected no scheme: localhost:7700",
            ),
            ("127.0.0.1:70000", "expected HOST:PORT"),
        ] {
            let error = Host::read(wrong).unwrap_err();
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_port_alone_stands_for_all_addresses() {
        for text in [":7700", "*:7700"] {
            let all = Host::read(text).unwrap();
            let is_any =
                |address: &SocketAddr| address.ip().is_unspecified() && address.port() == 7700;
            assert!(all.addresses.iter().all(is_any), "{text}");
        }
        let free = Host::read(":0").unwrap();
        let listener = TcpListener::bind(free.first()).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }
}
