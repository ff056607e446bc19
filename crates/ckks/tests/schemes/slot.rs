//! Slot mode against plain arithmetic, and its refusals.

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::Error;
use sordino_ckks::slot::{Ciphertext, Encoder, Evaluator, GaloisKey, Params, Plaintext, SecretKey};

fn values(rng: &mut ChaCha12Rng, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| f64::from(rng.next_u32()) / 2f64.powi(31) - 1.0)
        .collect()
}

fn worst(found: &[f64], expected: &[f64]) -> f64 {
    assert!(found.len() >= expected.len());
    found
        .iter()
        .zip(expected)
        .fold(0f64, |worst, (x, y)| worst.max((x - y).abs()))
}

fn sets() -> [Params; 3] {
    [
        Params::slots_2048(),
        Params::slots_4096(),
        Params::slots_8192(),
    ]
}

#[test]
fn encoding_and_encryption_keep_values() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    for params in sets() {
        let encoder = Encoder::new(&params);
        let secret = SecretKey::generate(&mut rng, &params);
        for count in [0, 1, 100, params.slots()] {
            let slots = values(&mut rng, count);
            let plaintext = encoder.encode(&slots).unwrap();
            // Rounding: N coefficients of variance 1/12 each meet a root of norm 1.
            let step = (params.degree() as f64 / 12.0).sqrt() / params.scale();
            assert!(worst(&encoder.decode(&plaintext).unwrap(), &slots) < 6.0 * step + 1e-12);
            let ciphertext = secret.encrypt(&mut rng, &plaintext).unwrap();
            let decoded = encoder
                .decode(&secret.decrypt(&ciphertext).unwrap())
                .unwrap();
            let noise = step * (1.0 + 12.0 * 10.5f64).sqrt();
            assert!(worst(&decoded, &slots) < 6.0 * noise, "{}", params.name());
        }
    }
}

