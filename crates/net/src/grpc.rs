//! The calls, as tonic hands them over.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use sordino_search::Server;
use tokio_stream::Stream;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic::{Request, Response, Status};

use crate::Refusal;
use crate::error::refused_message;
use crate::incoming::Activity;
use crate::proof::Claim;
use crate::schema::search_server::{Search, SearchServer};
use crate::schema::{CallReply, CallRequest, HelloReply, HelloRequest};
use crate::service::{Call, Scan, Shared};

/// Bytes of a reply that travel together.
pub(crate) const CHUNK: usize = 64 << 10;

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
        let activity = request.extensions().get::<Arc<Activity>>().cloned();
        let call = match shared.admit(activity) {
            Ok(call) => call,
            Err(refusal) => {
                shared.metrics.refused(refusal);
                return Box::pin(std::future::ready(Ok(refusal.status(None).into_http())));
            }
        };
        request.extensions_mut().insert(Arc::new(call));
        // The bound is that of the version in place, so the server is made for this request.
        let calls = Calls {
            shared: Arc::clone(&shared),
        };
        let mut server = SearchServer::new(calls).max_decoding_message_size(shared.longest_call());
        let answer = tower_service::Service::call(&mut server, request);
        Box::pin(async move {
            // Receiving the request and computing the reply; the body follows.
            match tokio::time::timeout(shared.limits.request, answer).await {
                Ok(answer) => answer,
                Err(_) => {
                    shared.metrics.refused(Refusal::Slow);
                    Ok(Refusal::Slow.status(None).into_http())
                }
            }
        })
    }
}

pub(crate) struct Calls {
    shared: Arc<Shared>,
}

impl Calls {
    /// What `request` is answered with.
    async fn answer(&self, request: CallRequest) -> Result<Content, Status> {
        let CallRequest { message, proof } = request;
        let refused = |refusal: Refusal| refusal.status(None);
        if let Some(claims) = &self.shared.claims {
            let claim = Claim::read(&self.shared.instance, &message, proof).map_err(refused)?;
            claims
                .ask(claim)
                .await
                .and_then(|verdict| verdict)
                .map_err(refused)?;
        }
        let index = self.shared.index();
        let prepared = index.prepared(&message).map(|reply| reply.len());
        if let Some(len) = prepared {
            return Ok(Content::Prepared {
                index,
                request: message,
                len,
            });
        }
        let scan = Scan {
            index,
            request: message,
        };
        let reply = self.shared.scans.ask(scan).await.map_err(refused)?;
        Ok(Content::Own(
            reply.map_err(|error| refused_message(&error))?,
        ))
    }
}

#[tonic::async_trait]
impl Search for Calls {
    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        Ok(Response::new(HelloReply {
            instance: Bytes::copy_from_slice(&self.shared.instance),
        }))
    }

    type CallStream = Reply;

    async fn call(&self, mut request: Request<CallRequest>) -> Result<Response<Reply>, Status> {
        let call = request.extensions_mut().remove::<Arc<Call>>();
        let content = match self.answer(request.into_inner()).await {
            Ok(content) => content,
            Err(status) => {
                self.shared.metrics.refused(reason(&status));
                return Err(status);
            }
        };
        self.shared.metrics.answered.inc();
        let len = content.len();
        if let Some(call) = &call {
            call.replying(len);
        }
        Ok(Response::new(Reply {
            content,
            at: 0,
            _call: call,
        }))
    }
}

/// The refusal that a status of ours is made from.
fn reason(status: &Status) -> Refusal {
    match crate::Error::from(status.clone()) {
        crate::Error::Refused(refusal) => refusal,
        _ => Refusal::Message,
    }
}

/// A reply, and where it lies.
enum Content {
    /// Made for this request.
    Own(Bytes),
    /// The same for everyone: it stays where it is.
    Prepared {
        index: Arc<Server>,
        request: Bytes,
        len: usize,
    },
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Prepared { len, .. } => *len,
        }
    }

    /// The chunk that begins at `at`.
    fn chunk(&self, at: usize) -> Bytes {
        let end = self.len().min(at + CHUNK);
        match self {
            Self::Own(bytes) => bytes.slice(at..end),
            Self::Prepared { index, request, .. } => {
                let reply = index.prepared(request);
                let range = reply.map(|reply| reply.range(at, end - at));
                range.unwrap_or_default().into()
            }
        }
    }
}

/// A reply on its way, chunk after chunk. The request is in flight until all have been taken.
pub(crate) struct Reply {
    content: Content,
    at: usize,
    _call: Option<Arc<Call>>,
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
