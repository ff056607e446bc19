//! The metrics port: one path, over HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;
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

use crate::metrics::Metrics;

/// Scrapers at a time.
const CONNECTIONS: usize = 8;

/// A connection lasts no longer: a scraper comes again.
const TIME: Duration = Duration::from_secs(10);

/// Gives the metrics out until it is dropped.
pub(crate) async fn export(listener: TcpListener, metrics: Arc<Metrics>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = listener.accept().await;
        let (Ok((tcp, _)), Ok(slot)) = (accepted, Arc::clone(&slots).try_acquire_owned()) else {
            // No socket, or one too many, which is closed here.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            // A scraper that is too slow is cut off.
            let _ = tokio::time::timeout(TIME, serve(tcp, metrics)).await;
            drop(slot);
        });
    }
}

async fn serve(tcp: TcpStream, metrics: Arc<Metrics>) {
    let answer = service_fn(|request: Request<Incoming>| {
        let reply = reply(&request, &metrics);
        async move { Ok::<_, Infallible>(reply) }
    });
    // What goes wrong on such a connection is the scraper's.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIME)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(tcp), answer)
        .await;
}

fn reply(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        let mut reply = Response::new(Full::new(Bytes::from_static(b"only /metrics is here\n")));
        *reply.status_mut() = StatusCode::NOT_FOUND;
        return reply;
    }
    let mut reply = Response::new(Full::new(Bytes::from(metrics.text())));
    let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let form = HeaderValue::from_static(form);
    reply.headers_mut().insert(CONTENT_TYPE, form);
    reply
}
