//! Dot products under encryption, and the transform below them.
//!
//! Groups are operations, functions implementations, parameters sizes (`KxD`: vectors times
//! dimensions). The bench runs on one thread unless `RAYON_NUM_THREADS` says otherwise.
//! `SORDINO_CKKS_LONG=1` adds the databases of 100,000 vectors in 128 and 384 dimensions.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sordino_ckks::{column, dot};
use sordino_lattice::{Modulus, ntt};

/// The largest 50-bit prime that is 1 mod 2^15.
const Q: u64 = 1_125_899_904_679_937;

/// Unit vectors, row after row.
fn unit_vectors(rng: &mut StdRng, count: usize, dim: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let raw: Vec<f32> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        all.extend(raw.iter().map(|x| x / norm));
    }
    all
}

fn transforms(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(1);
    for (name, inverse) in [("ntt/forward", false), ("ntt/inverse", true)] {
        let mut group = c.benchmark_group(name);
        for n in [1024, 2048, 4096, 8192, 16384] {
            group.throughput(Throughput::Elements(n as u64));
            let values: Vec<u64> = (0..n).map(|_| rng.random_range(0..Q)).collect();
            let modulus = Modulus::new(Q).expect("a prime");
            let ours = ntt::Plan::new(n, modulus).expect("1 mod 2n");
            let peer = tfhe_ntt::prime64::Plan::try_new(n, Q).expect("1 mod 2n");
            let mut a = values.clone();
            group.bench_function(BenchmarkId::new("sordino", n), |b| {
                b.iter(|| match inverse {
                    false => ours.forward(black_box(&mut a)),
                    true => ours.inverse(black_box(&mut a)),
                });
            });
            let mut a = values.clone();
            group.bench_function(BenchmarkId::new("tfhe-ntt", n), |b| {
                b.iter(|| match inverse {
                    false => peer.fwd(black_box(&mut a)),
                    true => peer.inv(black_box(&mut a)),
                });
            });
            if inverse {
                for k in [2, 3, 7] {
                    let id = BenchmarkId::new(format!("sordino, every {}th", 1 << k), n);
                    let mut a = values.clone();
                    group.bench_function(id, |b| {
                        b.iter(|| {
                            ours.inverse_strided(black_box(&mut a), k);
                        });
                    });
                }
            }
        }
        group.finish();
    }
}

fn row_packing(c: &mut Criterion) {
    let params = dot::Params::rlwe_2048_50();
    let shapes = [(64, 128), (64, 384), (64, 768), (64, 1536), (1024, 128)];
    let mut rng = StdRng::seed_from_u64(2);
    for (count, dim) in shapes {
        let id = BenchmarkId::new("row", format!("{count}x{dim}"));
        let base = unit_vectors(&mut rng, count, dim);
        let query = unit_vectors(&mut rng, 1, dim);
        let plaintexts = dot::Plaintexts::encode(&params, &base, dim).expect("unit vectors");
        let (_, encrypted) = dot::encrypt(&mut rng, &params, &query).expect("a unit vector");
        let reply = plaintexts.score(&encrypted).expect("same shape");

        if count == 64 {
            let mut group = c.benchmark_group("ckks/encrypt");
            group.throughput(Throughput::Bytes(dot::Query::encoded_len(dim) as u64));
            group.bench_function(id.clone(), |b| {
                b.iter(|| dot::encrypt(&mut rng, &params, black_box(&query)));
            });
            group.finish();
        }
        let mut group = c.benchmark_group("ckks/score");
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(id.clone(), |b| {
            b.iter(|| plaintexts.score(black_box(&encrypted)));
        });
        group.finish();
        let mut group = c.benchmark_group("ckks/decrypt");
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(id, |b| {
            b.iter_batched(
                || {
                    dot::encrypt(&mut rng, &params, &query)
                        .expect("a unit vector")
                        .0
                },
                |secret| secret.decrypt(count, black_box(&reply)),
                criterion::BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

fn column_packing(c: &mut Criterion) {
    let long = std::env::var_os("SORDINO_CKKS_LONG").is_some();
    let shapes: &[(usize, usize)] = match long {
        true => &[(100_000, 128), (106_356, 384)],
        false => &[(10_000, 128)],
    };
    let mut rng = StdRng::seed_from_u64(3);
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    for &(count, dim) in shapes {
        let shape = format!("{count}x{dim}");
        let mut group = c.benchmark_group("ckks/column");
        group.throughput(Throughput::Elements(count as u64));
        let real = if dim > 200 {
            column::Params::real_t8()
        } else {
            column::Params::real_t4()
        };
        let base = unit_vectors(&mut rng, count, dim);
        let query = unit_vectors(&mut rng, 1, dim);
        let (database, hint) =
            column::Database::encode(&real, seed, &base, dim).expect("unit vectors");
        let client = column::Client::new(&real, seed, dim, count, &hint).expect("same shape");
        let queries: Vec<_> = (0..4)
            .map(|_| client.encrypt(&mut rng, &query).expect("a unit vector").1)
            .collect();
        let reply = database.score(&queries[0]).expect("same shape");
        group.bench_function(BenchmarkId::new("real/encrypt", &shape), |b| {
            b.iter(|| client.encrypt(&mut rng, black_box(&query)));
        });
        group.bench_function(BenchmarkId::new("real/score", &shape), |b| {
            b.iter(|| database.score(black_box(&queries[0])));
        });
        group.bench_function(BenchmarkId::new("real/score 4 queries", &shape), |b| {
            b.iter(|| database.score_batch(black_box(&queries)));
        });
        group.bench_function(BenchmarkId::new("real/decrypt", &shape), |b| {
            b.iter_batched(
                || client.encrypt(&mut rng, &query).expect("a unit vector").0,
                |secret| client.decrypt(secret, black_box(&reply)),
                criterion::BatchSize::LargeInput,
            );
        });
        drop((database, client, hint));

        let modular = column::Params::modular_26_t8();
        let codes: Vec<i32> = (0..count * dim)
            .map(|_| rng.random_range(-(1 << 25)..1 << 25))
            .collect();
        let query: Vec<i32> = (0..dim).map(|_| rng.random_range(-900..900)).collect();
        let (database, hint) =
            column::Database::encode_modular(&modular, seed, &codes, dim).expect("residues");
        let client = column::Client::new(&modular, seed, dim, count, &hint).expect("same shape");
        let (_, encrypted) = client.encrypt_modular(&mut rng, &query).expect("residues");
        let reply = database.score(&encrypted).expect("same shape");
        group.bench_function(BenchmarkId::new("modular/encrypt", &shape), |b| {
            b.iter(|| client.encrypt_modular(&mut rng, black_box(&query)));
        });
        group.bench_function(BenchmarkId::new("modular/score", &shape), |b| {
            b.iter(|| database.score(black_box(&encrypted)));
        });
        group.bench_function(BenchmarkId::new("modular/decrypt", &shape), |b| {
            b.iter_batched(
                || {
                    client
                        .encrypt_modular(&mut rng, &query)
                        .expect("residues")
                        .0
                },
                |secret| client.decrypt_modular(secret, black_box(&reply)),
                criterion::BatchSize::LargeInput,
            );
        });
        group.finish();
    }
}

fn short() -> Criterion {
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        one.build_global().expect("the first to set the pool");
    }
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(600))
}

criterion_group! {
    name = benches;
    config = short();
    targets = transforms, row_packing, column_packing
}
criterion_main!(benches);
