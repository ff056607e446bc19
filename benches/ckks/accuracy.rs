//! Measures the errors of scores, and the sizes of messages.

use criterion::Criterion;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sordino_ckks::precision::{self, Statistics};
use sordino_ckks::{column, dot};

use crate::unit_vectors;

fn dot_products(query: &[f32], base: &[f32]) -> Vec<f64> {
    let rows = base.chunks_exact(query.len());
    rows.map(|row| {
        let products = row.iter().zip(query);
        products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    })
    .collect()
}

/// The numbers of the ten largest scores.
fn top_ten(scores: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut order: Vec<(usize, f64)> = scores.enumerate().collect();
    let tenth = 10.min(order.len() - 1);
    order.select_nth_unstable_by(tenth, |x, y| y.1.total_cmp(&x.1));
    order[..tenth].iter().map(|&(i, _)| i).collect()
}

/// Prints the figures that are not times: bytes, recall, and the worst of many errors with its
/// bound.
pub(crate) fn accuracy(_: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(5);
    rows(&mut rng);
    columns(&mut rng);
}

fn rows(rng: &mut StdRng) {
    let (count, dim) = (1024, 128);
    let base = unit_vectors(rng, count, dim);
    for params in [
        dot::Params::rlwe_2048_50(),
        dot::Params::rlwe_2048_50_fine(),
    ] {
        let plaintexts = dot::Plaintexts::encode(&params, &base, dim).expect("unit vectors");
        let mut pairs = Vec::new();
        for _ in 0..100 {
            let query = unit_vectors(rng, 1, dim);
            let (secret, encrypted) = dot::encrypt(rng, &params, &query).expect("a unit vector");
            let reply = plaintexts.score(&encrypted).expect("same shape");
            let scores = secret.decrypt(count, &reply).expect("same shape");
            let found = scores.into_iter().map(f64::from);
            pairs.extend(found.zip(dot_products(&query, &base)));
        }
        let replies = pairs.chunks_exact(64);
        let kept = replies
            .clone()
            .filter(|reply| Statistics::of(reply.iter().copied()).worst_bits() >= 19.0)
            .count();
        let share = 100.0 * kept as f64 / replies.len() as f64;
        let errors = Statistics::of(pairs.iter().copied());
        let bound = precision::statistical_bound(params.statistical_error(dim), 64, -40.0);
        println!(
            "row, {}: 64x{dim} up {} bytes, down {} bytes; worst of {} errors 2^-{:.2}, rms 2^-{:.2}; a \
             reply of 64 keeps 2^-{:.2} except with probability 2^-40, 2^-19 in {share:.1} % of cases",
            params.name(),
            dot::Query::encoded_len(dim),
            dot::Reply::encoded_len(&params, dim, 64).expect("a shape"),
            errors.count,
            errors.worst_bits(),
            errors.rms_bits(),
            -bound.log2(),
        );
    }
}

fn columns(rng: &mut StdRng) {
    let dim = 128;
    let (count, queries) = match std::env::var_os("SORDINO_CKKS_LONG") {
        Some(_) => (100_000, 200),
        None => (10_000, 20),
    };
    // The neighbours are around common centres, and the query is near one of them.
    let centres = unit_vectors(rng, 200, dim);
    let near = |rng: &mut StdRng, noise: f32, centre: &[f32]| -> Vec<f32> {
        let offset = unit_vectors(rng, 1, dim);
        let raw: Vec<f32> = centre
            .iter()
            .zip(&offset)
            .map(|(x, y)| x + noise * y)
            .collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.iter().map(|x| x / norm).collect()
    };
    let base: Vec<f32> = (0..count)
        .flat_map(|i| near(rng, 1.0, &centres[i % 200 * dim..][..dim]))
        .collect();
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    for params in [column::Params::real_t4(), column::Params::real_t8()] {
        let (database, hint) =
            column::Database::encode(&params, seed, &base, dim).expect("unit vectors");
        let client = column::Client::new(&params, seed, dim, count, &hint).expect("same shape");
        let (mut lost, mut pairs) = (0, Vec::new());
        for i in 0..queries {
            let query = near(rng, 0.7, &base[i * 37 % count * dim..][..dim]);
            let (secret, encrypted) = client.encrypt(rng, &query).expect("a unit vector");
            let reply = database.score(&encrypted).expect("same shape");
            let scores = client.decrypt(secret, &reply).expect("same shape");
            let exact = dot_products(&query, &base);
            let found = top_ten(scores.iter().copied().map(f64::from));
            let expected = top_ten(exact.iter().copied());
            lost += expected.iter().filter(|i| !found.contains(i)).count();
            pairs.extend(scores.into_iter().map(f64::from).zip(exact));
        }
        let errors = Statistics::of(pairs);
        println!(
            "column, {}: {count}x{dim} up {} bytes, down {} bytes, hint {} bytes once; rms error {:.2e}, \
             predicted {:.2e}; recall@10 lost {:.2} %",
            params.name(),
            column::Query::encoded_len(&params, dim).expect("a dimension"),
            column::Reply::encoded_len(&params, dim, count).expect("a shape"),
            column::Hint::encoded_len(&params, dim, count).expect("a shape"),
            errors.rms,
            params.statistical_error(dim),
            10.0 * lost as f64 / queries as f64,
        );
    }
}
