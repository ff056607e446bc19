//! Module LWE: scans compared with a plain read of the same memory, columns of bytes compared with 18-bit entries, hints,
//! clients, and the product under encryption.
//!
//! For figures of one thread, pin the process to one core: the thread pool follows.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sordino_ckks::column;
use sordino_cpu::Backend;
use sordino_lattice::pages::Pages;
use sordino_lwe::{ByteTable, Client, Params, Query, Seed, Shape, Table};

#[path = "pir/bandwidth.rs"]
mod bandwidth;
mod settings;

const SEED: Seed = Seed([1; 32]);

/// Groups, rows and columns: within the L2 cache, within the L3 cache, in memory.
const SHAPES: [(&str, usize, usize, usize); 3] = [
    ("512KiB", 2, 32, 2048),
    ("16MiB", 4, 512, 2048),
    ("256MiB", 16, 2048, 2048),
];

fn table(shape: Shape) -> Table {
    let mut rng = StdRng::seed_from_u64(1);
    let mut table = Table::zeroed(&Params::module_1536(), shape, &SEED);
    let mut bytes = vec![0; 4 * shape.columns()];
    for row in 0..shape.answers() {
        rng.fill_bytes(&mut bytes);
        let entries = bytes.as_chunks().0.iter().copied();
        let entries: Vec<i32> = entries.map(i32::from_le_bytes).collect();
        table.set(row, &entries).expect("a row");
    }
    table
}

fn queries(client: &Client, count: usize) -> Vec<Query> {
    let message = vec![0; client.shape().words()];
    let mut rng = StdRng::seed_from_u64(2);
    let query = |_| client.query(&mut rng, &message).expect("a message").1;
    (0..count).map(query).collect()
}

fn answer(c: &mut Criterion) {
    let mut group = c.benchmark_group("lwe/answer");
    let backend = Backend::detect().name();
    for (name, groups, rows, columns) in SHAPES {
        let shape = Shape::new(groups, rows, columns).expect("a shape");
        let (table, client) = (
            table(shape),
            Client::new(&Params::module_1536(), shape, &SEED),
        );
        let queries = queries(&client, 4);
        group.throughput(Throughput::Bytes(shape.scanned_len() as u64));
        group.bench_function(BenchmarkId::new(backend, name), |b| {
            b.iter(|| table.answer(black_box(&queries[0])));
        });
        group.bench_function(
            BenchmarkId::new(format!("{backend}-4-queries"), name),
            |b| {
                b.iter(|| table.answer_batch(black_box(&queries)));
            },
        );
        let mut pages = Pages::zeroed(shape.scanned_len());
        pages.fill(1);
        let words: Vec<u64> = pages
            .as_chunks()
            .0
            .iter()
            .copied()
            .map(u64::from_le_bytes)
            .collect();
        drop(pages);
        group.bench_function(BenchmarkId::new("read", name), |b| {
            b.iter(|| bandwidth::read(black_box(&words)));
        });
    }
    group.finish();
}

/// Fetches ten columns of bytes: from a `ByteTable`, and from a `Table` as peer. Each of the peer's ten groups has a
/// tenth of the columns, with ten bits in each 18-bit entry. So the peer cannot fetch two columns of one group, unless
/// it holds copies.
fn columns(c: &mut Criterion) {
    let mut group = c.benchmark_group("lwe/columns");
    let backend = Backend::detect_with_tiles().name();
    for (name, rows, columns) in [("8MB", 1792, 4500), ("160MB", 7168, 22_000)] {
        let params = Params::module_1536_bytes();
        let shape = params.shape(10, rows, columns).expect("a shape");
        let mut bytes = vec![0; rows * columns];
        StdRng::seed_from_u64(5).fill_bytes(&mut bytes);
        let table = ByteTable::from_slice(&params, shape, &SEED, &bytes).expect("columns");
        drop(bytes);
        let queries = queries(&Client::new(&params, shape, &SEED), 1);
        group.throughput(Throughput::Bytes((rows * columns) as u64));
        group.bench_function(BenchmarkId::new(backend, name), |b| {
            b.iter(|| table.answer(black_box(&queries[0])));
        });
        drop(table);
        let peer = Shape::new(10, rows * 8 / 10, columns / 10).expect("a shape");
        let (table, client) = (
            self::table(peer),
            Client::new(&Params::module_1536(), peer, &SEED),
        );
        let queries = self::queries(&client, 1);
        group.bench_function(BenchmarkId::new("18-bit-entries", name), |b| {
            b.iter(|| table.answer(black_box(&queries[0])));
        });
    }
    group.finish();
}

