//! Riffpe and RiffpeX, compared with vectors of the reference implementation.

use proptest::prelude::*;
use serde_json::Value;
use sordino_fpe::{DigitOrder, Error, NumeralCipher, Riffpe, RiffpeX, find_best_bases};

use crate::key::aes;

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn digits(value: &Value) -> Vec<u32> {
    let digit = |x: &Value| u32::try_from(x.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(digit).collect()
}

fn number(value: &Value) -> Option<u128> {
    value.as_str().unwrap().parse().ok()
}

/// One of the two ciphers.
enum Cipher {
    Riffpe(Riffpe),
    RiffpeX(RiffpeX),
}

impl Cipher {
    fn run(&self, encrypt: bool, tweak: &[u8], x: &[u32]) -> Vec<u32> {
        let mut x = x.to_vec();
        match (self, encrypt) {
            (Self::Riffpe(cipher), true) => cipher.encrypt(tweak, &mut x),
            (Self::Riffpe(cipher), false) => cipher.decrypt(tweak, &mut x),
            (Self::RiffpeX(cipher), true) => cipher.encrypt(tweak, &mut x),
            (Self::RiffpeX(cipher), false) => cipher.decrypt(tweak, &mut x),
        }
        .unwrap();
        x
    }

    fn integer(&self, encrypt: bool, tweak: &[u8], x: u128, order: DigitOrder) -> Option<u128> {
        match (self, encrypt) {
            (Self::Riffpe(cipher), true) => cipher.encrypt_integer(tweak, x, order),
            (Self::Riffpe(cipher), false) => cipher.decrypt_integer(tweak, x, order),
            (Self::RiffpeX(cipher), true) => cipher.encrypt_integer(tweak, x, order),
            (Self::RiffpeX(cipher), false) => cipher.decrypt_integer(tweak, x, order),
        }
        .ok()
    }
}

#[test]
fn reference_vectors() {
    let file: Value = serde_json::from_str(include_str!("../vectors/riffpe.json")).unwrap();
    let (mut count, mut integers) = (0, 0);
    for vector in file["vectors"].as_array().unwrap() {
        let (key, tweak) = (bytes(&vector["key"]), bytes(&vector["tweak"]));
        let width = usize::try_from(vector["bytes_per_value"].as_u64().unwrap()).unwrap();
        let plain = digits(&vector["plaintext"]);
        let cipher = if vector["variant"] == "Riffpe" {
            let radix = u32::try_from(vector["radix"].as_u64().unwrap()).unwrap();
            let riffpe = Riffpe::new(&aes(&key), radix, plain.len()).unwrap();
            Cipher::Riffpe(riffpe.with_bytes_per_value(width).unwrap())
        } else {
            let riffpe = RiffpeX::new(&aes(&key), &digits(&vector["radices"])).unwrap();
            Cipher::RiffpeX(riffpe.with_bytes_per_value(width).unwrap())
        };
        let id = &vector["id"];
        let expected = digits(&vector["ciphertext"]);
        assert_eq!(cipher.run(true, &tweak, &plain), expected, "{id}");
        assert_eq!(cipher.run(false, &tweak, &expected), plain, "{id}");
        let inverse = digits(&vector["decrypt_of_plaintext"]);
        assert_eq!(cipher.run(false, &tweak, &plain), inverse, "{id}");
        for (order, plain, expected) in [
            (DigitOrder::Big, "plaintext_int_be", "ciphertext_int_be"),
            (DigitOrder::Little, "plaintext_int_le", "ciphertext_int_le"),
        ] {
            let (Some(plain), Some(expected)) = (number(&vector[plain]), number(&vector[expected]))
            else {
                continue;
            };
            if let Some(found) = cipher.integer(true, &tweak, plain, order) {
                assert_eq!(found, expected, "{id}");
                assert_eq!(
                    cipher.integer(false, &tweak, expected, order),
                    Some(plain),
                    "{id}"
                );
                integers += 1;
            }
        }
        count += 1;
    }
    assert_eq!(count, 251);
    assert!(integers > 400, "{integers}");
    for vector in file["find_best_bases"].as_array().unwrap() {
        let threshold = u32::try_from(vector["threshold"].as_u64().unwrap()).unwrap();
        let bases = find_best_bases(number(&vector["x"]).unwrap(), threshold).unwrap();
        assert_eq!(bases, digits(&vector["bases"]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn decryption_inverts(
        key: [u8; 16],
        tweak in proptest::collection::vec(any::<u8>(), 0..40),
        bases in proptest::collection::vec(2u32..300, 1..12),
        width in prop_oneof![1usize..=20, Just(8), Just(16)],
        seed: u64,
    ) {
        let cipher = RiffpeX::new(&aes(&key), &bases).unwrap().with_bytes_per_value(width).unwrap();
        let mut seed = seed;
        let plain: Vec<u32> = bases.iter().map(|&n| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u32::try_from((seed >> 33) % u64::from(n)).unwrap()
        }).collect();
        let mut x = plain.clone();
        cipher.encrypt(&tweak, &mut x).unwrap();
        prop_assert!(x.iter().zip(&bases).all(|(x, n)| x < n));
        cipher.decrypt(&tweak, &mut x).unwrap();
        prop_assert_eq!(x, plain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn batches_equal_singles(
        key in prop_oneof![
            proptest::collection::vec(any::<u8>(), 16),
            proptest::collection::vec(any::<u8>(), 24),
            proptest::collection::vec(any::<u8>(), 32),
        ],
        tweak in proptest::collection::vec(any::<u8>(), 0..20),
        bases in prop_oneof![
            proptest::collection::vec(2u32..=16, 1..20),
            proptest::collection::vec(Just(10u32), 28..34),
            proptest::collection::vec(2u32..=16, 60..65),
            proptest::collection::vec(2u32..=17, 1..10),
        ],
        count in prop_oneof![0usize..4, 15usize..18, 31usize..34],
        width in prop_oneof![Just(16usize), 8usize..20],
        seed: u64,
    ) {
        let cipher = RiffpeX::new(&aes(&key), &bases).unwrap().with_bytes_per_value(width).unwrap();
        let mut seed = seed;
        let plain: Vec<u32> = bases.iter().cycle().take(bases.len() * count).map(|&n| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u32::try_from((seed >> 33) % u64::from(n)).unwrap()
        }).collect();
        let mut batch = plain.clone();
        cipher.encrypt_batch(&tweak, &mut batch).unwrap();
        let mut singles = plain.clone();
        for string in singles.chunks_mut(bases.len()) {
            cipher.encrypt(&tweak, string).unwrap();
        }
        prop_assert!(batch == singles);
        cipher.decrypt_batch(&tweak, &mut batch).unwrap();
        prop_assert!(batch == plain);
    }
}

#[test]
fn small_domains_are_permuted() {
    let cipher = Riffpe::new(&aes(&[1; 16]), 10, 4).unwrap();
    let mut seen = vec![false; 10_000];
    for x in 0..10_000 {
        let y = cipher.encrypt_integer(b"t", x, DigitOrder::Big).unwrap();
        assert!(!std::mem::replace(
            &mut seen[usize::try_from(y).unwrap()],
            true
        ));
    }
}

#[test]
fn what_the_reference_mishandles_is_refused() {
    let key = [0; 16];
    for radix in [0, 1, (1 << 20) + 1, u32::MAX] {
        assert!(matches!(
            Riffpe::new(&aes(&key), radix, 4),
            Err(Error::Radix { .. })
        ));
        assert!(matches!(
            RiffpeX::new(&aes(&key), &[10, radix]),
            Err(Error::Radix { .. })
        ));
    }
    assert!(matches!(
        Riffpe::new(&aes(&key), 10, 0),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        RiffpeX::new(&aes(&key), &[]),
        Err(Error::Length { .. })
    ));
    // Below radix 256 the index of a digit takes one byte.
    assert!(Riffpe::new(&aes(&key), 255, 256).is_ok());
    assert!(matches!(
        Riffpe::new(&aes(&key), 255, 257),
        Err(Error::Length { max: 256, .. })
    ));
    assert!(Riffpe::new(&aes(&key), 256, 257).is_ok());
    let cipher = Riffpe::new(&aes(&key), 10, 4).unwrap();
    for width in [0, 65] {
        let error = cipher.clone().with_bytes_per_value(width).unwrap_err();
        assert_eq!(
            error,
            Error::BytesPerValue {
                found: width,
                max: 64
            }
        );
    }
    let mut x = [1, 2, 10, 3];
    assert_eq!(
        cipher.decrypt(b"", &mut x),
        Err(Error::Numeral { index: 2 })
    );
    assert_eq!(
        cipher.encrypt(b"", &mut x[..3]),
        Err(Error::Length {
            found: 3,
            min: 4,
            max: 4
        })
    );
    assert_eq!(x, [1, 2, 10, 3]);
    assert_eq!(
        cipher.encrypt_integer(b"", 10_000, DigitOrder::Big),
        Err(Error::OutOfRange)
    );
    let long = Riffpe::new(&aes(&key), 10, 40).unwrap();
    assert!(matches!(
        long.encrypt_integer(b"", 1, DigitOrder::Big),
        Err(Error::Domain { .. })
    ));
    assert!(find_best_bases(999_983 * 4, 5).is_err());
    assert!(find_best_bases(1, 5).is_err());
    assert!(find_best_bases(0, 5).is_err());
    let mut strings = [1, 2, 3, 4, 5, 6, 7, 10];
    assert_eq!(
        cipher.encrypt_batch(b"", &mut strings),
        Err(Error::Numeral { index: 7 })
    );
    let error = Error::Batch {
        found: 7,
        expected: 8,
    };
    assert_eq!(cipher.decrypt_batch(b"", &mut strings[..7]), Err(error));
    let mut numerals = [1u16, 2, 3, 4];
    cipher.encrypt_numerals(b"", &mut numerals).unwrap();
    cipher.decrypt_numerals(b"", &mut numerals).unwrap();
    assert_eq!(numerals, [1, 2, 3, 4]);
}
