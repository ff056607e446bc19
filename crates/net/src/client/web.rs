//! gRPC-Web over a function that posts bytes, such as a browser's `fetch`.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use prost::Message;
use sordino_reader::AsyncTransport;
use tonic::codegen::http::{HeaderMap, HeaderName, HeaderValue};
use tonic::{Code, Status};

use super::login::{Instance, Login};
use crate::caller::{ChunkedReply, printable};
use crate::protocol::{CHUNK, REFUSAL, STALE};
use crate::schema::{CallReply, CallRequest, HelloReply, HelloRequest, LoginReply, LoginRequest};
use crate::signature::{instance_for, now};
use crate::{ClientKey, Error, IndexName, Refusal};

/// The number of seconds in a day.
const DAY: u64 = 86_400;

/// The size in bytes of a frame's head: a flag and a length.
const FRAME_HEAD: usize = 5;

/// The flags of a message's frame and of the trailers' frame.
const MESSAGE: u8 = 0;
const TRAILERS: u8 = 0x80;

/// A size in bytes above the size of the trailers, and above a chunk without its content.
const TRAILERS_LEN: usize = 8 << 10;
const CHUNK_HEAD: usize = 64;

/// The content type of gRPC-Web in its binary form.
const CONTENT_TYPE: &str = "application/grpc-web";

/// A request to be posted, with the content type `application/grpc-web+proto`.
#[derive(Clone, Debug)]
pub struct WebRequest {
    /// The name of the call, which follows `/sordino.v1.Search/` in the path.
    pub call: &'static str,
    /// The value of the header `sordino-index`, where the server has several indexes.
    pub index: Option<IndexName>,
    /// The body.
    pub body: Vec<u8>,
    /// The size in bytes of the longest body of an honest answer: the caller must not read more.
    pub limit: usize,
}

/// The answer to a [`WebRequest`].
#[derive(Clone, Debug, Default)]
pub struct WebReply {
    /// The status code of HTTP.
    pub status: u16,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// A way to post bytes to one server.
pub trait Post {
    /// Posts a request, once.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Broken`] or [`Error::Deadline`] if no whole answer came. [`Error::Reply`] if the
    /// answer was longer than the limit.
    fn post(&mut self, request: WebRequest) -> impl Future<Output = Result<WebReply, Error>>;
}

/// A connection to a server by gRPC-Web, for [`sordino_reader::Client`].
///
/// Messages, sizes, logins and errors are the same as with [`Connection`](crate::Connection).
///
/// # Security
/// A request is sent once, as with [`Connection`](crate::Connection).
pub struct WebConnection<P> {
    post: P,
    index: Option<IndexName>,
    key: Option<Arc<ClientKey>>,
    token: Vec<u8>,
    /// The run of the server for which logins are made.
    instance: Option<Instance>,
    login: Option<Login>,
}

impl<P: Post> WebConnection<P> {
    /// A connection for the index of this name, at a server that has several.
    pub fn new(post: P, index: Option<IndexName>) -> Self {
        Self {
            post,
            index,
            key: None,
            token: Vec::new(),
            instance: None,
            login: None,
        }
    }

    /// Logs in with this key, unless the server answers everyone.
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<ClientKey>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Shows this token when logging in. A server that does not list the key needs it.
    #[must_use]
    pub fn token(mut self, token: impl Into<Vec<u8>>) -> Self {
        self.token = token.into();
        self
    }

    /// Sends one message and waits for the reply, which has at most `limit` bytes.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server refuses the request. [`Error::Status`] if the call ends with another status.
    /// [`Error::Reply`] if no honest server sends this reply. The errors of [`Post`].
    pub async fn exchange(&mut self, message: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let mut tag = None;
        if let Some(key) = self.key.clone() {
            let instance = self.instance().await?;
            // A server without a KEM key answers everyone.
            if !instance.kem_key.is_empty() {
                tag = Some(self.login(&key, &instance).await?.tag(message));
            }
        }
        let request = CallRequest {
            message: Bytes::copy_from_slice(message),
            tag,
        };
        let chunks = limit.div_ceil(CHUNK) * (FRAME_HEAD + CHUNK_HEAD);
        let frames = self.make("Call", &request, limit.saturating_add(chunks));
        let reply = frames.await.and_then(|frames| {
            let mut reply = ChunkedReply::new(limit);
            for frame in frames {
                reply.push(&decoded::<CallReply>(frame)?)?;
            }
            Ok(reply.finish()?.0)
        });
        self.forget_instance(reply.as_ref().err());
        reply
    }

    /// After an error about the run, the signature or the login, the server may have been restarted. So the next call
    /// asks for its current run.
    fn forget_instance(&mut self, error: Option<&Error>) {
        if error.is_some_and(Error::is_of_restart) {
            self.instance = None;
            self.login = None;
        }
    }

