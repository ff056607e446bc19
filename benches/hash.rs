//! BLAKE3 over many messages (`hash/each`), over one (`hash/single`), and the tree over a list of
//! digests (`hash/tree`). Before a list is timed, its digests are compared with the official crate's.
//!
//! The official crate's code for a single message of 64 bytes takes 70 or 100 ns on the same machine, depending on the
//! addresses that the process was given. Its rows of messages of at most 64 bytes are therefore the best of ten
//! processes, which this bench starts. `blake3-hash_many` is the crate's kernel for many inputs of one length, which
//! is public but not documented; its list of addresses is made before the clock runs.
//!
//! `SORDINO_BENCH_LONG=1` adds a single message of 256 MiB.

use std::hint::black_box;

use blake3::IncrementCounter;
use blake3::platform::Platform;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use sordino_hash::merkle::{self, Tree};
use sordino_hash::{Backend, BatchHasher, Hash};

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

/// Hashes one list of messages by every backend, the rayon version and the official crate.
fn compare(
    group: &mut BenchmarkGroup<'_, WallTime>,
    case: &str,
    messages: &[&[u8]],
    threads: bool,
) {
    let total: usize = messages.iter().map(|message| message.len()).sum();
    group.throughput(Throughput::Bytes(total as u64));
    let mut digests = vec![NONE; messages.len()];
    if messages.iter().all(|message| message.len() <= 64) {
        processes::best(group, case, messages);
    } else {
        group.bench_function(BenchmarkId::new("blake3", case), |b| {
            b.iter(|| one_by_one(messages, &mut digests));
        });
    }
    for backend in Backend::available() {
        let hasher = BatchHasher::new().backend(backend);
        hasher
            .hash_into(messages, &mut digests)
            .expect("one digest for each");
        assert!(
            messages
                .iter()
                .zip(&digests)
                .all(|(message, digest)| blake3::hash(message) == *digest)
        );
        group.bench_function(BenchmarkId::new(backend.name(), case), |b| {
            b.iter(|| hasher.hash_into(black_box(messages), &mut digests));
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
            b.iter(|| BatchHasher::new().par_hash_into(black_box(messages), &mut digests));
        });
    }
}

/// Calls the official crate once for each message.
fn one_by_one(messages: &[&[u8]], digests: &mut [Hash]) {
    for (digest, message) in digests.iter_mut().zip(messages) {
        *digest = blake3::hash(black_box(message));
    }
}

/// The official crate's kernel for inputs of `LEN` bytes, at most a chunk.
fn hash_many<const LEN: usize>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    case: &str,
    messages: &[&[u8]],
) {
    const IV: [u32; 8] = [
        0x6A09_E667,
        0xBB67_AE85,
        0x3C6E_F372,
        0xA54F_F53A,
        0x510E_527F,
        0x9B05_688C,
        0x1F83_D9AB,
        0x5BE0_CD19,
    ];
    const CHUNK_START: u8 = 1;
    const CHUNK_END_AND_ROOT: u8 = 2 | 8;
    let inputs: Vec<&[u8; LEN]> = messages
        .iter()
        .map(|message| message[..].try_into().expect("one length"))
        .collect();
    let mut digests = vec![[0; 32]; inputs.len()];
    let platform = Platform::detect();
    let mut hash = || {
        platform.hash_many(
            black_box(&inputs),
            &IV,
            0,
            IncrementCounter::No,
            0,
            CHUNK_START,
            CHUNK_END_AND_ROOT,
            digests.as_flattened_mut(),
        );
    };
    group.bench_function(BenchmarkId::new("blake3-hash_many", case), |b| {
        b.iter(&mut hash);
    });
    hash();
    assert_eq!(digests[0], *blake3::hash(messages[0]).as_bytes());
}

/// Measurements in separate processes.
mod processes {
    use std::time::{Duration, Instant};

    use super::{BenchmarkGroup, BenchmarkId, Hash, NONE, WallTime, black_box, one_by_one};

    /// Names the messages' lengths to a process that this bench starts.
    const LENGTHS: &str = "SORDINO_BENCH_LENGTHS";
    const STARTS: usize = 10;
    const SAMPLES: u32 = 50;

