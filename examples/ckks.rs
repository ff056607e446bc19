//! Dot products under encryption, three ways, with their sizes, times and errors.

#![expect(
    clippy::cast_possible_truncation,
    reason = "scores are shown in single precision"
)]

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::ThreadRng;
use sordino_ckks::precision::Statistics;
use sordino_ckks::{Error, column, dot, slot};

fn main() -> Result<(), Error> {
    let mut rng = rand::rng();
    row_packing(&mut rng, 64, 128)?;
    column_packing(&mut rng, 20_000, 128)?;
    slot_mode(&mut rng, 64, 128)
}

/// For a few vectors: the client needs no setup.
fn row_packing(rng: &mut ThreadRng, count: usize, dim: usize) -> Result<(), Error> {
    let params = dot::Params::rlwe_2048_50();
    let (vectors, query) = (unit_vectors(rng, count, dim), unit_vectors(rng, 1, dim));
    let plaintexts = dot::Plaintexts::encode(&params, &vectors, dim)?;

    let ((secret, encrypted), encrypting) = timed(|| dot::encrypt(rng, &params, &query));
    let (reply, scoring) = timed(|| plaintexts.score(&encrypted));
    let (scores, decrypting) = timed(|| secret.decrypt(count, &reply));

    println!("row packing, {count} x {dim}");
    println!(
        "  up {} bytes, down {} bytes",
        encrypted.to_bytes().len(),
        reply.to_bytes().len()
    );
    report([encrypting, scoring, decrypting], &vectors, &query, &scores);
    Ok(())
}

/// For all vectors of a database: the client stores a hint.
fn column_packing(rng: &mut ThreadRng, count: usize, dim: usize) -> Result<(), Error> {
    let params = column::Params::real_t4();
    let (vectors, query) = (unit_vectors(rng, count, dim), unit_vectors(rng, 1, dim));
    let seed: [u8; 32] = rng.random();
    let (database, hint) = column::Database::encode(&params, seed, &vectors, dim)?;
    let client = column::Client::new(&params, seed, dim, count, &hint)?;

    let ((secret, encrypted), encrypting) = timed(|| client.encrypt(rng, &query));
    let (reply, scoring) = timed(|| database.score(&encrypted));
    let (scores, decrypting) = timed(|| client.decrypt(secret, &reply));

    println!("column packing, {count} x {dim}");
    println!(
        "  up {} bytes, down {} bytes, hint {} bytes once",
        encrypted.to_bytes().len(),
        reply.to_bytes().len(),
        hint.to_bytes().len(),
    );
    report([encrypting, scoring, decrypting], &vectors, &query, &scores);
    Ok(())
}

/// Classic CKKS with slots and rotations.
fn slot_mode(rng: &mut ThreadRng, count: usize, dim: usize) -> Result<(), Error> {
    let params = slot::Params::slots_4096();
    let (vectors, query) = (unit_vectors(rng, count, dim), unit_vectors(rng, 1, dim));
    let encoder = slot::Encoder::new(&params);
    let secret = slot::SecretKey::generate(rng, &params);
    let keys = (0..dim.ilog2())
        .map(|k| secret.galois_key(rng, 1 << k))
        .collect();
    let evaluator = slot::Evaluator::new(&params, keys)?;
    let packs = vectors
        .chunks(params.slots())
        .map(|pack| encoder.encode(&doubles(pack)))
        .collect::<Result<Vec<_>, _>>()?;

    let repeated: Vec<f64> = doubles(&query)
        .into_iter()
        .cycle()
        .take(params.slots())
        .collect();
    let (encrypted, encrypting) = timed(|| secret.encrypt(rng, &encoder.encode(&repeated)?));
    let (sums, scoring) = timed(|| {
        let sum = |pack| {
            let product = evaluator.rescale(&evaluator.mul_plain(&encrypted, pack)?)?;
            evaluator.inner_sum(&product, dim)
        };
        packs.iter().map(sum).collect::<Result<Vec<_>, _>>()
    });
    let (scores, decrypting) = timed(|| {
        let mut scores = Vec::new();
        for sum in &sums {
            let slots = encoder.decode(&secret.decrypt(sum)?)?;
            scores.extend(slots.iter().step_by(dim).map(|&score| score as f32));
        }
        scores.truncate(count);
        Ok(scores)
    });

    println!("slot mode, {count} x {dim}");
    report([encrypting, scoring, decrypting], &vectors, &query, &scores);
    Ok(())
}

fn report(times: [Duration; 3], vectors: &[f32], query: &[f32], scores: &[f32]) {
    let exact = vectors.chunks_exact(query.len()).map(|vector| {
        let products = vector
            .iter()
            .zip(query)
            .map(|(&x, &y)| f64::from(x) * f64::from(y));
        products.sum::<f64>()
    });
    let errors = Statistics::of(scores.iter().map(|&score| f64::from(score)).zip(exact));
    let [encrypting, scoring, decrypting] = times;
    println!("  encrypt {encrypting:.1?}, score {scoring:.1?}, decrypt {decrypting:.1?}");
    println!(
        "  error: {:.1} bits in the mean square, {:.1} at worst",
        errors.rms_bits(),
        errors.worst_bits()
    );
}

fn timed<T>(run: impl FnOnce() -> Result<T, Error>) -> (T, Duration) {
    let start = Instant::now();
    let result = run().expect("inputs of one shape");
    (result, start.elapsed())
}

fn unit_vectors(rng: &mut ThreadRng, count: usize, dim: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let raw: Vec<f32> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        all.extend(raw.iter().map(|x| x / norm));
    }
    all
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}
