//! Servers that lie. The client ends with an error, in bounded memory and time.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sordino_net::schema::search_server::{Search, SearchServer};
use sordino_net::schema::{
    CallReply, CallRequest, ChangeRequest, HelloReply, HelloRequest, LoginReply, LoginRequest,
    StepReply,
};
use sordino_net::{ClientKey, Connection, Deadlines, Endpoint, Error};
use sordino_search::{Client, Server, Session, SessionOptions};
use sordino_testkit::{GET_MANIFEST, GET_PARTS, SCORE, keys, rng};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use crate::parties::{message, server, set};

pub(crate) type Replies = Pin<Box<dyn Stream<Item = Result<CallReply, Status>> + Send>>;

/// The server's answer to each message.
type Behaviour = dyn Fn(&[u8]) -> Result<Replies, Status> + Send + Sync;

struct Liar {
    behaviour: Arc<Behaviour>,
    instance: Bytes,
    calls: Arc<AtomicUsize>,
    proofs: Arc<AtomicUsize>,
}

#[tonic::async_trait]
impl Search for Liar {
    async fn hello(&self, _: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let instance = self.instance.clone();
        Ok(Response::new(HelloReply {
            instance,
            ..HelloReply::default()
        }))
    }

    async fn login(&self, _: Request<LoginRequest>) -> Result<Response<LoginReply>, Status> {
        Err(Status::unimplemented("it has no KEM key"))
    }

    async fn change(&self, _: Request<ChangeRequest>) -> Result<Response<StepReply>, Status> {
        Err(Status::unimplemented("it lies about searches alone"))
    }

    type CallStream = Replies;

    async fn call(&self, request: Request<CallRequest>) -> Result<Response<Replies>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let request = request.into_inner();
        let proofs = usize::from(request.tag.is_some());
        self.proofs.fetch_add(proofs, Ordering::SeqCst);
        (self.behaviour)(&request.message).map(Response::new)
    }
}

/// A lying server, which stops when dropped.
pub(crate) struct Lying {
    pub(crate) address: SocketAddr,
    pub(crate) calls: Arc<AtomicUsize>,
    /// The number of calls that show the client's key.
    proofs: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

impl Lying {
    pub(crate) fn serve(
        behaviour: impl Fn(&[u8]) -> Result<Replies, Status> + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (calls, proofs) = (Arc::default(), Arc::default());
        let liar = Liar {
            behaviour: Arc::new(behaviour),
            instance: Bytes::from_static(&[1; 32]),
            calls: Arc::clone(&calls),
            proofs: Arc::clone(&proofs),
        };
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let incoming = tonic::transport::server::TcpIncoming::from(listener);
        runtime.spawn(
            tonic::transport::Server::builder()
                .add_service(SearchServer::new(liar))
                .serve_with_incoming(incoming),
        );
        Self {
            address,
            calls,
            proofs,
            _runtime: runtime,
        }
    }

    fn connect(&self) -> Connection {
        Connection::open(self.endpoint()).unwrap()
    }

