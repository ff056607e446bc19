//! Check rows at the real noise. The errors of honest replies are as large as derived, and never
//! larger than the tolerance.

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_ckks::column::{Client, Database, Segments};
use sordino_index::checks;
use sordino_index::manifest::{Grid, Packing, SecretPacking};
use sordino_lwe as lwe;
use sordino_vault::checks::{Checks, ClusterChecks};
use sordino_vault::{residual, residue};
use zeroize::Zeroizing;

/// Half of `P`.
const HALF: i32 = 1 << 25;

fn centred(x: i32) -> i32 {
    x << 6 >> 6
}

fn product(row: &[i32], query: &[i32]) -> i32 {
    let products = row.iter().zip(query).map(|(a, b)| a.wrapping_mul(*b));
    products.fold(0, i32::wrapping_add)
}

/// The codes of a random unit vector.
fn unit(rng: &mut StdRng, width: usize) -> Vec<i32> {
    let query: Vec<f32> = (0..width).map(|_| rng.random_range(-1.0..1.0)).collect();
    let norm = query.iter().map(|x| x * x).sum::<f32>().sqrt();
    residue::codes(&query.iter().map(|x| x / norm).collect::<Vec<_>>()).collect()
}

/// Keeps the low 32 bits, because only the residue mod P matters.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only the residue mod 2^32 counts"
)]
fn low(product: i64) -> i32 {
    product as i32
}

/// The largest error of a check row in each of `queries` replies, for an index of two groups with
/// uniform rows.
fn off(packing: Packing, width: usize, queries: usize) -> Vec<u32> {
    let mut rng = StdRng::seed_from_u64(width as u64);
    let mut uniform =
        |count: usize| -> Vec<i32> { (0..count).map(|_| rng.random_range(-HALF..HALF)).collect() };
    let n = 2 * checks::group(width) - 5;
    let mut rows = uniform(n * width);
    let checks = Checks::new(Zeroizing::new([3; 32]), width);
    let sums = checks.rows(n, width, |position| &rows[position * width..][..width]);
    // Check rows are stored under pads, which this test knows.
    let pads = uniform(sums.len());
    let padded = sums.iter().zip(&pads);
    rows.extend(padded.map(|(sum, pad)| centred(sum.wrapping_add(*pad))));

    let params = packing.masked();
    let mut segments = Segments::new(&params, [5; 32], width).expect("vectors of this width");
    let (database, hint) = segments
        .encode_modular(&rows)
        .expect("vectors of this width");
    segments
        .push(database.into())
        .expect("vectors of this width");
    let mut client = Client::empty(&params, [5; 32], width).expect("vectors of this width");
    client.extend(&hint).expect("vectors of this width");
    let replies = (0..queries).map(|_| {
        let query = unit(&mut rng, width);
        let (secret, message) = client
            .encrypt_modular(&mut rng, &query)
            .expect("vectors of this width");
        let reply = segments
            .score_batch(&[message])
            .expect("vectors of this width")
            .remove(0);
        let scores = client
            .decrypt_modular(secret, &reply)
            .expect("vectors of this width");
        let scores = scores.into_iter().map(low);
        let zeros = std::iter::repeat_n(0, n);
        let pads = zeros.chain(pads.chunks(width).map(|pad| product(pad, &query)));
        let bare: Vec<i32> = scores.zip(pads).map(|(a, b)| a.wrapping_sub(b)).collect();
        checks.off(n, &bare)
    });
    replies.collect()
}

#[test]
fn honest_sums_are_as_far_off_as_derived() {
    for (packing, width) in [
        (Packing::T4, 128),
        (Packing::T8, 384),
        (Packing::T8, 1536),
        (Packing::T4, 3),
        (Packing::T64, 128),
        (Packing::T16, 384),
        (Packing::T32, 1536),
    ] {
        let off = off(packing, width, 100);
        let tolerance = checks::tolerance(&packing.masked(), width, 80);
        assert!(off.iter().all(|&off| off <= tolerance));
        // Two sums of a group share a quarter of its rows, so half of their variance is common. There are 80 sums in
        // two groups. Their largest absolute value averages 2.4 standard deviations (simulated), and the mean of 100
        // such values is within a tenth of that. The tolerance is 8.1 standard deviations, and a tenth more for
        // deviations from the mean.
        let mean = off.iter().sum::<u32>() / 100;
        let ratio = f64::from(tolerance) / f64::from(mean);
        assert!(
            (3.3..4.6).contains(&ratio),
            "{width}: {tolerance} / {mean} = {ratio:.2}"
        );
    }
}

