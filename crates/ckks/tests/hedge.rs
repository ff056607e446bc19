//! A generator that repeats itself: different queries share no secret, the same query is the same message.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_ckks::{column, dot, slot};

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([5; 32])
}

/// The part of the bytes from `from` on in which two messages are equal: 1 in 256 by chance. Under one secret
/// queries would differ in the few coefficients that hold their coordinates.
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
    // The seed of the uniform half, at the end.
    let seed = |message: Vec<u8>| message[message.len() - 32..].to_vec();
    assert_ne!(seed(encrypt(0.5)), seed(encrypt(0.25)));
    assert_eq!(encrypt(0.5), encrypt(0.5));

    let key = |rotation| secret.galois_key(&mut rng(), rotation).to_bytes();
    assert!(agreement(64, &key(1), &key(2)) < 0.05);
    assert_eq!(key(1), key(1));
}
