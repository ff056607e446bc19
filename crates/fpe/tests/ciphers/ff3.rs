//! FF3, compared with NIST's samples, and FF3-1, compared with ACVP's.

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use sordino_fpe::{Alphabet, Error, Ff3, Ff3_1, NumeralCipher};

use crate::key::aes;

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn numerals(value: &Value) -> Vec<u16> {
    let numeral = |x: &Value| u16::try_from(x.as_u64().unwrap()).unwrap();
    value.as_array().unwrap().iter().map(numeral).collect()
}

#[test]
fn nist_and_acvp_samples() {
    let file: Value = serde_json::from_str(include_str!("../vectors/nist_samples.json")).unwrap();
    let (mut ff3, mut ff3_1) = (0, 0);
    for vector in file["vectors"].as_array().unwrap() {
        let radix = u32::try_from(vector["radix"].as_u64().unwrap()).unwrap();
        let (key, tweak) = (bytes(&vector["key"]), bytes(&vector["tweak"]));
        let (plain, cipher) = (
            numerals(&vector["pt_numerals"]),
            numerals(&vector["ct_numerals"]),
        );
        let fpe: &dyn NumeralCipher = match vector["alg"].as_str().unwrap() {
            "FF3" => {
                ff3 += 1;
                &Ff3::new(&aes(&key), radix).unwrap()
            }
            "FF3-1" => {
                ff3_1 += 1;
                &Ff3_1::new(&aes(&key), radix).unwrap()
            }
            _ => continue,
        };
        let mut x = plain.clone();
        fpe.encrypt_numerals(&tweak, &mut x).unwrap();
        assert_eq!(x, cipher);
        fpe.decrypt_numerals(&tweak, &mut x).unwrap();
        assert_eq!(x, plain);
    }
    assert_eq!((ff3, ff3_1), (15, 18));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn decryption_inverts_and_text_equals_numerals(
        key: [u8; 24],
        tweak: [u8; 7],
        (radix, len) in prop_oneof![(Just(10u32), 6usize..57), (Just(2), 20usize..193), (Just(65536), 2usize..13)],
        seed in vec(any::<u16>(), 192),
    ) {
        let x: Vec<u16> = seed[..len].iter().map(|&x| u16::try_from(u32::from(x) % radix).unwrap()).collect();
        let ff3_1 = Ff3_1::new(&aes(&key), radix).unwrap();
        let mut y = x.clone();
        ff3_1.encrypt_numerals(&tweak, &mut y).unwrap();
        if radix == 10 {
            let text = |x: &[u16]| -> Vec<u8> { x.iter().map(|x| b'0' + u8::try_from(*x).unwrap()).collect() };
            let mut ascii = text(&x);
            let plan = ff3_1.plan(len).unwrap();
            plan.encrypt_ascii(&Alphabet::DECIMAL, &tweak, &mut ascii).unwrap();
            prop_assert_eq!(&ascii, &text(&y));
            plan.decrypt_ascii(&Alphabet::DECIMAL, &tweak, &mut ascii).unwrap();
            prop_assert_eq!(&ascii, &text(&x));
        }
        ff3_1.decrypt_numerals(&tweak, &mut y).unwrap();
        prop_assert_eq!(y, x);
    }
}

#[test]
fn refusals() {
    assert!(Ff3::new(&aes(&[0; 16]), 1).is_err());
    let (ff3, ff3_1) = (
        Ff3::new(&aes(&[0; 16]), 10).unwrap(),
        Ff3_1::new(&aes(&[0; 16]), 10).unwrap(),
    );
    let mut x = [0; 8];
    assert_eq!(
        ff3.encrypt_numerals(&[0; 7], &mut x),
        Err(Error::TweakLength {
            found: 7,
            expected: 8
        })
    );
    assert_eq!(
        ff3_1.encrypt_numerals(&[0; 8], &mut x),
        Err(Error::TweakLength {
            found: 8,
            expected: 7
        })
    );
    // 10^28 <= 2^96 < 10^29, and FF3 allows 2^96 itself.
    assert_eq!(ff3.lengths(), 6..=56);
    assert_eq!(Ff3::new(&aes(&[0; 16]), 2).unwrap().lengths(), 20..=192);
    assert_eq!(Ff3::new(&aes(&[0; 16]), 65536).unwrap().lengths(), 2..=12);
    assert!(matches!(
        ff3.encrypt_numerals(&[0; 8], &mut [0; 57]),
        Err(Error::Length {
            found: 57,
            min: 6,
            max: 56
        })
    ));
    assert!(ff3_1.encrypt_numerals(&[0; 7], &mut [0; 5]).is_err());
    assert!(
        ff3_1
            .allow_small_domain()
            .encrypt_numerals(&[0; 7], &mut [0; 5])
            .is_ok()
    );
}
