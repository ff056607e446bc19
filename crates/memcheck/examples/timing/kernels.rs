//! Kernels: a deliberate leak, ciphers, samplers, pads, check rows, ranking.

use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use sordino_aes::stream::Stream;
use sordino_index::checks;
use sordino_index::checks::balance::COUNT;
use sordino_index::code;
use sordino_index::manifest::{Grid, SecretPacking};
use sordino_lattice::sample::{cbd, gaussian, ternary};
use sordino_memcheck::timing::Class;
use sordino_vault::checks::{Checks, ClusterChecks};
use sordino_vault::mean::Mean;
use sordino_vault::pad::Pad;
use sordino_vault::residual::SplitQuery;
use sordino_vault::residue;
use sordino_vault::route::Route;
use sordino_vault::select;
use sordino_vectors::synthetic;
use zeroize::Zeroizing;

use crate::{Bench, Expected};

const WIDTH: usize = 128;

/// Random bytes, or zeros in their place.
pub(crate) fn bytes<const N: usize>(rng: &mut StdRng, class: Class) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    let mask = select::mask(class == Class::Random).to_le_bytes()[0];
    bytes.map(|byte| byte & mask)
}

/// A random unit vector, or the first axis.
pub(crate) fn unit(rng: &mut StdRng, class: Class) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..WIDTH).map(|_| rng.random_range(-1.0..1.0)).collect();
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let fixed = class == Class::Fixed;
    for (at, x) in vector.iter_mut().enumerate() {
        let axis = if at == 0 { 1.0 } else { 0.0 };
        *x = if fixed { axis } else { *x / norm };
    }
    vector
}

/// Random products, or zeros.
fn products(rng: &mut StdRng, class: Class, count: usize) -> Vec<i32> {
    let mask = select::mask(class == Class::Random).cast_signed();
    (0..count).map(|_| rng.random::<i32>() & mask).collect()
}

pub(crate) fn all(bench: &mut Bench) {
    leaks(bench);
    ciphers(bench);
    samplers(bench);
    rows(bench);
    choices(bench);
}

/// Functions that must be found: one that ends early, and one that looks up in a table.
fn leaks(bench: &mut Bench) {
    let early = |secret: &mut [u8; 256]| secret.iter().take_while(|byte| **byte == 0).count();
    bench.time(
        "comparison that ends early",
        Expected::Leak,
        bytes::<256>,
        early,
    );
    let table: Vec<u64> = (0..1 << 20).collect();
    let lookup = |secret: &mut [u8; 64]| {
        let (at, _) = secret.as_chunks();
        let at = at.iter().map(|at| u32::from_le_bytes(*at) as usize);
        at.fold(0, |sum, at| sum ^ table[at & (table.len() - 1)])
    };
    bench.time("look-ups in 8 MiB", Expected::Leak, bytes::<64>, lookup);
}

fn ciphers(bench: &mut Bench) {
    let keystream = |key: &mut [u8; 32]| Stream::new(key, 0).chunk(4096)[4095];
    bench.time(
        "AES-256-CTR, key and 4 KiB",
        Expected::Constant,
        bytes::<32>,
        keystream,
    );
}

fn samplers(bench: &mut Bench) {
    let mut out = [0i8; 2048];
    let skipped = "which bytes are skipped decides where others are put";
    let documented = Expected::Documented(skipped);
    bench.time(
        "ternary secret, 2,048 entries",
        documented,
        bytes::<32>,
        |seed| {
            ternary::fill(&mut Stream::new(seed, 0), &mut out);
            out[0]
        },
    );
    bench.time(
        "binomial errors, 2,048",
        Expected::Constant,
        bytes::<32>,
        |seed| {
            cbd::fill(&mut Stream::new(seed, 0), &mut out);
            out[0]
        },
    );
    let (sampler, mut out) = (gaussian::Sampler::new(16, 1), [0i16; 512]);
    bench.time(
        "Gaussian errors, 512",
        Expected::Constant,
        bytes::<32>,
        |seed| {
            sampler.fill(&mut Stream::new(seed, 0), &mut out);
            out[0]
        },
    );
}

fn rows(bench: &mut Bench) {
    let codes = |vector: &mut Vec<f32>| residue::codes(vector).fold(0, |sum, x| sum ^ x);
    bench.time("codes of a query", Expected::Constant, unit, codes);
    let (pad, mut out) = (Pad::new(Zeroizing::new([3; 32]), 1), [0; 64]);
    let query = |rng: &mut StdRng, class| products(rng, class, WIDTH);
    bench.time(
        "pads of 64 rows, query",
        Expected::Constant,
        query,
        |query| {
            pad.products(query, &mut out);
            out[0]
        },
    );
    bench.time(
        "pads of 64 rows, key",
        Expected::Constant,
        bytes::<32>,
        |key| {
            Pad::new(Zeroizing::new(*key), 1).products(&[77; WIDTH], &mut out);
            out[0]
        },
    );
    let checks = Checks::new(Zeroizing::new([3; 32]), WIDTH);
    let rows = |rng: &mut StdRng, class| products(rng, class, checks::stored(512, WIDTH));
    bench.time("check rows of 512 rows", Expected::Constant, rows, |it| {
        checks.off(512, it)
    });
    let checks = ClusterChecks::new(Zeroizing::new([3; 32]));
    let rows = |rng: &mut StdRng, class| products(rng, class, 512 + COUNT);
    bench.time(
        "check rows of a cluster of 512",
        Expected::Constant,
        rows,
        |it| {
            let (places, held) = it.split_at(512);
            checks.off(7, places, held)
        },
    );
}

fn choices(bench: &mut Bench) {
    let grid = Grid {
        groups: 4,
        clusters: 16,
        slots: 32,
        packing: SecretPacking::T64,
    };
    let (data, _) = synthetic::clustered(64, 1, WIDTH, 5);
    let mean = Mean::of(data.dim(), data.rows());
    let mut codes = Vec::new();
    data.rows().for_each(|row| code::int8(row, &mut codes));
    let encoded = Route::encode(&mean, codes.chunks_exact(WIDTH).map(|codes| (0.5, codes)));
    let route = Route::from_bytes(&grid, WIDTH, &encoded).expect("a route");
    let nearest = |query: &mut Vec<f32>| route.nearest(&grid, query)[0];
    bench.time(
        "best of 16 clusters in 4 groups",
        Expected::Constant,
        unit,
        nearest,
    );
    let number = |rng: &mut StdRng, class| usize::from(bytes::<1>(rng, class)[0] & 15);
    let base = |chosen: &mut usize| route.chosen_base(&grid, 2, *chosen);
    bench.time(
        "base of the chosen cluster",
        Expected::Constant,
        number,
        base,
    );
    let first = route.base(0).to_vec();
    bench.time(
        "split of a query along a base",
        Expected::Constant,
        unit,
        |query| {
            SplitQuery::new(&first, query)
                .codes()
                .fold(0, |sum, x| sum ^ x)
        },
    );
}
