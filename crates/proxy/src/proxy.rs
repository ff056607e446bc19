//! The proxy's port: HTTP/1.1, with limits on connections, requests, bodies and times.
//!
//! The port opens before the index is available, so that programs can already ask for the proxy's health.

use crate::error::Error;
use crate::options::ProxyOptions;
use crate::places::{Place, Places};
use crate::searcher::Searcher;
use crate::service::Service;
use crate::token::Token;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, fmt, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// The time limit for the headers of a request, and between two requests of a connection.
const HEADERS: Duration = Duration::from_secs(10);

/// A port on which programs search over HTTP and JSON. It is open until [`stop`](Self::stop).
///
/// # Security
/// Queries and results pass through it in the clear, so it should listen on a local address only. Programs with the token can
/// search. Others can read the health and the index's version, dimension and `k`.
pub struct Proxy {
    address: SocketAddr,
    runtime: Runtime,
    service: Arc<Service>,
}

impl Proxy {
    /// Listens on an address. Port 0 stands for a free port. Searches are answered with 503 until
    /// [`search_with`](Self::search_with).
    ///
    /// # Errors
    /// [`Error::Listen`] if the proxy cannot listen on the address, [`Error::Start`] if the system refuses threads.
    ///
    /// # Panics
    /// Panics within a tokio runtime, since it creates one.
    pub fn listen(address: SocketAddr, token: Token, options: ProxyOptions) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("sordino-http")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let failed = |source| Error::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let service = Arc::new(Service::new(token, options));
        runtime.spawn(accept(listener, Arc::clone(&service)));
        Ok(Self {
            address,
            runtime,
            service,
        })
    }

    /// The address that the proxy listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers searches from now on. A second searcher is dropped.
    pub fn search_with(&self, searcher: Searcher) {
        self.service.search_with(searcher);
    }

    /// Accepts no more searches, waits for those in progress, and closes the port.
    ///
    /// # Panics
    /// Panics within a tokio runtime.
    pub fn stop(self) {
        self.runtime.block_on(self.service.drain());
        self.runtime.shutdown_background();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, service: Arc<Service>) {
    let places = Arc::new(Places::default());
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            // The system has no free socket.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (service, place) = (Arc::clone(&service), places.enter());
        tokio::spawn(async move {
            tokio::select! {
                () = serve(tcp, &service, &place) => (),
                () = place.lost() => (),
            }
        });
    }
}

async fn serve(tcp: TcpStream, service: &Service, place: &Place) {
    let answer =
        service_fn(
            |request| async move { Ok::<_, Infallible>(service.reply(request, place).await) },
        );
    // An error on such a connection concerns only the other side.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(tcp), answer)
        .await;
}
