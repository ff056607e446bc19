//! A service that listens on its ports.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, health_reporter};

use super::connections::Connections;
use super::grpc::Gate;
use super::handshake::Tls;
use super::health::{Probes, report};
#[cfg(feature = "tls")]
use super::identity::{Acceptor, Identity};
use super::service_state::ServiceState;
use super::web::{HEAD, Web};
use crate::{Error, Exporter, Indexes, Limits, Origin, Service};

#[cfg(feature = "tls")]
mod renewal;

/// The window of an HTTP/2 stream: a request fits, so sending it takes no round trips. A
/// connection's window is twice that, which bounds the memory for its requests.
const WINDOWS: std::ops::RangeInclusive<u32> = 64 << 10..=1 << 20;

/// The number of streams that a client may reset before the server looks at them. A client with
/// more is disconnected.
const RESETS: usize = 16;

/// Larger frames than HTTP/2's default, since messages are large.
const FRAME: u32 = 64 << 10;

/// The interval of pings, which show whether the other side still exists.
const PING: Duration = Duration::from_secs(20);

/// Addresses to listen on, and the way to do it.
#[derive(Clone, Debug)]
pub struct Listen {
    addresses: Vec<SocketAddr>,
    metrics: Metrics,
    origins: Vec<Origin>,
    #[cfg(feature = "tls")]
    identity: Option<Identity>,
}

/// The port that shows metrics, if there is one.
#[derive(Clone, Debug)]
enum Metrics {
    None,
    On(SocketAddr),
    Open(Exporter),
}

impl Listen {
    /// Listens on an address; port 0 takes a free port.
    ///
    /// Without [`tls`](Self::tls), an attacker on the way sees which clients ask and can change replies. The queries
    /// themselves are encrypted either way.
    #[must_use]
    pub fn on(address: SocketAddr) -> Self {
        Self {
            addresses: vec![address],
            metrics: Metrics::None,
            origins: Vec::new(),
            #[cfg(feature = "tls")]
            identity: None,
        }
    }

    /// Listens on this address too: all addresses share the bounds and the certificate.
    #[must_use]
    pub fn also_on(mut self, address: SocketAddr) -> Self {
        self.addresses.push(address);
        self
    }

    /// Gives metrics out on another address, in the clear: at `/metrics`, for the operator. There,
    /// `/healthz` says that the process lives, and `/readyz` that it serves.
    #[must_use]
    pub fn metrics(mut self, address: SocketAddr) -> Self {
        self.metrics = Metrics::On(address);
        self
    }

    /// Like [`metrics`](Self::metrics), on a port that is already open and has said until now that nothing is served.
    #[must_use]
    pub fn exporter(mut self, exporter: Exporter) -> Self {
        self.metrics = Metrics::Open(exporter);
        self
    }

    /// Lets pages of this origin ask from a browser, by gRPC-Web. Pages of an origin that is not named are refused.
    #[must_use]
    pub fn allow_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Uses TLS with this certificate.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Configures HTTP/2 with its bounds for requests of at most `longest` bytes, and HTTP/1.1 only for
    /// gRPC-Web.
    fn builder(limits: &Limits, longest: usize) -> Server {
        let longest = u32::try_from(longest).unwrap_or(*WINDOWS.end());
        let window = longest.clamp(*WINDOWS.start(), *WINDOWS.end());
        Server::builder()
            .accept_http1(true)
            .max_concurrent_streams(limits.per_connection)
            .initial_stream_window_size(window)
            .initial_connection_window_size(2 * window)
            .max_frame_size(FRAME)
            .http2_max_header_list_size(HEAD)
            .http2_max_pending_accept_reset_streams(Some(RESETS))
            .http2_max_local_error_reset_streams(Some(RESETS))
            .http2_keepalive_interval(Some(PING))
            .http2_keepalive_timeout(Some(PING))
    }

    #[cfg(feature = "tls")]
    fn acceptor(&self) -> Result<Tls, Error> {
        self.identity.as_ref().map(Acceptor::new).transpose()
    }

    #[cfg(not(feature = "tls"))]
    fn acceptor(&self) -> Result<Tls, Error> {
        Ok(Tls)
    }
}

impl Service {
    /// Starts to listen, on threads of its own.
    ///
    /// # Errors
    /// - [`Error::Listen`] if the address cannot be listened on
    /// - [`Error::Certificate`] if a certificate or its key cannot be used
    /// - [`Error::Start`] if the system refuses threads or sockets
    pub fn listen(&self, listen: &Listen) -> Result<Running, Error> {
        Running::start(self.clone(), &self.shared, listen)
    }
}

