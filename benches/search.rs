//! Whole private searches in one process, client and server, beside a plain scan; and a server on
//! loopback under eight clients beside the same requests one after the other.
//!
//! The default size keeps this short; `SORDINO_BENCH_N=100000` is the size of the reference.

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
    Client, Error, InProcess, Index, OwnerKeys, Plan, Routing, Server, Transport, Vectors, Wish,
    build, recall, synthetic,
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

fn sealed(base: &Vectors, keys: &OwnerKeys, routing: Routing) -> Index {
    let wish = Wish {
        k: K,
        recall: 0.95,
        queries: 100,
        routing: Some(routing),
        ..Wish::default()
    };
    let plan = Plan::new(base.len(), DIM, wish).expect("a size that can be planned");
    build::sealed(&mut rng(), keys, base, &plan, &mut |_| ())
        .expect("an index")
        .index
}

fn routed(base: &Vectors, keys: &OwnerKeys) -> Index {
    let wish = Wish {
        k: K,
        ..Wish::default()
    };
    build::routed(&mut rng(), keys, base, wish, &mut |_| ())
        .expect("an index")
        .index
}

fn search(c: &mut Criterion) {
    let (base, queries) = synthetic::clustered(n(), 64, DIM, 42);
    let keys = OwnerKeys::generate(&mut rng());
    let size = format!("{}x{DIM}", base.len());

    let mut group = c.benchmark_group("search/build");
    group.sample_size(10);
    group.throughput(Throughput::Elements(base.len() as u64));
    // Eleven of the largest take minutes; the example private_search times one.
    if base.len() <= 20_000 {
        group.bench_function(BenchmarkId::new("sealed", &size), |b| {
            b.iter(|| sealed(&base, &keys, Routing::Downloaded));
        });
    }
    group.bench_function(BenchmarkId::new("local", &size), |b| {
        b.iter(|| build::local(&mut rng(), &keys, &base, K, &mut |_| ()).expect("an index"));
    });
    group.bench_function(BenchmarkId::new("masked", &size), |b| {
        b.iter(|| {
            build::masked(&mut rng(), &keys, &base, K, Packing::T4, &mut |_| ()).expect("an index")
        });
    });
    group.finish();

    let indexes = [
        (
            "sealed-downloaded",
            sealed(&base, &keys, Routing::Downloaded),
        ),
        ("sealed-encrypted", sealed(&base, &keys, Routing::Encrypted)),
        ("sealed-hashed", sealed(&base, &keys, Routing::Hashed)),
        ("routed", routed(&base, &keys)),
        // Codes are compared first where the builder found that worth it, as it does in this set.
        (
            "local",
            build::local(&mut rng(), &keys, &base, K, &mut |_| ()).expect("an index"),
        ),
        // And not in one without structure: every vector is scored.
        (
            "local-uniform",
            build::local(
                &mut rng(),
                &keys,
                &synthetic::uniform(n(), DIM, 42),
                K,
                &mut |_| (),
            )
            .expect("an index"),
        ),
        (
            "open",
            build::open(&mut rng(), &keys, &base, K, Packing::T4, &mut |_| ()).expect("an index"),
        ),
        (
            "masked",
            build::masked(&mut rng(), &keys, &base, K, Packing::T4, &mut |_| ()).expect("an index"),
        ),
    ];
    let mut group = c.benchmark_group("search/query");
    group.throughput(Throughput::Elements(1));
    for (name, index) in indexes {
        let server = Server::new(index).expect("a server");
        let mut transport = InProcess::new(&server);
        let reader = keys.reader();
        let client = Client::connect(&mut transport, &reader, None).expect("a client");
        let (mut rng, mut at) = (rng(), 0);
        group.bench_function(BenchmarkId::new(name, &size), |b| {
            b.iter(|| {
                at = (at + 1) % queries.len();
                let found = client.search(&mut rng, &mut transport, queries.row(at));
                black_box(found.expect("a search"))
            });
        });
    }
    let first = queries.clone().truncated(1).expect("a query");
    group.bench_function(BenchmarkId::new("plain-scan", &size), |b| {
        b.iter(|| black_box(recall::exact(&base, black_box(&first), K)));
    });
    group.finish();
}

/// Clients at a time.
const CLIENTS: usize = 8;

/// Requests that each of them has made beforehand.
const MADE: usize = 4;

/// A server on loopback with TLS, in this process, that asks for signed requests.
struct Loopback {
    running: Running,
    roots: String,
    key: ClientKey,
}

impl Loopback {
    fn new(index: Index) -> Self {
        let key = ClientKey::generate(&mut rng());
        let limits = Limits {
            rate: 1e9,
            rate_per_key: 1e9,
            ..Limits::default()
        };
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

/// Keeps requests instead of sending them.
#[derive(Default)]
struct Capture(Vec<(Vec<u8>, usize)>);

impl Transport for Capture {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        self.0.push((request.to_vec(), limit));
        Err(Error::Search)
    }
}

/// A client of the load: what it does is its requests, so that the server alone is measured.
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

/// Time of `rounds` times eight requests, each eighth of them by a client of its own.
fn at_once(callers: &mut [Caller], rounds: u64) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for caller in callers {
            scope.spawn(|| caller.call(rounds));
        }
    });
    start.elapsed()
}

fn loopback(c: &mut Criterion) {
    let (base, queries) = synthetic::clustered(n(), MADE, DIM, 42);
    let keys = OwnerKeys::generate(&mut rng());
    let size = format!("{}x{DIM}", base.len());
    let mut group = c.benchmark_group("search/loopback");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CLIENTS as u64));
    for (name, index) in [
        (
            "open",
            build::open(&mut rng(), &keys, &base, K, Packing::T4, &mut |_| ()).expect("an index"),
        ),
        (
            "masked",
            build::masked(&mut rng(), &keys, &base, K, Packing::T4, &mut |_| ()).expect("an index"),
        ),
        ("routed", routed(&base, &keys)),
    ] {
        let loopback = Loopback::new(index);
        let callers = (0..CLIENTS).map(|_| Caller::new(&loopback, &keys, &queries));
        let mut callers: Vec<Caller> = callers.collect();
        group.bench_function(BenchmarkId::new(format!("{name}-sequential"), &size), |b| {
            b.iter_custom(|rounds| {
                let start = Instant::now();
                callers[0].call(rounds * CLIENTS as u64);
                start.elapsed()
            });
        });
        group.bench_function(
            BenchmarkId::new(format!("{name}-{CLIENTS}-clients"), &size),
            |b| {
                b.iter_custom(|rounds| at_once(&mut callers, rounds));
            },
        );
        drop(callers);
        loopback.running.stop().expect("an orderly end");
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short().measurement_time(Duration::from_secs(2));
    targets = search, loopback
}
criterion_main!(benches);
