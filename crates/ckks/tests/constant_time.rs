//! Clients in a separate process under memcheck. The test marks everything secret as undefined memory, and memcheck reports
//! every branch and every address that depends on it.
//!
//! `scripts/constant_time.sh` runs this test. Outside valgrind the marks do nothing, and the test only checks that scores
//! are decrypted. `scripts/constant_time.supp` lists what is allowed: the check of a query's norm or range, and the number
//! of bytes that the ternary sampler skips.

#![cfg(all(target_arch = "x86_64", not(miri)))]

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_ckks::{column, dot, slot};
use sordino_memcheck::{SecretRng, is_watching, public, secret};

fn rng() -> SecretRng<ChaCha20Rng> {
    SecretRng(ChaCha20Rng::from_seed([1; 32]))
}

#[test]
fn the_marks_are_seen_when_valgrind_runs() {
    // Fails if the script asked for valgrind and the test does not run under it.
    if !is_watching() {
        println!("not under valgrind: secrets are not tracked");
    }
}

/// Coordinates that are marked as secret.
fn secret_query<T: Copy>(coordinates: &[T]) -> Vec<T> {
    let query = coordinates.to_vec();
    secret(&query);
    query
}

/// A message as the server receives it.
fn sent(message: Vec<u8>) -> Vec<u8> {
    public(&message);
    message
}

#[test]
fn row_packing_does_not_branch_on_query_or_secret() {
    let mut rng = rng();
    for params in [
        dot::Params::rlwe_2048_50(),
        dot::Params::rlwe_2048_50_fine(),
    ] {
        let plaintexts =
            dot::Plaintexts::encode(&params, &[0.6, 0.8, 0.0, 0.0, 0.6, -0.8], 3).unwrap();
        let query = secret_query(&[1.0, 0.0, 0.0]);
        let (secret, query) = dot::encrypt(&mut rng, &params, &query).unwrap();
        let query = dot::Query::from_bytes(&sent(query.to_bytes())).unwrap();
        let reply = plaintexts.score(&query).unwrap();
        let scores = secret.decrypt(2, &reply).unwrap();
        public(&scores);
        assert!((scores[0] - 0.6).abs() < 1e-5 && scores[1].abs() < 1e-5);
    }
}

#[test]
fn column_packing_does_not_branch_on_query_or_secret() {
    let mut rng = rng();
    let (params, seed) = (column::Params::real_t4(), [7; 32]);
    let (database, hint) =
        column::Database::encode(&params, seed, &[0.6, 0.8, 1.0, 0.0], 2).unwrap();
    let client = column::Client::new(&params, seed, 2, 2, &hint).unwrap();
    let query = secret_query(&[0.0, 1.0]);
    let (secret, query) = client.encrypt(&mut rng, &query).unwrap();
    let query = column::Query::from_bytes(&sent(query.to_bytes())).unwrap();
    let scores = client
        .decrypt(secret, &database.score(&query).unwrap())
        .unwrap();
    public(&scores);
    assert!((scores[0] - 0.8).abs() < 1e-3 && scores[1].abs() < 1e-3);

    let params = column::Params::modular_18_exact();
    let codes = [60_000, -2, 5, 7];
    let (database, hint) = column::Database::encode_modular(&params, seed, &codes, 2).unwrap();
    let client = column::Client::new(&params, seed, 2, 2, &hint).unwrap();
    let query = secret_query(&[2, 3]);
    let (secret, query) = client.encrypt_modular(&mut rng, &query).unwrap();
    let query = column::Query::from_bytes(&sent(query.to_bytes())).unwrap();
    let scores = client
        .decrypt_modular(secret, &database.score(&query).unwrap())
        .unwrap();
    public(&scores);
    assert_eq!(scores, [119_994, 31]);
}

#[test]
fn slot_mode_does_not_branch_on_keys() {
    let mut rng = rng();
    let params = slot::Params::slots_2048();
    let encoder = slot::Encoder::new(&params);
    let secret = slot::SecretKey::generate(&mut rng, &params);
    let key = secret.galois_key(&mut rng, 1);
    let key = slot::GaloisKey::from_bytes(&params, &sent(key.to_bytes())).unwrap();
    let evaluator = slot::Evaluator::new(&params, vec![key]).unwrap();
    let x = secret
        .encrypt(&mut rng, &encoder.encode(&[0.25, 0.5]).unwrap())
        .unwrap();
    let x = slot::Ciphertext::from_bytes(&params, &sent(x.to_bytes())).unwrap();
    let rotated = evaluator.rotate(&x, 1).unwrap();
    let slots = encoder.decode(&secret.decrypt(&rotated).unwrap()).unwrap();
    public(&slots);
    assert!((slots[0] - 0.5).abs() < 1e-2 && slots[1].abs() < 1e-2);
}
