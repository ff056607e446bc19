//! gRPC's health service. Its clients are strangers. The server admits their requests, and ends slow ones, like all others.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::HealthReporter;

use super::grpc::Gate;
use super::peer::Peer;
use super::service_state::ServiceState;
use super::web;

/// The largest size of a request in bytes. A request contains only the name of a service, or an empty name.
const LONGEST: usize = 256;

/// The health service, with the server's admission of requests.
pub(crate) struct Probes<H> {
    health: HealthServer<H>,
    shared: Arc<ServiceState>,
}

/// A derived `Clone` would require `H: Clone`, but `HealthServer<H>` is `Clone` for every `H`.
impl<H> Clone for Probes<H> {
    fn clone(&self) -> Self {
        Self {
            health: self.health.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<H: Health> Probes<H> {
    pub(crate) fn new(health: HealthServer<H>, shared: &Arc<ServiceState>) -> Self {
        Self {
            health: health.max_decoding_message_size(LONGEST),
            shared: Arc::clone(shared),
        }
    }
}

impl<H: Health> NamedService for Probes<H> {
    const NAME: &'static str = HealthServer::<H>::NAME;
}

type Answer = Result<http::Response<Body>, Infallible>;

impl<H: Health> tower_service::Service<http::Request<Body>> for Probes<H> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    /// A request that watches the health holds no place: its answer has begun, and ends with its
    /// connection.
    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request.version() != http::Version::HTTP_2 {
            return Box::pin(std::future::ready(Ok(web::not_spoken())));
        }
        let shared = Arc::clone(&self.shared);
        let Some(peer) = request.extensions().get::<Arc<Peer>>() else {
            // This does not happen, because every connection has a peer.
            let none = Status::internal("no connection").into_http();
            return Box::pin(std::future::ready(Ok(none)));
        };
        let call = match shared.door.enter(peer, true, LONGEST) {
            Ok(call) => call,
            Err(refusal) => {
                let refused = shared.refuse(peer, refusal);
                return Box::pin(std::future::ready(Ok(refused)));
            }
        };
        let answer = tower_service::Service::call(&mut self.health, request);
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = answer => {
                    call.received();
                    answer
                }
                refusal = call.given_up() => Ok(shared.refuse(&call.peer, refusal)),
            }
        })
    }
}

/// Reports the health of the whole server and of its one service.
pub(crate) async fn report(reporter: &HealthReporter, status: ServingStatus) {
    for name in ["", <Gate as NamedService>::NAME] {
        reporter.set_service_status(name, status).await;
    }
}
