//! Texts and batches equal encryption of numerals, for every alphabet, length and backend.

use proptest::{collection::vec, prelude::*};
use sordino_fpe::{Alphabet, Error, Ff1, NumeralCipher, Tweaks};

use crate::key::aes;

const DIGITS: &str = "0123456789";
const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Encrypts the text by the numerals of its symbols.
fn definition(ff1: &Ff1, symbols: &str, tweak: &[u8], text: &str) -> String {
    let symbols: Vec<char> = symbols.chars().collect();
    let place = |c| symbols.iter().position(|&s| s == c).unwrap();
    let mut x: Vec<u16> = text
        .chars()
        .map(|c| u16::try_from(place(c)).unwrap())
        .collect();
    ff1.encrypt_numerals(tweak, &mut x).unwrap();
    x.iter().map(|&x| symbols[usize::from(x)]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn text_equals_numerals(
        key: [u8; 32],
        tweak in vec(any::<u8>(), 0..30),
        (symbols, text) in prop_oneof![
            "[0-9]{6,45}".prop_map(|text| (DIGITS, text)),
            "[0-9A-Za-z]{4,50}".prop_map(|text| (BASE62, text)),
            "[zyxαβγ水木]{7,50}".prop_map(|text| ("zyxαβγ水木", text)),
        ],
    ) {
        let alphabet = Alphabet::new(symbols).unwrap();
        let ff1 = Ff1::new(&aes(&key), alphabet.radix()).unwrap();
        let hidden = definition(&ff1, symbols, &tweak, &text);
        prop_assert_eq!(&ff1.encrypt_str(&alphabet, &tweak, &text).unwrap(), &hidden);
        prop_assert_eq!(&ff1.decrypt_str(&alphabet, &tweak, &hidden).unwrap(), &text);
        let plan = ff1.plan(text.chars().count(), 8).unwrap();
        prop_assert_eq!(&plan.encrypt_str(&alphabet, &tweak, &text).unwrap(), &hidden);
        let mut bytes = text.clone().into_bytes();
        if alphabet.is_ascii() {
            plan.encrypt_ascii(&alphabet, &tweak, &mut bytes).unwrap();
            prop_assert_eq!(&bytes, hidden.as_bytes());
            plan.decrypt_ascii(&alphabet, &tweak, &mut bytes).unwrap();
        } else {
            prop_assert_eq!(plan.encrypt_ascii(&alphabet, &tweak, &mut bytes), Err(Error::Alphabet));
        }
        prop_assert_eq!(&bytes, text.as_bytes());
    }
}

/// Records of one length, each with a tweak. The lengths are around each change of the arithmetic,
/// the counts around each number of lanes.
fn batch() -> impl Strategy<Value = (Vec<u8>, u32, usize, Vec<u16>, Vec<Vec<u8>>)> {
    let key = prop_oneof![
        vec(any::<u8>(), 16),
        vec(any::<u8>(), 24),
        vec(any::<u8>(), 32)
    ];
    let shape = prop_oneof![
        (Just(10u32), 6usize..45),
        (Just(62), 4usize..26),
        (Just(2), 20usize..300),
        (Just(65536), 2usize..20),
        (Just(256), 3usize..40),
        (2u32..65536, 20usize..24),
    ];
    let count = prop_oneof![0usize..12, 15usize..18, 31usize..34, 60usize..70];
    (key, shape, count).prop_flat_map(|(key, (radix, len), count)| {
        let top = u16::try_from(radix - 1).unwrap();
        let tweaks = prop_oneof![
            vec(vec(any::<u8>(), 8), count),
            vec(vec(any::<u8>(), 0..24), count),
        ];
        let numerals = vec(prop_oneof![0..=top, Just(0), Just(top)], len * count);
        (Just(key), Just(radix), Just(len), numerals, tweaks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn batches_equal_singles((key, radix, len, records, tweaks) in batch(), shared: bool) {
        let plan = Ff1::new(&aes(&key), radix).unwrap().plan(len, 8).unwrap();
        let each: Vec<&[u8]> = tweaks.iter().map(Vec::as_slice).collect();
        let one: &[u8] = tweaks.first().map_or(b"", Vec::as_slice);
        let tweaks = if shared { Tweaks::One(one) } else { Tweaks::Each(&each) };
        let single = |i: usize| if shared { one } else { each[i] };

        let mut batch = records.clone();
        plan.encrypt_numerals_batch(tweaks, &mut batch).unwrap();
        let mut singles = records.clone();
        for (i, record) in singles.chunks_mut(len).enumerate() {
            plan.encrypt_numerals(single(i), record).unwrap();
        }
        prop_assert!(batch == singles);
        plan.decrypt_numerals_batch(tweaks, &mut batch).unwrap();
        prop_assert!(batch == records);

        let alphabet = match radix {
            2 => Alphabet::new("01"),
            10 => Ok(Alphabet::DECIMAL),
            62 => Ok(Alphabet::ALPHANUMERIC),
            _ => return Ok(()),
        }.unwrap();
        let symbols = BASE62.as_bytes();
        let text = |x: &[u16]| -> Vec<u8> { x.iter().map(|&x| symbols[usize::from(x)]).collect() };
        let mut ascii = text(&records);
        plan.encrypt_ascii_batch(&alphabet, tweaks, &mut ascii).unwrap();
        prop_assert!(ascii == text(&singles));
        plan.decrypt_ascii_batch(&alphabet, tweaks, &mut ascii).unwrap();
        prop_assert!(ascii == text(&records));
    }
}

#[test]
fn refusals_leave_everything_as_it_was() {
    let plan = Ff1::new(&aes(&[0; 16]), 10).unwrap().plan(6, 0).unwrap();
    let decimal = Alphabet::DECIMAL;
    assert_eq!(
        plan.encrypt_str(&decimal, b"", "12a45b"),
        Err(Error::Symbol { index: 2 })
    );
    assert_eq!(
        plan.encrypt_str(&decimal, b"", "12345"),
        Err(Error::Length {
            found: 5,
            min: 6,
            max: 6
        })
    );
    assert!(matches!(
        plan.encrypt_str(&Alphabet::HEX, b"", "123456"),
        Err(Error::Radix { found: 16, .. })
    ));
    let mut records = *b"12345612345x";
    let one = Tweaks::One(b"");
    assert_eq!(
        plan.encrypt_ascii_batch(&decimal, one, &mut records),
        Err(Error::Symbol { index: 11 })
    );
    assert_eq!(&records, b"12345612345x");
    assert_eq!(
        plan.encrypt_ascii_batch(&decimal, one, &mut records[..11]),
        Err(Error::Batch {
            found: 11,
            expected: 12
        })
    );
    assert_eq!(
        plan.encrypt_numerals_batch(Tweaks::Each(&[b""]), &mut [0; 12]),
        Err(Error::Batch {
            found: 1,
            expected: 2
        })
    );
    let mut numerals = [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 10, 5];
    assert_eq!(
        plan.encrypt_numerals_batch(one, &mut numerals),
        Err(Error::Numeral { index: 10 })
    );
    let bytes = Ff1::new(&aes(&[0; 16]), 256).unwrap();
    let mut x = *b"secret\x00\xff";
    bytes.encrypt_bytes(b"", &mut x).unwrap();
    bytes.decrypt_bytes(b"", &mut x).unwrap();
    assert_eq!(&x, b"secret\x00\xff");
    assert!(matches!(
        plan.encrypt_bytes(b"", &mut x),
        Err(Error::Radix { .. })
    ));
}
