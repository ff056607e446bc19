//! FF1, compared with NIST's samples, Wycheproof's vectors and the published crate `fpe`.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on is to fail"
)]

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use sordino_fpe::{AesKey, AesSize, Error, Ff1, LEGACY_MIN_DOMAIN, MIN_DOMAIN, NumeralCipher};
use std::io::Write as _;
use std::{fs, path::PathBuf};

use crate::cipher;
use crate::key::aes;

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn numerals(value: &Value) -> Vec<u32> {
    let list = value.as_array().unwrap();
    // Wycheproof's invalid numerals may be negative.
    let numeral = |x: &Value| x.as_u64().and_then(|x| u32::try_from(x).ok());
    list.iter()
        .map(|x| numeral(x).unwrap_or(u32::MAX))
        .collect()
}

/// Encrypts and decrypts. Numerals above 65535 give the error that `Ff1` would give.
fn both(ff1: &dyn NumeralCipher, tweak: &[u8], plain: &[u32], cipher: &[u32]) -> Result<(), Error> {
    let to_u16 = |x: &[u32]| {
        let bad = x.iter().position(|&x| x >= ff1.radix());
        match bad {
            Some(index) if x[index] > 0xffff => Err(Error::Numeral { index }),
            _ => Ok(x
                .iter()
                .map(|&x| u16::try_from(x).unwrap())
                .collect::<Vec<_>>()),
        }
    };
    let mut x = to_u16(plain)?;
    let cipher = to_u16(cipher)?;
    ff1.encrypt_numerals(tweak, &mut x)?;
    assert_eq!(x, cipher);
    ff1.decrypt_numerals(tweak, &mut x)?;
    assert_eq!(x, to_u16(plain)?);
    Ok(())
}

#[test]
fn nist_samples() {
    let file: Value = serde_json::from_str(include_str!("../vectors/nist_samples.json")).unwrap();
    let mut count = 0;
    for vector in file["vectors"].as_array().unwrap() {
        if vector["alg"] != "FF1" {
            continue;
        }
        let radix = u32::try_from(vector["radix"].as_u64().unwrap()).unwrap();
        let key = bytes(&vector["key"]);
        let ff1 = Ff1::new(&aes(&key), radix).unwrap();
        let other = cipher::ff1(&key, radix, false).unwrap();
        let (plain, cipher) = (
            numerals(&vector["pt_numerals"]),
            numerals(&vector["ct_numerals"]),
        );
        for ff1 in [&ff1, &*other] {
            both(ff1, &bytes(&vector["tweak"]), &plain, &cipher).unwrap();
        }
        count += 1;
    }
    assert!(count >= 9, "{count} FF1 samples");
}

/// The numerals of a Wycheproof message, in either of its file formats. A symbol outside the
/// alphabet becomes a numeral that no radix has.
fn message(value: &Value, alphabet: Option<&str>) -> Vec<u32> {
    match alphabet {
        None => numerals(value),
        Some(alphabet) => (value.as_str().unwrap().chars())
            .map(|c| {
                let numeral = alphabet.chars().position(|symbol| symbol == c);
                numeral.map_or(u32::MAX, |x| u32::try_from(x).unwrap())
            })
            .collect(),
    }
}