#[test]
fn products_sums_and_rotations_agree_with_plain_arithmetic() {
    let mut rng = ChaCha12Rng::from_seed([2; 32]);
    for params in sets() {
        let (slots, encoder) = (params.slots(), Encoder::new(&params));
        let secret = SecretKey::generate(&mut rng, &params);
        let keys = [1, 5, slots - 1]
            .map(|k| secret.galois_key(&mut rng, k))
            .to_vec();
        let evaluator = Evaluator::new(&params, keys).unwrap();
        let (x, y) = (values(&mut rng, slots), values(&mut rng, slots));
        let encrypted = secret
            .encrypt(&mut rng, &encoder.encode(&x).unwrap())
            .unwrap();
        let decode = |c: &_| encoder.decode(&secret.decrypt(c).unwrap()).unwrap();
        // At level 0 and scale 2^22 a rotation's error of 60 per coefficient is 9e-4 in a slot.
        let tolerance = if params.max_level() == 0 { 1e-2 } else { 1e-7 };

        for k in [0, 1, 5, slots - 1, slots + 1] {
            let rotated: Vec<f64> = (0..slots).map(|i| x[(i + k) % slots]).collect();
            let found = decode(&evaluator.rotate(&encrypted, k).unwrap());
            let error = worst(&found, &rotated);
            assert!(error < tolerance, "{} {k} {error:e}", params.name());
        }
        let mut product = evaluator
            .mul_plain(&encrypted, &encoder.encode(&y).unwrap())
            .unwrap();
        let mut expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        // The loop ends at the last level, at which rotations must still work.
        while product.level() > 0 {
            product = evaluator.rescale(&product).unwrap();
            if product.level() > 0 {
                let again = encoder
                    .encode_at(&y, product.level(), params.scale())
                    .unwrap();
                product = evaluator.mul_plain(&product, &again).unwrap();
                expected.iter_mut().zip(&y).for_each(|(x, y)| *x *= y);
            }
        }
        assert!(
            worst(&decode(&product), &expected) < tolerance,
            "{}",
            params.name()
        );
        let sum = evaluator
            .add(&product, &evaluator.rotate(&product, 5).unwrap())
            .unwrap();
        let expected: Vec<f64> = (0..slots)
            .map(|i| expected[i] + expected[(i + 5) % slots])
            .collect();
        assert!(
            worst(&decode(&sum), &expected) < 2.0 * tolerance,
            "{}",
            params.name()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn dot_products_agree_with_plain_arithmetic(seed: [u8; 32], log_dim in 0..8u32) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let (params, dim) = (Params::slots_4096(), 1 << log_dim);
        let encoder = Encoder::new(&params);
        let secret = SecretKey::generate(&mut rng, &params);
        let keys = (0..log_dim).map(|k| secret.galois_key(&mut rng, 1 << k)).collect();
        let evaluator = Evaluator::new(&params, keys).unwrap();
        let query = values(&mut rng, dim);
        let repeated: Vec<f64> = query.iter().copied().cycle().take(params.slots()).collect();
        let vectors = values(&mut rng, params.slots());
        let encrypted = secret.encrypt(&mut rng, &encoder.encode(&repeated).unwrap()).unwrap();
        let product = evaluator.mul_plain(&encrypted, &encoder.encode(&vectors).unwrap()).unwrap();
        let product = evaluator.rescale(&product).unwrap();
        let sums = evaluator.inner_sum(&product, dim).unwrap();
        let found = encoder.decode(&secret.decrypt(&sums).unwrap()).unwrap();
        for (vector, &found) in vectors.chunks_exact(dim).zip(found.iter().step_by(dim)) {
            let exact: f64 = vector.iter().zip(&query).map(|(x, y)| x * y).sum();
            prop_assert!((found - exact).abs() < 1e-6, "{found} {exact}");
        }
    }
}

#[test]
fn named_sets_are_within_the_cap_and_larger_ones_are_refused() {
    for (params, cap) in sets().iter().zip([106.0, 214.0, 430.0]) {
        assert!(params.log_qp() < cap, "{}", params.log_qp());
        let primes = params.primes();
        let (special, q) = primes.split_last().unwrap();
        assert!(Params::new(params.degree(), q, *special, params.scale()).is_ok());
    }
    let primes = Params::slots_8192().primes();
    let (special, q) = primes.split_last().unwrap();
    assert_eq!(
        Params::new(8192, q, *special, 2f64.powi(40)).unwrap_err(),
        Error::Security {
            n: 8192,
            found: 221,
            most: 214
        }
    );
    let refuse = |n, q: &[u64], p, scale| Params::new(n, q, p, scale).unwrap_err();
    assert!(matches!(
        refuse(32768, &q[..1], *special, 1e6),
        Error::Security { most: 0, .. }
    ));
    assert!(matches!(
        refuse(5000, &q[..1], *special, 1e6),
        Error::Security { most: 0, .. }
    ));
    assert_eq!(
        refuse(8192, &[q[0]], q[0], 1e6),
        Error::Modulus { found: q[0] }
    );
    assert_eq!(
        refuse(8192, &[q[0] - 2], *special, 1e6),
        Error::Modulus { found: q[0] - 2 }
    );
    assert_eq!(refuse(8192, &[q[0]], *special, 1e15), Error::Scale);
    assert_eq!(refuse(8192, &[q[0]], *special, f64::NAN), Error::Scale);
    assert_eq!(refuse(8192, &[q[0]], q[1], 1e6), Error::Scale);
}

#[test]
fn bad_operands_are_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    let (params, other) = (Params::slots_4096(), Params::slots_2048());
    let encoder = Encoder::new(&params);
    let secret = SecretKey::generate(&mut rng, &params);
    let evaluator = Evaluator::new(&params, vec![secret.galois_key(&mut rng, 2)]).unwrap();
    let refuse = |values: &[f64]| encoder.encode(values).unwrap_err();
    assert_eq!(
        refuse(&[0.0; 4097]),
        Error::Length {
            found: 4097,
            expected: 4096
        }
    );
    assert_eq!(refuse(&[0.0, f64::NAN]), Error::NotFinite { index: 1 });
    assert_eq!(refuse(&[1e6]), Error::ValueRoom);
    assert_eq!(
        encoder.encode_at(&[1.0], 2, 1e6).unwrap_err(),
        Error::Level { found: 2, most: 1 }
    );
    let plaintext = encoder.encode(&[1.0]).unwrap();
    let x = secret.encrypt(&mut rng, &plaintext).unwrap();
    assert_eq!(
        evaluator.rotate(&x, 1).unwrap_err(),
        Error::MissingKey { rotation: 1 }
    );
    assert_eq!(
        evaluator.inner_sum(&x, 4).unwrap_err(),
        Error::MissingKey { rotation: 1 }
    );
    assert!(matches!(
        evaluator.inner_sum(&x, 3).unwrap_err(),
        Error::Length { .. }
    ));
    let product = evaluator.mul_plain(&x, &plaintext).unwrap();
    assert_eq!(evaluator.add(&x, &product).unwrap_err(), Error::Scale);
    let low = evaluator.rescale(&product).unwrap();
    assert_eq!(
        evaluator.add(&low, &x).unwrap_err(),
        Error::Level { found: 1, most: 0 }
    );
    assert!(matches!(
        evaluator.mul_plain(&low, &plaintext).unwrap_err(),
        Error::Level { .. }
    ));
    assert!(matches!(
        evaluator.rescale(&low).unwrap_err(),
        Error::Level { .. }
    ));

    let foreign: Plaintext = Encoder::new(&other).encode(&[1.0]).unwrap();
    assert!(matches!(
        secret.encrypt(&mut rng, &foreign).unwrap_err(),
        Error::Mismatch { .. }
    ));
    assert!(matches!(
        encoder.decode(&foreign).unwrap_err(),
        Error::Mismatch { .. }
    ));
    let foreign_secret = SecretKey::generate(&mut rng, &other);
    assert!(matches!(
        foreign_secret.decrypt(&x).unwrap_err(),
        Error::Mismatch { .. }
    ));
    let printed = format!("{secret:?}");
    assert!(printed.len() < 80, "{printed}");
}

