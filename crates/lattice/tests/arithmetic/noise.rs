//! The bounds, compared with the published table, with `scripts/param_check.py` and with the exact
//! distribution.

use sordino_lattice::noise::*;
use sordino_lattice::sample::gaussian::Sampler;

const Q: u64 = 1 << 32;

#[test]
fn the_published_table_of_simplepir_is_reproduced() {
    // log2 m, p of SimplePIR, p of DoublePIR, for sigma 6.4 and n 1024.
    let published = [
        (13, 991, 929),
        (14, 833, 781),
        (15, 701, 657),
        (16, 589, 552),
        (17, 495, 464),
        (18, 416, 390),
        (19, 350, 328),
        (20, 294, 276),
        (21, 247, 231),
    ];
    for (log2_m, simple, double) in published {
        let m = 1 << log2_m;
        // Sordino takes floor(p / 2) for the largest digit, so it may allow one more.
        let ours = max_p(Q, 6.4, m, -40.0);
        assert!(
            ours == simple || ours == simple + 1,
            "m = 2^{log2_m}: {ours}"
        );
        assert!(log2_fail_entry(Q, simple, 6.4, m, true) <= -40.0);
        assert!(log2_fail_double(Q, double, 6.4, m, m, 1024, 1) <= -40.0);
    }
}

#[test]
fn the_widest_matrices_for_byte_digits_are_the_golden_ones() {
    let golden = [
        (6.4, 1_844_848, 1_776_184, 1_543_648),
        (11.0, 624_503, 601_260, 522_544),
        (16.0, 295_175, 284_189, 246_983),
        (32.0, 73_793, 71_047, 61_745),
    ];
    for (sigma, entry, three, record) in golden {
        for (digits, m) in [(1, entry), (3, three), (256, record)] {
            assert_eq!(
                max_m(Q, 256, sigma, -40.0, digits, true),
                m,
                "sigma {sigma}"
            );
        }
    }
    assert_eq!(max_m(Q, 256, 6.4, -40.0, 1, false), 464_836);
}

#[test]
fn kappa_is_exact_where_floating_point_is_not() {
    assert_eq!(kappa(Q, 256), 4);
    assert_eq!(kappa(Q, 255), 5);
    assert_eq!(kappa(Q, 1 << 16), 2);
    assert_eq!(kappa(Q, (1 << 16) + 1), 2);
    assert_eq!(kappa(Q, 1 << 32), 1);
}

#[test]
fn bounds_stay_probabilities() {
    assert_eq!(log2_tail(-1.0, 1.0), 0.0);
    assert_eq!(log2_tail(1.0, 1e9), 0.0);
    assert_eq!(log2_fail_record(Q, 256, 1e6, 1 << 20, 1 << 20, true), 0.0);
    assert!((log2_either(-40.0, -40.0) + 39.0).abs() < 1e-12);
    assert!((log2_union(-50.0, 1024.0) + 40.0).abs() < 1e-12);
}

/// The distribution of a sum of `2^doublings` discrete Gaussians: the probabilities of `0, +-1,
/// ...`. It squares the generating function, which begins with the sampler's own table.
fn convolve(sampler: &Sampler, doublings: u32, reach: usize) -> Vec<f64> {
    let tail = |k: usize| {
        if k > sampler.bound() {
            0.0
        } else {
            sampler.tail(k) as f64 / 2f64.powi(128)
        }
    };
    let mut density: Vec<f64> = (0..=2 * reach)
        .map(|i| match i.abs_diff(reach) {
            0 => 1.0 - tail(1),
            k => (tail(k) - tail(k + 1)) / 2.0,
        })
        .collect();
    for _ in 0..doublings {
        let mut square = vec![0.0; 2 * reach + 1];
        for (i, a) in density.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            for (j, b) in density.iter().enumerate() {
                if let Some(sum) = (i + j).checked_sub(reach).and_then(|at| square.get_mut(at)) {
                    *sum += a * b;
                }
            }
        }
        density = square;
    }
    density
}

#[test]
fn the_bound_is_above_the_exact_failure_and_within_five_bits_of_it() {
    // The worst row at m = 16 and sigma = 32: every digit is p / 2. So the noise is p / 2 times a
    // sum of 16 Gaussians, and the row fails if that sum exceeds R / (p / 2).
    let (m, sigma) = (16, 32.0);
    let sampler = Sampler::new(32, 1);
    for p in [2900u64, 3100, 3600, 4100] {
        let limit = radius(Q, p) / (p / 2) as f64;
        let reach = 2048;
        let density = convolve(&sampler, 4, reach);
        let exact: f64 = density
            .iter()
            .enumerate()
            .filter(|(i, _)| i.abs_diff(reach) as f64 >= limit)
            .map(|(_, probability)| probability)
            .sum();
        let bound = log2_fail_entry(Q, p, sigma, m, true);
        let exact = exact.log2();
        println!("p {p}: exact 2^{exact:.2}, bound 2^{bound:.2}");
        assert!(exact <= bound, "p {p}: exact 2^{exact}, bound 2^{bound}");
        assert!(
            bound - exact < 5.0,
            "p {p}: exact 2^{exact}, bound 2^{bound}"
        );
    }
}
