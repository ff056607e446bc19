//! The parties of the tests: small indexes, keys, a server, clients.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sordino_net::{
    Access, ClientKey, Connection, Endpoint, Identity, Limits, Listen, Running, Service,
};
use sordino_search::manifest::Packing;
use sordino_search::{Client, Form, Index, Routing, Server};
use sordino_testkit::{Hostile, ROUTED, Set, keys, sealed};

pub(crate) const N: usize = 3000;
pub(crate) const DIM: usize = 32;
pub(crate) const K: usize = 10;

pub(crate) fn client_key() -> ClientKey {
    ClientKey::from_seed(&[6; 32])
}

pub(crate) fn set() -> Set {
    Set::clustered(N, 20, DIM, K)
}

/// The names of the forms, and the lowest accepted recall of each.
pub(crate) const FORMS: [(&str, f64); 6] = [
    ("sealed, centroids downloaded", 0.85),
    ("sealed, centroids scored", 0.85),
    ("local", 0.97),
    ("open", 0.99),
    ("masked", 0.99),
    ("routed", 0.85),
];

pub(crate) fn index(form: usize, set: &Set) -> Index {
    let form = match form {
        0 => sealed(Routing::Downloaded),
        1 => sealed(Routing::Encrypted),
        2 => Form::Local,
        3 => Form::Open(Packing::T4),
        4 => Form::Masked(Packing::T4),
        _ => ROUTED,
    };
    sordino_testkit::index(form, K, &set.base)
}

pub(crate) fn server(form: usize, set: &Set) -> Server {
    Server::new(index(form, set)).expect("a server")
}

/// An address with a port that no other server uses.
pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A certificate for this test, signed by itself.
pub(crate) struct Certificate {
    pub(crate) pem: String,
    pub(crate) key: String,
}

pub(crate) fn certificate() -> Certificate {
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    Certificate {
        pem: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    }
}

/// A server without TLS for all clients.
pub(crate) fn open_door(server: Server, limits: Limits) -> Running {
    let service = Service::new(server, &Access::Anyone, limits).expect("a service");
    service.listen(&Listen::on(loopback())).expect("a port")
}

/// A server without TLS for the holder of [`client_key`], and for one other key.
pub(crate) fn signed_door(server: Server, limits: Limits) -> Running {
    let other = ClientKey::from_seed(&[7; 32]);
    let access = Access::Keys(vec![client_key().public().clone(), other.public().clone()]);
    let service = Service::new(server, &access, limits).expect("a service");
    service.listen(&Listen::on(loopback())).expect("a port")
}

/// A server with TLS for the holder of [`client_key`].
pub(crate) fn locked_door(server: Server, certificate: &Certificate) -> Running {
    let access = Access::Keys(vec![client_key().public().clone()]);
    let service = Service::new(server, &access, Limits::default()).expect("a service");
    let identity = Identity::from_pem(&certificate.pem, &certificate.key);
    let listen = Listen::on(loopback()).metrics(loopback()).tls(identity);
    service.listen(&listen).expect("a port")
}

/// Waits until the condition holds. After a minute the test fails: a test that waits longer would
/// wait forever.
#[track_caller]
pub(crate) fn until(mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(60), "it never is");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the server's metrics have this line.
#[track_caller]
pub(crate) fn until_metric(running: &Running, line: &str) {
    let line = format!("sordino_{line}\n");
    until(|| running.service().metrics().contains(&line));
}

pub(crate) fn endpoint(running: &Running) -> Endpoint {
    Endpoint::new(format!("http://{}", running.address()))
}

pub(crate) fn connect(running: &Running) -> Connection {
    Connection::open(endpoint(running)).expect("a connection")
}

pub(crate) fn connect_tls(running: &Running, certificate: &Certificate) -> Connection {
    let endpoint = Endpoint::new(format!("https://{}", running.address()))
        .roots(certificate.pem.as_bytes())
        .name("localhost")
        .key(client_key());
    Connection::open(endpoint).expect("a connection")
}

/// A message without a body, as the search protocol writes it.
pub(crate) fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u64).to_le_bytes();
    [b"SRDN\x04\x00", &kind.to_le_bytes()[..], &len, body].concat()
}

/// The request for all parts that a client of this server downloads once.
pub(crate) fn parts_request(server: &Server) -> Vec<u8> {
    let mut recorder = Hostile::new(server, |_, _| ());
    Client::connect(&mut recorder, &keys().reader(), None).expect("a client");
    recorder.requests.pop().expect("a request")
}
