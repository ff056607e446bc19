//! Measures a server on loopback under eight clients, and the same requests of one client in turn.
//!
//! Requests are made in advance. So sending, admission, tags, scans and replies are measured, but not a client's
//! cryptography. The default size keeps this short; `SORDINO_BENCH_N=100000` is the size of the reference.

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_net::{
    Access, ClientKey, Connection, Endpoint, Identity, Limits, Listen, Running, Service,
};
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Error, Index, OwnerKeys, Server, Transport, Vectors, build, synthetic,
};

mod settings;

const DIM: usize = 128;
const K: usize = 10;

fn n() -> usize {
    let n = std::env::var("SORDINO_BENCH_N").ok();
    n.map_or(20_000, |n| {
        n.parse().expect("SORDINO_BENCH_N is a number of vectors")
    })
}

fn rng() -> StdRng {
    StdRng::seed_from_u64(1)
}

/// The number of clients.
const CLIENTS: usize = 8;

/// The number of requests that each client has made in advance.
const MADE: usize = 4;

/// A server on loopback with TLS, in this process, whose clients log in once and tag their requests.
struct Loopback {
    running: Running,
    roots: String,
    key: ClientKey,
}

impl Loopback {
    fn new(index: Index) -> Self {
        let key = ClientKey::generate(&mut rng());
        let limits = Limits::default().rate(1e9).rate_per_key(1e9);
        let access = Access::Keys(vec![key.public().clone()]);
        let server = Server::new(index).expect("a server");
        let service = Service::new(server, &access, limits).expect("a service");
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
        let made = made.expect("a certificate");
        let roots = made.cert.pem();
        let identity = Identity::from_pem(&roots, made.signing_key.serialize_pem());
        let listen = Listen::on(SocketAddr::from(([127, 0, 0, 1], 0))).tls(identity);
        let running = service.listen(&listen).expect("a port");
        Self {
            running,
            roots,
            key,
        }
    }

    fn connect(&self) -> Connection {
        let endpoint = Endpoint::new(format!("https://{}", self.running.address()))
            .roots(self.roots.as_bytes())
            .name("localhost")
            .key(ClientKey::from_seed(&self.key.seed()));
        Connection::open(endpoint).expect("a connection")
    }
}

/// A transport that keeps requests instead of sending them.
#[derive(Default)]
struct Capture(Vec<(Vec<u8>, usize)>);

impl Transport for Capture {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        self.0.push((request.to_vec(), limit));
        Err(Error::BadReply)
    }
}

/// A client that sends only prepared requests, so that only the server is measured.
struct Caller {
    line: Connection,
    made: Vec<(Vec<u8>, usize)>,
}

impl Caller {
    fn new(loopback: &Loopback, keys: &OwnerKeys, queries: &Vectors) -> Self {
        let mut line = loopback.connect();
        let client = Client::connect(&mut line, &keys.reader(), None).expect("a client");
        let mut made = Capture::default();
        for query in queries.rows().take(MADE) {
            let found = client.search(&mut rng(), &mut made, query);
            assert!(found.is_err(), "the request was kept");
        }
        Self { line, made: made.0 }
    }

    fn call(&mut self, count: u64) {
        for (_, (request, limit)) in (0..count).zip(self.made.iter().cycle()) {
            black_box(self.line.exchange(request, *limit).expect("a reply"));
        }
    }
}

/// The time of `rounds` times eight requests. Each of eight clients sends an eighth of them.
fn at_once(callers: &mut [Caller], rounds: u64) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for caller in callers {
            scope.spawn(|| caller.call(rounds));
        }
    });
    start.elapsed()
}

fn eight_clients(c: &mut Criterion) {
    let (base, queries) = synthetic::clustered(n(), MADE, DIM, 42);
    let keys = OwnerKeys::generate(&mut rng());
    let size = format!("{}x{DIM}", base.len());
    let mut group = c.benchmark_group("net/eight_clients");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CLIENTS as u64));
    for (name, index) in [
        (
            "open",
            build::open(&mut rng(), &keys, &base, K, Packing::T8, &mut |_| ()).expect("an index"),
        ),
        (
            "masked",
            build::masked(&mut rng(), &keys, &base, K, Packing::T8, &mut |_| ()).expect("an index"),
        ),
    ] {
        let loopback = Loopback::new(index);
        let callers = (0..CLIENTS).map(|_| Caller::new(&loopback, &keys, &queries));
        let mut callers: Vec<Caller> = callers.collect();
        group.bench_function(BenchmarkId::new(format!("{name}-in-turn"), &size), |b| {
            b.iter_custom(|rounds| {
                let start = Instant::now();
                callers[0].call(rounds * CLIENTS as u64);
                start.elapsed()
            });
        });
        group.bench_function(BenchmarkId::new(format!("{name}-eight"), &size), |b| {
            b.iter_custom(|rounds| at_once(&mut callers, rounds));
        });
        drop(callers);
        loopback.running.stop().expect("an orderly end");
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short().measurement_time(Duration::from_secs(2));
    targets = eight_clients
}
criterion_main!(benches);
