//! Clients with unknown keys attack a server that accepts only known keys. The server must still answer clients with
//! known keys.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use sordino_net::schema::HelloRequest;
use sordino_net::schema::search_client::SearchClient;
use sordino_net::{
    Access, ClientKey, Connection, Identity, Limits, Listen, Refusal, Running, Service,
};
use sordino_search::Client;
use sordino_testkit::{GET_MANIFEST, Set, keys, rng};

use crate::hostile_client::{Unfinished, closes, refusal};
use crate::logins::{Raw, request};
use crate::parties::{
    certificate, client_key, connect_tls, endpoint, loopback, message, open_door, server, set,
    signed_door, until, until_metric,
};

/// Tasks that act as strangers, in their own runtime, until dropped.
struct Strangers {
    stop: Arc<AtomicBool>,
    /// The number of requests that they began.
    begun: Arc<AtomicUsize>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Strangers {
    /// Starts this number of tasks, which repeat this work until told to stop.
    fn start<F: Future<Output = ()> + Send + 'static>(
        count: usize,
        work: impl Fn(Arc<AtomicBool>, Arc<AtomicUsize>) -> F,
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (stop, begun) = (Arc::default(), Arc::default());
        for _ in 0..count {
            runtime.spawn(work(Arc::clone(&stop), Arc::clone(&begun)));
        }
        Self {
            stop,
            begun,
            runtime: Some(runtime),
        }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl Drop for Strangers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub(crate) async fn http2<B>(address: SocketAddr) -> Option<SendRequest<B>>
where
    B: hyper::body::Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let tcp = tokio::net::TcpStream::connect(address).await.ok()?;
    let io = TokioIo::new(tcp);
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (send, connection) = shaken.ok()?;
    tokio::spawn(connection);
    Some(send)
}

/// A call with this body.
fn post<B>(address: SocketAddr, body: B) -> hyper::Request<B> {
    let path = format!("http://{address}/sordino.v1.Search/Call");
    let request = hyper::Request::post(path).header("content-type", "application/grpc");
    request.body(body).unwrap()
}

/// A search with a known key, over a new connection.
#[track_caller]
fn search(running: &Running, set: &Set, seed: u64) {
    let mut connection = Connection::open(endpoint(running).key(client_key())).unwrap();
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let found = client.search(&mut rng(seed), &mut connection, set.queries.row(0));
    assert_eq!(found.unwrap().hits[0].id, set.truth.of(0)[0]);
}

/// Strangers send headers without bodies, on more connections and streams than there are places.
/// They begin again when one ends, and use the address of the known keys.
#[test]
fn requests_without_bodies_do_not_shut_known_keys_out() {
    let set = set();
    let limits = Limits::default()
        .receiving(16)
        .receiving_per_address(16)
        .in_flight(4);
    let running = signed_door(server(4, &set), limits);
    let address = running.address();
    let strangers = Strangers::start(4, move |stop, begun| async move {
        while !stop.load(Ordering::SeqCst) {
            let Some(send) = http2(address).await else {
                continue;
            };
            let streams = (0..8).map(|_| {
                let (mut send, stop, begun) = (send.clone(), Arc::clone(&stop), Arc::clone(&begun));
                tokio::spawn(async move {
                    while !stop.load(Ordering::SeqCst) && send.ready().await.is_ok() {
                        begun.fetch_add(1, Ordering::SeqCst);
                        let _ = send.send_request(post(address, Unfinished(false))).await;
                    }
                })
            });
            let streams: Vec<_> = streams.collect();
            for stream in streams {
                let _ = stream.await;
            }
        }
    });
    until_metric(&running, "receiving 16");
    let before = strangers.begun();
    for seed in 0..20 {
        search(&running, &set, seed);
    }
    // The strangers continued all this time.
    until(|| strangers.begun() > before);
}

/// A request for the server's health.
fn health<B>(address: SocketAddr, body: B) -> hyper::Request<B> {
    let path = format!("http://{address}/grpc.health.v1.Health/Check");
    let request = hyper::Request::post(path).header("content-type", "application/grpc");
    request.body(body).unwrap()
}

fn status(answer: &hyper::Response<hyper::body::Incoming>) -> &str {
    let status = answer.headers().get("grpc-status");
    status.map_or("", |status| status.to_str().unwrap())
}

/// A client that asks for health is a stranger too. Its requests have a length, a time limit, places and a rate.
#[test]
fn questions_for_health_are_held_to_what_strangers_may() {
    let limits = Limits::default()
        .rate_per_address(3.0)
        .receive(Duration::from_millis(300));
    let running = open_door(server(2, &set()), limits);
    let address = running.address();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut send = runtime.block_on(http2(address)).unwrap();
    // A message of 4 MiB is refused by its head. Its bytes never follow.
    let head = Bytes::from_static(&[0, 0, 0x40, 0, 0]);
    let long = Full::from(head).boxed();
    let told = runtime
        .block_on(send.send_request(health(address, long)))
        .unwrap();
    assert_eq!(status(&told), "11");
    // A body that never begins ends at its time limit.
    let unfinished = send.send_request(health(address, Unfinished(true).boxed()));
    let unfinished = runtime.spawn(unfinished);
    until_metric(&running, "receiving 1");
    let told = runtime.block_on(unfinished).unwrap().unwrap();
    assert_eq!(told.headers().get("sordino-refusal").unwrap(), "slow");
    until_metric(&running, "receiving 0");
    // Too many such requests are refused.
    let empty = || Full::from(Bytes::from_static(&[0; 5])).boxed();
    let codes = (0..60).map(|_| {
        let told = runtime.block_on(send.send_request(health(address, empty())));
        status(&told.unwrap()).to_owned()
    });
    let codes: Vec<String> = codes.collect();
    assert!(codes.iter().any(String::is_empty), "{codes:?}");
    assert!(codes.iter().any(|code| code == "8"), "{codes:?}");
}

/// All clients together send far more questions for the server's run than it answers in a second.
#[test]
fn unsigned_requests_have_a_budget_of_their_own() {
    let set = set();
    let limits = Limits::default()
        .rate(60.0)
        .rate_per_key(60.0)
        .rate_per_address(5.0);
    let running = signed_door(server(4, &set), limits);
    let http = format!("http://{}", running.address());
    let strangers = Strangers::start(3, move |stop, begun| {
        let http = http.clone();
        async move {
            let channel = tonic::transport::Endpoint::from_shared(http).unwrap();
            let Ok(channel) = channel.connect().await else {
                return;
            };
            let mut calls = SearchClient::new(channel);
            while !stop.load(Ordering::SeqCst) {
                begun.fetch_add(1, Ordering::SeqCst);
                let _ = calls.hello(HelloRequest {}).await;
            }
        }
    });
    until(|| strangers.begun() > 300);
    let before = strangers.begun();
    for seed in 0..6 {
        search(&running, &set, seed);
    }
    until(|| strangers.begun() > before);
    let metrics = running.service().metrics();
    assert!(
        !metrics.contains("refused_total{reason=\"rate\"} 0\n"),
        "{metrics}"
    );
}

/// A stranger who has seen a known key's digest can put it on a login with a wrong signature. This uses
/// nothing of the key's rate or of the verifier's queue.
#[test]
fn signatures_of_strangers_use_up_nothing_of_a_key() {
    let set = set();
    let limits = Limits::default()
        .rate_per_key(12.0)
        .rate_per_address(1000.0);
    let running = signed_door(server(4, &set), limits);
    let raw = Raw::open(&running);
    let manifest = message(GET_MANIFEST, b"");
    let (mut forged, key) = raw.ask(&raw.kem_key, 0);
    for number in 1..=200u8 {
        // The signature was made for other bytes.
        forged.signature.as_mut().unwrap().nonce = Bytes::from(vec![number; 16]);
        let found = raw.log_in(forged.clone(), key);
        assert_eq!(refusal(found), Refusal::Signature);
    }
    search(&running, &set, 1);
    let unknown = ClientKey::from_seed(&[66; 32]);
    let mut unknown = Connection::open(endpoint(&running).key(unknown)).unwrap();
    // An unknown key costs only a look at the list of keys: no further signature was verified.
    let verified = || {
        let metrics = running.service().metrics();
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("sordino_verify_seconds_count "));
        count.unwrap().to_owned()
    };
    let before = verified();
    for _ in 0..50 {
        assert_eq!(refusal(unknown.exchange(&manifest, 1 << 20)), Refusal::Key);
    }
    assert_eq!(verified(), before);
    search(&running, &set, 2);
}

