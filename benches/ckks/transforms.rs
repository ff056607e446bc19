//! Compares number-theoretic transforms with tfhe-ntt's.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sordino_lattice::ring::{Coefficient, Poly};
use sordino_lattice::{Modulus, ntt};

/// The largest 50-bit prime that is 1 mod 2^15.
const Q: u64 = 1_125_899_904_679_937;

pub(crate) fn transforms(c: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(1);
    for (name, inverse) in [("ntt/forward", false), ("ntt/inverse", true)] {
        let mut group = c.benchmark_group(name);
        for n in [1024, 2048, 4096, 8192, 16384] {
            group.throughput(Throughput::Elements(n as u64));
            // Aligned to cache lines, as polynomials are stored.
            let mut values = Poly::<Coefficient>::zero(n);
            values.fill_with(|| rng.random_range(0..Q));
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
