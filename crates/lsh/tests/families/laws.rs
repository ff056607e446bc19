//! The families' collision probabilities agree with their papers.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use std::f64::consts::PI;

use sordino_lsh::{CrossPolytope, E2Lsh, Family, Kind, Lookup, Seed, SimHash};

/// A unit vector and a second one at angle `theta`, in a random plane.
fn pair(seed: u64, dim: usize, theta: f64) -> [Vec<f32>; 2] {
    let mut state = seed;
    // The sum of eight uniform numbers has almost no preferred direction.
    let mut gaussian = || {
        let mut sum = 0.0;
        for _ in 0..8 {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            sum += (x ^ x >> 31) as f64 / 2_f64.powi(64) - 0.5;
        }
        sum
    };
    let mut draw = || (0..dim).map(|_| gaussian()).collect::<Vec<f64>>();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let unit = |a: Vec<f64>| {
        let norm = dot(&a, &a).sqrt();
        a.iter().map(|a| a / norm).collect::<Vec<f64>>()
    };
    let (u, v) = (unit(draw()), draw());
    let along = dot(&u, &v);
    let v = unit(v.iter().zip(&u).map(|(v, u)| v - along * u).collect());
    let turned = u
        .iter()
        .zip(&v)
        .map(|(u, v)| (theta.cos() * u + theta.sin() * v) as f32);
    let turned = turned.collect();
    [u.iter().map(|u| *u as f32).collect(), turned]
}

#[test]
fn simhash_bits_differ_with_probability_theta_over_pi() {
    for kind in [Kind::Rotation, Kind::Hyperplanes] {
        for dim in [2, 20, 100] {
            for theta in [0.1, 0.5, PI / 2.0, 2.5] {
                let (mut differ, trials) = (0, 20);
                for trial in 0..trials {
                    let mut seed = [trial as u8; 32];
                    seed[31] = dim as u8;
                    let hash = SimHash::new(dim, 1024, kind, Seed(seed)).unwrap();
                    let [a, b] = pair(trial, dim, theta).map(|x| hash.hash(&x).unwrap());
                    differ += a
                        .iter()
                        .zip(&b)
                        .map(|(a, b)| (a ^ b).count_ones())
                        .sum::<u32>();
                }
                let total = 1024.0 * trials as f64;
                let (p, found) = (theta / PI, f64::from(differ) / total);
                // The tolerance is five standard deviations of independent bits. In few dimensions, the bits of one
                // rotation depend on each other, which only improves the estimate.
                let tolerance = 5.0 * (p * (1.0 - p) / total).sqrt();
                assert!(
                    (found - p).abs() < tolerance,
                    "{kind:?}, dimension {dim}, theta {theta}: {found}, expected {p}"
                );
            }
        }
    }
}

/// The share of pairs that have the same key in a table with one function.
fn shared<F: Family>(
    dim: usize,
    pairs: u64,
    theta: f64,
    scale: f32,
    family: impl Fn(Seed) -> F,
) -> f64 {
    let (mut room, mut shared, mut trials) = (Lookup::default(), 0, 0);
    for trial in 0..pairs {
        let [a, b] =
            pair(trial, dim, theta).map(|x| x.iter().map(|x| x * scale).collect::<Vec<_>>());
        let mut seed = [9; 32];
        seed[..8].copy_from_slice(&trial.to_le_bytes());
        let family = family(Seed(seed));
        for table in 0..family.tables() {
            let first = family.keys(&a, table, 1, &mut room).unwrap()[0];
            shared += usize::from(first == family.keys(&b, table, 1, &mut room).unwrap()[0]);
            trials += 1;
        }
    }
    shared as f64 / trials as f64
}

/// 1 - 2 Phi(-r) - 2 / (sqrt(2 pi) r) (1 - exp(-r^2 / 2)), with r = width / distance. The function computes it as the
/// integral of (2 / sqrt(2 pi)) exp(-t^2 / 2) (1 - t / r) over 0 < t < r.
fn e2lsh_law(r: f64) -> f64 {
    let steps = 10_000;
    let term = |i: usize| {
        let t = (i as f64 + 0.5) * r / f64::from(steps);
        (-t * t / 2.0).exp() * (1.0 - t / r)
    };
    2.0 / (2.0 * PI).sqrt() * r / f64::from(steps) * (0..steps as usize).map(term).sum::<f64>()
}

#[test]
fn e2lsh_intervals_are_shared_as_often_as_the_paper_says() {
    assert!((e2lsh_law(1.0) - 0.3687).abs() < 1e-3 && (e2lsh_law(4.0) - 0.8005).abs() < 1e-3);
    for r in [0.5, 1.0, 2.0, 4.0] {
        // Vectors of length 3 at a right angle have the distance 3 sqrt(2).
        let width = (r * 3.0 * 2.0_f64.sqrt()) as f32;
        let family = |seed| E2Lsh::new(40, 100, 1, width, seed).unwrap();
        let (found, law) = (shared(40, 100, PI / 2.0, 3.0, family), e2lsh_law(r));
        assert!(
            (found - law).abs() < 5.0 * (law * (1.0 - law) / 1e4).sqrt(),
            "r {r}: {found}, expected {law}"
        );
    }
}

#[test]
fn cross_polytopes_tell_near_from_far_better_than_bits_do() {
    let family = |seed| CrossPolytope::new(128, 20, 1, seed).unwrap();
    let [near, far] = [0.5, PI / 2.0].map(|theta| shared(128, 100, theta, 1.0, family));
    // ln p(near) / ln p(far), where a smaller value is better: SimHash has ln(1 - 0.5 / pi) /
    // ln(1/2) = 0.25 here. The 2000 trials estimate a p(far) of about 1/256.
    assert!((0.0005..0.02).contains(&far), "{far}");
    assert!(near.ln() / far.ln() < 0.22, "{near} {far}");
}