#[test]
fn wycheproof() {
    let Some(folder) = std::env::var_os("SORDINO_VECTORS") else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: Wycheproof's FF1, SORDINO_VECTORS is not set"
        );
        return;
    };
    let folder = PathBuf::from(folder).join("fpe/wycheproof");
    let (mut valid, mut small, mut invalid) = (0, 0, 0);
    for name in [
        "base10", "base16", "base26", "base36", "base62", "radix10", "radix26", "radix62",
        "radix256",
    ] {
        let path = folder.join(format!("aes_ff1_{name}_test.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file: Value = serde_json::from_str(&text).unwrap();
        for group in file["testGroups"].as_array().unwrap() {
            let radix = u32::try_from(group["radix"].as_u64().unwrap()).unwrap();
            let alphabet = group["alphabet"].as_str();
            for test in group["tests"].as_array().unwrap() {
                let at = format!("{name} {}", test["tcId"]);
                let tweak = bytes(&test["tweak"]);
                let plain = message(&test["msg"], alphabet);
                let cipher = message(&test["ct"], alphabet);
                // The size of the key. A key with a wrong size is refused below.
                let key = bytes(&test["key"]);
                let size = AesSize::from_bytes(key.len()).unwrap_or(AesSize::Aes256);
                let ff1 = AesKey::from_slice(size, &key).and_then(|key| Ff1::new(&key, radix));
                let run = |ff1: Result<Ff1, Error>| both(&ff1?, &tweak, &plain, &cipher);
                // FF1 on the crate `aes`.
                let other = |small| {
                    let ff1 = cipher::ff1(&key, radix, small)?;
                    both(&*ff1, &tweak, &plain, &cipher)
                };
                let flags = test["flags"].to_string();
                if test["result"] == "invalid" {
                    let error = run(ff1).expect_err(&at);
                    let expected = if flags.contains("KeySize") {
                        matches!(error, Error::KeyLength { .. })
                    } else if flags.contains("MessageSize") {
                        matches!(error, Error::Length { .. })
                    } else {
                        matches!(error, Error::Numeral { .. })
                    };
                    assert!(expected, "{at}: {error}");
                    invalid += 1;
                } else if flags.contains("SmallMessageSize") {
                    let domain = f64::from(radix).powi(i32::try_from(plain.len()).unwrap());
                    assert!((100.0..1e6).contains(&domain), "{at}");
                    run(ff1.clone()).expect_err(&at);
                    run(ff1.map(Ff1::allow_small_domain)).expect(&at);
                    other(true).expect(&at);
                    small += 1;
                } else {
                    run(ff1).expect(&at);
                    other(false).expect(&at);
                    valid += 1;
                }
            }
        }
    }
    println!("{valid} valid, {small} small, {invalid} invalid");
    assert!(valid > 20_000 && small > 50 && invalid > 3_000);
}

/// The published crate's result for the same string. It decrypts if `!forward`.
fn reference(key: &[u8], radix: u32, tweak: &[u8], x: &[u16], forward: bool) -> Vec<u16> {
    use fpe::ff1::{FF1, FlexibleNumeralString as Numerals};
    let x = Numerals::from(x.to_vec());
    macro_rules! with {
        ($aes:ty) => {{
            let ff1 = FF1::<$aes>::new(key, radix).unwrap();
            if forward {
                ff1.encrypt(tweak, &x)
            } else {
                ff1.decrypt(tweak, &x)
            }
        }};
    }
    let out = match key.len() {
        16 => with!(aes::Aes128),
        24 => with!(aes::Aes192),
        _ => with!(aes::Aes256),
    };
    out.unwrap().into()
}

/// A key, a radix, a tweak and numerals, whose halves have all sizes.
fn case(max_len: usize) -> impl Strategy<Value = (Vec<u8>, u32, Vec<u8>, Vec<u16>)> {
    let key = prop_oneof![
        vec(any::<u8>(), 16),
        vec(any::<u8>(), 24),
        vec(any::<u8>(), 32)
    ];
    let radix = prop_oneof![
        2u32..70,
        Just(10),
        Just(256),
        Just(65535),
        2u32..=65535,
        (1u32..16).prop_map(|k| 1 << k),
    ];
    (key, radix, vec(any::<u8>(), 0..40)).prop_flat_map(move |(key, radix, tweak)| {
        let min = Ff1::new(&aes(&key), radix).unwrap().min_len();
        let top = u16::try_from(radix - 1).unwrap();
        let numeral = prop_oneof![0..=top, Just(0), Just(top)];
        let numerals = vec(numeral, min..max_len.max(min + 1));
        (Just(key), Just(radix), Just(tweak), numerals)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn equals_the_fpe_crate((key, radix, tweak, x) in case(160), forward in any::<bool>()) {
        let ff1 = Ff1::new(&aes(&key), radix).unwrap();
        let mut y = x.clone();
        if forward {
            ff1.encrypt_numerals(&tweak, &mut y).unwrap();
        } else {
            ff1.decrypt_numerals(&tweak, &mut y).unwrap();
        }
        prop_assert_eq!(&y, &reference(&key, radix, &tweak, &x, forward));
        // The same, with a plan that was made for another tweak length.
        let plan = ff1.plan(x.len(), 3).unwrap();
        if forward {
            plan.decrypt_numerals(&tweak, &mut y).unwrap();
        } else {
            plan.encrypt_numerals(&tweak, &mut y).unwrap();
        }
        prop_assert_eq!(y, x);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn long_strings_equal_the_fpe_crate((key, radix, tweak, x) in case(4000)) {
        let ff1 = Ff1::new(&aes(&key), radix).unwrap();
        let mut y = x.clone();
        ff1.encrypt_numerals(&tweak, &mut y).unwrap();
        prop_assert!(y == reference(&key, radix, &tweak, &x, true));
        ff1.decrypt_numerals(&tweak, &mut y).unwrap();
        prop_assert!(y == x);
    }
}

#[test]
fn extreme_numerals_survive_long_conversions() {
    for (radix, len) in [
        (10, 30_001),
        (2, 9_000),
        (36, 7_777),
        (65536, 3_000),
        (62, 5_000),
    ] {
        let ff1 = Ff1::new(&aes(&[9; 16]), radix).unwrap();
        for pattern in [0u32, 1, radix - 1] {
            let x: Vec<u16> = (0..len).map(|_| u16::try_from(pattern).unwrap()).collect();
            let mut y = x.clone();
            ff1.encrypt_numerals(b"", &mut y).unwrap();
            assert!(x != y);
            ff1.decrypt_numerals(b"", &mut y).unwrap();
            assert!(x == y, "radix {radix}");
        }
    }
}

#[test]
fn every_value_of_a_million_has_one_image() {
    let plan = Ff1::new(&aes(&[3; 16]), 10).unwrap().plan(6, 1).unwrap();
    let mut seen = vec![false; 1_000_000];
    for n in 0..1_000_000u32 {
        let mut x: [u16; 6] =
            std::array::from_fn(|i| u16::try_from(n / 10u32.pow(5 - i as u32) % 10).unwrap());
        let before = x;
        plan.encrypt_numerals(b"t", &mut x).unwrap();
        let image = x.iter().fold(0, |n, &x| 10 * n + usize::from(x));
        assert!(!std::mem::replace(&mut seen[image], true));
        plan.decrypt_numerals(b"t", &mut x).unwrap();
        assert_eq!(x, before);
    }
}

/// FF1 of SP 800-38G takes keys of 128, 192 and 256 bits.
#[test]
fn keys_of_a_known_length_are_those_of_a_slice() {
    let bytes: [u8; 32] = std::array::from_fn(|i| u8::try_from(i).unwrap());
    for (key, len) in [
        (AesKey::new_128(bytes[..16].try_into().unwrap()), 16),
        (AesKey::new_192(bytes[..24].try_into().unwrap()), 24),
        (AesKey::new_256(&bytes), 32),
    ] {
        assert_eq!(key.size().bytes(), len);
        let encrypted = |key: &AesKey| {
            let mut x = [3, 1, 4, 1, 5, 9, 2, 6];
            let ff1 = Ff1::new(key, 10).unwrap();
            ff1.encrypt_numerals(b"tweak", &mut x).unwrap();
            x
        };
        assert_eq!(encrypted(&key), encrypted(&aes(&bytes[..len])));
    }
}

#[test]
fn refusals_name_the_place_and_not_the_value() {
    for size in [AesSize::Aes128, AesSize::Aes192, AesSize::Aes256] {
        for found in [0, 1, 15, 16, 17, 23, 24, 25, 31, 32, 33, 64] {
            let key = AesKey::from_slice(size, &vec![0xab; found]);
            let expected = size.bytes();
            match key {
                Ok(key) => {
                    assert!(found == expected && key.size() == size);
                    assert!(!format!("{key:?}").contains("171"));
                }
                Err(error) => {
                    assert!(found != expected);
                    assert_eq!(error, Error::KeyLength { found, expected });
                }
            }
        }
        assert_eq!(AesSize::from_bytes(size.bytes()), Some(size));
    }
    assert_eq!(AesSize::from_bytes(20), None);
    for found in [0, 1, 65537, u32::MAX] {
        assert_eq!(
            Ff1::new(&aes(&[0; 16]), found).unwrap_err(),
            Error::Radix {
                found,
                min: 2,
                max: 65536
            }
        );
    }
    let ff1 = Ff1::new(&aes(&[0; 16]), 10).unwrap();
    for len in 0..6 {
        let error = ff1.encrypt_numerals(b"", &mut vec![0; len]).unwrap_err();
        assert!(matches!(error, Error::Length { found, min: 6, .. } if found == len));
    }
    let mut x = [1, 2, 3, 10, 5, 11, 7];
    let error = ff1.encrypt_numerals(b"", &mut x).unwrap_err();
    assert_eq!(error, Error::Numeral { index: 3 });
    assert_eq!(x, [1, 2, 3, 10, 5, 11, 7]);
    assert_eq!(error.to_string(), "numeral 3 is not below the radix");
    let plan = ff1.plan(8, 0).unwrap();
    assert_eq!(
        plan.encrypt_numerals(b"", &mut [0; 7]).unwrap_err(),
        Error::Length {
            found: 7,
            min: 8,
            max: 8
        }
    );
    // The two smallest lengths, at every radix around which they change.
    for radix in [2, 3, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 65536] {
        let ff1 = Ff1::new(&aes(&[0; 16]), radix).unwrap();
        let values = |len: usize| u128::from(radix).pow(u32::try_from(len).unwrap());
        let len = ff1.min_len();
        assert!(values(len) >= MIN_DOMAIN && (len == 2 || values(len - 1) < MIN_DOMAIN));
        let len = ff1.allow_small_domain().min_len();
        assert!(values(len) >= LEGACY_MIN_DOMAIN);
        assert!(len == 2 || values(len - 1) < LEGACY_MIN_DOMAIN);
    }
}