    /// The login at this run of the server: the present one, or a new one.
    async fn login(&mut self, key: &ClientKey, instance: &Instance) -> Result<&mut Login, Error> {
        if self.login.as_ref().is_none_or(Login::is_over) {
            let Instance { name, kem_key } = instance;
            let (request, half) = Login::ask(key, &self.token, name, kem_key, now())?;
            let request: LoginRequest = request;
            let reply = self.one::<LoginReply>("Login", &request).await;
            self.forget_instance(reply.as_ref().err());
            let reply = reply?;
            let lifetime = Duration::from_secs(reply.seconds.min(DAY));
            self.login = Some(half.begun(reply.login, lifetime));
        }
        self.login
            .as_mut()
            .ok_or_else(|| Error::Reply("no login".to_owned()))
    }

    /// The run of the server for which logins are made.
    async fn instance(&mut self) -> Result<Instance, Error> {
        if let Some(instance) = &self.instance {
            return Ok(instance.clone());
        }
        let hello = self.one::<HelloReply>("Hello", &HelloRequest {}).await?;
        let found = hello.instance.len();
        let run: [u8; 32] = hello.instance[..]
            .try_into()
            .map_err(|_| Error::Reply(format!("an instance of {found} bytes")))?;
        let instance = Instance {
            name: instance_for(&run, self.index.as_ref()),
            kem_key: hello.kem_key,
        };
        self.instance = Some(instance.clone());
        Ok(instance)
    }

    /// Makes a call whose answer is one message.
    async fn one<T: Message + Default>(
        &mut self,
        call: &'static str,
        request: &impl Message,
    ) -> Result<T, Error> {
        let mut frames = self.make(call, request, CHUNK).await?;
        match (frames.pop(), frames.pop()) {
            (Some(frame), None) => decoded(frame),
            _ => Err(Error::Reply(format!("{call} is answered by one message"))),
        }
    }

