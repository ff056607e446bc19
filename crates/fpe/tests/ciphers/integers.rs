//! Ranges of integers: encryption is a bijection that equals FF1 on numerals.

use proptest::prelude::*;
use sordino_fpe::{Error, Ff1, NumeralCipher};

use crate::key::aes;

/// The wire format by its definition: encrypts numerals again and again, until the result is in the
/// range.
fn definition(ff1: &Ff1, tweak: &[u8], start: u128, last: u128, x: u128) -> u128 {
    let radix = u128::from(ff1.radix());
    let mut len = ff1.min_len();
    while u32::try_from(len)
        .ok()
        .and_then(|n| radix.checked_pow(n))
        .is_some_and(|p| p <= last)
    {
        len += 1;
    }
    let mut rest = x - start;
    let mut numerals = vec![0u16; len];
    for numeral in numerals.iter_mut().rev() {
        *numeral = u16::try_from(rest % radix).unwrap();
        rest /= radix;
    }
    loop {
        ff1.encrypt_numerals(tweak, &mut numerals).unwrap();
        let number = numerals
            .iter()
            .try_fold(0u128, |n, &x| n.checked_mul(radix)?.checked_add(x.into()));
        if let Some(number) = number.filter(|&n| n <= last) {
            return start + number;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn equals_numerals_and_inverts(
        key: [u8; 16],
        radix in prop_oneof![Just(2u32), Just(10), 2u32..=20],
        bits in 20u32..=128,
        random: u128,
        start: u128,
        pick: u128,
        tweak in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let last = ((random | (1 << 127)) >> (128 - bits)).max(999_999);
        let start = start.checked_rem(u128::MAX - last).unwrap_or(0);
        let x = start + last.checked_add(1).map_or(pick, |size| pick % size);
        let ff1 = Ff1::new(&aes(&key), radix).unwrap();
        let range = ff1.range(start..=start + last).unwrap();
        let y = range.encrypt(&tweak, x).unwrap();
        prop_assert_eq!(y, definition(&ff1, &tweak, start, last, x));
        prop_assert_eq!(range.decrypt(&tweak, y).unwrap(), x);
    }

    #[test]
    fn batches_equal_singles(
        key: [u8; 32],
        radix in prop_oneof![Just(2u32), Just(10), 2u32..=20],
        size in prop_oneof![1_000_000u64..5_000_000, Just(1 << 32), Just(10u64.pow(9)), 1_000_000u64..u64::MAX],
        picks in proptest::collection::vec(any::<u64>(), 0..40),
    ) {
        let range = Ff1::new(&aes(&key), radix).unwrap().range(7..=u128::from(size) + 6).unwrap();
        if size > u64::MAX - 6 {
            prop_assert_eq!(range.encrypt_batch(b"", &mut []), Err(Error::OutOfRange));
            return Ok(());
        }
        let x: Vec<u64> = picks.iter().map(|pick| 7 + pick % size).collect();
        let mut y = x.clone();
        range.encrypt_batch(b"tweak", &mut y).unwrap();
        let single: Vec<u64> = x.iter().map(|&x| range.encrypt_u64(b"tweak", x).unwrap()).collect();
        prop_assert_eq!(&y, &single);
        range.decrypt_batch(b"tweak", &mut y).unwrap();
        prop_assert_eq!(y, x);
    }
}

#[test]
fn every_value_of_a_range_has_one_image() {
    for (radix, size) in [(2, 1_000_003), (10, 1_000_000), (7, 1_048_577)] {
        let range = Ff1::new(&aes(&[5; 16]), radix)
            .unwrap()
            .range(100..=99 + size)
            .unwrap();
        let mut seen = vec![false; usize::try_from(size).unwrap()];
        let mut images: Vec<u64> = (100..100 + u64::try_from(size).unwrap()).collect();
        range.encrypt_batch(b"", &mut images).unwrap();
        for image in images {
            let place = usize::try_from(image - 100).unwrap();
            assert!(!std::mem::replace(&mut seen[place], true));
        }
    }
}

#[test]
fn whole_machine_words_are_ranges() {
    let ff1 = Ff1::new(&aes(&[5; 24]), 2).unwrap();
    let all = ff1.range(0..=u128::MAX).unwrap();
    for x in [0, 1, u128::MAX, 1 << 64] {
        assert_eq!(all.decrypt(b"", all.encrypt(b"", x).unwrap()).unwrap(), x);
    }
    let words = ff1.range(0..=u64::MAX.into()).unwrap();
    for x in [0, 1, u64::MAX, 1 << 32] {
        assert_eq!(
            words
                .decrypt_u64(b"", words.encrypt_u64(b"", x).unwrap())
                .unwrap(),
            x
        );
    }
}

#[test]
fn refusals() {
    let ff1 = Ff1::new(&aes(&[0; 16]), 2).unwrap();
    assert!(matches!(
        ff1.range(0..=999_998),
        Err(Error::Domain { found: 999_999, .. })
    ));
    #[expect(clippy::reversed_empty_ranges, reason = "an empty range is refused")]
    let empty = ff1.range(5..=4);
    assert!(matches!(empty, Err(Error::Domain { found: 0, .. })));
    assert!(ff1.clone().allow_small_domain().range(0..=99).is_ok());
    assert!(ff1.clone().allow_small_domain().range(0..=98).is_err());
    let range = ff1.range(10..=1_000_009).unwrap();
    assert_eq!(range.encrypt(b"", 9), Err(Error::OutOfRange));
    assert_eq!(range.encrypt(b"", 1_000_010), Err(Error::OutOfRange));
    let mut x = [10, 1_000_009, 1_000_010, 11];
    assert_eq!(
        range.encrypt_batch(b"", &mut x),
        Err(Error::Numeral { index: 2 })
    );
    assert_eq!(x, [10, 1_000_009, 1_000_010, 11]);
}
