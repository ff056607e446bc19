//! The calls of the service, as tonic passes them on.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use sordino_index::wire;
use sordino_server::Server;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic::{Request, Response, Status};

use super::admission::Call;
use super::changes::{LONGEST_CHANGE, SHORTEST_CHANGE};
use super::entry::blocking;
use super::peer::Peer;
use super::places::Asker;
use super::rejection::Rejection;
use super::reply::{Content, Reply};
use super::served_index::{Scan, ServedIndex};
use super::service_state::ServiceState;
use super::signed::{LONGEST_LOGIN, Signed};
use super::terms::Terms;
use super::writers::of_no_owner;
use crate::schema::search_server::{Search, SearchServer};
use crate::schema::{
    CallRequest, ChangeRequest, HelloReply, HelloRequest, LoginReply, LoginRequest, StepReply,
};
use crate::signature::instance_for;
use crate::{IndexName, Refusal};

/// The paths of calls end with the call's name.
const HELLO: &str = "/Hello";
const CHANGE: &str = "/Change";
const LOGIN: &str = "/Login";

/// Admits or refuses requests, before their bodies are read.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) shared: Arc<ServiceState>,
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
        // The bound depends on the current version, so a server is made for this request.
        let longest = shared.longest(request.uri().path());
        let (call, name) = match shared.enter(&request, longest) {
            Ok(entered) => entered,
            Err(refused) => return Box::pin(std::future::ready(Ok(refused.into_http()))),
        };
        let outcome = Outcome::default();
        request.extensions_mut().insert(Arc::clone(&call));
        request.extensions_mut().insert(outcome.clone());
        let calls = Calls {
            shared: Arc::clone(&shared),
            instance: instance_for(&shared.instance, name.as_ref()),
            name,
        };
        let mut server = SearchServer::new(calls).max_decoding_message_size(longest);
        let answer = tower_service::Service::call(&mut server, request);
        Box::pin(async move {
            // Receives the request and computes the reply. Sending the body follows.
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

impl ServiceState {
    /// The largest number of bytes of a request to this path.
    fn longest(&self, path: &str) -> usize {
        if path.ends_with(CHANGE) {
            return match self.takes_changes() {
                true => LONGEST_CHANGE,
                // This is long enough to reply that changes are not accepted.
                false => SHORTEST_CHANGE,
            };
        }
        match path.ends_with(LOGIN) {
            true => LONGEST_LOGIN,
            false => self.longest_call(),
        }
    }

    /// Admits a request before its body arrives, or refuses it. Returns the name of the requested index, if the
    /// server has several.
    fn enter(
        &self,
        request: &http::Request<Body>,
        longest: usize,
    ) -> Result<(Arc<Call>, Option<IndexName>), Status> {
        let Some(peer) = request.extensions().get::<Arc<Peer>>() else {
            // This does not happen, because every connection has a peer.
            return Err(Status::internal("no connection"));
        };
        if self.stopping.load(Ordering::Relaxed) {
            return Err(self.refused(peer, &Refusal::Stopping.into()));
        }
        let hello = request.uri().path().ends_with(HELLO);
        let entered = self.door.enter(peer, hello, longest);
        let entered = entered.and_then(|call| Ok((call, self.named(request.headers())?)));
        entered.map_err(|refusal| self.refused(peer, &refusal.into()))
    }
}

/// The outcome of a request that reached one of Sordino's calls.
#[derive(Clone, Default)]
struct Outcome(Arc<OnceLock<()>>);

impl Outcome {
    /// Records that the request was read, so its result is Sordino's.
    fn is_ours(&self) {
        let _ = self.0.set(());
    }

    /// The refusal of a request that tonic itself refused: the request is too long, or does not fit
    /// the schema.
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
    shared: Arc<ServiceState>,
    /// The requested index, if there are several.
    name: Option<IndexName>,
    /// The instance for which logins and changes of the index are signed.
    instance: [u8; 32],
}

/// The requested index, the version that answers, and the number of the client's key.
type Admitted = (Arc<ServedIndex>, Arc<Server>, Option<u32>);

impl Calls {
    /// The call of a request, which is complete now.
    fn begun<T>(request: &mut Request<T>) -> Result<Arc<Call>, Status> {
        if let Some(outcome) = request.extensions_mut().remove::<Outcome>() {
            outcome.is_ours();
        }
        let call = request.extensions_mut().remove::<Arc<Call>>();
        let call = call.ok_or_else(|| Status::internal("no call"))?;
        call.received();
        Ok(call)
    }

    /// Answers `request`, once the client is known to have the right.
    async fn answer(&self, call: &Call, called: CallRequest) -> Result<Content, Rejection> {
        let request = wire::Request::read(called.message.clone());
        let head = request.as_ref().map(wire::Request::borrowed).ok();
        let (hosted, index, key) = self.admit(call, &called, head)?;
        let asker = key.map_or(Asker::Address(call.peer.address), Asker::Key);
        let answered = match (hosted.begin(call, asker), request) {
            (Ok(()), Ok(request)) => self.ask(&hosted, index, request, asker.number()).await,
            (Ok(()), Err(error)) => Err(Rejection::Message(error)),
            (Err(refusal), _) => Err(refusal.into()),
        };
        if let Some(terms) = &hosted.terms {
            terms.counts.ended(answered.is_ok());
        }
        answered
    }

    /// Admits a request, or refuses it. `request` is `None` if the bytes are no message.
    fn admit(
        &self,
        call: &Call,
        CallRequest { message, tag }: &CallRequest,
        request: Option<wire::Request<&[u8]>>,
    ) -> Result<Admitted, Refusal> {
        let Some(keys) = &self.shared.keys else {
            let hosted = self.shared.hosted(self.name.as_ref())?;
            let index = hosted.admit(None, None, request)?;
            return Ok((hosted, index, None));
        };
        // The index is looked up after the client is known, so that strangers learn no names.
        let tag = tag.as_ref().ok_or(Refusal::Unsigned)?;
        let login = keys.logins.check(&self.instance, tag, message)?;
        let (asker, grant) = (login.entrant.client, login.entrant.grant.as_deref());
        let hosted = self.shared.hosted(self.name.as_ref())?;
        let index = hosted.admit(Some(login.clients()), grant, request)?;
        call.peer.prove(Asker::Key(asker));
        Ok((hosted, index, Some(asker)))
    }

    /// Lets an index answer.
    async fn ask(
        &self,
        hosted: &ServedIndex,
        index: Arc<Server>,
        request: wire::Request<Bytes>,
        holder: u128,
    ) -> Result<Content, Rejection> {
        if let Some(reply) = index.prepared(request.borrowed()) {
            return Ok(Content::StaticReply(reply));
        }
        if let Some(shards) = &hosted.shards {
            let reply = shards.answer(&index, request, &self.shared.metrics);
            return Ok(Content::Own(reply.await?));
        }
        let scan = Scan {
            index,
            request,
            holder,
        };
        let reply = hosted.scans.ask(scan).await?;
        Ok(Content::Own(reply.map_err(Rejection::Message)?))
    }

    /// Executes a step of a change, once the signature is known to be good.
    async fn step(&self, call: &Call, request: ChangeRequest) -> Result<StepReply, Rejection> {
        let ChangeRequest { step, signature } = request;
        let signed = Signed::of_owner(&self.instance, &step, signature)?;
        if !self.shared.takes_changes() {
            return Err(Refusal::Changes.into());
        }
        // An index that does not exist has no owner. The refusal takes the same path, and so the same
        // time.
        let hosted = self.shared.hosted(self.name.as_ref()).ok();
        let changed = hosted.clone();
        let check = move || {
            let changes = changed.as_ref().and_then(|hosted| hosted.changes.get());
            let changes = changes.ok_or_else(|| of_no_owner(&signed))?;
            changes.check(&signed)
        };
        // With several indexes, a bad signature gets the reply of an unknown index, so that index names do not leak.
        let named = self.name.is_some();
        let unknown = |refusal| match refusal {
            Refusal::Signature if named => Refusal::Key,
            refusal => refusal,
        };
        let signer = blocking(check).await?.map_err(unknown)?;
        let hosted = hosted.ok_or(Refusal::Key)?;
        let owner = Asker::Owner(hosted.terms.as_ref().map_or(0, Terms::number));
        call.peer.prove(owner);
        hosted.begin(call, owner)?;
        let shared = Arc::clone(&self.shared);
        let take = move || {
            let changes = hosted.changes.get().ok_or(Refusal::Key)?;
            changes.take(
                signer,
                &step,
                || hosted.index(),
                |new| {
                    hosted.replace(new);
                    shared.served.measure();
                },
            )
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
        let login = request.into_inner();
        let reply = self.shared.log_in(&call, self.instance, login).await;
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
        Ok(Response::new(Reply::new(content, call)))
    }
}
