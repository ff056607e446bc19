//! Clients that break the protocol. Each is refused by name, and other clients are still served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sordino_net::schema::{CallReply, RequestSignature};
use sordino_net::{ClientKey, Connection, Error, Limits, Refusal, Running};
use sordino_search::Client;
use sordino_testkit::{GET_MANIFEST, GET_PARTS, SCORE, keys, rng};

use crate::parties::{
    client_key, connect, endpoint, message, open_door, parts_request, server, set, signed_door,
    until, until_metric,
};

/// Checks that another client is still served.
pub(crate) fn still_serves(running: &Running) {
    let mut connection = Connection::open(endpoint(running).key(client_key())).unwrap();
    Client::connect(&mut connection, &keys().reader(), None).unwrap();
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_request_is_refused_and_the_server_goes_on() {
    let set = set();
    let running = open_door(server(4, &set), Limits::default());
    let mut connection = connect(&running);
    let mut wrong: Vec<Vec<u8>> = vec![
        Vec::new(),
        vec![0xff; 100],
        message(GET_MANIFEST, b"a body"),
        message(99, b""),
        message(102, b""),
        message(SCORE, b""),
        message(SCORE, &[0; 1000]),
        message(107, &[0; 1000]),
        message(GET_PARTS, b""),
        message(GET_PARTS, &[0; 26]),
        message(GET_MANIFEST, b"")[..15].to_vec(),
    ];
    let mut version = message(GET_MANIFEST, b"");
    version[4] = 9;
    wrong.push(version);
    for request in wrong {
        let found = connection.exchange(&request, 1 << 20);
        assert!(
            matches!(&found, Err(Error::Status { code, .. }) if code == "InvalidArgument")
                || matches!(&found, Err(Error::Stale { .. })),
            "{request:?}: {found:?}"
        );
    }
    // A request that is longer than any request about this index is refused before it is read, and counted.
    let longest = server(4, &set).longest_request().unwrap();
    for len in [longest + 4000, 20 << 20] {
        let found = connection.exchange(&vec![0; len], 1 << 20);
        assert_eq!(refusal(found), Refusal::Long);
    }
    until_metric(&running, "refused_total{reason=\"long\"} 2");
    // Order does not matter: a query without a manifest before it is a usual query.
    let found = connection.exchange(&parts_request(&server(4, &set)), 100_000_000);
    assert!(found.is_ok());
    still_serves(&running);
}

#[test]
fn only_known_keys_may_ask() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let request = message(GET_MANIFEST, b"");
    assert_eq!(
        refusal(connect(&running).exchange(&request, 1 << 20)),
        Refusal::Unsigned
    );
    let stranger = ClientKey::from_seed(&[66; 32]);
    let mut stranger = Connection::open(endpoint(&running).key(stranger)).unwrap();
    assert_eq!(refusal(stranger.exchange(&request, 1 << 20)), Refusal::Key);
    still_serves(&running);
}

pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// A request of a client from before logins existed.
#[derive(Clone, PartialEq, prost::Message)]
struct SignedCall {
    #[prost(bytes = "vec", tag = "1")]
    message: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    signature: Option<RequestSignature>,
}

/// Sends such a request. Returns the number of parts of the reply.
fn call_signed(running: &Running) -> Result<usize, Error> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = format!("http://{}", running.address());
    let request = SignedCall {
        message: message(GET_MANIFEST, b""),
        signature: Some(RequestSignature {
            key: Bytes::copy_from_slice(&client_key().public().id()),
            time: now(),
            nonce: Bytes::from_static(&[1; 16]),
            signature: Bytes::from_static(&[2; 3309]),
        }),
    };
    runtime.block_on(async {
        let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap();
        let mut calls = tonic::client::Grpc::new(endpoint.connect().await.unwrap());
        calls.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<SignedCall, CallReply>::default();
        let path = "/sordino.v1.Search/Call".parse().unwrap();
        let request = tonic::Request::new(request);
        let mut stream = calls
            .server_streaming(request, path, codec)
            .await?
            .into_inner();
        let mut parts = 0;
        while stream.message().await?.is_some() {
            parts += 1;
        }
        Ok(parts)
    })
}

/// Requests have no field for a signature any more. A server of known keys says that the request is not signed, and a server
/// for everyone answers it.
#[test]
fn a_client_that_signs_its_requests_is_told_so() {
    let set = set();
    // In the first of these indexes, requests are shorter than such a signature.
    for at in [2, 4] {
        let running = signed_door(server(at, &set), Limits::default());
        assert_eq!(refusal(call_signed(&running)), Refusal::Unsigned);
        until_metric(&running, "refused_total{reason=\"unsigned\"} 1");
        still_serves(&running);
    }
    let open = open_door(server(4, &set), Limits::default());
    assert!(call_signed(&open).unwrap() > 0);
}

