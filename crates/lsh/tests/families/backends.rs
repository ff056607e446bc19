//! Every backend gives the bits of the portable definition.

#![expect(
    clippy::cast_possible_truncation,
    reason = "halves of a word are wanted"
)]

use proptest::prelude::*;
use sordino_lsh::{Backend, Codes, Kind, Nearest, Neighbour, Scratch, Seed, SimHash};

/// Floats from -1 to 1 without structure.
fn floats(seed: u64, len: usize) -> Vec<f32> {
    words(seed, len)
        .iter()
        .map(|word| (word >> 40) as f32 / (1 << 23) as f32 - 1.0)
        .collect()
}

fn words(seed: u64, len: usize) -> Vec<u64> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn check_hash(dim: usize, bits: usize, kind: Kind, x: &[f32]) {
    let hash = SimHash::new(dim, bits, kind, Seed([3; 32])).unwrap();
    let (mut scratch, mut expected) = (Scratch::default(), vec![0; bits / 64]);
    hash.hash_into_on(Backend::PORTABLE, x, &mut scratch, &mut expected)
        .unwrap();
    for backend in Backend::available() {
        let mut code = vec![u64::MAX; bits / 64];
        hash.hash_into_on(backend, x, &mut scratch, &mut code)
            .unwrap();
        assert_eq!(
            code,
            expected,
            "{}: {kind:?}, dimension {dim}, {bits} bits",
            backend.name()
        );
    }
    assert_eq!(hash.hash(x).unwrap(), expected);
}

#[test]
fn hashes_of_every_small_dimension() {
    let dim = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 384, 1000];
    // Under Miri, the test runs only with the dimensions 3 and 65.
    let (first, step) = if cfg!(miri) { (2, 6) } else { (0, 1) };
    for dim in dim.into_iter().skip(first).step_by(step) {
        for kind in [Kind::Rotation, Kind::Hyperplanes] {
            let bits = [64, 128, 1024];
            for bits in bits.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
                check_hash(dim, bits, kind, &floats(dim as u64, dim));
            }
        }
    }
}

#[test]
fn hashes_of_odd_floats() {
    let odd = [
        0.0,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        -f32::INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-42,
    ];
    for first in odd {
        for second in odd {
            for kind in [Kind::Rotation, Kind::Hyperplanes] {
                let mut x = floats(5, 40);
                (x[3], x[30]) = (first, second);
                check_hash(40, 128, kind, &x);
            }
        }
    }
    for kind in [Kind::Rotation, Kind::Hyperplanes] {
        check_hash(40, 128, kind, &[0.0; 40]);
    }
}

/// The scan by its definition, which sorts all codes.
fn sorted(words: &[u64], query: &[u64], k: usize) -> Vec<Neighbour> {
    let distance = |code: &[u64]| {
        code.iter()
            .zip(query)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum()
    };
    let codes = words.chunks_exact(query.len()).zip(0..);
    let mut all: Vec<_> = codes
        .map(|(code, index)| Neighbour {
            distance: distance(code),
            index,
        })
        .collect();
    all.sort();
    all.truncate(k);
    all
}

fn check_scan(words: &[u64], query: &[u64], k: usize) {
    let codes = Codes::from_words(64 * query.len(), words).unwrap();
    let (expected, mut room) = (sorted(words, query, k), Nearest::default());
    for backend in Backend::available() {
        let found = codes.nearest_on(backend, query, k, &mut room).unwrap();
        assert_eq!(
            found,
            expected,
            "{}: {} codes, k = {k}",
            backend.name(),
            codes.len()
        );
    }
}

#[test]
fn scans_of_every_code_length_and_awkward_counts() {
    // Under Miri, the test runs only with codes of 1, 8 and 15 words, and with 0, 8 and 100 codes.
    let (words_step, step) = if cfg!(miri) { (7, 3) } else { (1, 1) };
    for per_code in (1..=16).step_by(words_step) {
        for len in [0, 1, 7, 8, 9, 31, 100].into_iter().step_by(step) {
            let (all, query) = (words(len as u64, len * per_code), words(77, per_code));
            for k in [0, 1, 2, 10, len, len + 1, usize::MAX]
                .into_iter()
                .step_by(step)
            {
                check_scan(&all, &query, k);
            }
        }
    }
}

#[test]
fn scans_where_every_code_is_nearer_than_the_last() {
    // Of 5000 codes, each is at least as near as the one before, and many are equally near. So the
    // scan prunes its list of results.
    let step = |i: usize| (1_u128 << ((4999 - i) / 45)).wrapping_sub(1);
    let codes: Vec<u64> = (0..5000)
        .flat_map(|i| [step(i) as u64, (step(i) >> 64) as u64])
        .collect();
    for k in [1, 44, 45, 46, 2000] {
        check_scan(&codes, &[0, 0], k);
    }
    check_scan(&[5; 4000], &[5], 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 32 }))]

    #[test]
    fn any_hash(dim in 1..=600_usize, blocks in 1..=16_usize, seed: u64, rotation: bool) {
        let kind = if rotation { Kind::Rotation } else { Kind::Hyperplanes };
        check_hash(dim, 64 * blocks, kind, &floats(seed, dim));
    }

    #[test]
    fn any_scan(per_code in 1..=16_usize, len in 0..600_usize, k in 0..100_usize, seed: u64, sparse: bool) {
        let mut all = words(seed, len * per_code);
        if sparse {
            // With these words there are few distances and many ties.
            all.iter_mut().for_each(|word| *word &= 0x11);
        }
        check_scan(&all, &words(!seed, per_code), k);
    }
}
