//! The calls, as tonic hands them over.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use sordino_server::Prepared;
use tokio_stream::Stream;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic::{Request, Response, Status};

use super::bearers::permit;
use super::changes::{LONGEST_CHANGE, OWNER, SHORTEST_CHANGE};
use super::door::Call;
use super::entry::blocking;
use super::peer::Peer;
use super::refused::Refused;
use super::service::{Scan, Shared};
use super::signed::{LONGEST_LOGIN, Signed};
use crate::Refusal;
use crate::protocol::CHUNK;
use crate::schema::search_server::{Search, SearchServer};
use crate::schema::{
    CallReply, CallRequest, ChangeRequest, HelloReply, HelloRequest, LoginReply, LoginRequest,
    StepReply,
};

/// The paths of calls end with the call's name.
const HELLO: &str = "/Hello";
const CHANGE: &str = "/Change";
const LOGIN: &str = "/Login";

/// Lets requests in or refuses them, before their bodies are read.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) shared: Arc<Shared>,
}

impl NamedService for Gate {
    const NAME: &'static str = SearchServer::<Calls>::NAME;
}

type Answer = Result<http::Response<Body>, Infallible>;

impl tower_service::Service<http::Request<Body>> for Gate {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        // The bound is that of the version in place, so the server is made for this request.
        let longest = shared.longest(request.uri().path());
        let call = match shared.enter(&request, longest) {
            Ok(call) => call,
            Err(refused) => return Box::pin(std::future::ready(Ok(refused.into_http()))),
        };
        let outcome = Outcome::default();
        request.extensions_mut().insert(Arc::clone(&call));
        request.extensions_mut().insert(outcome.clone());
        let calls = Calls {
            shared: Arc::clone(&shared),
        };
        let mut server = SearchServer::new(calls).max_decoding_message_size(longest);
        let answer = tower_service::Service::call(&mut server, request);
        Box::pin(async move {
            // Receiving the request and computing the reply; the body follows.
            tokio::select! {
                biased;
                answer = answer => {
                    let answer = answer?;
                    Ok(match outcome.read_by_tonic(&answer) {
                        Some(refusal) => shared.refuse(&call.peer, refusal),
                        None => answer,
                    })
                }
                refusal = call.given_up() => Ok(shared.refuse(&call.peer, refusal)),
            }
        })
    }
}

impl Shared {
    /// The longest request that a path has.
    fn longest(&self, path: &str) -> usize {
        match (path.ends_with(CHANGE), self.changes.get()) {
            (true, Some(_)) => LONGEST_CHANGE,
            // Long enough to be told that none are accepted.
            (true, None) => SHORTEST_CHANGE,
            (false, _) if path.ends_with(LOGIN) => LONGEST_LOGIN,
            (false, _) => self.longest_call(),
        }
    }

    /// Lets a request in whose body is still to come, or refuses it.
    fn enter(&self, request: &http::Request<Body>, longest: usize) -> Result<Arc<Call>, Status> {
        let Some(peer) = request.extensions().get::<Arc<Peer>>() else {
            // Every connection has one.
            return Err(Status::internal("no connection"));
        };
        if self.stopping.load(Ordering::Relaxed) {
            return Err(self.refused(peer, &Refusal::Stopping.into()));
        }
        let hello = request.uri().path().ends_with(HELLO);
        let entered = self.door.enter(peer, hello, longest);
        entered.map_err(|refusal| self.refused(peer, &refusal.into()))
    }

    /// Counts a refusal, says it to the operator, and makes the reply of it.
    fn refuse(&self, peer: &Peer, refusal: Refusal) -> http::Response<Body> {
        self.refused(peer, &Refused::By(refusal)).into_http()
    }

    fn refused(&self, peer: &Peer, refused: &Refused) -> Status {
        let reason = refused.reason();
        self.metrics.refused(reason);
        peer.heed(reason);
        let (address, name) = (peer.address, reason.name());
        if reason.is_passing() {
            tracing::debug!(reason = name, %address, "request refused");
        } else {
            tracing::info!(reason = name, %address, "request refused");
        }
        refused.status()
    }
}

/// A request's outcome, if it came as far as to a call of ours.
#[derive(Clone, Default)]
struct Outcome(Arc<OnceLock<()>>);

impl Outcome {
    /// The request has been read, so that what comes of it is ours.
    fn is_ours(&self) {
        let _ = self.0.set(());
    }

    /// The refusal of a request that tonic did not even hand over: too long, or not of the schema.
    fn read_by_tonic(&self, answer: &http::Response<Body>) -> Option<Refusal> {
        if self.0.get().is_some() {
            return None;
        }
        let code = Status::from_header_map(answer.headers())?.code();
        match code {
            tonic::Code::Ok => None,
            tonic::Code::OutOfRange => Some(Refusal::Long),
            _ => Some(Refusal::Message),
        }
    }
}

pub(crate) struct Calls {
    shared: Arc<Shared>,
}

impl Calls {
    /// The call that a request belongs to. It is whole now.
    fn begun<T>(request: &mut Request<T>) -> Result<Arc<Call>, Status> {
        if let Some(outcome) = request.extensions_mut().remove::<Outcome>() {
            outcome.is_ours();
        }
        let call = request.extensions_mut().remove::<Arc<Call>>();
        let call = call.ok_or_else(|| Status::internal("no call"))?;
        call.received();
        Ok(call)
    }

