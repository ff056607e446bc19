//! The address of a server, and the settings of a client's connection to it.

use std::fmt;
#[cfg(feature = "client")]
use std::sync::Arc;
use std::time::Duration;

use tonic::codegen::http::Uri;

use super::connector::Connector;
use super::trust::Tls;
use super::tunnel::Tunnels;
#[cfg(feature = "client")]
use crate::signing::ClientKey;
use crate::{Error, IndexName};

/// HTTP/2's window for streams and connections. A whole reply of a search fits into it, so the server sends the reply
/// without waiting for the client. No server can make the client buffer more.
const WINDOW: u32 = 4 << 20;

/// The times for which a client waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines {
    /// The time to connect, including TLS.
    pub connect: Duration,
    /// The time for the first part of a reply, and for each further part.
    pub part: Duration,
    /// The smallest rate, in bytes per second, at which a reply must arrive, after the time for its first part.
    pub slowest: u32,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            part: Duration::from_secs(30),
            slowest: 64 << 10,
        }
    }
}

impl Deadlines {
    /// The time for a whole reply of at most `limit` bytes.
    #[expect(clippy::cast_precision_loss, reason = "a time for many bytes")]
    pub(crate) fn whole(&self, limit: usize) -> Duration {
        let seconds = limit as f64 / f64::from(self.slowest.max(1));
        self.part + Duration::from_secs_f64(seconds)
    }
}

/// A server to connect to.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) address: String,
    name: Option<String>,
    roots: Option<Vec<u8>>,
    tunnels: Option<Tunnels>,
    #[cfg(feature = "client")]
    pub(crate) key: Option<Arc<ClientKey>>,
    /// The token; empty if there is none.
    #[cfg(feature = "client")]
    pub(crate) token: Vec<u8>,
    pub(crate) deadlines: Deadlines,
}

impl Endpoint {
    /// A server at `https://host:port`, or at `http://host:port` for a connection without TLS. If the server has
    /// several indexes, `/name` of an index follows the port.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        let mut address = address.into();
        // The case of a scheme does not count.
        if let Some(end) = address.find("://") {
            address[..end].make_ascii_lowercase();
        }
        Self {
            address,
            name: None,
            roots: None,
            tunnels: None,
            #[cfg(feature = "client")]
            key: None,
            #[cfg(feature = "client")]
            token: Vec::new(),
            deadlines: Deadlines::default(),
        }
    }

    /// Trusts only these certificates, in PEM: one of them must have signed the server's certificate. Without them, an
    /// `https` server must have a certificate that this system trusts.
    #[must_use]
    pub fn roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// Connects through this proxy, `http://host:port` or `http://user:password@host:port`, by a tunnel (`CONNECT`).
    #[must_use]
    pub fn proxy(mut self, proxy: impl Into<String>) -> Self {
        self.tunnels = Some(Tunnels::Through(proxy.into()));
        self
    }

    /// Connects through the proxy that `HTTPS_PROXY` or `ALL_PROXY` names, if the server has TLS, is on another machine, and `NO_PROXY` does
    /// not name it.
    #[must_use]
    pub fn proxy_of_environment(mut self) -> Self {
        self.tunnels = Some(Tunnels::of_environment());
        self
    }

    /// The name that the server's certificate must have, if it differs from the address's host.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Shows this token, which was issued to the holder of the [`key`](Self::key). A server that does not list the key needs
    /// it.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn token(mut self, token: impl Into<Vec<u8>>) -> Self {
        self.token = token.into();
        self
    }

    /// Logs in with this key. A server that shows no KEM key answers everyone, and learns nothing of this key.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<ClientKey>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the times to wait.
    #[must_use]
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Configures HTTP/2 with its bounds, and the connector.
    pub(crate) fn build(&self) -> Result<(tonic::transport::Endpoint, Connector), Error> {
        let wrong = || self.wrong();
        let (server, _) = self.parts()?;
        let encrypted = server.starts_with("https://");
        if !encrypted && (self.roots.is_some() || self.name.is_some()) {
            return Err(Error::Roots);
        }
        let endpoint = tonic::transport::Endpoint::from_shared(server.to_owned())
            .map_err(|_| wrong())?
            .connect_timeout(self.deadlines.connect)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_frame_size(64 << 10)
            .http2_max_header_list_size(8 << 10)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20));
        if !is_host_and_port(endpoint.uri()) {
            return Err(wrong());
        }
        let tls = match encrypted {
            true => Some(self.tls(endpoint.uri().host().ok_or_else(wrong)?)?),
            false => None,
        };
        let tunnels = self.tunnels.as_ref();
        let proxy = tunnels.map(|tunnels| tunnels.to(endpoint.uri()));
        let proxy = proxy.transpose()?.flatten();
        Ok((endpoint, Connector::new(tls, proxy)))
    }

    /// The name of the index in the address, if there is one.
    pub(crate) fn index(&self) -> Result<Option<IndexName>, Error> {
        Ok(self.parts()?.1)
    }

    /// The scheme, host and port, and the name of an index.
    fn parts(&self) -> Result<(&str, Option<IndexName>), Error> {
        let schemes = ["https://", "http://"].into_iter();
        let mut schemes = schemes.filter(|scheme| self.address.starts_with(scheme));
        let scheme = schemes.next().ok_or_else(|| self.wrong())?.len();
        match self.address[scheme..].split_once('/') {
            None | Some((_, "")) => Ok((&self.address, None)),
            Some((host, name)) => {
                let name = IndexName::new(name).map_err(|_| self.wrong())?;
                Ok((&self.address[..scheme + host.len()], Some(name)))
            }
        }
    }

    fn wrong(&self) -> Error {
        // Text before an @ may be a password.
        let address = match self.address.rsplit_once('@') {
            Some((_, host)) => format!("...@{host}"),
            None => self.address.clone(),
        };
        Error::Address { address }
    }

    #[cfg(feature = "tls")]
    fn tls(&self, host: &str) -> Result<Tls, Error> {
        Tls::new(self.roots.as_deref(), self.name.as_deref().unwrap_or(host))
    }

    #[cfg(not(feature = "tls"))]
    fn tls(&self, _: &str) -> Result<Tls, Error> {
        Err(Error::Certificate("this build has no TLS".to_owned()))
    }
}