#[test]
fn too_many_requests_are_refused_by_rate() {
    let set = set();
    // The login counts as a request.
    let limits = Limits::default().rate_per_key(4.0);
    let running = signed_door(server(4, &set), limits);
    let mut connection = Connection::open(endpoint(&running).key(client_key())).unwrap();
    let request = message(GET_MANIFEST, b"");
    let mut served = || match connection.exchange(&request, 1 << 20) {
        Err(Error::Refused(Refusal::Rate)) => false,
        result => result.is_ok(),
    };
    assert!(served() && served() && served());
    until(|| !served());
    until(served);
}

/// True if the other side closes the connection within this time.
pub(crate) fn closes(tcp: &mut TcpStream, within: Duration) -> bool {
    tcp.set_read_timeout(Some(within)).unwrap();
    let mut bytes = [0; 1024];
    loop {
        match tcp.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// Limits that are short, so that tests are quick, but that honest requests keep on a busy machine.
pub(crate) fn hasty() -> Limits {
    Limits::default()
        .in_flight(1)
        .first_request(Duration::from_secs(3))
        .receive(Duration::from_secs(2))
        .idle(Duration::from_secs(4))
        .request(Duration::from_secs(3))
        .slowest(1 << 20)
}

#[test]
fn a_connection_that_says_nothing_or_a_byte_at_a_time_is_closed() {
    let running = open_door(server(2, &set()), hasty());
    let mut silent = TcpStream::connect(running.address()).unwrap();
    let mut slow = TcpStream::connect(running.address()).unwrap();
    // The beginning of an HTTP/2 connection, at one byte per quarter of a second.
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    assert!(closes(&mut silent, Duration::from_secs(60)));
    assert!(closes(&mut slow, Duration::from_secs(60)));
    still_serves(&running);
}

/// A body that begins a message and never ends it.
pub(crate) struct Unfinished(pub(crate) bool);

impl hyper::body::Body for Unfinished {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::replace(&mut self.0, true) {
            return std::task::Poll::Pending;
        }
        // gRPC's head announces a message of a thousand bytes, and only one byte of it follows.
        let begin = Bytes::from_static(&[0, 0, 0, 3, 0xe8, 10]);
        std::task::Poll::Ready(Some(Ok(Frame::data(begin))))
    }
}

#[test]
fn a_request_that_never_ends_holds_nobody_up_and_has_its_time() {
    let running = open_door(server(2, &set()), hasty());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = running.address();
    let held = runtime.spawn(async move {
        let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp))
                .await
                .unwrap();
        tokio::spawn(connection);
        let request = hyper::Request::post(format!("http://{address}/sordino.v1.Search/Call"))
            .header("content-type", "application/grpc")
            .body(Unfinished(false))
            .unwrap();
        let reply = send.send_request(request).await;
        reply.map(|reply| reply.headers().get("grpc-status").cloned())
    });
    // An unfinished request takes no place in flight. So the only place is free for a complete
    // request.
    until_metric(&running, "receiving 1");
    let manifest = message(GET_MANIFEST, b"");
    for _ in 0..3 {
        assert!(connect(&running).exchange(&manifest, 1 << 20).is_ok());
    }
    until_metric(&running, "receiving 0");
    // The server answered that the time is over, or closed the connection.
    match runtime.block_on(held).unwrap() {
        Ok(status) => assert_eq!(status.unwrap(), "4"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    still_serves(&running);
}

#[test]
fn a_reply_that_nobody_takes_is_given_up() {
    let set = set();
    let running = open_door(server(2, &set), hasty());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = running.address();
    let request = parts_request(&server(2, &set));
    let taken = runtime.block_on(async {
        let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut send, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1000)
            .handshake(TokioIo::new(tcp))
            .await
            .unwrap();
        tokio::spawn(connection);
        let len = u8::try_from(request.len()).unwrap();
        let body = [&[0, 0, 0, 0, len + 2, 10, len], &request[..]].concat();
        let body = http_body_util::Full::new(Bytes::from(body));
        let post = hyper::Request::post(format!("http://{address}/sordino.v1.Search/Call"))
            .header("content-type", "application/grpc")
            .body(body)
            .unwrap();
        let reply = send.send_request(post).await.unwrap();
        // The client reads nothing until the server has stopped sending.
        until_metric(&running, "in_flight 0");
        reply.into_body().collect().await
    });
    assert!(taken.is_err(), "the connection was cut");
    still_serves(&running);
}

#[test]
fn a_client_that_goes_away_leaves_nothing_behind() {
    let set = set();
    let running = open_door(server(4, &set), Limits::default());
    for round in 0..10 {
        let mut connection = connect(&running);
        let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
        std::thread::spawn(move || {
            let _ = client.search(&mut rng(round), &mut connection, &[1.0; 32]);
        });
    }
    until_metric(&running, "connections 0");
    until_metric(&running, "in_flight 0");
    still_serves(&running);
}
