//! Connects to a server through a proxy, which opens a tunnel at the request `CONNECT`.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::codegen::http::Uri;

use crate::Error as Fault;

/// The proxies that connections go through.
#[derive(Clone)]
pub(crate) enum Tunnels {
    /// The proxy at this address.
    Through(String),
    /// The proxies that the variables `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` name. They are for servers with TLS on
    /// other machines.
    OfEnvironment(Arc<Matcher>),
}

impl Tunnels {
    pub(crate) fn of_environment() -> Self {
        Self::OfEnvironment(Arc::new(Matcher::from_env()))
    }

    /// The proxy for this server, if there is one.
    pub(crate) fn to(&self, server: &Uri) -> Result<Option<Arc<Intercept>>, Fault> {
        let (found, is_torn) = match self {
            Self::Through(proxy) => {
                let found = Matcher::builder().all(proxy.as_str()).build();
                let found = found.intercept(server).ok_or(Fault::Proxy)?;
                (Some(found), is_torn(proxy))
            }
            Self::OfEnvironment(_) if is_plain_or_here(server) => (None, false),
            Self::OfEnvironment(matcher) => {
                let mut set = VARIABLES
                    .into_iter()
                    .filter_map(|name| std::env::var(name).ok());
                (matcher.intercept(server), set.any(|proxy| is_torn(&proxy)))
            }
        };
        match found {
            Some(proxy) if is_torn || proxy.uri().scheme_str() != Some("http") => Err(Fault::Proxy),
            found => Ok(found.map(Arc::new)),
        }
    }
}

/// The variables that may name the proxy of a server with TLS.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// True if the library would take a part of the password for the host. Such characters in a password must be
/// percent-encoded, for example @ as %40.
fn is_torn(proxy: &str) -> bool {
    let login = proxy.rsplit_once('@').map_or("", |(login, _)| login);
    let login = login.split_once("://").map_or(login, |(_, login)| login);
    login.contains(['@', '/', '?', '#'])
}

/// True if the server has no TLS or is on this machine.
fn is_plain_or_here(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    server.scheme_str() != Some("https") || is_loopback || host.eq_ignore_ascii_case("localhost")
}

/// Opens a tunnel.
pub(crate) async fn open(proxy: &Intercept, host: &str, port: u16) -> io::Result<TcpStream> {
    use tower_service::Service;

    let wrong = |error: &dyn Error| {
        let at = proxy.uri().authority().map_or("", |at| at.as_str());
        io::Error::other(fault(at, (host, port), error))
    };
    // An IPv6 address is in brackets.
    let named = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let server: Uri = format!("http://{named}:{port}/")
        .parse()
        .map_err(|error| wrong(&error))?;
    let mut tunnel = Tunnel::new(proxy.uri().clone(), Tcp);
    if let Some(auth) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(auth.clone());
    }
    let opened = tunnel.call(server).await.map_err(|error| wrong(&error))?;
    Ok(opened.into_inner())
}

/// The error if the proxy at this address opens no tunnel. The library's message has neither the system's error nor advice.
fn fault(at: &str, (host, port): (&str, u16), error: &dyn Error) -> String {
    let said = error.to_string();
    match error.source() {
        Some(source) => format!("through the proxy {at}: {source}"),
        None if said.contains("authorization") => format!(
            "through the proxy {at}: it asks for a user that it knows: expected http://USER:PASSWORD@{at}"
        ),
        None if said.contains("unsuccessful") => format!(
            "through the proxy {at}: it opens no tunnel to {host}:{port}. It does not allow that, cannot reach it, or is no proxy"
        ),
        None => format!("through the proxy {at}: {said}"),
    }
}

/// Connections to a proxy.
#[derive(Clone, Debug)]
struct Tcp;

impl tower_service::Service<Uri> for Tcp {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        Box::pin(async move {
            let host = proxy.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let port = proxy.port_u16().unwrap_or(80);
            Ok(TokioIo::new(TcpStream::connect((host, port)).await?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(https: &str, no: &str) -> Tunnels {
        let found = Matcher::builder().https(https.to_owned()).no(no.to_owned());
        Tunnels::OfEnvironment(Arc::new(found.build()))
    }

    #[test]
    fn the_environment_names_proxies_to_other_machines_with_tls() {
        let tunnels = environment(
            "http://me:secret@proxy.example:3128",
            "inside.example,10.0.0.0/8",
        );
        let through = |server: &'static str| tunnels.to(&Uri::from_static(server)).unwrap();
        let found = through("https://search.example:7700").unwrap();
        assert_eq!(found.uri().to_string(), "http://proxy.example:3128/");
        assert!(found.basic_auth().is_some());
        for direct in [
            "http://search.example:7700",
            "https://localhost:7700",
            "https://127.0.0.1:7700",
            "https://[::1]:7700",
            "https://a.inside.example",
            "https://10.1.2.3:7700",
        ] {
            assert!(through(direct).is_none(), "{direct}");
        }
    }

    #[test]
    fn a_tunnel_that_is_not_opened_is_told_with_what_to_do() {
        use std::io::{Read, Write};

        let told = |answer: Option<&'static str>| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap();
            let proxy = std::thread::spawn(move || {
                // If nothing answers, there is no proxy at this address.
                let Some(answer) = answer else { return };
                let (mut tcp, _) = listener.accept().unwrap();
                assert!(tcp.read(&mut [0; 512]).unwrap() > 0);
                tcp.write_all(answer.as_bytes()).unwrap();
            });
            if answer.is_none() {
                proxy.join().unwrap();
            }
            let server = Uri::from_static("https://search.example:7700");
            let through = Tunnels::Through(format!("http://{at}"))
                .to(&server)
                .unwrap();
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            let opened = runtime.block_on(open(&through.unwrap(), "search.example", 7700));
            opened.unwrap_err().to_string()
        };
        for (answer, words) in [
            (
                Some("HTTP/1.1 403 Forbidden\r\n\r\n"),
                "opens no tunnel to search.example:7700",
            ),
            (
                Some("HTTP/1.1 407 Who\r\n\r\n"),
                "expected http://USER:PASSWORD@127.0.0.1:",
            ),
            (Some("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "or is no proxy"),
            (None, "refused"),
        ] {
            let found = told(answer);
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn a_proxy_is_one_of_http() {
        let server = Uri::from_static("http://127.0.0.1:7700");
        for good in [
            "http://proxy.example:3128",
            "proxy.example:3128",
            "http://[::1]:3128",
        ] {
            assert!(
                Tunnels::Through(good.to_owned())
                    .to(&server)
                    .unwrap()
                    .is_some(),
                "{good}"
            );
        }
        for wrong in [
            "",
            "socks5://proxy.example:1080",
            "https://proxy.example",
            "http://me:p@ss@proxy.example:3128",
            "http://me:p/ss@proxy.example:3128",
            "ftp://x",
            "http://",
        ] {
            let found = Tunnels::Through(wrong.to_owned()).to(&server);
            assert!(matches!(found, Err(Fault::Proxy)), "{wrong}");
        }
    }
}
