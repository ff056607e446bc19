//! Answers the requests of programs, within their time limits.

use crate::options::{ProxyOptions, Writing};
use crate::places::Place;
use crate::problem::Problem;
use crate::records::{self, Work};
use crate::request::SearchRequest;
use crate::results::Results;
use crate::searcher::Searcher;
use crate::token::Token;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, ORIGIN,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use sordino_net::CrossOrigin;
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

/// The largest number of requests whose bodies are in memory at the same time.
const REQUESTS: u32 = 32;

/// The largest number of simultaneous requests about records. Others wait.
const CHANGES: u32 = 8;

/// The most time between the end of a search and the end of its request.
const MARGIN: Duration = Duration::from_secs(1);

/// The largest number of bytes of a body.
const BODY: usize = 4 << 20;

/// The methods that a web page may use.
const METHODS: &str = "GET, POST, PUT, DELETE";

/// The headers that a web page may send: for the token, and for a body of JSON.
const HEADERS: &str = "authorization, content-type";

/// The OpenAPI description of the service.
const OPENAPI: &str = include_str!("openapi.json");

/// The answer to a request.
pub(crate) type Reply = Response<Full<Bytes>>;

/// The part of the proxy that answers requests, independent of the connection.
pub(crate) struct Service {
    token: Token,
    /// Empty until the client is connected.
    searcher: OnceLock<Searcher>,
    options: ProxyOptions,
    /// The web pages that may ask from a browser.
    pages: CrossOrigin,
    requests: Semaphore,
    /// Permits for requests about records.
    changes: Arc<Semaphore>,
}

impl Service {
    pub(crate) fn new(token: Token, options: ProxyOptions) -> Self {
        Self {
            token,
            searcher: OnceLock::new(),
            pages: CrossOrigin::new(options.origins.clone(), METHODS, HEADERS),
            options,
            requests: Semaphore::new(REQUESTS as usize),
            changes: Arc::new(Semaphore::new(CHANGES as usize)),
        }
    }

    /// Answers searches from now on.
    pub(crate) fn search_with(&self, searcher: Searcher) {
        // The first searcher stays.
        drop(self.searcher.set(searcher));
    }

    /// Waits for the current requests, and accepts no more. Requests that exceed their time are cut off.
    pub(crate) async fn drain(&self) {
        let end = Instant::now() + self.options.timeout;
        if let Ok(Ok(all)) = timeout_at(end.into(), self.requests.acquire_many(REQUESTS)).await {
            all.forget();
        }
        let changes = self.changes.acquire_many(CHANGES);
        if let Ok(Ok(all)) = timeout_at(end.into(), changes).await {
            all.forget();
        }
        // Requests that still wait are refused.
        self.changes.close();
    }

    /// The answer to a request, in every case.
    pub(crate) async fn reply(&self, request: Request<Incoming>, place: &Place) -> Reply {
        let timeout = &self.options.timeout;
        let end = Instant::now() + *timeout;
        let asked = request.headers().get(ORIGIN).cloned();
        let late = || Err(Problem::slow(timeout.as_secs()));
        let reply = timeout_at(end.into(), self.route(request, place, end)).await;
        let reply = reply.unwrap_or_else(|_| late());
        let mut reply = reply.unwrap_or_else(|problem| problem_reply(&problem));
        self.pages.allow(asked.as_ref(), reply.headers_mut());
        reply
    }

