//! Measures whole private searches, client and server in one process, and a plain scan.
//!
//! The default size keeps this short; `SORDINO_BENCH_N=100000` is the size of the reference.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_index::checks::held;
use sordino_index::checks::{self, balance};
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, InProcess, Index, OwnerKeys, Plan, Routing, Server, Vectors, Wish, build, recall,
    synthetic,
};
use sordino_vault::checks::held::{ReaderSums, Signs};
use sordino_vault::checks::{Checks, ClusterChecks};
use zeroize::Zeroizing;

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
    let wish = Wish::default()
        .k(K)
        .recall(0.95)
        .queries(100)
        .routing(Some(routing));
    let plan = Plan::new(base.len(), DIM, wish).expect("a size that can be planned");
    build::sealed(&mut rng(), keys, base, &plan, &mut |_| ())
        .expect("an index")
        .index
}

fn routed(base: &Vectors, keys: &OwnerKeys) -> Index {
    let wish = Wish::default().k(K);
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
    // Eleven searches of the largest set would take minutes; the example private_search times one.
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
        ("routed", routed(&base, &keys)),
        // Codes are compared first if the builder finds that worthwhile, as in this set.
        (
            "local",
            build::local(&mut rng(), &keys, &base, K, &mut |_| ()).expect("an index"),
        ),
        // In a set without structure, every vector is scored.
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

/// The time in which a client checks the scores of an honest reply, in microseconds, compared with
/// the time of copying the scores once.
fn checks(c: &mut Criterion) {
    let key = || Zeroizing::new([7; 32]);
    let products = |count: usize| -> Vec<i32> {
        let spread = |at: u32| at.wrapping_mul(2_654_435_761).cast_signed() >> 6;
        (0..).take(count).map(spread).collect()
    };
    let mut group = c.benchmark_group("search/checks");
    group.throughput(Throughput::Elements(n() as u64));
    let mut bench = |name: &str, run: &mut dyn FnMut() -> u64| {
        group.bench_function(BenchmarkId::new(name, n()), |b| b.iter(|| black_box(run())));
    };

    let rows = products(checks::stored(n(), DIM));
    let masked = Checks::new(key(), DIM);
    bench("check rows", &mut || {
        masked.off(n(), black_box(&rows)).into()
    });

    let places = products(n());
    let clusters = ClusterChecks::new(key());
    let held = products(balance::count(n()));
    bench("check rows of clusters", &mut || {
        clusters.off(0, black_box(&places), &held)
    });

    let sums = vec![0; held::len(n(), DIM)];
    let sums = ReaderSums::from_bytes(Signs::new(key()), n(), DIM, &sums)
        .expect("the right number of sums");
    let unit = ((1 << 40) - 36863, 20);
    bench("sums of readers", &mut || {
        sums.off(black_box(&places), &[1234; DIM], unit)[0]
    });

    bench("copy", &mut || {
        u64::from(black_box(&rows).clone().is_empty())
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short().measurement_time(Duration::from_secs(2));
    targets = search, checks
}
criterion_main!(benches);