impl Indexes {
    /// Starts to listen, on threads of its own. Indexes can be opened before and after.
    ///
    /// # Errors
    /// - [`Error::Listen`] if the address cannot be listened on
    /// - [`Error::Certificate`] if a certificate or its key cannot be used
    /// - [`Error::Start`] if the system refuses threads or sockets
    pub fn listen(&self, listen: &Listen) -> Result<Running<Self>, Error> {
        Running::start(self.clone(), &self.shared, listen)
    }
}

impl<S> Running<S> {
    fn start(service: S, shared: &Arc<ServiceState>, listen: &Listen) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("sordino-net")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let longest = match shared.served.named {
            false => shared.longest_call(),
            // An index of any size may be opened later.
            true => usize::MAX,
        };
        let mut builder = Listen::builder(&shared.limits, longest);
        let acceptor = listen.acceptor()?;
        #[cfg(feature = "tls")]
        let tls = acceptor.clone();
        #[cfg(feature = "tls")]
        shared
            .metrics
            .certificate(tls.as_ref().and_then(Acceptor::info).as_ref());
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for &address in &listen.addresses {
            let (listener, address) = bind(&runtime, address)?;
            listeners.push(listener);
            addresses.push(address);
        }
        let exporter = match &listen.metrics {
            Metrics::None => None,
            Metrics::On(address) => Some(Exporter::open(*address)?),
            Metrics::Open(exporter) => Some(exporter.clone()),
        };
        if let Some(exporter) = &exporter {
            exporter.serve(&shared.metrics, &shared.stopping);
        }

        let (stop, stopped) = oneshot::channel::<()>();
        let origins = listen.origins.clone();
        let handle = Arc::clone(shared);
        let shared = Arc::clone(shared);
        let (reporter, health) = health_reporter();
        let health_reporter = reporter.clone();
        let serving = async move {
            report(&reporter, ServingStatus::Serving).await;
            let (limits, metrics) = (&shared.limits, &shared.metrics);
            let (anyone, stopping) = (shared.door.anyone, &shared.stopping);
            let incoming = Connections::new(listeners, acceptor, anyone, limits, metrics, stopping);
            builder
                .add_service(Probes::new(health, &shared))
                .add_service(Web::new(Gate { shared }, origins))
                .serve_with_incoming_shutdown(incoming, async {
                    // The sender is used, or dropped with its holder. Both end this wait.
                    let _ = stopped.await;
                })
                .await
        };
        let serving = runtime.spawn(serving);
        Ok(Running {
            service,
            shared: handle,
            addresses,
            exporter,
            #[cfg(feature = "tls")]
            tls,
            health: health_reporter,
            stop: Some(stop),
            serving: Some(serving),
            runtime: Some(runtime),
        })
    }
}

fn bind(runtime: &Runtime, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = runtime
        .block_on(TcpListener::bind(address))
        .map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// A service that listens. Dropping it cuts all connections; [`stop`](Self::stop) does not.
#[derive(Debug)]
pub struct Running<S = Service> {
    service: S,
    shared: Arc<ServiceState>,
    /// At least one address.
    addresses: Vec<SocketAddr>,
    exporter: Option<Exporter>,
    #[cfg(feature = "tls")]
    tls: Tls,
    health: HealthReporter,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<Result<(), tonic::transport::Error>>>,
    runtime: Option<Runtime>,
}

impl<S> Running<S> {
    /// The address on which it listens; the first if there are several.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// All addresses on which it listens.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address of the metrics.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.exporter.as_ref().map(Exporter::address)
    }

    /// The service: an index, or [several](Indexes).
    #[must_use]
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Refuses new requests, answers requests in flight, and closes.
    ///
    /// # Errors
    /// [`Error::Drain`] if some were not answered in the limits' time.
    pub fn stop(mut self) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        shared.stopping.store(true, Ordering::Relaxed);
        let (Some(runtime), Some(serving)) = (self.runtime.take(), self.serving.take()) else {
            return Ok(());
        };
        drop(self.stop.take());
        let health = self.health.clone();
        let drain = shared.limits.drain;
        let ended = runtime.block_on(async move {
            report(&health, ServingStatus::NotServing).await;
            tokio::time::timeout(drain, serving).await.is_ok()
        });
        runtime.shutdown_background();
        if ended || shared.door.busy() == 0 {
            return Ok(());
        }
        Err(Error::Drain { after: drain })
    }
}

impl<S> Drop for Running<S> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.shared.stopping.store(true, Ordering::Relaxed);
            runtime.shutdown_background();
        }
    }
}
