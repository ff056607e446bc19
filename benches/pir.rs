//! SimplePIR, DoublePIR and retrieval without a hint: scans, hints, clients, and the reference's table.
//!
//! `SORDINO_BENCH_GIB=1` adds the scans of 1 GiB, and records of 1 GiB without a hint. For figures of one thread, pin the process to one
//! core: the thread pool follows.

use std::hint::black_box;

use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sordino_lattice::matrix::{Backend, Digits, Panels, Vector};
use sordino_lattice::pages::Pages;
use sordino_pir::simple::{Client, Server};
use sordino_pir::{Database, Params, Seed, double, simple};

#[path = "pir/bandwidth.rs"]
mod bandwidth;
#[path = "pir/hintless.rs"]
mod hintless;
mod settings;

const SEED: Seed = Seed([1; 32]);

/// Rows and columns of the scanned matrices: within the L2 cache, within the L3 cache, in memory.
const SHAPES: [(&str, usize, usize); 3] = [
    ("512KiB", 512, 1024),
    ("13MB", 3648, 3584),
    ("128MiB", 8192, 16384),
];

fn shapes() -> impl Iterator<Item = (&'static str, usize, usize)> {
    let large = std::env::var_os("SORDINO_BENCH_GIB").is_some();
    SHAPES
        .into_iter()
        .chain(large.then_some(("1GiB", 32768, 32768)))
}

fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    group
}

/// Random bytes in the layout of a server's database.
fn random(len: usize) -> Pages {
    let mut pages = Pages::zeroed(len);
    let mut rng = StdRng::seed_from_u64(1);
    let mut block = vec![0; 1 << 16];
    rng.fill_bytes(&mut block);
    for (i, chunk) in pages.chunks_mut(block.len()).enumerate() {
        block[0] = i.to_le_bytes()[0];
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    pages
}

fn words(seed: u64, len: usize) -> Vec<u32> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..len).map(|_| rng.next_u32()).collect()
}

/// The product as the reference's C code and most other programs write it: one loop, which the compiler optimises.
fn plain_loop(d: &[u8], q: &[u32], out: &mut [u32]) {
    for (row, out) in d.chunks_exact(q.len()).zip(out) {
        *out = row.iter().zip(q).fold(0u32, |sum, (d, q)| {
            sum.wrapping_add(u32::from(*d).wrapping_mul(*q))
        });
    }
}

fn answer(c: &mut Criterion) {
    let mut group = group(c, "pir/answer");
    for (name, rows, columns) in shapes() {
        let pages = random(rows * columns);
        // Random words with the size of queries to such a database.
        let params = Params::for_columns(columns, rows).expect("served sizes");
        let mut q = words(2, columns);
        q.iter_mut()
            .for_each(|word| *word &= u32::MAX << (32 - params.query_bits()));
        let mut out = vec![0; rows];
        group.throughput(Throughput::Bytes((rows * columns) as u64));
        group.bench_function(BenchmarkId::new("read-bandwidth", name), |b| {
            b.iter(|| bandwidth::read(black_box(bytemuck::cast_slice(&pages))));
        });
        group.bench_function(BenchmarkId::new("plain-loop", name), |b| {
            b.iter(|| plain_loop(&pages, black_box(&q), &mut out));
        });
        for backend in Backend::available_with_tiles() {
            let digits = Digits::new(&pages, rows, columns);
            group.bench_function(BenchmarkId::new(backend.name(), name), |b| {
                b.iter(|| digits.mul_vec(&Vector::new(backend, black_box(&q)), &mut out));
            });
        }
    }
}

/// A server's work on the queries of several clients. Their number decides which kernels run.
fn answer_batch(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(7);
    let mut group = group(c, "pir/answer_batch");
    for (name, rows, columns) in shapes().skip(1) {
        let params = Params::for_columns(columns, rows).expect("served sizes");
        let (server, client) = deploy(&params);
        let indices: Vec<_> = (0..64).map(|t| t * 97 % columns).collect();
        let (_, queries) = client.query_batch(&mut rng, &indices).expect("in range");
        for k in [1, 4, 8, 16, 64] {
            group.throughput(Throughput::Bytes((rows * columns * k) as u64));
            let id = format!("{}-{k}-queries", Backend::detect_with_tiles().name());
            group.bench_function(BenchmarkId::new(id, name), |b| {
                b.iter(|| server.answer_batch(black_box(&queries[..k])));
            });
        }
    }
}

