//! A generator that repeats its output: different queries share no secret, and the same query gives the
//! same message.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::{Seed, column, dot, slot};

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([5; 32])
}

/// The share of the bytes from `from` on in which two messages are equal, which is 1 in 256 by chance.
/// Queries under one secret would differ only in the few coefficients that hold their coordinates.
fn agreement(from: usize, a: &[u8], b: &[u8]) -> f64 {
    assert_eq!((a.len(), &a[..8]), (b.len(), &b[..8]));
    let equal = a[from..].iter().zip(&b[from..]).filter(|(a, b)| a == b);
    equal.count() as f64 / (a.len() - from) as f64
}

#[test]
fn column_queries_share_no_secret() {
    let real = column::Client::empty(&column::Params::real_t4(), [1; 32], 8).unwrap();
    let query = |x: f32| {
        let query = [0.5, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, x];
        real.encrypt(&mut rng(), &query).unwrap().1.to_bytes()
    };
    assert!(agreement(64, &query(0.25), &query(0.125)) < 0.05);
    assert_eq!(query(0.25), query(0.25));

    let modular = column::Client::empty(&column::Params::modular_26_t4(), [1; 32], 8).unwrap();
    let query = |x: i32| {
        let query = [5, 1, 0, 0, 0, 0, 0, x];
        let (_, query) = modular.encrypt_modular(&mut rng(), &query).unwrap();
        query.to_bytes()
    };
    assert!(agreement(64, &query(25), &query(-25)) < 0.05);
    assert_eq!(query(25), query(25));
}

#[test]
fn row_queries_share_no_secret() {
    let params = dot::Params::rlwe_2048_50();
    let query = |x: f32| {
        let (_, query) = dot::encrypt(&mut rng(), &params, &[0.5, 0.1, x]).unwrap();
        query.to_bytes()
    };
    assert!(agreement(64, &query(0.25), &query(0.125)) < 0.05);
    assert_eq!(query(0.25), query(0.25));
}

#[test]
fn slot_ciphertexts_and_keys_share_neither_error_nor_uniform_half() {
    let params = slot::Params::slots_2048();
    let secret = slot::SecretKey::generate(&mut rng(), &params);
    let encoder = slot::Encoder::new(&params);
    let encrypt = |x: f64| {
        let plaintext = encoder.encode(&[x]).unwrap();
        secret.encrypt(&mut rng(), &plaintext).unwrap().to_bytes()
    };
    assert!(agreement(64, &encrypt(0.5), &encrypt(0.25)) < 0.05);
    // The seed of the uniform half, which is at the end.
    let seed = |message: Vec<u8>| message[message.len() - 32..].to_vec();
    assert_ne!(seed(encrypt(0.5)), seed(encrypt(0.25)));
    assert_eq!(encrypt(0.5), encrypt(0.5));

    let key = |rotation| secret.galois_key(&mut rng(), rotation).to_bytes();
    assert!(agreement(64, &key(1), &key(2)) < 0.05);
    assert_eq!(key(1), key(1));
}

/// A copy of the generator, as in a cloned virtual machine, may make a secret of these bytes.
#[test]
fn no_message_shows_bytes_of_the_generator() {
    let mut stream = [0; 4096];
    rng().fill_bytes(&mut stream);
    let shows = |message: &[u8]| {
        let mut windows = message.windows(8);
        windows.any(|window| stream.chunks_exact(8).any(|bytes| bytes == window))
    };
    assert!(shows(&stream[100..200]));

    let row = dot::Params::rlwe_2048_50();
    let (_, query) = dot::encrypt(&mut rng(), &row, &[0.5, 0.1]).unwrap();
    assert!(!shows(&query.to_bytes()));
    let column = column::Client::empty(&column::Params::real_t4(), [1; 32], 2).unwrap();
    let (_, query) = column.encrypt(&mut rng(), &[0.5, 0.1]).unwrap();
    assert!(!shows(&query.to_bytes()));
    let params = slot::Params::slots_2048();
    let secret = slot::SecretKey::generate(&mut rng(), &params);
    assert!(!shows(&secret.galois_key(&mut rng(), 1).to_bytes()));
    let plaintext = slot::Encoder::new(&params).encode(&[0.5]).unwrap();
    let ciphertext = secret.encrypt(&mut rng(), &plaintext).unwrap();
    assert!(!shows(&ciphertext.to_bytes()));
    assert!(!shows(&Seed::random(&mut rng()).0));
}

/// Samples of one secret and one error under two public polynomials reveal the secret. These two seeds begin
/// with equal bytes, so their epochs are equal.
#[test]
fn the_same_query_under_other_polynomials_has_another_secret() {
    let params = column::Params::real_t4();
    let query = [0.6, 0.8, 0.0, 0.0];
    let parties = |last: u8| {
        let mut seed = [1; 32];
        seed[31] = last;
        let (database, hint) = column::Database::encode(&params, seed, &query, 4).unwrap();
        let client = column::Client::new(&params, seed, 4, 1, &hint).unwrap();
        let (secret, query) = client.encrypt(&mut rng(), &query).unwrap();
        (client, secret, database.score(&query).unwrap())
    };
    let ((client, own, reply), (_, other, _)) = (parties(1), parties(2));
    let score = |secret| client.decrypt(secret, &reply).unwrap()[0];
    assert!((score(own) - 1.0).abs() < 1e-3);
    // The wrong secret gives noise over a window of 2.05.
    assert!((score(other) - 1.0).abs() > 1e-3);
}

#[test]
fn the_same_plaintext_under_another_secret_has_another_uniform_half() {
    let params = slot::Params::slots_2048();
    let plaintext = slot::Encoder::new(&params).encode(&[0.5]).unwrap();
    let messages = [1, 2].map(|seed| {
        let secret = slot::SecretKey::generate(&mut ChaCha20Rng::from_seed([seed; 32]), &params);
        let ciphertext = secret.encrypt(&mut rng(), &plaintext).unwrap();
        let key = secret.galois_key(&mut rng(), 1);
        [ciphertext.to_bytes(), key.to_bytes()]
    });
    let [[ciphertext, key], [other_ciphertext, other_key]] = &messages;
    // The seed is in the last 32 bytes of a ciphertext. In a key it is the 32 bytes after head and
    // primes.
    let seed = ciphertext.len() - 32;
    assert_ne!(ciphertext[seed..], other_ciphertext[seed..]);
    assert_eq!(key[..32], other_key[..32]);
    assert_ne!(key[32..64], other_key[32..64]);
}
