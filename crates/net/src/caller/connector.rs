//! Connects to a server: TCP whose bytes are counted, and TLS on it if wanted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(feature = "client")]
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
#[cfg(feature = "client")]
use std::time::Duration;

use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::codegen::http::Uri;

use super::byte_count::{Count, CountedStream, Line};
use super::trust::Tls;
use super::tunnel;

/// Makes counted connections.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) count: Arc<Count>,
    tls: Option<Tls>,
    proxy: Option<Arc<Intercept>>,
}

impl Connector {
    pub(crate) fn new(tls: Option<Tls>, proxy: Option<Arc<Intercept>>) -> Self {
        Self {
            count: Arc::default(),
            tls,
            proxy,
        }
    }
}

impl Connector {
    /// Ends after this time if the server has sent nothing by then. Otherwise it never ends.
    #[cfg(feature = "client")]
    pub(crate) async fn silent(&self, time: Duration) {
        tokio::time::sleep(time).await;
        if self.count.down.load(Ordering::Relaxed) > 0 {
            std::future::pending::<()>().await;
        }
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Line>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (count, tls) = (Arc::clone(&self.count), self.tls.clone());
        let proxy = self.proxy.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default();
            // An IPv6 address is in brackets.
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let default = if tls.is_some() { 443 } else { 80 };
            let port = uri.port_u16().unwrap_or(default);
            let tcp = match proxy {
                Some(proxy) => tunnel::open(&proxy, host, port).await?,
                None => TcpStream::connect((host, port)).await?,
            };
            tcp.set_nodelay(true)?;
            let counted = CountedStream::new(tcp, &count, tls.is_some());
            Ok(TokioIo::new(match tls {
                Some(tls) => tls.connect(counted).await?,
                None => Box::new(counted),
            }))
        })
    }
}