fn hint(c: &mut Criterion) {
    let mut group = group(c, "pir/hint");
    let n = 1024;
    for (name, rows, columns) in [("300KB", 549, 547), ("1MB", 1000, 1000)] {
        let stride = sordino_lattice::matrix::stride(columns);
        let pages = random(rows * stride);
        let digits = Digits::new(&pages, rows, columns);
        let a = words(3, columns * n);
        let mut out = vec![0; rows * n];
        group.throughput(Throughput::Bytes((rows * columns) as u64));
        for backend in Backend::available_with_tiles() {
            group.bench_function(BenchmarkId::new(backend.name(), name), |b| {
                b.iter(|| {
                    let panels = Panels::from_rows(backend, columns, n, |j, row| {
                        row.copy_from_slice(&a[j * n..(j + 1) * n]);
                    });
                    digits.mul_panels(&panels, &mut out);
                });
            });
        }
    }
}

/// Makes a server over random records, and a client of it.
fn deploy(params: &simple::Params) -> (Server, Client) {
    let mut bytes = vec![0; params.database_bytes()];
    StdRng::seed_from_u64(4).fill_bytes(&mut bytes);
    let database = Database::from_slice(params, &bytes).expect("a database of this length");
    let (server, hint) = Server::setup(database, params, &SEED).expect("matching parameters");
    let client = Client::new(params, &SEED, &hint).expect("matching parameters");
    (server, client)
}

fn query_and_recover(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(5);
    for (name, params) in [
        ("549x547", Params::for_database(100_000, 3)),
        ("10000x2048", Params::for_columns(2048, 10_000)),
    ] {
        let params = params.expect("served sizes");
        let (server, client) = deploy(&params);
        for k in [1, 20] {
            let indices: Vec<_> = (0..k).map(|t| t * 97 % params.records()).collect();
            let words = |side: usize| Throughput::Elements((side * params.n() * k) as u64);
            let mut queries = group(c, "pir/query");
            queries.throughput(words(params.columns()));
            queries.bench_function(BenchmarkId::new(format!("simple-{k}-queries"), name), |b| {
                b.iter(|| client.query_batch(&mut rng, black_box(&indices)));
            });
            queries.finish();
            let mut recovers = group(c, "pir/recover");
            recovers.throughput(words(params.rows()));
            let id = BenchmarkId::new(format!("simple-{k}-answers"), name);
            recovers.bench_function(id, |b| {
                b.iter_batched(
                    || {
                        let (secrets, queries) =
                            client.query_batch(&mut rng, &indices).expect("in range");
                        let answers = server.answer_batch(&queries).expect("matching");
                        (secrets, answers)
                    },
                    |(secrets, answers)| client.recover_batch(secrets, &answers),
                    BatchSize::PerIteration,
                );
            });
            recovers.finish();
        }
    }
}

/// The table that the reference document gives: records of 3 bytes, query + answer + recover.
fn reference_table(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(6);
    let mut group = group(c, "pir/reference_table");
    for records in [1000, 10_000, 100_000] {
        let params = Params::for_database(records, 3).expect("served sizes");
        let (server, client) = deploy(&params);
        let bytes = vec![7; params.database_bytes()];
        group.throughput(Throughput::Bytes(params.database_bytes() as u64));
        group.bench_function(BenchmarkId::new("simple-setup", records), |b| {
            b.iter(|| {
                let database = Database::from_slice(&params, black_box(&bytes))?;
                Server::setup(database, &params, &SEED)
            });
        });
        group.bench_function(BenchmarkId::new("simple-end-to-end", records), |b| {
            b.iter(|| {
                let (secret, query) = client.query(&mut rng, black_box(records / 3))?;
                client.recover(secret, &server.answer(&query)?)
            });
        });
        group.bench_function(BenchmarkId::new("simple-online", records), |b| {
            b.iter_batched(
                || client.prepare(&mut rng, 1).pop(),
                |prepared| {
                    let prepared = prepared.expect("one was asked for");
                    let (secret, query) = client.query_prepared(prepared, records / 3)?;
                    client.recover(secret, &server.answer(&query)?)
                },
                BatchSize::SmallInput,
            );
        });
    }
}