    /// The row `blake3` of a list: the best of ten processes' best times.
    pub(super) fn best(group: &mut BenchmarkGroup<'_, WallTime>, case: &str, messages: &[&[u8]]) {
        // A test run, with `--test`, only shows that the bench works.
        let starts = if std::env::args().any(|arg| arg == "--test") {
            1
        } else {
            STARTS
        };
        let mut best = None;
        group.bench_function(BenchmarkId::new("blake3", case), |b| {
            b.iter_custom(|times| {
                let time = *best.get_or_insert_with(|| {
                    (0..starts)
                        .map(|_| child(messages))
                        .min()
                        .unwrap_or_default()
                });
                time * u32::try_from(times).expect("few, as the list is long")
            });
        });
    }

    fn child(messages: &[&[u8]]) -> Duration {
        let lengths: Vec<String> = messages.iter().map(|m| m.len().to_string()).collect();
        // A list of messages of one length is passed as length and number, because variables have a limit.
        let told = if lengths.iter().all(|len| *len == lengths[0]) {
            format!("{}x{}", lengths.len(), lengths[0])
        } else {
            lengths.join(" ")
        };
        let exe = std::env::current_exe().expect("this bench");
        let output = std::process::Command::new(exe).env(LENGTHS, told).output();
        let output = output.expect("a process can be started").stdout;
        let text = String::from_utf8(output).expect("a number");
        Duration::from_nanos(text.trim().parse().expect("a number"))
    }

    /// In a process that `child` has started, prints the shortest time of a pass and returns true.
    pub(super) fn run() -> bool {
        let Ok(told) = std::env::var(LENGTHS) else {
            return false;
        };
        let number = |text: &str| text.parse::<usize>().expect("a number");
        let lengths: Vec<usize> = match told.split_once('x') {
            Some((count, len)) => vec![number(len); number(count)],
            None => told.split(' ').map(number).collect(),
        };
        let data = super::bytes(lengths.iter().sum());
        let mut rest = &data[..];
        let messages: Vec<&[u8]> = lengths
            .iter()
            .map(|len| rest.split_off(..*len).expect("their sum"))
            .collect();
        let mut digests: Vec<Hash> = vec![NONE; messages.len()];
        // A single pass over a short list is too short for the clock.
        let passes = u32::try_from(10_000 / messages.len()).unwrap_or(1).max(1);
        let time = |_| {
            let start = Instant::now();
            for _ in 0..passes {
                one_by_one(black_box(&messages), &mut digests);
            }
            start.elapsed() / passes
        };
        let least = (0..SAMPLES).map(time).min().unwrap_or_default();
        println!("{}", least.as_nanos());
        true
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
        let case = format!("{count}x{len}B");
        match len {
            64 => hash_many::<64>(&mut group, &case, &messages),
            256 => hash_many::<256>(&mut group, &case, &messages),
            1024 => hash_many::<1024>(&mut group, &case, &messages),
            _ => {}
        }
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
        b.iter(|| BatchHasher::new_keyed(&key).hash_into(black_box(&messages), &mut tags));
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
        if len <= 64 {
            processes::best(&mut group, &len.to_string(), &[&message]);
        } else {
            group.bench_function(BenchmarkId::new("blake3", len), |b| {
                b.iter(|| blake3::hash(black_box(&message)));
            });
        }
        let mut digest = [NONE];
        group.bench_function(BenchmarkId::new("sordino", len), |b| {
            b.iter(|| BatchHasher::new().hash_into(black_box(&[&message]), &mut digest));
        });
        group.bench_function(BenchmarkId::new("blake3-update_rayon", len), |b| {
            b.iter(|| {
                blake3::Hasher::new()
                    .update_rayon(black_box(&message))
                    .finalize()
            });
        });
        group.bench_function(BenchmarkId::new("sordino-rayon", len), |b| {
            b.iter(|| BatchHasher::new().par_hash_into(black_box(&[&message]), &mut digest));
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
            b.iter(|| merkle::root(black_box(&digests)));
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

fn main() {
    if processes::run() {
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
