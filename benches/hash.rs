//! BLAKE3 over many messages (`hash/each`), over one (`hash/single`), and the tree over a list of
//! digests (`hash/tree`). Before a list is timed, its digests are compared with the official crate's.
//!
//! `SORDINO_BENCH_LONG=1` adds a single message of 256 MiB.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use sordino_hash::{
    Backend, Hash, Tree, hash_each, hash_each_on, keyed_hash_each, par_hash_each, tree_root,
};

mod settings;

const NONE: Hash = Hash::from_bytes([0; 32]);

fn long() -> bool {
    std::env::var_os("SORDINO_BENCH_LONG").is_some()
}

fn bytes(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    StdRng::seed_from_u64(len as u64).fill(bytes.as_mut_slice());
    bytes
}

/// One list of messages through every backend, the rayon version and the official crate.
fn compare(
    group: &mut BenchmarkGroup<'_, WallTime>,
    case: &str,
    messages: &[&[u8]],
    threads: bool,
) {
    let total: usize = messages.iter().map(|message| message.len()).sum();
    group.throughput(Throughput::Bytes(total as u64));
    let mut digests = vec![NONE; messages.len()];
    group.bench_function(BenchmarkId::new("blake3", case), |b| {
        b.iter(|| {
            for (digest, message) in digests.iter_mut().zip(messages) {
                *digest = blake3::hash(black_box(message));
            }
        });
    });
    for backend in Backend::all() {
        hash_each_on(backend, messages, &mut digests);
        assert!(
            messages
                .iter()
                .zip(&digests)
                .all(|(message, digest)| blake3::hash(message) == *digest)
        );
        group.bench_function(BenchmarkId::new(backend.name(), case), |b| {
            b.iter(|| hash_each_on(backend, black_box(messages), &mut digests));
        });
    }
    if threads {
        group.bench_function(BenchmarkId::new("blake3-rayon", case), |b| {
            b.iter(|| {
                messages
                    .par_iter()
                    .map(|message| blake3::hash(message))
                    .collect_into_vec(&mut digests);
            });
        });
        group.bench_function(BenchmarkId::new("sordino-rayon", case), |b| {
            b.iter(|| par_hash_each(black_box(messages), &mut digests));
        });
    }
}

fn each(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash/each");
    for (count, len) in [
        (100_000, 64),
        (4096, 256),
        (256, 1024),
        (100_000, 1024),
        (128, 2048),
        (64, 4096),
        (64, 8192),
        (64, 16 * 1024),
        (100, 64 * 1024),
        (1000, 64 * 1024),
    ] {
        let data = bytes(count * len);
        let messages: Vec<&[u8]> = data.chunks_exact(len).collect();
        compare(
            &mut group,
            &format!("{count}x{len}B"),
            &messages,
            count * len >= 1 << 22,
        );
    }
    for (count, most) in [(10_000, 64), (10_000, 2048), (1000, 20_000), (40, 2048)] {
        let data = bytes(most);
        let mut rng = StdRng::seed_from_u64(1);
        let messages: Vec<&[u8]> = (0..count)
            .map(|_| &data[..rng.random_range(0..=most)])
            .collect();
        compare(&mut group, &format!("{count}x0..{most}B"), &messages, false);
    }
    let data = bytes(1000 * 540);
    let messages: Vec<&[u8]> = data.chunks_exact(540).collect();
    compare(&mut group, "1000x540B", &messages, false);
    let key = [7; 32];
    let mut tags = vec![NONE; messages.len()];
    group.bench_function(BenchmarkId::new("blake3-keyed", "1000x540B"), |b| {
        b.iter(|| {
            for (tag, message) in tags.iter_mut().zip(&messages) {
                *tag = blake3::keyed_hash(&key, black_box(message));
            }
        });
    });
    group.bench_function(BenchmarkId::new("sordino-keyed", "1000x540B"), |b| {
        b.iter(|| keyed_hash_each(&key, black_box(&messages), &mut tags));
    });
    group.finish();
}

fn single(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash/single");
    let mut lens = vec![64, 1 << 10, 64 << 10, 1 << 20, 16 << 20];
    if long() {
        lens.push(256 << 20);
    }
    for len in lens {
        let message = bytes(len);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("blake3", len), |b| {
            b.iter(|| blake3::hash(black_box(&message)));
        });
        let mut digest = [NONE];
        group.bench_function(BenchmarkId::new("sordino", len), |b| {
            b.iter(|| hash_each(black_box(&[&message]), &mut digest));
        });
        group.bench_function(BenchmarkId::new("blake3-update_rayon", len), |b| {
            b.iter(|| {
                blake3::Hasher::new()
                    .update_rayon(black_box(&message))
                    .finalize()
            });
        });
        group.bench_function(BenchmarkId::new("sordino-rayon", len), |b| {
            b.iter(|| par_hash_each(black_box(&[&message]), &mut digest));
        });
    }
    group.finish();
}

fn tree(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash/tree");
    for count in [1024_usize, 100_000] {
        let digests: Vec<Hash> = (0..count).map(|i| blake3::hash(&i.to_le_bytes())).collect();
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("root", count), |b| {
            b.iter(|| tree_root(black_box(&digests)));
        });
        let tree = Tree::new(&digests);
        let proof = tree.prove(count / 3).expect("in range");
        group.bench_function(BenchmarkId::new("verify", count), |b| {
            b.iter(|| proof.verify(&tree.root(), &digests[count / 3]));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = each, single, tree
}
criterion_main!(benches);
