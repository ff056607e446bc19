//! Messages: sizes, damage and refusals. Messages for equal queries look unrelated.

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;
use sordino_ckks::Error;
use sordino_ckks::column::{Client, Database, Hint, HintDelta, Params, Query, Reply};

use super::parties::{SEED, client_of, unit_vectors};

#[test]
fn sizes_of_the_default_set() {
    let params = Params::real_t4();
    let up = Query::encoded_len(&params, 128).unwrap();
    let down = Reply::encoded_len(&params, 128, 100_000).unwrap();
    assert!(up + down <= 460_000, "{up} + {down}");
    for params in [params, Params::modular_26_t4()] {
        let hint = Hint::encoded_len(&params, 128, 100_000).unwrap();
        assert!(hint <= 1_000_000, "{hint}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn damaged_messages_are_refused_or_read(seed: [u8; 32], cut: u32, flip: u32) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let params = Params::real_t4();
        let base = unit_vectors(&mut rng, 5, 3);
        let (mut database, hint) = Database::encode(&params, SEED, &base, 3).unwrap();
        let client = client_of(&database, &hint);
        let (_, query) = client.encrypt(&mut rng, &base[..3]).unwrap();
        let reply = database.score(&query).unwrap();
        let delta = database.delete(0).unwrap();
        for message in [query.to_bytes(), reply.to_bytes(), hint.to_bytes(), delta.to_bytes()] {
            let mut flipped = message.clone();
            let bit = flip as usize % (8 * message.len());
            flipped[bit / 8] ^= 1 << (bit % 8);
            for damaged in [&message[..cut as usize % message.len()], &flipped] {
                // If the bytes are still a message, its contents are written as the same bytes.
                if let Ok(query) = Query::from_bytes(damaged) {
                    prop_assert_eq!(query.to_bytes(), damaged);
                }
                if let Ok(reply) = Reply::from_bytes(damaged) {
                    prop_assert_eq!(reply.to_bytes(), damaged);
                }
                if let Ok(hint) = Hint::from_bytes(damaged) {
                    prop_assert_eq!(hint.to_bytes(), damaged);
                }
                if let Ok(delta) = HintDelta::from_bytes(damaged) {
                    prop_assert_eq!(delta.to_bytes(), damaged);
                }
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes: Vec<u8>) {
        prop_assert!(Query::from_bytes(&bytes).is_err());
        prop_assert!(Reply::from_bytes(&bytes).is_err());
        prop_assert!(Hint::from_bytes(&bytes).is_err());
        prop_assert!(HintDelta::from_bytes(&bytes).is_err());
    }
}

#[test]
fn other_seeds_are_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([9; 32]);
    let params = Params::real_t4();
    let (database, hint) = Database::encode(&params, SEED, &[0.5; 6], 2).unwrap();
    let (other, other_hint) = Database::encode(&params, [1; 32], &[0.5; 6], 2).unwrap();
    let epoch = |found: &[u8; 32], expected: &[u8; 32]| Error::Epoch {
        found: u64::from_le_bytes(*found.first_chunk().unwrap()),
        expected: u64::from_le_bytes(*expected.first_chunk().unwrap()),
    };
    assert_eq!(
        Client::new(&params, SEED, 2, 3, &other_hint).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
    let mut client = client_of(&database, &hint);
    let (secret, query) = client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    assert_eq!(other.score(&query).unwrap_err(), epoch(&SEED, &[1; 32]));
    let other_client = Client::new(&params, [1; 32], 2, 3, &other_hint).unwrap();
    let (_, other_query) = other_client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    let reply = other.score(&other_query).unwrap();
    assert_eq!(
        client.decrypt(secret, &reply).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
    let mut other = other;
    assert_eq!(
        client.apply(&other.delete(0).unwrap()).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
}

#[test]
fn bad_input_is_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([6; 32]);
    let (real, modular) = (Params::real_t4(), Params::modular_26_t4());
    let refuse = |vectors: &[f32], dim| Database::encode(&real, SEED, vectors, dim).unwrap_err();
    assert!(matches!(refuse(&[], 0), Error::Dimension { found: 0, .. }));
    assert!(matches!(refuse(&[], 1 << 20), Error::Dimension { .. }));
    assert_eq!(
        refuse(&[0.1; 5], 2),
        Error::Length {
            found: 5,
            expected: 6
        }
    );
    assert_eq!(refuse(&[0.1, f32::NAN], 2), Error::NotFinite { index: 1 });
    assert_eq!(refuse(&[0.1, 0.1, 0.9, 0.9], 2), Error::Norm { index: 1 });
    let refuse =
        |vectors: &[i32]| Database::encode_modular(&modular, SEED, vectors, 2).unwrap_err();
    assert_eq!(
        refuse(&[0, 1 << 25]),
        Error::Range {
            index: 1,
            log_p: 26
        }
    );
    assert_eq!(
        refuse(&[-(1 << 25) - 1, 0]),
        Error::Range {
            index: 0,
            log_p: 26
        }
    );
    assert_eq!(
        Database::encode(&modular, SEED, &[0.5; 2], 2).unwrap_err(),
        Error::Encoding { modular: true }
    );
    assert_eq!(
        Database::encode_modular(&real, SEED, &[1; 2], 2).unwrap_err(),
        Error::Encoding { modular: false }
    );

    let (mut database, hint) = Database::encode(&real, SEED, &[0.5; 6], 2).unwrap();
    assert_eq!(
        database.replace(3, &[0.5; 2]).unwrap_err(),
        Error::Index { index: 3, count: 3 }
    );
    assert_eq!(
        database.replace(0, &[0.5; 4]).unwrap_err(),
        Error::Length {
            found: 4,
            expected: 2
        }
    );
    assert_eq!(
        database.delete(9).unwrap_err(),
        Error::Index { index: 9, count: 3 }
    );
    let mismatch = |what, found, expected| Error::Mismatch {
        what,
        found,
        expected,
    };
    assert_eq!(
        Client::new(&real, SEED, 2, 4, &hint).unwrap_err(),
        mismatch("counts", 3, 4)
    );
    assert_eq!(
        Client::new(&real, SEED, 3, 3, &hint).unwrap_err(),
        mismatch("dimensions", 2, 3)
    );
    assert_eq!(
        Client::new(&Params::real_t8(), SEED, 2, 3, &hint).unwrap_err(),
        mismatch("parameter sets", 1, 2)
    );
    let client = client_of(&database, &hint);
    let encrypt = |rng: &mut _, query: &[f32]| client.encrypt(rng, query).unwrap_err();
    assert_eq!(
        encrypt(&mut rng, &[0.1; 3]),
        Error::Length {
            found: 3,
            expected: 2
        }
    );
    assert_eq!(
        encrypt(&mut rng, &[f32::INFINITY, 0.0]),
        Error::NotFinite { index: 0 }
    );
    assert_eq!(encrypt(&mut rng, &[0.9, 0.9]), Error::Norm { index: 0 });
    assert_eq!(
        client.encrypt_modular(&mut rng, &[1, 1]).unwrap_err(),
        Error::Encoding { modular: false }
    );

    let (secret, query) = client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    let (other, _) = Database::encode(&real, SEED, &[0.5; 3], 3).unwrap();
    assert_eq!(
        other.score(&query).unwrap_err(),
        mismatch("dimensions", 2, 3)
    );
    let (other, _) = Database::encode(&real, SEED, &[0.5; 8], 2).unwrap();
    let reply = other.score(&query).unwrap();
    assert_eq!(
        client.decrypt(secret, &reply).unwrap_err(),
        mismatch("counts", 4, 3)
    );

    let mut message = query.to_bytes();
    message[4] = 7;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::FormatVersion {
            found: 7,
            expected: 2
        }
    );
    message[4] = 2;
    // In all planes, all bits of coefficient 9 are set, so it is above q / 2^7.
    for plane in 0..4 {
        message[24 + plane * 2048 + 9] = 0xff;
    }
    message[24 + 4 * 2048 + 1] |= 2;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::Coefficient { index: 9 }
    );
}

#[test]
fn equal_queries_encrypt_to_unrelated_messages() {
    let mut rng = ChaCha12Rng::from_seed([7; 32]);
    let (database, hint) = Database::encode(&Params::real_t4(), SEED, &[0.5; 8], 4).unwrap();
    let client = client_of(&database, &hint);
    let (secret, first) = client.encrypt(&mut rng, &[0.5; 4]).unwrap();
    let (_, second) = client.encrypt(&mut rng, &[0.5; 4]).unwrap();
    let (first, second) = (first.to_bytes(), second.to_bytes());
    let same = first
        .iter()
        .zip(&second)
        .skip(24)
        .filter(|(x, y)| x == y)
        .count();
    // One byte in 256 agrees by chance, which is 33 of 8448.
    assert!(same < 80, "{same}");
    let printed = format!("{secret:?}{client:?}");
    assert!(printed.len() < 800 && printed.contains(".."), "{printed}");
}
