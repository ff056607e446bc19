//! gRPC-Web: the same calls for clients that cannot speak gRPC, such as pages in browsers.

use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use tonic::body::Body;
use tonic::codegen::http::header::{ACCEPT, CONTENT_TYPE, ORIGIN};
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use tonic::server::NamedService;
use tonic::service::{LayerExt, Layered};
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower_service::Service;

use super::grpc::Gate;
use crate::{CrossOrigin, Origin};

/// The size in bytes of a request's head: names and values of its fields.
pub(crate) const HEAD: u32 = 8 << 10;

/// The content types of gRPC-Web in its binary form.
const BINARY: [&str; 2] = ["application/grpc-web", "application/grpc-web+proto"];

/// The first bytes of the content types of all forms.
const ANY_FORM: &str = "application/grpc-web";

/// The first bytes of gRPC's content type. A page cannot send it without a question by its browser
/// first.
const GRPC: &str = "application/grpc";

/// The method that a page may use.
const METHODS: &str = "POST";

/// The headers that a page may send. Libraries of gRPC-Web add the second, third and fourth.
const HEADERS: &str = "content-type, x-grpc-web, x-user-agent, grpc-timeout, sordino-index";

/// The headers that a page may read. They say why a request was refused.
const SHOWN: &str = "grpc-status, grpc-message, sordino-refusal, sordino-stale";

/// The gate with an additional entrance for gRPC-Web, over HTTP/1.1 and HTTP/2.
#[derive(Clone)]
pub(crate) struct Web {
    gate: Gate,
    translated: Layered<GrpcWebService<Gate>, Gate>,
    pages: Arc<CrossOrigin>,
}

impl Web {
    /// Admits pages of `origins`, and clients that are no pages.
    pub(crate) fn new(gate: Gate, origins: Vec<Origin>) -> Self {
        let pages = CrossOrigin::new(origins, METHODS, HEADERS).showing(SHOWN);
        Self {
            translated: GrpcWebLayer::new().named_layer(gate.clone()),
            gate,
            pages: Arc::new(pages),
        }
    }

    /// The refusal of a request, if its head is enough to decide.
    fn refused(&self, form: Form, headers: &HeaderMap) -> Option<Response<Body>> {
        let mut origins = headers.get_all(ORIGIN).iter();
        match form {
            Form::Binary if length(headers) > HEAD as usize => Some(said(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "The fields of the request's head are longer than 8 KiB: leave some out.\n",
            )),
            // A page can point its own host name to this server, and then sends requests as a page of this host. Its
            // origin still shows that name. Over TLS a page can also use the form of gRPC. Clients that are no pages
            // send no origin.
            Form::Grpc | Form::Binary if !origins.all(|it| self.pages.admits(it)) => Some(said(
                StatusCode::FORBIDDEN,
                "This server answers no pages of this origin: its operator names them with --allow-origin.\n",
            )),
            Form::Grpc | Form::Binary => None,
            Form::Other => Some(said(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "This server speaks gRPC with Content-Type application/grpc, gRPC-Web with application/grpc-web+proto, and no other form.\n",
            )),
            Form::None => Some(not_spoken()),
        }
    }
}

impl NamedService for Web {
    const NAME: &'static str = Gate::NAME;
}

type Answer = Result<Response<Body>, Infallible>;

impl Service<Request<Body>> for Web {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // This service is always ready, like the gate.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let preflight = self.pages.preflight(request.method(), request.headers());
        let asked = request.headers().get(ORIGIN).cloned();
        let pages = Arc::clone(&self.pages);
        let form = Form::of(&request);
        let known = match preflight {
            Some(headers) => {
                let mut reply = Response::new(Body::empty());
                *reply.status_mut() = StatusCode::NO_CONTENT;
                *reply.headers_mut() = headers;
                Some(reply)
            }
            None => self.refused(form, request.headers()),
        };
        if let Some(mut reply) = known {
            pages.allow(asked.as_ref(), reply.headers_mut());
            return Box::pin(ready(Ok(reply)));
        }
        if let Form::Grpc = form {
            return self.gate.call(request);
        }
        // This header would choose another form for the answer.
        request.headers_mut().remove(ACCEPT);
        let answer = self.translated.call(request);
        Box::pin(async move {
            let mut answer = answer.await?;
            pages.allow(asked.as_ref(), answer.headers_mut());
            Ok(answer)
        })
    }
}

/// The form of a request.
#[derive(Clone, Copy)]
enum Form {
    /// gRPC, which has HTTP/2.
    Grpc,
    /// gRPC-Web in its binary form.
    Binary,
    /// Another form, of gRPC-Web or over HTTP/2.
    Other,
    /// HTTP/1.1 without gRPC-Web.
    None,
}

impl Form {
    fn of(request: &Request<Body>) -> Self {
        let content = request.headers().get(CONTENT_TYPE);
        let content = content.and_then(|content| content.to_str().ok());
        match content {
            Some(content) if BINARY.contains(&content) => Self::Binary,
            Some(content) if content.starts_with(ANY_FORM) => Self::Other,
            _ if request.version() != Version::HTTP_2 => Self::None,
            Some(content) if content.starts_with(GRPC) => Self::Grpc,
            _ => Self::Other,
        }
    }
}

/// The bytes of all names and values.
fn length(headers: &HeaderMap) -> usize {
    let each = headers.iter();
    each.map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}

/// The answer to a request of HTTP/1.1 that is not gRPC-Web.
pub(crate) fn not_spoken() -> Response<Body> {
    said(
        StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        "This is a Sordino server: gRPC over HTTP/2, and gRPC-Web with Content-Type application/grpc-web+proto.\n",
    )
}

fn said(status: StatusCode, text: &'static str) -> Response<Body> {
    let text = Full::new(Bytes::from_static(text.as_bytes()));
    let mut reply = Response::new(Body::new(text));
    *reply.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}
