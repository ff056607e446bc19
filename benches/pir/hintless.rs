//! Measures retrieval without a hint: sessions, encoding, answers and clients.
//!
//! Sizes and bytes are printed with each database.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_pir::hintless::{Client, Database, Evaluation, Keys, Params, Server, Session};

use crate::{SEED, group};

/// The number of records, the bytes of a record, and the records fetched at once.
const SIZES: [(usize, usize, usize); 4] = [
    (406, 32_768, 1),
    (1000, 13_000, 24),
    (3000, 700, 10),
    (102_400, 1024, 10),
];

/// A gigabyte, measured with `SORDINO_BENCH_GIB`. It takes 8 GB of the server's memory.
const LARGE: [(usize, usize, usize); 2] = [(1 << 20, 1024, 10), (1 << 15, 32_768, 1)];

pub(crate) fn hintless(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(11);
    let mut group = group(c, "pir/hintless");
    let (session, keys) = Session::new(&mut rng);
    let evaluation = Evaluation::from(&keys);
    group.bench_function("session", |b| b.iter(|| Session::new(&mut rng)));
    group.bench_function("keys", |b| b.iter(|| Evaluation::from(black_box(&keys))));
    let large = std::env::var_os("SORDINO_BENCH_GIB").is_some();
    let large = large.then_some(LARGE).into_iter().flatten();
    for (records, len, batch) in SIZES.into_iter().chain(large) {
        let params = Params::new(records, len, batch).expect("a size that is served");
        let name = format!("{records}x{len}/{batch}");
        println!(
            "{name}: up {}, down {}, keys {} bytes; server {} MB; failure 2^{:.0}",
            params.query_len(),
            params.answer_len(),
            Keys::LEN,
            params.server_bytes() / 1_000_000,
            params.log2_failure()
        );
        let record = vec![0x5a; len];
        let encode = || {
            let all = std::iter::repeat_n(&record, records);
            Database::from_records(&params, &SEED, all).expect("as declared")
        };
        group.throughput(Throughput::Bytes((records * len) as u64));
        if records * len < 1 << 28 {
            group.bench_function(BenchmarkId::new("encode", &name), |b| b.iter(encode));
        }
        let database = encode();
        let server = Server::from(database);
        let client = Client::new(&params, &SEED);
        let wanted: Vec<usize> = (0..batch).map(|i| (i * 7919 + 3) % records).collect();
        let (_, query) = client.query(&mut rng, &session, &wanted).expect("in range");
        group.bench_function(BenchmarkId::new("answer", &name), |b| {
            b.iter(|| server.answer(&evaluation, black_box(&query)));
        });
        group.bench_function(BenchmarkId::new("query", &name), |b| {
            b.iter(|| client.query(&mut rng, &session, black_box(&wanted)));
        });
        let answer = server.answer(&evaluation, &query).expect("its keys");
        let mut asked = || {
            client
                .query(&mut rng, &session, &wanted)
                .expect("in range")
                .0
        };
        group.bench_function(BenchmarkId::new("recover", &name), |b| {
            b.iter_batched(
                &mut asked,
                |asked| client.recover(&session, asked, black_box(&answer)),
                criterion::BatchSize::SmallInput,
            );
        });
    }
}