/// Connections that never prove a key take all places of all addresses. A client that proves a key gets
/// in, and stays.
#[test]
fn idle_connections_make_room_for_known_keys() {
    let set = set();
    let limits = Limits::default().connections(8).per_address(8);
    let running = signed_door(server(4, &set), limits);
    let mut connection = Connection::open(endpoint(&running).key(client_key())).unwrap();
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let mut flood: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(running.address()).unwrap())
        .collect();
    // Each new connection closes an unproven one, not the connection that proved a key.
    until_metric(&running, "connections 8");
    until_metric(&running, "connections_refused_total 33");
    for seed in 0..3 {
        let query = set.queries.row(0);
        client
            .search(&mut rng(seed), &mut connection, query)
            .unwrap();
        search(&running, &set, seed);
    }
    // All closed connections belong to the flood.
    let closed = flood.iter_mut().filter_map(|tcp| {
        let closed = closes(tcp, Duration::from_millis(20));
        closed.then_some(())
    });
    let line = format!("connections_refused_total {}", closed.count());
    until_metric(&running, &line);
}

/// A key's holder who takes all places that it can get leaves room for other keys.
#[test]
fn one_key_does_not_take_all_places_in_flight() {
    let set = set();
    let limits = Limits::default().in_flight(2);
    let running = signed_door(server(2, &set), limits);
    let greedy = Raw::open(&running);
    let login = greedy.logged_in(1);
    until_metric(&running, "in_flight 0");
    let parts = crate::parties::parts_request(&server(2, &set));
    // A reply that is never read. It belongs to the key with which `Raw` logs in.
    let held = greedy.hold(running.address(), &parts, login.tag(1, &parts));
    until_metric(&running, "in_flight 1");
    let second = greedy.call(&parts, login.tag(2, &parts));
    assert_eq!(refusal(second), Refusal::Busy);
    let other = ClientKey::from_seed(&[7; 32]);
    let mut other = Connection::open(endpoint(&running).key(other)).unwrap();
    Client::connect(&mut other, &keys().reader(), None).unwrap();
    drop(held);
}

