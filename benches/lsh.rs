//! Locality-sensitive hashing: `lsh/hash` (one vector), `lsh/batch`, `lsh/scan` (Hamming top-k over
//! packed codes), `lsh/search` (two stages: nearest codes, then exact scores) and `lsh/tables`.
//!
//! `SORDINO_BENCH_LONG=1` adds a scan of 10,000,000 codes.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_lsh::{
    Backend, Codes, CrossPolytope, E2Lsh, Family, Kind, Lookup, Nearest, Scratch, Seed, SimHash,
    SimHashTables, Tables, Vertices,
};

mod settings;

const SEED: Seed = Seed([7; 32]);

fn floats(len: usize) -> Vec<f32> {
    let mut rng = StdRng::seed_from_u64(len as u64);
    (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// The definition in plain loops: one dot product per bit.
fn naive(planes: &[f32], x: &[f32], code: &mut [u64]) {
    code.fill(0);
    for (i, plane) in planes.chunks_exact(x.len()).enumerate() {
        let dot: f32 = plane.iter().zip(x).map(|(a, b)| a * b).sum();
        code[i / 64] |= u64::from(dot >= 0.0) << (i % 64);
    }
}

/// The distance of each code from the query, and the code's index, in plain loops.
#[inline(always)]
fn distances(words: &[u64], query: &[u64], out: &mut [(u32, u32)]) {
    for ((out, code), i) in out.iter_mut().zip(words.chunks_exact(query.len())).zip(0..) {
        let mut distance = 0;
        for (a, b) in code.iter().zip(query) {
            distance += (a ^ b).count_ones();
        }
        *out = (distance, i);
    }
}

/// [`distances`] with the processor's instruction that counts bits. The benches are built for all x86-64 processors, of
/// which the first lack it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn distances_popcnt(words: &[u64], query: &[u64], out: &mut [(u32, u32)]) {
    distances(words, query, out);
}

/// [`distances`] by the processor's instruction for counting, if it has one.
fn counted(words: &[u64], query: &[u64], out: &mut [(u32, u32)]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        #[expect(unsafe_code, reason = "a function that needs an instruction")]
        // SAFETY: the processor has the instruction.
        unsafe {
            distances_popcnt(words, query, out);
        }
        return;
    }
    distances(words, query, out);
}

fn hash(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsh/hash");
    group.throughput(Throughput::Elements(1));
    for (dim, bits) in [
        (32, 128),
        (128, 64),
        (128, 128),
        (128, 1024),
        (256, 128),
        (768, 256),
    ] {
        let (case, x) = (format!("{dim}dims-{bits}bits"), floats(dim));
        let (mut scratch, mut code) = (Scratch::default(), vec![0; bits / 64]);
        let planes = floats(dim * bits);
        group.bench_function(BenchmarkId::new("loops", &case), |b| {
            b.iter(|| naive(&planes, black_box(&x), &mut code));
        });
        for (name, kind) in [
            ("rotation", Kind::Rotation),
            ("hyperplanes", Kind::Hyperplanes),
        ] {
            let hash = SimHash::new(dim, bits, kind, SEED).expect("valid");
            for backend in Backend::available() {
                group.bench_function(
                    BenchmarkId::new(format!("{name}-{}", backend.name()), &case),
                    |b| {
                        b.iter(|| {
                            hash.hash_into_on(backend, black_box(&x), &mut scratch, &mut code)
                        });
                    },
                );
            }
        }
    }
    let (x, mut room) = (floats(128), Lookup::default());
    let polytope = CrossPolytope::new(128, 1, 2, SEED).expect("valid");
    group.bench_function(
        BenchmarkId::new("cross-polytope", "128dims-2functions"),
        |b| {
            b.iter(|| {
                polytope
                    .keys(black_box(&x), 0, 1, &mut room)
                    .expect("one vector")[0]
            });
        },
    );
    let vertices = Vertices::new(128, 2048, SEED).expect("valid");
    let (mut scratch, mut scores) = (Scratch::default(), vec![0.0; 2048]);
    group.bench_function(BenchmarkId::new("vertices", "128dims-2048keys"), |b| {
        b.iter(|| vertices.scores(black_box(&x), &mut scratch, &mut scores));
    });
    let e2lsh = E2Lsh::new(128, 1, 8, 4.0, SEED).expect("valid");
    group.bench_function(BenchmarkId::new("e2lsh", "128dims-8functions"), |b| {
        b.iter(|| {
            e2lsh
                .keys(black_box(&x), 0, 1, &mut room)
                .expect("one vector")[0]
        });
    });
    group.finish();
}