    /// Answers `request`, once it is known that it may be.
    async fn answer(&self, call: &Call, request: CallRequest) -> Result<Content, Refused> {
        let CallRequest {
            message,
            signature,
            tag,
        } = request;
        let mut asker = None;
        if let Some(keys) = &self.shared.keys {
            asker = Some(match (tag, signature) {
                (Some(tag), None) => {
                    let login = keys.logins.check(&tag, &message)?;
                    if let Some(grant) = &login.entrant.grant {
                        permit(grant, &self.shared.index().manifest().index, &message)?;
                    }
                    login.entrant.client
                }
                (None, signature) => {
                    let signed = Signed::read(&self.shared.instance, &message, signature)?;
                    keys.number(signed).await?
                }
                (Some(_), Some(_)) => return Err(Refusal::Malformed.into()),
            });
            call.peer.prove();
        }
        call.begin(asker)?;
        let index = self.shared.index_of(&message);
        if let Some(reply) = index.prepared(&message) {
            return Ok(Content::Prepared(reply));
        }
        if let Some(shards) = &self.shared.shards {
            let reply = shards.answer(&index, message, &self.shared.metrics);
            return Ok(Content::Own(reply.await?));
        }
        let request = message;
        let scan = Scan { index, request };
        let reply = self.shared.scans.ask(scan).await?;
        Ok(Content::Own(reply.map_err(Refused::Message)?))
    }

    /// Takes a step of a change, once it is known that the owner signed it.
    async fn step(&self, call: &Call, request: ChangeRequest) -> Result<StepReply, Refused> {
        let ChangeRequest { step, signature } = request;
        let signed = Signed::of_owner(&self.shared.instance, &step, signature)?;
        let shared = Arc::clone(&self.shared);
        let check = move || shared.changes.get().ok_or(Refusal::Changes)?.check(&signed);
        blocking(check).await??;
        call.peer.prove();
        call.begin(Some(OWNER))?;
        let shared = Arc::clone(&self.shared);
        let take = move || {
            let changes = shared.changes.get().ok_or(Refusal::Changes)?;
            let taken = changes.take(&step, &shared.index());
            let (reply, new) = taken.map_err(Refused::Message)?;
            if let Some(new) = new {
                shared.replace(new);
            }
            Ok(reply)
        };
        blocking(take).await?
    }
}

#[tonic::async_trait]
impl Search for Calls {
    async fn hello(
        &self,
        mut request: Request<HelloRequest>,
    ) -> Result<Response<HelloReply>, Status> {
        Self::begun(&mut request)?;
        Ok(Response::new(self.shared.hello()))
    }

    async fn login(
        &self,
        mut request: Request<LoginRequest>,
    ) -> Result<Response<LoginReply>, Status> {
        let call = Self::begun(&mut request)?;
        let reply = self.shared.log_in(&call, request.into_inner()).await;
        let reply = reply.map_err(|refused| self.shared.refused(&call.peer, &refused))?;
        self.shared.metrics.answered.inc();
        Ok(Response::new(reply))
    }

    async fn change(
        &self,
        mut request: Request<ChangeRequest>,
    ) -> Result<Response<StepReply>, Status> {
        let call = Self::begun(&mut request)?;
        let reply = self.step(&call, request.into_inner()).await;
        let reply = reply.map_err(|refused| self.shared.refused(&call.peer, &refused))?;
        self.shared.metrics.answered.inc();
        Ok(Response::new(reply))
    }

    type CallStream = Reply;

    async fn call(&self, mut request: Request<CallRequest>) -> Result<Response<Reply>, Status> {
        let call = Self::begun(&mut request)?;
        let content = self.answer(&call, request.into_inner()).await;
        let content = content.map_err(|refused| self.shared.refused(&call.peer, &refused))?;
        self.shared.metrics.answered.inc();
        call.replying(content.len());
        Ok(Response::new(Reply {
            content,
            at: 0,
            _call: call,
        }))
    }
}

/// A reply, and where it lies.
enum Content {
    /// Made for this request.
    Own(Bytes),
    /// The same for everyone: it stays where it is, and is copied a chunk at a time.
    Prepared(Prepared),
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Prepared(reply) => reply.len(),
        }
    }

    /// The chunk that begins at `at`.
    fn chunk(&self, at: usize) -> Bytes {
        match self {
            Self::Own(bytes) => bytes.slice(at..self.len().min(at + CHUNK)),
            Self::Prepared(reply) => reply.range(at, CHUNK).into(),
        }
    }
}

/// A reply on its way, chunk after chunk. The request is in flight until all have been taken.
pub(crate) struct Reply {
    content: Content,
    at: usize,
    _call: Arc<Call>,
}

impl Stream for Reply {
    type Item = Result<CallReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.at >= self.content.len() {
            return Poll::Ready(None);
        }
        let chunk = self.content.chunk(self.at);
        self.at += CHUNK;
        let length = self.content.len() as u64;
        Poll::Ready(Some(Ok(CallReply { length, chunk })))
    }
}