fn hint(c: &mut Criterion) {
    let mut group = c.benchmark_group("lwe/hint");
    let backend = Backend::detect().name();
    let shape = Shape::new(1, 256, 2048).expect("a shape");
    let table = table(shape);
    group.throughput(Throughput::Elements(256));
    group.bench_function(BenchmarkId::new(backend, "256x2048"), |b| {
        b.iter(|| table.hint(0..256));
    });
    let params = Params::module_1536_bytes();
    let shape = params.shape(10, 256, 2048).expect("a shape");
    let bytes = vec![7; 256 * 2048];
    let table = ByteTable::from_slice(&params, shape, &SEED, &bytes).expect("columns");
    group.throughput(Throughput::Elements(10 * 256));
    group.bench_function(
        BenchmarkId::new(format!("{backend}-bytes"), "10x256x2048"),
        |b| {
            b.iter(|| table.hint(0..10, 0..256));
        },
    );
    group.finish();
}

fn query(c: &mut Criterion) {
    let mut group = c.benchmark_group("lwe/query");
    let backend = Backend::detect().name();
    for (name, groups, columns) in [("32x2048", 32, 2048), ("32x8192", 32, 8192)] {
        let shape = Shape::new(groups, 1, columns).expect("a shape");
        let client = Client::new(&Params::module_1536(), shape, &SEED);
        let message = vec![1; shape.words()];
        let mut rng = StdRng::seed_from_u64(3);
        group.throughput(Throughput::Elements(shape.words() as u64));
        group.bench_function(BenchmarkId::new(backend, name), |b| {
            b.iter(|| client.query(&mut rng, black_box(&message)));
        });
    }
    group.finish();
}

/// `Enc(y - H s)` by column packing, as routed scores need it.
fn product(c: &mut Criterion) {
    let mut group = c.benchmark_group("lwe/product");
    let (rows, n) = (8192, Params::module_1536().n());
    let mut rng = StdRng::seed_from_u64(4);
    for params in [
        column::Params::modular_26_t64(),
        column::Params::modular_26_t128(),
    ] {
        let codes: Vec<i32> = (0..rows * n)
            .map(|_| rng.next_u32().cast_signed() >> 6)
            .collect();
        let (database, hint) =
            column::Database::encode_modular(&params, SEED, &codes, n).expect("residues");
        drop(codes);
        let client = column::Client::new(&params, SEED, n, rows, &hint).expect("one shape");
        let s: Vec<i32> = (0..n)
            .map(|_| (rng.next_u32() % 3).cast_signed() - 1)
            .collect();
        let y: Vec<u32> = (0..rows).map(|_| rng.next_u32()).collect();
        let queries: Vec<_> = (0..4)
            .map(|_| client.encrypt_modular(&mut rng, &s).expect("residues").1)
            .collect();
        group.throughput(Throughput::Elements(rows as u64));
        for count in [1, 4] {
            let onto = vec![y.as_slice(); count];
            let id = BenchmarkId::new(params.name(), format!("{rows} rows, {count} queries"));
            group.bench_function(id, |b| {
                b.iter(|| database.score_onto(black_box(&queries[..count]), &onto));
            });
        }
        let reply = database
            .score_onto(&queries[..1], &[&y])
            .expect("one query")
            .remove(0);
        group.bench_function(
            BenchmarkId::new(params.name(), format!("{rows} rows decrypted")),
            |b| {
                b.iter_batched(
                    || client.encrypt_modular(&mut rng, &s).expect("residues").0,
                    |secret| client.decrypt_modular(secret, black_box(&reply)),
                    BatchSize::LargeInput,
                );
            },
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = answer, columns, hint, query, product
}
criterion_main!(benches);