fn batch(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsh/batch");
    let vectors = floats(128 * 10_000);
    group.throughput(Throughput::Elements(10_000));
    let hash = SimHash::new(128, 128, Kind::Rotation, SEED).expect("valid");
    group.bench_function(BenchmarkId::new("rotation", "10000x128dims-128bits"), |b| {
        b.iter(|| hash.hash_batch(black_box(&vectors)));
    });
    group.bench_function(
        BenchmarkId::new("rotation-rayon", "10000x128dims-128bits"),
        |b| {
            b.iter(|| hash.par_hash_batch(black_box(&vectors)));
        },
    );
    group.finish();
}

fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsh/scan");
    let mut sizes = vec![
        (100_000, 64),
        (100_000, 128),
        (100_000, 256),
        (100_000, 1024),
        (1_000_000, 128),
    ];
    if std::env::var_os("SORDINO_BENCH_LONG").is_some() {
        sizes.push((10_000_000, 128));
    }
    for (count, bits) in sizes {
        let (case, per_code, k) = (format!("{count}x{bits}bits-top50"), bits / 64, 50);
        let mut rng = StdRng::seed_from_u64(9);
        let words: Vec<u64> = (0..count * per_code).map(|_| rng.random()).collect();
        let query: Vec<u64> = (0..per_code).map(|_| rng.random()).collect();
        let (codes, mut room) = (
            Codes::from_words(bits, &words).expect("whole codes"),
            Nearest::default(),
        );
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("popcount-and-select", &case), |b| {
            let mut distances = vec![(0, 0); count];
            b.iter(|| {
                counted(black_box(&words), &query, &mut distances);
                distances.select_nth_unstable(k);
                distances[..k].sort_unstable();
                distances[0]
            });
        });
        for backend in Backend::available() {
            group.bench_function(BenchmarkId::new(backend.name(), &case), |b| {
                b.iter(|| {
                    codes
                        .nearest_on(backend, black_box(&query), k, &mut room)
                        .expect("one code")[0]
                });
            });
        }
    }
    group.finish();
}

fn search(c: &mut Criterion) {
    let mut group = c.benchmark_group("lsh/search");
    let (count, mut room) = (100_000, Nearest::default());
    for dim in [32, 128, 256] {
        let vectors = floats(count * dim);
        let hash = SimHash::new(dim, 128, Kind::Rotation, SEED).expect("valid");
        let codes = hash.hash_batch(&vectors).expect("whole vectors");
        let x = floats(dim);
        let (mut scratch, mut code) = (Scratch::default(), [0; 2]);
        group.bench_function(BenchmarkId::new("hash-scan-top50", dim), |b| {
            b.iter(|| {
                hash.hash_into(black_box(&x), &mut scratch, &mut code)
                    .expect("one vector");
                codes.nearest(&code, 50, &mut room).expect("one code")[0]
            });
        });
        group.bench_function(BenchmarkId::new("200-candidates-exact-top10", dim), |b| {
            b.iter(|| {
                hash.hash_into(black_box(&x), &mut scratch, &mut code)
                    .expect("one vector");
                let mut scored: Vec<(f32, u32)> = codes
                    .nearest(&code, 200, &mut room)
                    .expect("one code")
                    .iter()
                    .map(|near| {
                        let row = &vectors[near.index as usize * dim..][..dim];
                        (row.iter().zip(&x).map(|(a, b)| a * b).sum(), near.index)
                    })
                    .collect();
                scored.sort_by(|a, b| b.0.total_cmp(&a.0));
                scored.truncate(10);
                scored
            });
        });
    }
    group.finish();
}

fn lookup<F: Family>(c: &mut Criterion, name: &str, family: F, vectors: &[f32]) {
    let mut group = c.benchmark_group("lsh/tables");
    let (dim, mut room) = (family.dim(), Lookup::default());
    let tables = Tables::build(family, vectors).expect("few vectors");
    for probes in [1, 8, 32] {
        group.bench_function(BenchmarkId::new(name, format!("{probes}probes")), |b| {
            b.iter(|| {
                tables
                    .candidates(black_box(&vectors[..dim]), probes, &mut room)
                    .expect("one vector")
                    .len()
            });
        });
    }
    group.finish();
}

fn tables(c: &mut Criterion) {
    let vectors = floats(50_000 * 128);
    let simhash = SimHashTables::new(128, 8, 14, Kind::Rotation, SEED).expect("valid");
    lookup(c, "simhash-8x14", simhash, &vectors);
    lookup(
        c,
        "cross-polytope-8x2",
        CrossPolytope::new(128, 8, 2, SEED).expect("valid"),
        &vectors,
    );
    lookup(
        c,
        "e2lsh-8x6",
        E2Lsh::new(128, 8, 6, 8.0, SEED).expect("valid"),
        &vectors,
    );
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = hash, batch, scan, search, tables
}
criterion_main!(benches);