/// True if a URL consists of a host and an optional port, without parts that would be ignored.
fn is_host_and_port(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else {
        return false;
    };
    let (whole, host) = (authority.as_str(), authority.host());
    let port = whole == host || authority.port_u16().is_some_and(|port| port > 0);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    !host.is_empty() && whole.starts_with(host) && port && path == "/"
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Endpoint");
        shown.field("address", &self.address);
        #[cfg(feature = "client")]
        shown.field("key", &self.key);
        shown
            .field("deadlines", &self.deadlines)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in [
            "http://localhost",
            "http://localhost/",
            "http://127.0.0.1:7700",
            "http://[::1]:7700",
            "http://[::1]",
            "https://[::1]:7700/mail-2026",
            "HTTPS://localhost:7700/Mail",
        ] {
            assert!(Endpoint::new(good).build().is_ok(), "{good}");
        }
        for wrong in [
            "localhost:7700",
            "ftp://localhost",
            "http://",
            "http://:7700",
            // An invalid port must not be read as a missing port, which means the default port.
            "http://localhost:77000",
            "http://localhost:0",
            "http://localhost:",
            "http://me@localhost:7700",
            "http://localhost:7700/a/b",
            "http://localhost:7700/a.b",
            "http://localhost:7700/a/",
            "http:///index",
            "http://localhost:7700/?k=3",
        ] {
            let found = Endpoint::new(wrong).build();
            assert!(matches!(found, Err(Error::Address { .. })), "{wrong}");
        }
        let secret = Endpoint::new("https://me:geheim@localhost:7700").build();
        let said = secret.map(drop).unwrap_err().to_string();
        assert!(said.contains("...@localhost:7700") && !said.contains("geheim"));
        let named = |address| Endpoint::new(address).index().unwrap();
        assert_eq!(named("http://localhost:7700/"), None);
        let name = named("http://localhost:7700/mail");
        assert_eq!(name.unwrap().as_str(), "mail");
    }
}