/// The smallest set: two primes above 2^25 that are 1 mod 4096.
fn tiny() -> Params {
    Params::new(2048, &[33_574_913], 67_153_921, 1024.0).expect("within the cap")
}

#[test]
fn messages_keep_ciphertexts_and_keys() {
    let mut rng = ChaCha12Rng::from_seed([4; 32]);
    for params in sets() {
        let (slots, encoder) = (params.slots(), Encoder::new(&params));
        let secret = SecretKey::generate(&mut rng, &params);
        let key = secret.galois_key(&mut rng, 3);
        let read_key = GaloisKey::from_bytes(&params, &key.to_bytes()).expect("a message");
        assert_eq!(read_key.to_bytes(), key.to_bytes());
        let evaluator = Evaluator::new(&params, vec![key]).expect("one set");
        let reader = Evaluator::new(&params, vec![read_key]).expect("one set");
        let x = values(&mut rng, slots);
        let plaintext = encoder.encode(&x).expect("slots");
        let fresh = secret.encrypt(&mut rng, &plaintext).expect("one set");
        let rotated = evaluator.rotate(&fresh, 3).expect("a key");
        let mut all = vec![fresh.clone(), rotated.clone()];
        all.push(evaluator.rotate(&fresh, 0).expect("no key needed"));
        all.push(evaluator.add(&fresh, &fresh).expect("one set"));
        all.push(evaluator.mul_plain(&fresh, &plaintext).expect("one set"));
        if params.max_level() > 0 {
            all.push(evaluator.rescale(&all[4]).expect("a level"));
        }
        let decode = |c: &Ciphertext| encoder.decode(&secret.decrypt(c).expect("one set"));
        for ciphertext in &all {
            let message = ciphertext.to_bytes();
            let read = Ciphertext::from_bytes(&params, &message).expect("a message");
            assert_eq!(read.to_bytes(), message);
            assert_eq!(
                (read.level(), read.scale()),
                (ciphertext.level(), ciphertext.scale())
            );
            assert_eq!(decode(&read), decode(ciphertext));
        }
        assert_eq!(
            reader.rotate(&fresh, 3).expect("a key").to_bytes(),
            rotated.to_bytes()
        );
        // A fresh one travels with a seed in place of half of it.
        assert!(2 * all[0].to_bytes().len() < all[1].to_bytes().len() + 300);
    }
}

