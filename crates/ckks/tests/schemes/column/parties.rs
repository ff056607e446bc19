//! Vectors, queries and clients.

use chacha20::ChaCha12Rng;
use rand_core::Rng;
use sordino_ckks::column::{Client, Database, Hint, Query, Reply};

pub(crate) const SEED: [u8; 32] = [42; 32];

pub(crate) fn unit_vectors(rng: &mut ChaCha12Rng, count: usize, dim: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let raw: Vec<f64> = (0..dim)
            .map(|_| {
                (0..4)
                    .map(|_| f64::from(rng.next_u32()) / 2f64.powi(32) - 0.5)
                    .sum()
            })
            .collect();
        let length = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
        all.extend(raw.iter().map(|x| (x / length) as f32));
    }
    all
}

/// Uniform integers mod `2^log_p`, centred, like codes under a pad.
pub(crate) fn residues(rng: &mut ChaCha12Rng, count: usize, log_p: u32) -> Vec<i32> {
    let unused = 32 - log_p;
    (0..count)
        .map(|_| (rng.next_u32() << unused).cast_signed() >> unused)
        .collect()
}

/// A query with the largest norm whose scores fit the score window: `sqrt(P / 2.05)`.
pub(crate) fn integer_query(rng: &mut ChaCha12Rng, dim: usize, log_p: u32) -> Vec<i32> {
    let scale = (2f64.powi(log_p.cast_signed()) / 2.05).sqrt();
    unit_vectors(rng, 1, dim)
        .iter()
        .map(|&x| (f64::from(x) * scale).round() as i32)
        .collect()
}

pub(crate) fn dots<T: Copy + Into<f64>>(query: &[T], vectors: &[T]) -> Vec<f64> {
    let rows = vectors.chunks_exact(query.len());
    rows.map(|row| {
        row.iter()
            .zip(query)
            .map(|(&x, &y)| x.into() * y.into())
            .sum()
    })
    .collect()
}

pub(crate) fn client_of(database: &Database, hint: &Hint) -> Client {
    let hint = Hint::from_bytes(&hint.to_bytes()).unwrap();
    Client::new(
        database.params(),
        SEED,
        database.dim(),
        database.len(),
        &hint,
    )
    .unwrap()
}

/// The scores of one query. All messages pass through their wire forms.
pub(crate) fn score_real(
    rng: &mut ChaCha12Rng,
    database: &Database,
    client: &Client,
    query: &[f32],
) -> Vec<f32> {
    let (secret, query) = client.encrypt(rng, query).unwrap();
    let params = *database.params();
    let message = query.to_bytes();
    assert_eq!(
        message.len(),
        Query::encoded_len(&params, database.dim()).unwrap()
    );
    let reply = database
        .score(&Query::from_bytes(&message).unwrap())
        .unwrap();
    let message = reply.to_bytes();
    let expected = Reply::encoded_len(&params, database.dim(), database.len()).unwrap();
    assert_eq!(message.len(), expected);
    client
        .decrypt(secret, &Reply::from_bytes(&message).unwrap())
        .unwrap()
}

pub(crate) fn score_modular(
    rng: &mut ChaCha12Rng,
    database: &Database,
    client: &Client,
    query: &[i32],
) -> Vec<i64> {
    let (secret, query) = client.encrypt_modular(rng, query).unwrap();
    let reply = database
        .score(&Query::from_bytes(&query.to_bytes()).unwrap())
        .unwrap();
    client
        .decrypt_modular(secret, &Reply::from_bytes(&reply.to_bytes()).unwrap())
        .unwrap()
}

pub(crate) fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}