/// The errors of a cluster's check rows in each of `queries` replies, at the real noise, in a group of several clusters.
fn cluster_off(grid: &Grid, width: usize, queries: usize) -> Vec<u64> {
    let mut rng = StdRng::seed_from_u64(width as u64);
    let (stored, slots) = (grid.stored(), grid.slots as usize);
    let clusters = grid.clusters as usize;
    let codes: Vec<i16> = (0..slots * width)
        .map(|_| rng.random_range(-60..60))
        .collect();
    let checks = ClusterChecks::new(Zeroizing::new([3; 32]));
    let sums = checks.rows(1, &codes, width);
    let bare = codes.into_iter().map(i32::from).chain(sums);
    let half = 1 << 17;
    let pads: Vec<i32> = (0..stored * width)
        .map(|_| rng.random_range(-half..half))
        .collect();
    let padded: Vec<i32> = bare
        .zip(&pads)
        .map(|(code, pad)| (code + pad) << 14 >> 14)
        .collect();

    // The group's other clusters are empty, so their entries are only random pads.
    let (params, outer) = (Grid::params(), grid.packing.params());
    let shape = lwe::Shape::new(1, stored, clusters * width).expect("a shape");
    let seed = lwe::Seed([5; 32]);
    let mut table = lwe::Table::zeroed(&params, shape, &seed);
    for (row, padded) in padded.chunks(width).enumerate() {
        let mut entries: Vec<i32> = (0..clusters * width)
            .map(|_| rng.random_range(-half..half))
            .collect();
        entries[width..2 * width].copy_from_slice(padded);
        table.set(row, &entries).expect("a row");
    }
    let hint = table.hint(0..stored);
    let (hint, download) =
        Database::encode_modular(&outer, seed.0, &hint, params.n()).expect("a hint");
    let reader = Client::new(&outer, seed.0, params.n(), stored, &download).expect("a hint");
    let client = lwe::Client::new(&params, shape, &seed);

    let replies = (0..queries).map(|_| {
        let query: Vec<i16> = (0..width).map(|_| rng.random_range(-50..50)).collect();
        let mut message = vec![0; shape.words()];
        message[width..2 * width].copy_from_slice(&query);
        let (secret, words) = client.query(&mut rng, &message).expect("a query");
        let secret = secret.into_negated();
        let (secret, encrypted) = reader.encrypt_modular(&mut rng, &secret).expect("a secret");
        let answers = table.answer(&words).expect("answers");
        let reply = hint
            .score_onto(&[encrypted], &[&answers])
            .expect("scores")
            .remove(0);
        let scores = reader.decrypt_modular(secret, &reply).expect("scores");
        let query: Vec<i32> = query.into_iter().map(i32::from).collect();
        let pads = pads.chunks(width).map(|pad| product(pad, &query));
        let scores = scores.into_iter().map(low).zip(pads);
        let bare: Vec<i32> = scores
            .map(|(score, pad)| residual::bare(score, pad.cast_unsigned()))
            .collect();
        let (places, held) = bare.split_at(slots);
        checks.off(1, places, held)
    });
    replies.collect()
}

#[test]
fn honest_clusters_are_as_far_off_as_derived() {
    for (packing, clusters, width, slots) in [
        (SecretPacking::T64, 4, 128, 96),
        (SecretPacking::T32, 4, 128, 192),
        (SecretPacking::T16, 4, 128, 192),
        (SecretPacking::T128, 2, 64, 224),
        (SecretPacking::T128, 2, 24, 1040),
        (SecretPacking::T128, 2, 16, 32),
    ] {
        let grid = Grid {
            groups: 1,
            clusters,
            slots,
            packing,
        };
        assert!(grid.packs(packing), "{grid:?}");
        let off = cluster_off(&grid, width, 60);
        let tolerance = grid.tolerance(width);
        assert!(off.iter().all(|&off| off <= tolerance));
        // By docs/scoring.md, the mean is 63 (r / 4 + 1.25) times a score's variance, for a part of r rows. The mean of 60
        // replies is within a fifth of this. The larger of two parts adds a tenth.
        let noise = Grid::params()
            .statistical_noise(clusters as usize * width)
            .powi(2);
        let engine = packing.params().statistical_error(Grid::params().n()) / 256.0;
        let expected = 63.0 * (f64::from(slots.min(512)) / 4.0 + 1.25) * (noise + engine * engine);
        let mean = off.iter().map(|&off| off as f64).sum::<f64>() / 60.0 / 65536.0;
        let ratio = mean / expected;
        assert!(
            (0.8..1.25).contains(&ratio),
            "{width}: {mean:.3e} / {expected:.3e}"
        );
    }
}

#[test]
fn tolerances_of_clusters_are_those_whose_failure_is_derived_elsewhere() {
    // scripts/clusters_failure.py derives, from docs/security/routed.md, how often these refuse an honest reply.
    for line in include_str!("../clusters.csv").lines().skip(1) {
        let fields: Result<Vec<u64>, _> = line.split(',').map(str::parse).collect();
        let fields = fields.expect("numbers");
        let &[width, t, groups, clusters, slots, expected] = &fields[..] else {
            panic!("{line}");
        };
        let mut packings = SecretPacking::ALL.into_iter();
        let packing = packings.find(|it| it.params().t() as u64 == t);
        let [groups, clusters, slots] =
            [groups, clusters, slots].map(|x| u32::try_from(x).expect("a small number"));
        let grid = Grid {
            groups,
            clusters,
            slots,
            packing: packing.expect("a packing"),
        };
        assert!(grid.packs(grid.packing), "{line}");
        let found = grid.tolerance(usize::try_from(width).expect("a small number"));
        // The last bits of logarithms differ between machines.
        assert!(
            found.abs_diff(expected) <= expected >> 20,
            "{line}: {found}"
        );
    }
}