/// Hundreds of silent connections come from the address of the known keys.
#[test]
fn a_burst_of_connections_does_not_shut_its_address_out() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    for seed in 0..10 {
        let burst: Vec<_> = (0..150)
            .filter_map(|_| TcpStream::connect(running.address()).ok())
            .collect();
        search(&running, &set, seed);
        drop(burst);
    }
}

/// A request of a known key arrives slowly, while strangers take all places for requests. It keeps
/// its place until its time limit.
#[test]
fn a_slow_request_of_a_known_key_is_not_displaced() {
    let set = set();
    let limits = Limits::default().receiving(8).receiving_per_address(8);
    let running = signed_door(server(4, &set), limits);
    let address = running.address();
    let raw = Raw::open(&running);
    let manifest = message(GET_MANIFEST, b"");
    let tag = raw.logged_in(1).tag(1, &manifest);
    let whole = request(&manifest, tag);
    let mut body = vec![0];
    body.extend(u32::try_from(whole.encoded_len()).unwrap().to_be_bytes());
    body.extend(whole.encode_to_vec());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut send = runtime.block_on(http2(address)).unwrap();
    let proven = runtime.block_on(send.send_request(post(address, Full::from(body).boxed())));
    assert!(proven.unwrap().headers().get("grpc-status").is_none());
    let slow = send.send_request(post(address, Unfinished(false).boxed()));
    let slow = runtime.spawn(slow);
    until_metric(&running, "receiving 1");
    let strangers = Strangers::start(20, move |stop, begun| async move {
        while !stop.load(Ordering::SeqCst) {
            if let Some(mut send) = http2(address).await {
                begun.fetch_add(1, Ordering::SeqCst);
                let _ = send.send_request(post(address, Unfinished(false))).await;
            }
        }
    });
    until(|| strangers.begun() > 100);
    let given_up = runtime.block_on(slow).unwrap().unwrap();
    let reason = given_up.headers().get("sordino-refusal").unwrap();
    assert_eq!(reason, "slow");
}

/// Connections that are displaced during their handshakes end at once. There are never many more
/// connections than allowed.
#[test]
fn displaced_connections_do_not_linger() {
    let set = set();
    let limits = Limits::default().connections(8).per_address(8);
    let certificate = certificate();
    let access = Access::Keys(vec![client_key().public().clone()]);
    let service = Service::new(server(4, &set), &access, limits).unwrap();
    let identity = Identity::from_pem(&certificate.pem, &certificate.key);
    let running = service
        .listen(&Listen::on(loopback()).tls(identity))
        .unwrap();
    let flood: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(running.address()).unwrap())
        .collect();
    until_metric(&running, "connections_refused_total 192");
    let metrics = running.service().metrics();
    let open = metrics
        .lines()
        .find_map(|line| line.strip_prefix("sordino_connections "));
    assert!(open.unwrap().parse::<u32>().unwrap() < 60, "{metrics}");
    until_metric(&running, "connections 8");
    drop(flood);
    let mut connection = connect_tls(&running, &certificate);
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let found = client.search(&mut rng(1), &mut connection, set.queries.row(0));
    assert_eq!(found.unwrap().hits[0].id, set.truth.of(0)[0]);
}