    /// Makes a call. Returns the messages of its answer, which have at most `limit` bytes in all.
    async fn make(
        &mut self,
        call: &'static str,
        request: &impl Message,
        limit: usize,
    ) -> Result<Vec<Bytes>, Error> {
        let len = request.encoded_len();
        let short = u32::try_from(len).map_err(|_| Error::Refused(Refusal::Long))?;
        let mut body = Vec::with_capacity(FRAME_HEAD + len);
        body.push(MESSAGE);
        body.extend(short.to_be_bytes());
        // A vector grows as needed.
        let _ = request.encode(&mut body);
        let request = WebRequest {
            call,
            index: self.index.clone(),
            body,
            limit: limit.saturating_add(TRAILERS_LEN),
        };
        frames(self.post.post(request).await?)
    }
}

impl<P: Post> AsyncTransport for WebConnection<P> {
    async fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, sordino_reader::Error> {
        Ok(Self::exchange(self, request, limit).await?)
    }
}

impl<P> std::fmt::Debug for WebConnection<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebConnection")
            .field("index", &self.index)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

fn decoded<T: Message + Default>(frame: Bytes) -> Result<T, Error> {
    T::decode(frame).map_err(|_| Error::Reply("a message that cannot be decoded".to_owned()))
}

/// The messages of an answer without an error.
fn frames(reply: WebReply) -> Result<Vec<Bytes>, Error> {
    let of_head = reply.headers.iter();
    let headers = header_map(of_head.map(|(name, value)| (&name[..], &value[..])));
    if reply.status != 200 {
        return Err(unlike(reply.status, &reply.body));
    }
    // A refusal has no body.
    ended_well(&headers)?;
    let content = headers.get("content-type").and_then(|it| it.to_str().ok());
    if !content.is_some_and(|content| content.starts_with(CONTENT_TYPE)) {
        return Err(unlike(reply.status, &reply.body));
    }
    let (mut rest, mut messages) = (reply.body, Vec::new());
    while rest.len() >= FRAME_HEAD {
        let flag = rest.get_u8();
        let len = rest.get_u32() as usize;
        if len > rest.len() {
            return Err(Error::Broken("a frame is cut short".to_owned()));
        }
        let frame = rest.split_to(len);
        match flag {
            MESSAGE => messages.push(frame),
            TRAILERS if rest.is_empty() && len <= TRAILERS_LEN => {
                let lines = std::str::from_utf8(&frame).unwrap_or_default().lines();
                let trailers = header_map(lines.filter_map(|line| line.split_once(':')));
                return match ended_well(&trailers)? {
                    true => Ok(messages),
                    false => Err(Error::Reply("trailers without a status".to_owned())),
                };
            }
            _ => return Err(Error::Reply(format!("a frame with the flag {flag}"))),
        }
    }
    Err(Error::Broken(
        "the reply ends before its trailers".to_owned(),
    ))
}

/// True if these headers or trailers report success. False if they report nothing.
fn ended_well(headers: &HeaderMap) -> Result<bool, Error> {
    match Status::from_header_map(headers) {
        None => Ok(false),
        Some(status) if status.code() == Code::Ok => Ok(true),
        Some(status) => Err(status.into()),
    }
}

/// The headers that are read later. If a name comes twice, the last one counts. A map of all headers would have no bound.
fn header_map<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    const READ: [&str; 5] = [
        "content-type",
        "grpc-status",
        "grpc-message",
        REFUSAL,
        STALE,
    ];
    let mut headers = HeaderMap::with_capacity(READ.len());
    for (name, value) in pairs {
        let read = READ.iter().find(|it| name.trim().eq_ignore_ascii_case(it));
        if let (Some(name), Ok(value)) = (read, HeaderValue::from_str(value.trim())) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

/// The error for an answer that is not gRPC-Web.
fn unlike(status: u16, body: &[u8]) -> Error {
    let said = printable(&String::from_utf8_lossy(&body[..body.len().min(1000)]));
    match status {
        // A proxy answers with such a status if the server cannot be reached or is busy.
        429 | 502..=504 => Error::Unreachable(format!("to the server: HTTP {status}: {said}")),
        403 | 415 | 431 => Error::Status {
            code: format!("HTTP {status}"),
            message: said,
        },
        _ => Error::Connect(format!(
            "to the server: this is not a Sordino server, or not of this version: it answered HTTP {status}: {said}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(frames: &[(u8, &[u8])]) -> WebReply {
        let frame = |(flag, frame): &(u8, &[u8])| {
            let len = u32::try_from(frame.len()).unwrap().to_be_bytes();
            [&[*flag][..], &len, frame].concat()
        };
        let body: Vec<u8> = frames.iter().flat_map(frame).collect();
        WebReply {
            status: 200,
            headers: vec![("Content-Type".into(), "application/grpc-web+proto".into())],
            body: body.into(),
        }
    }

    #[test]
    fn an_answer_is_whole_or_refused() {
        const WELL: (u8, &[u8]) = (TRAILERS, b"grpc-status:0\r\n");
        let good = frames(reply(&[(MESSAGE, b"one"), (MESSAGE, b""), WELL])).unwrap();
        assert_eq!(good, [&b"one"[..], b""]);
        assert!(frames(reply(&[WELL])).unwrap().is_empty());
        let whole = reply(&[(MESSAGE, b"one"), WELL]);
        for len in 0..whole.body.len() {
            let cut = WebReply {
                body: whole.body.slice(..len),
                ..whole.clone()
            };
            assert!(matches!(frames(cut), Err(Error::Broken(_))), "{len}");
        }
        let names: String = (0..40_000).map(|name| format!("n{name}:\r\n")).collect();
        let names = names.into_bytes();
        for wrong in [
            &[(1, &b"compressed"[..]), WELL][..],
            &[WELL, WELL],
            &[WELL, (MESSAGE, b"more")],
            &[(TRAILERS, b"")],
            &[(TRAILERS, b"\xff")],
            // There are more names than a map of headers can hold.
            &[(TRAILERS, &names[..])],
        ] {
            assert!(
                matches!(frames(reply(wrong)), Err(Error::Reply(_))),
                "{wrong:?}"
            );
        }
        let headers = (0..40_000).map(|name| (format!("n{name}"), String::new()));
        let crowded = WebReply {
            headers: whole.headers.iter().cloned().chain(headers).collect(),
            ..whole.clone()
        };
        assert_eq!(frames(crowded).unwrap(), [&b"one"[..]]);
        let long = WebReply {
            body: Bytes::from_static(b"\0\xff\xff\xff\xff"),
            ..whole.clone()
        };
        assert!(matches!(frames(long), Err(Error::Broken(_))));
        let page = WebReply {
            headers: vec![("content-type".into(), "text/html".into())],
            ..whole.clone()
        };
        assert!(matches!(frames(page), Err(Error::Connect(_))));
        for (status, passing) in [(404, false), (403, false), (503, true), (301, false)] {
            let other = WebReply {
                status,
                ..whole.clone()
            };
            let error = frames(other).unwrap_err();
            assert_eq!(error.is_passing(), passing, "{error}");
        }
    }

    #[test]
    fn refusals_are_those_of_grpc() {
        let refused = WebReply {
            status: 200,
            headers: [
                ("content-type", "application/grpc-web+proto"),
                ("grpc-status", "8"),
                ("sordino-refusal", "busy"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
            body: Bytes::new(),
        };
        assert!(matches!(
            frames(refused),
            Err(Error::Refused(Refusal::Busy))
        ));
        let stale = reply(&[(TRAILERS, b"grpc-status: 9\r\nsordino-stale: 3 4\r\n")]);
        let stale = frames(stale).unwrap_err();
        assert!(
            matches!(
                stale,
                Error::Stale {
                    found: 3,
                    serving: 4
                }
            ),
            "{stale}"
        );
    }
}
