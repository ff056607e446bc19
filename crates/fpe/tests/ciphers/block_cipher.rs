//! Each cipher gives the same results on the AES of the crate `aes` and on this workspace's AES.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use aes::Aes192;
use aes::cipher::KeyInit;
use proptest::{collection::vec, prelude::*};
use sordino_fpe::{AesKey, Alphabet, Error, Ff1, NumeralCipher, Tweaks};

/// FF1 on both AES implementations.
fn both(key: &[u8; 24], radix: u32) -> (Ff1, Ff1<Aes192>) {
    let native = Ff1::new(&AesKey::new_192(key), radix).unwrap();
    let other = Ff1::with_cipher(Aes192::new(&(*key).into()), radix).unwrap();
    (native, other)
}

/// A radix, and numerals whose halves have every size.
fn numerals() -> impl Strategy<Value = (u32, Vec<u16>)> {
    let radix = prop_oneof![
        Just(2u32),
        Just(10),
        Just(62),
        Just(256),
        Just(65536),
        2u32..=65536
    ];
    (radix, vec(any::<u16>(), 20..200)).prop_map(|(radix, seed)| {
        let numeral = |&x: &u16| u16::try_from(u32::from(x) % radix).unwrap();
        (radix, seed.iter().map(numeral).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn strings(key: [u8; 24], (radix, x) in numerals(), tweak in vec(any::<u8>(), 0..40)) {
        let (native, other) = both(&key, radix);
        let (mut y, mut z) = (x.clone(), x.clone());
        native.encrypt_numerals(&tweak, &mut y).unwrap();
        other.encrypt_numerals(&tweak, &mut z).unwrap();
        prop_assert_eq!(&z, &y);
        other.decrypt_numerals(&tweak, &mut z).unwrap();
        prop_assert_eq!(&z, &x);
    }

    #[test]
    fn batches_of_digits(key: [u8; 24], len in 6usize..40, records in 1usize..70, tweak: [u8; 8], each: bool) {
        let (native, other) = both(&key, 10);
        let (native, other) = (native.plan(len, 8).unwrap(), other.plan(len, 8).unwrap());
        let x: Vec<u8> = (0..len * records).map(|i| b'0' + u8::try_from(i * 7 % 10).unwrap()).collect();
        let list = vec![&tweak[..]; records];
        let tweaks = if each { Tweaks::Each(&list) } else { Tweaks::One(&tweak) };
        let (mut y, mut z) = (x.clone(), x.clone());
        native.encrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, &mut y).unwrap();
        other.encrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, &mut z).unwrap();
        prop_assert_eq!(&z, &y);
        other.decrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, &mut z).unwrap();
        prop_assert_eq!(&z, &x);
    }

    #[test]
    fn integers(key: [u8; 24], size in 1_000_000u64.., x: u64) {
        let (native, other) = both(&key, 2);
        let last = u128::from(size) - 1;
        let (native, other) = (native.range(0..=last).unwrap(), other.range(0..=last).unwrap());
        let y = native.encrypt_u64(b"rows", x % size).unwrap();
        prop_assert_eq!(other.encrypt_u64(b"rows", x % size).unwrap(), y);
        let mut list = [y; 9];
        other.decrypt_batch(b"rows", &mut list).unwrap();
        prop_assert_eq!(list, [x % size; 9]);
    }
}

/// NIST's samples of FF3 and ACVP's of FF3-1. They give the key's bytes in the opposite order to the
/// cipher.
#[cfg(feature = "legacy-ff3")]
#[test]
fn ff3_samples() {
    use aes::{Aes128, Aes256};
    use serde_json::Value;
    use sordino_fpe::{Ff3, Ff3_1};

    fn cipher<C: sordino_fpe::BlockCipher + 'static>(
        (name, radix): (&str, u32),
        cipher: C,
    ) -> Box<dyn NumeralCipher> {
        match name {
            "FF3" => Box::new(Ff3::with_cipher(cipher, radix).unwrap()),
            _ => Box::new(Ff3_1::with_cipher(cipher, radix).unwrap()),
        }
    }
    let file: Value = serde_json::from_str(include_str!("../vectors/nist_samples.json")).unwrap();
    let mut count = 0;
    for vector in file["vectors"].as_array().unwrap() {
        let name = vector["alg"].as_str().unwrap();
        if name == "FF1" {
            continue;
        }
        let bytes = |field: &str| hex::decode(vector[field].as_str().unwrap()).unwrap();
        let numerals = |field: &str| -> Vec<u16> {
            let numeral = |x: &Value| u16::try_from(x.as_u64().unwrap()).unwrap();
            vector[field]
                .as_array()
                .unwrap()
                .iter()
                .map(numeral)
                .collect()
        };
        let radix = u32::try_from(vector["radix"].as_u64().unwrap()).unwrap();
        let (mut key, tweak) = (bytes("key"), bytes("tweak"));
        key.reverse();
        let of = (name, radix);
        let fpe = match key.len() {
            16 => cipher(of, Aes128::new_from_slice(&key).unwrap()),
            24 => cipher(of, Aes192::new_from_slice(&key).unwrap()),
            _ => cipher(of, Aes256::new_from_slice(&key).unwrap()),
        };
        let mut x = numerals("pt_numerals");
        fpe.encrypt_numerals(&tweak, &mut x).unwrap();
        assert_eq!(x, numerals("ct_numerals"));
        fpe.decrypt_numerals(&tweak, &mut x).unwrap();
        assert_eq!(x, numerals("pt_numerals"));
        count += 1;
    }
    assert_eq!(count, 33);
}

#[test]
fn a_radix_out_of_range_is_refused() {
    for found in [1, 65537] {
        let cipher = Aes192::new(&[0; 24].into());
        let refused = Ff1::with_cipher(cipher, found).unwrap_err();
        assert_eq!(
            refused,
            Error::Radix {
                found,
                min: 2,
                max: 65536
            }
        );
    }
}
