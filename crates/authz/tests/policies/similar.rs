//! Measures the recall of the search for policies of similar meaning, against a comparison of all pairs.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_authz::{Error, Similar};

const DIMS: usize = 128;
const K: usize = 10;

/// Vectors around centres, like embeddings of texts on about a hundred subjects.
fn clustered(count: usize, rng: &mut StdRng) -> Vec<Vec<f32>> {
    let normal = |rng: &mut StdRng| (0..4).map(|_| rng.random_range(-1.0..1.0_f32)).sum::<f32>();
    let centres: Vec<Vec<f32>> = (0..200)
        .map(|_| (0..DIMS).map(|_| normal(rng)).collect())
        .collect();
    (0..count)
        .map(|i| {
            centres[i % 200]
                .iter()
                .map(|x| x + 0.6 * normal(rng))
                .collect()
        })
        .collect()
}

fn recall(count: usize) -> f64 {
    let mut rng = StdRng::seed_from_u64(3);
    let mut vectors = clustered(count + 100, &mut rng);
    let queries = vectors.split_off(count);
    let similar = Similar::new(
        DIMS,
        vectors
            .iter()
            .enumerate()
            .map(|(i, vector)| (i.to_string(), vector.clone())),
    )
    .unwrap();
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| {
            a.iter()
                .zip(b)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum::<f64>()
        };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let mut found = 0;
    for query in &queries {
        let mut exact: Vec<(f64, usize)> = vectors
            .iter()
            .map(|vector| cosine(vector, query))
            .zip(0..)
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let matches = similar.find(query, K).unwrap();
        assert!(matches.is_sorted_by(|a, b| a.cosine >= b.cosine));
        for found in &matches {
            let place: usize = found.policy.parse().unwrap();
            assert!((f64::from(found.cosine) - cosine(&vectors[place], query)).abs() < 1e-5);
        }
        let nearest = exact[..K].iter().map(|(_, place)| place.to_string());
        found += nearest
            .filter(|id| matches.iter().any(|found| *found.policy == **id))
            .count();
    }
    found as f64 / (K * queries.len()) as f64
}

#[test]
fn recall_is_above_its_bound() {
    assert!(recall(1_000) >= 0.999, "few are compared one by one");
    let recall = recall(20_000);
    assert!(recall >= 0.95, "{recall}");
}

/// Run with `cargo test --release -p sordino-authz --test similar -- --ignored --nocapture`.
#[test]
#[ignore = "seconds: a hundred thousand vectors"]
fn recall_among_a_hundred_thousand() {
    let recall = recall(100_000);
    println!("recall@10 among 100,000: {recall}");
    assert!(recall >= 0.95, "{recall}");
}

#[test]
fn vectors_that_are_refused() {
    let build = |vector: Vec<f32>| Similar::new(2, [("a", vector)]).map(|_| ());
    let wrong = |found| Err(Error::Vector { found, expected: 2 });
    assert_eq!(build(vec![1.0, -2.0]), Ok(()));
    assert_eq!(build(vec![f32::MIN_POSITIVE, f32::MAX]), Ok(()));
    assert_eq!(build(vec![1.0]), wrong(1));
    assert_eq!(build(vec![0.0, 0.0]), wrong(2));
    assert_eq!(build(vec![f32::NAN, 1.0]), wrong(2));
    assert_eq!(build(vec![f32::INFINITY, 1.0]), wrong(2));
    let similar = Similar::new(2, [("a", vec![1.0, 0.0])]).unwrap();
    assert!(similar.find(&[1.0], 1).is_err());
    assert_eq!(similar.find(&[1.0, 0.0], 0).unwrap(), []);
    assert_eq!(similar.find(&[1.0, 0.0], 9).unwrap().len(), 1);
    let none: [(&str, Vec<f32>); 0] = [];
    assert_eq!(
        Similar::new(2, none).unwrap().find(&[1.0, 0.0], 3).unwrap(),
        []
    );
}
