//! Dot products under encryption, and the transform below them.
//!
//! Groups are operations, functions are implementations, and parameters are sizes (`KxD`: vectors times
//! dimensions). The bench runs on one thread unless `RAYON_NUM_THREADS` says otherwise.
//! `SORDINO_CKKS_LONG=1` adds databases of 100,000 vectors in 128 and of 106,356 in 384 dimensions. Sizes
//! and measured errors are printed first.
//!
//! The peer `fhe` is BFV with `N = 8192` and a modulus of 150 bits on tfhe-ntt's transforms, with slots and rotations:
//! 64 vectors fill its 8,192 slots, and seven rotations add up the products. Its
//! results are integers mod 65537.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sordino_ckks::{column, dot, slot};

#[path = "ckks/accuracy.rs"]
mod accuracy;
mod settings;
#[path = "ckks/transforms.rs"]
mod transforms;

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

fn row_packing(c: &mut Criterion) {
    let params = dot::Params::rlwe_2048_50();
    // One dot product at the reference's dimensions, then batches.
    let shapes = [
        (1, 32),
        (1, 128),
        (1, 256),
        (64, 128),
        (64, 384),
        (64, 768),
        (64, 1536),
        (1024, 128),
    ];
    let mut rng = StdRng::seed_from_u64(2);
    for (count, dim) in shapes {
        let id = BenchmarkId::new("row", format!("{count}x{dim}"));
        let base = unit_vectors(&mut rng, count, dim);
        let query = unit_vectors(&mut rng, 1, dim);
        let plaintexts = dot::Plaintexts::encode(&params, &base, dim).expect("unit vectors");
        let (_, encrypted) = dot::encrypt(&mut rng, &params, &query).expect("a unit vector");
        let reply = plaintexts.score(&encrypted).expect("same shape");

        if count <= 64 {
            let mut group = c.benchmark_group("ckks/encrypt");
            group.throughput(Throughput::Bytes(dot::Query::encoded_len(dim) as u64));
            group.bench_function(id.clone(), |b| {
                b.iter(|| dot::encrypt(&mut rng, &params, black_box(&query)));
            });
            group.finish();
            let mut group = c.benchmark_group("ckks/serialize");
            group.throughput(Throughput::Bytes(dot::Query::encoded_len(dim) as u64));
            group.bench_function(id.clone(), |b| b.iter(|| black_box(&encrypted).to_bytes()));
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

/// The shape at which slot mode and its peer are measured.
const SLOT_SHAPE: &str = "64x128";
const SLOT_DIM: usize = 128;

fn slot_mode(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(4);
    let params = slot::Params::slots_4096();
    let encoder = slot::Encoder::new(&params);
    let secret = slot::SecretKey::generate(&mut rng, &params);
    let keys = (0..SLOT_DIM.ilog2())
        .map(|k| secret.galois_key(&mut rng, 1 << k))
        .collect();
    let evaluator = slot::Evaluator::new(&params, keys).expect("keys of the set");
    let doubles = |values: Vec<f32>| -> Vec<f64> { values.into_iter().map(f64::from).collect() };
    let query = doubles(unit_vectors(&mut rng, 1, SLOT_DIM));
    let query: Vec<f64> = query.into_iter().cycle().take(params.slots()).collect();
    let packs = [(); 2].map(|()| {
        let base = doubles(unit_vectors(&mut rng, params.slots() / SLOT_DIM, SLOT_DIM));
        encoder.encode(&base).expect("as many values as slots")
    });
    let encrypt = |rng: &mut StdRng| {
        let plaintext = encoder.encode(&query).expect("as many values as slots");
        secret.encrypt(rng, &plaintext).expect("one set")
    };
    let encrypted = encrypt(&mut rng);
    let score = |query: &slot::Ciphertext| {
        packs.each_ref().map(|pack| {
            let product = evaluator.mul_plain(query, pack).expect("one set");
            let product = evaluator.rescale(&product).expect("level 1");
            evaluator.inner_sum(&product, SLOT_DIM).expect("all keys")
        })
    };
    let sums = score(&encrypted);
    c.benchmark_group("ckks/encrypt")
        .bench_function(BenchmarkId::new("slot", SLOT_SHAPE), |b| {
            b.iter(|| encrypt(&mut rng));
        });
    c.benchmark_group("ckks/score")
        .throughput(Throughput::Elements(64))
        .bench_function(BenchmarkId::new("slot", SLOT_SHAPE), |b| {
            b.iter(|| score(black_box(&encrypted)));
        });
    c.benchmark_group("ckks/decrypt")
        .throughput(Throughput::Elements(64))
        .bench_function(BenchmarkId::new("slot", SLOT_SHAPE), |b| {
            b.iter(|| {
                sums.each_ref()
                    .map(|sums| encoder.decode(&secret.decrypt(sums).expect("one set")))
            });
        });
    let mut group = c.benchmark_group("ckks/slot");
    group.bench_function(BenchmarkId::new("multiply", params.degree()), |b| {
        b.iter(|| evaluator.mul_plain(black_box(&encrypted), &packs[0]));
    });
    group.bench_function(BenchmarkId::new("rescale", params.degree()), |b| {
        b.iter(|| evaluator.rescale(black_box(&encrypted)));
    });
    group.bench_function(BenchmarkId::new("rotate", params.degree()), |b| {
        b.iter(|| evaluator.rotate(black_box(&encrypted), 1));
    });
    group.bench_function(
        BenchmarkId::new("rotate at level 0", params.degree()),
        |b| {
            b.iter(|| evaluator.rotate(black_box(&sums[0]), 1));
        },
    );
    group.finish();
}

fn peer(c: &mut Criterion) {
    use fhe::bfv;
    use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
    const DEGREE: usize = 8192;
    let mut rng = rand_09::rng();
    let params = bfv::BfvParametersBuilder::new()
        .set_degree(DEGREE)
        .set_plaintext_modulus(65537)
        .set_moduli_sizes(&[50, 50, 50])
        .build_arc()
        .expect("parameters");
    let secret = bfv::SecretKey::random(&params, &mut rng);
    let mut keys = bfv::EvaluationKeyBuilder::new(&secret).expect("a key");
    for k in 0..SLOT_DIM.ilog2() {
        keys.enable_column_rotation(1 << k).expect("a rotation");
    }
    let keys = keys.build(&mut rng).expect("keys");
    let simd = bfv::Encoding::simd();
    let query: Vec<i64> = (0..DEGREE).map(|i| (i % SLOT_DIM) as i64 - 64).collect();
    let base: Vec<i64> = (0..DEGREE).map(|i| (i * 7 % 31) as i64 - 15).collect();
    let pack = bfv::Plaintext::try_encode(&base, simd.clone(), &params).expect("a plaintext");
    let mut encrypt = || -> bfv::Ciphertext {
        let plaintext =
            bfv::Plaintext::try_encode(&query, simd.clone(), &params).expect("a plaintext");
        secret
            .try_encrypt(&plaintext, &mut rng)
            .expect("a ciphertext")
    };
    let encrypted = encrypt();
    let score = || {
        let mut sum = &encrypted * &pack;
        for k in 0..SLOT_DIM.ilog2() {
            let rotated = keys.rotates_columns_by(&sum, 1 << k).expect("a key");
            sum += &rotated;
        }
        sum
    };
    let sums = score();
    let decrypt = || -> Vec<i64> {
        let plaintext = secret.try_decrypt(&sums).expect("a plaintext");
        Vec::<i64>::try_decode(&plaintext, simd.clone()).expect("slots")
    };
    let exact: i64 = base
        .iter()
        .zip(&query)
        .take(SLOT_DIM)
        .map(|(x, y)| x * y)
        .sum();
    assert_eq!(
        (decrypt()[0] - exact).rem_euclid(65537),
        0,
        "the peer's dot product"
    );
    c.benchmark_group("ckks/encrypt")
        .bench_function(BenchmarkId::new("fhe", SLOT_SHAPE), |b| {
            b.iter(&mut encrypt);
        });
    c.benchmark_group("ckks/score")
        .throughput(Throughput::Elements(64))
        .bench_function(BenchmarkId::new("fhe", SLOT_SHAPE), |b| b.iter(score));
    c.benchmark_group("ckks/decrypt")
        .throughput(Throughput::Elements(64))
        .bench_function(BenchmarkId::new("fhe", SLOT_SHAPE), |b| b.iter(decrypt));
}

fn column_packing(c: &mut Criterion) {
    let long = std::env::var_os("SORDINO_CKKS_LONG").is_some();
    let shapes: &[(usize, usize)] = match long {
        true => &[(10_000, 128), (100_000, 128), (106_356, 384)],
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

/// Uses one thread, unless the environment asks for another number.
fn one_thread() -> Criterion {
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        one.build_global().expect("the first to set the pool");
    }
    settings::short()
}

criterion_group! {
    name = benches;
    config = one_thread();
    targets = accuracy::accuracy, transforms::transforms, row_packing, slot_mode, peer, column_packing
}
criterion_main!(benches);
