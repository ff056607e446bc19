//! `Debug` prints sizes and states: no secret, no vector, no megabytes.

use chacha20::ChaCha12Rng;
use rand_core::SeedableRng;
use sordino_ckks::{column, dot, slot};

/// The seed of all public polynomials in this file.
const SEED: [u8; 32] = [173; 32];
/// A coordinate of all vectors and all queries.
const VECTOR: f32 = 0.123_456;
const QUERY: f32 = 0.098_765;

fn assert_short(printed: &[String]) {
    for printed in printed {
        assert!(
            printed.len() < 500,
            "{} bytes: {printed:.500}",
            printed.len()
        );
        for content in ["0.123", "0.098", "173, 173"] {
            assert!(!printed.contains(content), "{printed}");
        }
    }
}

#[test]
fn parties_and_messages_of_column_packing_print_sizes_alone() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    let (params, dim) = (column::Params::real_t4(), 9);
    let vectors = [VECTOR; 9 * 600];
    let (mut database, hint) = column::Database::encode(&params, SEED, &vectors, dim).unwrap();
    let mut client = column::Client::new(&params, SEED, dim, 600, &hint).unwrap();
    let delta = database.replace(3, &[VECTOR; 9]).unwrap();
    client.apply(&delta).unwrap();
    let (secret, query) = client.encrypt(&mut rng, &[QUERY; 9]).unwrap();
    let reply = database.score(&query).unwrap();
    let parties = [
        format!("{database:?}"),
        format!("{client:?}"),
        format!("{hint:?}"),
        format!("{delta:?}"),
        format!("{query:?}"),
        format!("{reply:?}"),
    ];
    assert_short(&parties);
    for printed in &parties {
        assert!(printed.contains("dim: 9"), "{printed}");
    }
    let secret = format!("{secret:?}");
    assert!(secret.contains(params.name()));
    assert_short(&[secret]);
}

#[test]
fn parties_and_messages_of_row_packing_print_sizes_alone() {
    let mut rng = ChaCha12Rng::from_seed([2; 32]);
    let params = dot::Params::rlwe_2048_50();
    let plaintexts = dot::Plaintexts::encode(&params, &[VECTOR; 9 * 600], 9).unwrap();
    let (secret, query) = dot::encrypt(&mut rng, &params, &[QUERY; 9]).unwrap();
    let reply = plaintexts.score(&query).unwrap();
    let printed = [
        format!("{plaintexts:?}"),
        format!("{secret:?}"),
        format!("{query:?}"),
        format!("{reply:?}"),
    ];
    assert_short(&printed);
    for printed in &printed {
        assert!(printed.contains("dim: 9"), "{printed}");
    }
}

#[test]
fn keys_and_ciphertexts_of_slot_mode_print_their_set_alone() {
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    let params = slot::Params::slots_2048();
    let encoder = slot::Encoder::new(&params);
    let secret = slot::SecretKey::generate(&mut rng, &params);
    let plaintext = encoder.encode(&[f64::from(VECTOR); 100]).unwrap();
    let ciphertext = secret.encrypt(&mut rng, &plaintext).unwrap();
    let key = secret.galois_key(&mut rng, 1);
    let printed = [
        format!("{params:?}"),
        format!("{encoder:?}"),
        format!("{secret:?}"),
        format!("{plaintext:?}"),
        format!("{ciphertext:?}"),
        format!("{key:?}"),
        format!("{:?}", slot::Evaluator::new(&params, vec![key]).unwrap()),
    ];
    assert_short(&printed);
    for printed in &printed {
        assert!(printed.contains(params.name()), "{printed}");
    }
}