    fn endpoint(&self) -> Endpoint {
        let deadlines = Deadlines {
            connect: Duration::from_secs(10),
            part: PART,
            slowest: 1 << 20,
        };
        Endpoint::new(format!("http://{}", self.address)).deadlines(deadlines)
    }
}

fn part(length: usize, chunk: usize) -> Result<CallReply, Status> {
    Ok(CallReply {
        length: length as u64,
        chunk: Bytes::from(vec![0x5a; chunk]),
    })
}

pub(crate) fn parts(parts: Vec<Result<CallReply, Status>>) -> Result<Replies, Status> {
    Ok(Box::pin(tokio_stream::iter(parts)))
}

pub(crate) const CHUNK: usize = 64 << 10;

/// The time limit of a part, which is much longer than an honest server needs on a busy machine.
const PART: Duration = Duration::from_secs(2);

type Case = fn() -> Result<Replies, Status>;

/// If a server shows no KEM key, or an attacker in the network removes it, the server does not learn who
/// asks.
#[test]
fn a_server_without_a_kem_key_is_shown_no_proof() {
    let lying = Lying::serve(|_| parts(vec![part(10, 10)]));
    let endpoint = lying.endpoint().key(ClientKey::generate(&mut rng(1)));
    let mut connection = Connection::open(endpoint).unwrap();
    let reply = connection.exchange(&message(GET_MANIFEST, &[]), 1000);
    assert_eq!(reply.unwrap().len(), 10);
    assert_eq!(lying.calls.load(Ordering::SeqCst), 1);
    assert_eq!(lying.proofs.load(Ordering::SeqCst), 0);
}

#[test]
fn a_reply_of_a_wrong_length_ends_at_its_first_wrong_part() {
    let cases: Vec<(&str, Case)> = vec![
        ("nothing", || parts(vec![])),
        ("too long", || parts(vec![part(1001, 1001)])),
        ("announced without end", || {
            parts(vec![part(usize::MAX, CHUNK)])
        }),
        ("more than announced", || {
            parts(vec![part(10, 10), part(10, 10)])
        }),
        ("less than announced", || parts(vec![part(10, 5)])),
        ("half a part", || parts(vec![part(10, 5), part(10, 5)])),
        ("an empty part", || parts(vec![part(0, 0)])),
        ("a part of many megabytes", || {
            parts(vec![part(900, 16 << 20)])
        }),
        ("parts without end", || {
            Ok(Box::pin(tokio_stream::iter(std::iter::repeat_with(|| {
                part(900, 900)
            }))))
        }),
        ("empty parts without end", || {
            Ok(Box::pin(tokio_stream::iter(std::iter::repeat_with(|| {
                part(900, 0)
            }))))
        }),
        ("an error in the middle", || {
            parts(vec![part(CHUNK + 1, CHUNK), Err(Status::internal("no"))])
        }),
    ];
    for (name, behaviour) in cases {
        let lying = Lying::serve(move |_| behaviour());
        let mut connection = lying.connect();
        let limit = if name == "an error in the middle" {
            CHUNK + 1
        } else {
            1000
        };
        let found = connection.exchange(&message(GET_MANIFEST, b""), limit);
        assert!(
            matches!(found, Err(Error::Reply(_) | Error::Status { .. })),
            "{name}: {found:?}"
        );
        // In all cases, the client sends the request once.
        assert_eq!(lying.calls.load(Ordering::SeqCst), 1, "{name}");
        // HTTP/2's window bounds the buffer.
        assert!(connection.traffic().wire_down < 6 << 20, "{name}");
    }
}

#[test]
fn a_slow_reply_ends_at_its_deadline() {
    let slow = |pause: Duration, count: usize| {
        let parts = tokio_stream::iter((0..count).map(move |_| part(20 * CHUNK, CHUNK)));
        let replies: Replies = Box::pin(parts.then(move |part| async move {
            tokio::time::sleep(pause).await;
            part
        }));
        Ok(replies)
    };
    // In the first case no part comes. In the second case each part comes too late. In the third case
    // each part comes in time, but all of them together take too long.
    for (pause, count) in [(1000 * PART, 1), (PART * 5 / 4, 3), (PART / 4, 20)] {
        let lying = Lying::serve(move |_| slow(pause, count));
        let start = Instant::now();
        let found = lying
            .connect()
            .exchange(&message(GET_MANIFEST, b""), 20 * CHUNK);
        assert!(matches!(found, Err(Error::Deadline { .. })), "{found:?}");
        let took = start.elapsed();
        assert!(took >= PART && took < 30 * PART, "{took:?}");
        assert_eq!(lying.calls.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_port_that_never_speaks_costs_a_deadline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deadlines = Deadlines {
        connect: Duration::from_millis(500),
        part: Duration::from_millis(500),
        ..Deadlines::default()
    };
    let address = listener.local_addr().unwrap();
    for scheme in ["http", "https"] {
        let mut endpoint = Endpoint::new(format!("{scheme}://{address}")).deadlines(deadlines);
        if scheme == "https" {
            let certificate = crate::parties::certificate();
            endpoint = endpoint.roots(certificate.pem).name("localhost");
        }
        let found = Connection::open(endpoint)
            .and_then(|mut connection| connection.exchange(&message(GET_MANIFEST, b""), 1000));
        assert!(
            matches!(found, Err(Error::Deadline { .. } | Error::Connect(_))),
            "{found:?}"
        );
    }
}

/// An honest server, whose replies are changed on the way.
fn tampered(server: Server, change: impl Fn(u16, &mut Vec<u8>) + Send + Sync + 'static) -> Lying {
    let server = Mutex::new(server);
    Lying::serve(move |request| {
        let kind = u16::from_le_bytes([request[6], request[7]]);
        let reply = server.lock().unwrap().handle(request);
        let mut reply = reply.map_err(|error| Status::internal(error.to_string()))?;
        change(kind, &mut reply);
        let length = reply.len();
        let chunks = reply.chunks(CHUNK).map(|chunk| {
            Ok(CallReply {
                length: length as u64,
                chunk: Bytes::copy_from_slice(chunk),
            })
        });
        parts(chunks.collect())
    })
}

#[test]
fn changed_replies_are_refused_as_in_process() {
    let set = set();
    let lying = tampered(server(4, &set), |kind, reply| {
        if kind == GET_MANIFEST {
            reply[4] = 9;
        }
    });
    let refused = Client::connect(&mut lying.connect(), &keys().reader(), None);
    assert!(
        matches!(
            refused,
            Err(sordino_search::Error::FormatVersion { found: 9, .. })
        ),
        "{refused:?}"
    );

    let lying = tampered(server(4, &set), |kind, reply| {
        if kind == SCORE {
            reply[16..].fill(0);
        }
    });
    let mut connection = lying.connect();
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let found = client.search(&mut rng(1), &mut connection, set.queries.row(0));
    assert!(matches!(found, Err(sordino_search::Error::BadReply)));
    assert_eq!(lying.calls.load(Ordering::SeqCst), 3);

    // The server sends an error instead of scores. The transport returns it, and the search sends
    // no further message.
    let lying = Lying::serve(|_| Err(Status::internal("\u{1b}[31mno\n".repeat(300))));
    let refused = Client::connect(&mut lying.connect(), &keys().reader(), None).unwrap_err();
    let text = refused.to_string();
    assert!(text.len() < 3000 && !text.contains('\u{1b}'), "{text}");
    assert_eq!(lying.calls.load(Ordering::SeqCst), 1);
}

#[test]
fn an_older_version_and_another_owners_are_refused_over_the_network() {
    let set = set();
    let lying = tampered(server(4, &set), |_, _| ());
    let offered = Client::connect(&mut lying.connect(), &keys().reader(), None).unwrap();
    let newer = sordino_search::Pin {
        version: 2,
        ..offered.pin()
    };
    let older = Client::connect(&mut lying.connect(), &keys().reader(), Some(&newer));
    assert!(matches!(
        older,
        Err(sordino_search::Error::Rollback {
            found: 1,
            pinned: 2
        })
    ));
    let other = sordino_search::OwnerKeys::from_master([9; 32]).reader();
    let refused = Client::connect(&mut lying.connect(), &other, None);
    assert!(matches!(refused, Err(sordino_search::Error::Signature)));
}

/// The refusal that a server of version 2 gives to a request about version 1.
fn stale() -> Status {
    let mut status = Status::invalid_argument("another version");
    let metadata = status.metadata_mut();
    metadata.insert("sordino-refusal", "message".parse().unwrap());
    metadata.insert("sordino-stale", "1 2".parse().unwrap());
    status
}

/// A server whose index changes this number of times while a client connects.
fn changing(times: usize) -> Lying {
    let server = server(4, &set());
    let left = AtomicUsize::new(times);
    Lying::serve(move |request| {
        let kind = u16::from_le_bytes([request[6], request[7]]);
        let one = |left: usize| left.checked_sub(1);
        let again = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one);
        if kind == GET_PARTS && again.is_ok() {
            return Err(stale());
        }
        if kind != GET_PARTS && again.is_ok() {
            left.fetch_add(1, Ordering::SeqCst);
        }
        let reply = server.handle(request).unwrap();
        let length = reply.len();
        let chunks = reply.chunks(CHUNK).map(|chunk| {
            Ok(CallReply {
                length: length as u64,
                chunk: Bytes::copy_from_slice(chunk),
            })
        });
        parts(chunks.collect())
    })
}

fn session(server: &Lying) -> Result<(), sordino_search::Error> {
    let dial = || Ok(server.connect());
    let session = Session::open(dial, &keys().reader(), SessionOptions::default());
    session.map(drop)
}

#[test]
fn a_session_that_connects_during_changes_begins_again_a_few_times() {
    let once = changing(1);
    let found = Client::connect(&mut once.connect(), &keys().reader(), None);
    assert!(
        matches!(found, Err(sordino_search::Error::Stale { .. })),
        "{found:?}"
    );
    for times in [1, 4] {
        let changing = changing(times);
        let client = session(&changing);
        assert!(client.is_ok(), "{times}: {client:?}");
        // Each try asks for a manifest and its parts.
        assert_eq!(changing.calls.load(Ordering::SeqCst), 2 * (times + 1));
    }
    let always = changing(1000);
    let found = session(&always);
    assert!(
        matches!(found, Err(sordino_search::Error::Stale { .. })),
        "{found:?}"
    );
    assert_eq!(always.calls.load(Ordering::SeqCst), 10);
}