    async fn route(
        &self,
        request: Request<Incoming>,
        place: &Place,
        end: Instant,
    ) -> Result<Reply, Problem> {
        if let Some(headers) = self.pages.preflight(request.method(), request.headers()) {
            let mut reply = Response::new(Full::default());
            *reply.status_mut() = StatusCode::NO_CONTENT;
            *reply.headers_mut() = headers;
            return Ok(reply);
        }
        let read = matches!(*request.method(), Method::GET | Method::HEAD);
        if let (Some(query), "/search" | "/records" | "/records/scroll" | "/records/count") =
            (request.uri().query(), request.uri().path())
        {
            return Err(Problem::query(query));
        }
        match request.uri().path() {
            "/health" | "/readyz" if read => self.health(),
            // The process lives if it answers.
            "/healthz" if read => Ok(json_reply(StatusCode::OK, r#"{"status":"alive"}"#.into())),
            "/openapi.json" if read => Ok(json_reply(StatusCode::OK, OPENAPI.into())),
            "/health" | "/healthz" | "/readyz" | "/openapi.json" => {
                Err(Problem::method("GET or HEAD"))
            }
            "/search" if request.method() == Method::POST => self.search(request, place, end).await,
            "/search" => Err(Problem::method("POST")),
            path if path.starts_with("/records") => self.records(request, place, end).await,
            path => Err(Problem::path(path)),
        }
    }

    fn searcher(&self) -> Result<&Searcher, Problem> {
        self.searcher.get().ok_or_else(Problem::starting)
    }

    fn health(&self) -> Result<Reply, Problem> {
        let searcher = self.searcher()?;
        if let Some(problem) = searcher.problem() {
            return Err(problem);
        }
        let snapshot = searcher.snapshot();
        let health = json!({
            "status": "ok",
            "version": snapshot.version,
            "dim": snapshot.shape.dim,
            "k": snapshot.shape.k,
        });
        Ok(json_reply(StatusCode::OK, health.to_string()))
    }

    /// Refuses a client without the token before it reads the body, so that such clients take no memory.
    fn admit(
        (token, option): (&Token, &str),
        request: &Request<Incoming>,
        place: &Place,
    ) -> Result<(), Problem> {
        let shown = request.headers().get(AUTHORIZATION);
        if !token.is_shown(shown.map(HeaderValue::as_bytes)) {
            return Err(Problem::token(option));
        }
        match place.prove() {
            true => Ok(()),
            false => Err(Problem::busy()),
        }
    }

    async fn records(
        &self,
        request: Request<Incoming>,
        place: &Place,
        end: Instant,
    ) -> Result<Reply, Problem> {
        let (method, path) = (request.method(), request.uri().path());
        let work: Work = match (method.as_str(), path) {
            ("PUT", "/records") => records::put,
            ("DELETE", "/records") => records::delete,
            ("POST", "/records/scroll") => records::scroll,
            ("GET", "/records/count") => records::count,
            (_, "/records") => return Err(Problem::method("PUT or DELETE")),
            (_, "/records/scroll") => return Err(Problem::method("POST")),
            (_, "/records/count") => return Err(Problem::method("GET")),
            (_, path) => return Err(Problem::path(path)),
        };
        let Writing { records, token } = self
            .options
            .writing
            .as_ref()
            .ok_or_else(Problem::no_owner)?;
        Self::admit((token, "--write-token-file"), &request, place)?;
        let records = Arc::clone(records);
        // A request waits for its turn without its body, so memory never holds more bodies than there are turns. The limit on
        // connections also limits waiting requests.
        let permit = timeout_at(end.into(), Arc::clone(&self.changes).acquire_owned()).await;
        let permit = permit.map_err(|_| Problem::busy())?;
        let permit = permit.map_err(|_| Problem::busy())?;
        let body = body(request).await?;
        // Late work continues, and keeps its permit.
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&*records, &body)
        });
        let text = done.await.map_err(|_| Problem::ended())??;
        Ok(json_reply(StatusCode::OK, text))
    }

    async fn search(
        &self,
        request: Request<Incoming>,
        place: &Place,
        end: Instant,
    ) -> Result<Reply, Problem> {
        Self::admit((&self.token, "--token-file"), &request, place)?;
        let searcher = self.searcher()?;
        let _permit = self.requests.try_acquire().map_err(|_| Problem::busy())?;
        let request = SearchRequest::read(&body(request).await?, searcher.snapshot().shape)?;
        // The search ends before the request does, so that the answer can say why the server does not answer.
        let margin = (self.options.timeout / 10).min(MARGIN);
        let answer = searcher.ask(request, end - margin)?.await;
        let answer = answer.map_err(|_| Problem::ended())?;
        let answer = answer.map_err(|error| Problem::server(&error))?;
        let text = serde_json::to_string(&Results::of(&answer));
        Ok(json_reply(
            StatusCode::OK,
            text.map_err(|_| Problem::ended())?,
        ))
    }
}

/// The byte-order mark, which some programs write before JSON.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The body of a request.
async fn body(request: Request<Incoming>) -> Result<Bytes, Problem> {
    let encoding = request.headers().get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        let why = "the body is compressed (Content-Encoding): expected JSON as it is";
        return Err(Problem::request(why));
    }
    let body = Limited::new(request.into_body(), BODY).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => Problem::long(BODY),
        None => Problem::request("the body ends before its length"),
    })?;
    let body = body.to_bytes();
    Ok(match body.starts_with(MARK) {
        true => body.slice(MARK.len()..),
        false => body,
    })
}

/// The answer to a failed request. It ends the connection, since the rest of the body may be unread.
fn problem_reply(problem: &Problem) -> Reply {
    let mut reply = json_reply(problem.status(), problem.body().to_string());
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
    reply
}

fn json_reply(status: StatusCode, json: String) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(json)));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
