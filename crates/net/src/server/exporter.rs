//! The metrics port: counts and health, over HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::metrics::Metrics;

/// Scrapers at a time.
const CONNECTIONS: usize = 8;

/// A connection lasts no longer: a scraper comes again.
const TIME: Duration = Duration::from_secs(10);

/// Gives the metrics out until it is dropped.
pub(crate) async fn export(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    stopping: Arc<AtomicBool>,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = listener.accept().await;
        let (Ok((tcp, _)), Ok(slot)) = (accepted, Arc::clone(&slots).try_acquire_owned()) else {
            // No socket, or one too many, which is closed here.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (metrics, stopping) = (Arc::clone(&metrics), Arc::clone(&stopping));
        tokio::spawn(async move {
            // A scraper that is too slow is cut off.
            let _ = tokio::time::timeout(TIME, serve(tcp, &metrics, &stopping)).await;
            drop(slot);
        });
    }
}

async fn serve(tcp: TcpStream, metrics: &Metrics, stopping: &AtomicBool) {
    let answer = service_fn(|request: Request<Incoming>| {
        let reply = reply(&request, metrics, stopping);
        async move { Ok::<_, Infallible>(reply) }
    });
    // An error on such a connection is the scraper's.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIME)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(tcp), answer)
        .await;
}

fn reply(
    request: &Request<Incoming>,
    metrics: &Metrics,
    stopping: &AtomicBool,
) -> Response<Full<Bytes>> {
    // HTTP takes the body off the answer to HEAD.
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return said(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    match request.uri().path() {
        "/metrics" => {
            let mut reply = Response::new(Full::new(Bytes::from(metrics.text())));
            let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            let form = HeaderValue::from_static(form);
            reply.headers_mut().insert(CONTENT_TYPE, form);
            reply
        }
        // It lives as long as it answers, also while it stops.
        "/healthz" => said(StatusCode::OK, "alive\n"),
        "/readyz" | "/health" if stopping.load(Ordering::Relaxed) => {
            said(StatusCode::SERVICE_UNAVAILABLE, "stopping\n")
        }
        "/readyz" | "/health" => said(StatusCode::OK, "serving\n"),
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
