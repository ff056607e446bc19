//! Check rows at the real noise: sums of honest scores are as far off as derived, and no farther.
#![cfg(feature = "secret")]

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_ckks::column::{Client, Segments};
use sordino_index::checks::{self, Checks};
use sordino_index::manifest::Packing;
use sordino_index::residue;
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

/// The low 32 bits: only the residue mod P counts.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only the residue mod 2^32 counts"
)]
fn low(product: i64) -> i32 {
    product as i32
}

/// The most that a check row was off in each of some replies to an index of two groups, of uniform rows.
fn off(packing: Packing, width: usize, queries: usize) -> Vec<u32> {
    let mut rng = StdRng::seed_from_u64(width as u64);
    let mut uniform =
        |count: usize| -> Vec<i32> { (0..count).map(|_| rng.random_range(-HALF..HALF)).collect() };
    let n = 2 * checks::group(width) - 5;
    let mut rows = uniform(n * width);
    let checks = Checks::new(Zeroizing::new([3; 32]), width);
    let sums = checks.rows(n, width, |position| &rows[position * width..][..width]);
    // Check rows lie under pads, which are known here.
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
    ] {
        let off = off(packing, width, 100);
        let tolerance = checks::tolerance(&packing.masked(), width, 80);
        assert!(off.iter().all(|&off| off <= tolerance));
        // Two sums of a group share a quarter of its rows, so that half of their variance is common: of 80, in two
        // groups, the largest absolute value is 2.4 standard deviations on average (simulated), the mean of 100 such
        // within a tenth of that. The tolerance is 8.1 of them, and a tenth for what is not the mean.
        let mean = off.iter().sum::<u32>() / 100;
        let ratio = f64::from(tolerance) / f64::from(mean);
        assert!(
            (3.3..4.6).contains(&ratio),
            "{width}: {tolerance} / {mean} = {ratio:.2}"
        );
    }
}