#[test]
fn damaged_messages_are_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([5; 32]);
    let (params, other) = (Params::slots_4096(), Params::slots_2048());
    let secret = SecretKey::generate(&mut rng, &params);
    let plaintext = Encoder::new(&params).encode(&[1.0]).expect("slots");
    let ciphertext = secret
        .encrypt(&mut rng, &plaintext)
        .expect("one set")
        .to_bytes();
    let key = secret.galois_key(&mut rng, 1).to_bytes();
    let read = |message: &[u8]| Ciphertext::from_bytes(&params, message).expect_err("damaged");
    let read_key = |message: &[u8]| GaloisKey::from_bytes(&params, message).expect_err("damaged");
    assert_eq!(read(&key), Error::Kind);
    assert_eq!(read_key(&ciphertext), Error::Kind);
    for cut in [0, 15, 16, 40, 1000] {
        assert!(matches!(
            read(&ciphertext[..cut]),
            Error::MessageLength { .. }
        ));
        assert!(matches!(read_key(&key[..cut]), Error::MessageLength { .. }));
    }
    let degrees = Error::Mismatch {
        what: "degrees",
        found: 8192,
        expected: 4096,
    };
    assert_eq!(
        Ciphertext::from_bytes(&other, &ciphertext).expect_err("another set"),
        degrees
    );
    assert_eq!(
        GaloisKey::from_bytes(&other, &key).expect_err("another set"),
        degrees
    );
    let changed = |message: &[u8], at: usize, bytes: &[u8]| {
        let mut message = message.to_vec();
        message[at..at + bytes.len()].copy_from_slice(bytes);
        message
    };
    for (damaged, error) in [
        (
            changed(&ciphertext, 4, &[1]),
            Error::FormatVersion {
                found: 1,
                expected: 2,
            },
        ),
        (changed(&ciphertext, 6, &[2]), Error::Kind),
        (
            changed(&ciphertext, 12, &[2]),
            Error::Level { found: 2, most: 1 },
        ),
        (
            changed(&ciphertext, 16, &[1, 0, 0, 0, 0, 0, 0, 0]),
            Error::Modulus { found: 1 },
        ),
        (
            changed(&ciphertext, 40, &f64::NAN.to_le_bytes()),
            Error::Scale,
        ),
        (
            changed(&ciphertext, 40, &0.5f64.to_le_bytes()),
            Error::Scale,
        ),
        (
            changed(&ciphertext, 48, &[0xff; 7]),
            Error::Coefficient { index: 0 },
        ),
    ] {
        assert_eq!(read(&damaged), error);
    }
    for (damaged, error) in [
        (changed(&key, 6, &[1]), Error::Kind),
        (
            changed(&key, 12, &[0, 0x10]),
            Error::Index {
                index: 4096,
                count: 4096,
            },
        ),
        (
            changed(&key, 16, &[1, 0, 0, 0, 0, 0, 0, 0]),
            Error::Modulus { found: 1 },
        ),
        (
            changed(&key, 40 + 32, &[0xff; 7]),
            Error::Coefficient { index: 0 },
        ),
    ] {
        assert_eq!(read_key(&damaged), error);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn flipped_bits_are_refused_or_read(seed: [u8; 32], flip: u32) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let params = tiny();
        let secret = SecretKey::generate(&mut rng, &params);
        let plaintext = Encoder::new(&params).encode(&[1.0]).expect("slots");
        let fresh = secret.encrypt(&mut rng, &plaintext).expect("one set");
        for mut message in [fresh.to_bytes(), secret.galois_key(&mut rng, 1).to_bytes()] {
            let bit = flip as usize % (8 * message.len());
            message[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = Ciphertext::from_bytes(&params, &message) {
                prop_assert_eq!(read.to_bytes(), message.clone());
            }
            if let Ok(read) = GaloisKey::from_bytes(&params, &message) {
                prop_assert_eq!(read.to_bytes(), message);
            }
        }
    }
}
