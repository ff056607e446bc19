//! The proxy's port: HTTP/1.1, with bounds on connections, requests, bodies and times.
//!
//! It is open before the index is there, so that whoever asks for its health is told so.

use super::places::{Place, Places};
use super::request::Wanted;
use super::results::Results;
use super::searcher::{Rejection, Searcher};
use super::{Problem, token::Token};
use crate::Error;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

/// Requests whose bodies are in memory at a time.
const REQUESTS: u32 = 32;

/// Bytes of a body.
const BODY: usize = 4 << 20;

/// The time for the headers of a request, and between two requests of a connection.
const HEADERS: Duration = Duration::from_secs(10);

/// The description of all this.
const OPENAPI: &str = include_str!("openapi.json");

/// The port, open.
pub(super) struct Server {
    address: SocketAddr,
    runtime: Runtime,
    shared: Arc<Shared>,
}

struct Shared {
    token: Token,
    /// None until the client is connected.
    searcher: OnceLock<Searcher>,
    time: Duration,
    requests: Semaphore,
}

impl Server {
    pub(super) fn listen(address: SocketAddr, token: Token, time: Duration) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("sordino-http")
            .enable_all()
            .build()?;
        let failed = |source| sordino_net::Error::Listen { address, source };
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            token,
            searcher: OnceLock::new(),
            time,
            requests: Semaphore::new(REQUESTS as usize),
        });
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            runtime,
            shared,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers searches from now on.
    pub(super) fn search_with(&self, searcher: Searcher) {
        // There is none before.
        drop(self.shared.searcher.set(searcher));
    }

    /// Takes no more requests, and waits for those that there are.
    pub(super) fn stop(self) {
        let all = self.shared.requests.acquire_many(REQUESTS);
        let end = Instant::now() + self.shared.time;
        self.runtime.block_on(async {
            // Those that are not done in their time are cut off.
            let _ = timeout_at(end.into(), all).await;
        });
        self.runtime.shutdown_background();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Places::default());
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            // There is no socket left.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (shared, place) = (Arc::clone(&shared), places.enter());
        tokio::spawn(async move {
            tokio::select! {
                () = serve(tcp, &shared, &place) => (),
                () = place.lost() => (),
            }
        });
    }
}

async fn serve(tcp: TcpStream, shared: &Shared, place: &Place) {
    let answer = service_fn(|request| async move {
        let end = Instant::now() + shared.time;
        let late = || Err(Problem::slow(shared.time.as_secs()));
        let reply = timeout_at(end.into(), shared.reply(request, place, end)).await;
        let reply = reply.unwrap_or_else(|_| late());
        Ok::<_, Infallible>(reply.unwrap_or_else(|problem| refused(&problem)))
    });
    // An error on such a connection is the other side's.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(tcp), answer)
        .await;
}

type Reply = Response<Full<Bytes>>;

impl Shared {
    async fn reply(
        &self,
        request: Request<Incoming>,
        place: &Place,
        end: Instant,
    ) -> Result<Reply, Problem> {
        let read = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            "/health" | "/readyz" if read => self.health(),
            "/openapi.json" if read => Ok(said(StatusCode::OK, OPENAPI.into())),
            "/health" | "/readyz" | "/openapi.json" => Err(Problem::method("GET or HEAD")),
            "/search" if request.method() == Method::POST => self.search(request, place, end).await,
            "/search" => Err(Problem::method("POST")),
            path => Err(Problem::path(path)),
        }
    }

    fn searcher(&self) -> Result<&Searcher, Problem> {
        self.searcher.get().ok_or_else(Problem::starting)
    }

    fn health(&self) -> Result<Reply, Problem> {
        let searcher = self.searcher()?;
        if let Some(problem) = searcher.trouble() {
            return Err(problem);
        }
        let shape = searcher.shape();
        let health = json!({
            "status": "ok",
            "version": searcher.version(),
            "dim": shape.dim,
            "k": shape.k,
        });
        Ok(said(StatusCode::OK, health.to_string()))
    }

    async fn search(
        &self,
        request: Request<Incoming>,
        place: &Place,
        end: Instant,
    ) -> Result<Reply, Problem> {
        // Before the body is read, so that a stranger takes up nothing.
        let shown = request.headers().get(AUTHORIZATION);
        if !self.token.is_shown(shown.map(HeaderValue::as_bytes)) {
            return Err(Problem::token());
        }
        if !place.prove() {
            return Err(Problem::busy());
        }
        let searcher = self.searcher()?;
        let _place = self.requests.try_acquire().map_err(|_| Problem::busy())?;
        let body = Limited::new(request.into_body(), BODY).collect().await;
        let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => Problem::long(BODY),
            None => Problem::request("the body ends before its length"),
        })?;
        let wanted = Wanted::read(&body.to_bytes(), searcher.shape())?;
        let asked = searcher.ask(wanted, end);
        let answer = asked.map_err(|refused| match refused {
            Rejection::Busy => Problem::busy(),
            Rejection::Wrong => Problem::refused(),
            Rejection::Ended => Problem::ended(),
        })?;
        let answer = answer.await.map_err(|_| Problem::ended())?;
        let answer = answer.map_err(|error| Problem::server(&error))?;
        let text = serde_json::to_string(&Results::of(&answer));
        Ok(said(StatusCode::OK, text.map_err(|_| Problem::ended())?))
    }
}

/// The answer to a request that is not answered otherwise; the connection ends with it, since the rest of
/// its body may be unread.
fn refused(problem: &Problem) -> Reply {
    let mut reply = said(problem.status(), problem.body().to_string());
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
    reply
}

fn said(status: StatusCode, json: String) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(json)));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
