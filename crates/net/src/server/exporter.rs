//! The metrics port: counts and health, over HTTP/1.1.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::metrics::Metrics;
use crate::Error;

/// The largest number of simultaneous connections. A further connection closes the oldest, so a client that holds
/// silent connections keeps no other client away.
const CONNECTIONS: usize = 64;

/// The longest time of a connection, after which a scraper connects again.
const TIME: Duration = Duration::from_secs(10);

/// The first bytes of HTTP/2 (RFC 9113, 3.4), by which clients send searches.
const HTTP2: [u8; 4] = *b"PRI ";

/// The answer to a search.
const SEARCHED: &[u8] = b"HTTP/1.1 505 HTTP Version Not Supported\r\n\
    Content-Type: text/plain\r\nContent-Length: 58\r\nConnection: close\r\n\r\n\
    This is a port of metrics. Searches have a different one.\n";

/// The bytes of a search that are read.
const MOST_READ: u64 = 1 << 16;

/// A port for the operator, open from now on. `/healthz` says that the process lives. `/readyz` says that the process
/// serves, once a service [listens](crate::Listen::exporter) with this port. `/metrics` shows the counts.
///
/// Clones are handles to the same port, which is closed with the last of them.
#[derive(Clone, Debug)]
pub struct Exporter {
    address: SocketAddr,
    service: Arc<OnceLock<Exported>>,
    _threads: Arc<Threads>,
}

/// The service whose counts the port shows.
#[derive(Debug)]
struct Exported {
    metrics: Arc<Metrics>,
    stopping: Arc<AtomicBool>,
}

/// The port has its own threads, so that it answers at any load.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Exporter {
    /// Opens the port; port 0 takes a free port.
    ///
    /// # Errors
    /// [`Error::Listen`] if the address cannot be listened on; [`Error::Start`] if the system refuses threads or
    /// sockets.
    pub fn open(address: SocketAddr) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sordino-metrics")
            .enable_all()
            .build()
            .map_err(Error::Start)?;
        let failed = |source| Error::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let service = Arc::default();
        runtime.spawn(export(listener, Arc::clone(&service)));
        Ok(Self {
            address,
            service,
            _threads: Arc::new(Threads(Some(runtime))),
        })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shows the counts of this service from now on. If there are several services, shows the
    /// first.
    pub(crate) fn serve(&self, metrics: &Arc<Metrics>, stopping: &Arc<AtomicBool>) {
        let exported = Exported {
            metrics: Arc::clone(metrics),
            stopping: Arc::clone(stopping),
        };
        drop(self.service.set(exported));
    }
}

async fn export(listener: TcpListener, service: Arc<OnceLock<Exported>>) {
    // The connections, oldest first.
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            // The system has no socket now.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS
            && let Some(first) = open.pop_front()
        {
            first.abort();
        }
        let service = Arc::clone(&service);
        let connection = tokio::spawn(async move {
            // A scraper that is too slow is cut off.
            let _ = tokio::time::timeout(TIME, serve(tcp, &service)).await;
        });
        open.push_back(connection.abort_handle());
    }
}

async fn serve(mut tcp: TcpStream, service: &OnceLock<Exported>) {
    let mut start = [0; HTTP2.len()];
    if matches!(tcp.peek(&mut start).await, Ok(read) if start[..read] == HTTP2) {
        // The rest is read first, because unread bytes would make the system discard the answer.
        let _ = tcp.write_all(SEARCHED).await;
        let _ = tcp.shutdown().await;
        let _ = tokio::io::copy(&mut tcp.take(MOST_READ), &mut tokio::io::sink()).await;
        return;
    }
    let answer = service_fn(|request: Request<Incoming>| {
        let reply = reply(&request, service.get());
        async move { Ok::<_, Infallible>(reply) }
    });
    // An error on this connection concerns only the scraper.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIME)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(tcp), answer)
        .await;
}

fn reply(request: &Request<Incoming>, service: Option<&Exported>) -> Response<Full<Bytes>> {
    // HTTP takes the body off the answer to HEAD.
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return said(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    match (request.uri().path(), service) {
        // The process is alive as long as it answers, also while it starts and stops.
        ("/healthz", _) => said(StatusCode::OK, "alive\n"),
        ("/metrics" | "/readyz" | "/health", None) => {
            said(StatusCode::SERVICE_UNAVAILABLE, "starting\n")
        }
        ("/metrics", Some(service)) => {
            let mut reply = Response::new(Full::new(Bytes::from(service.metrics.text())));
            let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            let form = HeaderValue::from_static(form);
            reply.headers_mut().insert(CONTENT_TYPE, form);
            reply
        }
        ("/readyz" | "/health", Some(service)) if service.stopping.load(Ordering::Relaxed) => {
            said(StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        }
        ("/readyz" | "/health", Some(_)) => said(StatusCode::OK, "serving\n"),
        _ => said(
            StatusCode::NOT_FOUND,
            "only /metrics, /healthz, /readyz and /health are here\n",
        ),
    }
}

fn said(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *reply.status_mut() = status;
    reply
}