/// DoublePIR on the same records: the work that is left after a query was prepared, and all work.
fn reference_table_double(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(7);
    let mut group = group(c, "pir/reference_table");
    for records in [1000, 10_000, 100_000] {
        let params = Params::for_double(records, 3).expect("served sizes");
        let bytes = vec![7; params.database_bytes()];
        let setup = || {
            let database = Database::from_slice(&params, black_box(&bytes))?;
            double::Server::setup(database, &params, &SEED)
        };
        let (server, hint) = setup().expect("matching parameters");
        let client = double::Client::new(&params, &SEED, &hint).expect("matching parameters");
        group.throughput(Throughput::Bytes(params.database_bytes() as u64));
        group.bench_function(BenchmarkId::new("double-setup", records), |b| b.iter(setup));
        group.bench_function(BenchmarkId::new("double-end-to-end", records), |b| {
            b.iter(|| {
                let (secret, query) = client.query(&mut rng, black_box(records / 3))?;
                client.recover(secret, &server.answer(&query)?)
            });
        });
        let mut prepared = client.prepare(&mut rng, 16);
        group.bench_function(BenchmarkId::new("double-online", records), |b| {
            b.iter_batched(
                || {
                    if prepared.is_empty() {
                        prepared = client.prepare(&mut rng, 16);
                    }
                    prepared.pop()
                },
                |prepared| {
                    let prepared = prepared.expect("refilled");
                    let (secret, query) = client.query_prepared(prepared, records / 3)?;
                    let found = client.recover(secret, &server.answer(&query)?)?;
                    assert_eq!(found, [7; 3]);
                    Ok::<_, sordino_pir::Error>(found)
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// DoublePIR's answer over 128 MiB of one-byte records: the scan, and the second level behind it.
fn answer_double(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(8);
    let mut group = group(c, "pir/answer");
    let params = Params::for_double_with(1 << 27, 1, 1 << 11).expect("served sizes");
    let mut bytes = vec![0; params.database_bytes()];
    rng.fill_bytes(&mut bytes);
    let database = Database::from_slice(&params, &bytes).expect("a database of this length");
    let (server, _) = double::Server::setup(database, &params, &SEED).expect("matching parameters");
    // A client for 65,536 columns would take more memory than the measured data. Random words serve as its query.
    let mut wire = params.to_bytes();
    wire[6] = 6;
    wire[40..48].copy_from_slice(&(params.query_len() as u64 - 48).to_le_bytes());
    wire.resize(params.query_len(), 0);
    rng.fill_bytes(&mut wire[48..]);
    let query = double::Query::from_bytes(&params, &wire).expect("a well-formed query");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function(BenchmarkId::new("double", "128MiB"), |b| {
        b.iter(|| server.answer(black_box(&query)));
    });
}

/// The crate `simplepir` (u64 words) on about the same number of payload bytes. Its digits have 17 bits, as in its
/// documentation, and a word packs three of them.
fn answer_peer(c: &mut Criterion) {
    const BITS: u8 = 17;
    let mut group = group(c, "pir/answer");
    for (name, side) in [("512KiB", 496), ("13MB", 2480)] {
        let database = simplepir::Database::new_random_seed(side, BITS, 1);
        let packed = database.compress().expect("17 bits are packed");
        let query = simplepir::Vector::new_random(side, 0..=u64::MAX, Some(2));
        // The payload, without the unused bits of the words
        let bytes = (side * side) as u64 * u64::from(BITS) / 8;
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(BenchmarkId::new("simplepir-crate", name), |b| {
            b.iter(|| simplepir::answer(black_box(&packed), &query));
        });
    }
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets =
        answer,
        answer_batch,
        hint,
        query_and_recover,
        reference_table,
        reference_table_double,
        answer_double,
        answer_peer,
        hintless::hintless
}
criterion_main!(benches);
