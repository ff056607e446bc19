//! Every form of the rounds (vector registers, AES instructions, eight strings in step) against
//! the portable form, which is their definition.

use crate::{Ff1, Fpe, Tweaks, aes::Key};
use proptest::{collection::vec, prelude::*};
use std::{boxed::Box, vec::Vec};

/// A plan of one cipher in every form that this processor has, the portable one first.
type Forms = Vec<(&'static str, Box<dyn Fpe>)>;

fn ff1(key: &[u8], radix: u32, len: usize, tweak_len: usize) -> Forms {
    let plan = |key| {
        let ff1 = Ff1::with_key(key, radix).unwrap().allow_small_domain();
        ff1.plan(len, tweak_len).unwrap()
    };
    let (portable, native) = (plan(Key::portable(key)), plan(Key::new(key).unwrap()));
    let mut forms: Forms = std::vec![("portable", Box::new(portable))];
    #[cfg(target_arch = "x86_64")]
    {
        let mut native = native.clone();
        native.rounds = None;
        forms.push(("AES instructions", Box::new(native)));
    }
    forms.push(("native", Box::new(native)));
    forms
}

#[cfg(feature = "legacy-ff3")]
fn ff3(key: &[u8], radix: u32, len: usize) -> Forms {
    let cipher = crate::Ff3::new(key, radix).unwrap().allow_small_domain();
    let reversed: Vec<u8> = key.iter().rev().copied().collect();
    let plan = |key| {
        let mut cipher = cipher.clone();
        cipher.key = key;
        cipher.plan(len).unwrap()
    };
    let portable = plan(Key::portable(&reversed));
    let native = cipher.plan(len).unwrap();
    let mut forms: Forms = std::vec![("portable", Box::new(portable))];
    #[cfg(target_arch = "x86_64")]
    {
        let mut native = native.clone();
        native.rounds = None;
        forms.push(("AES instructions", Box::new(native)));
    }
    forms.push(("native", Box::new(native)));
    forms
}

/// All forms make the same of `x`, in both directions, and each its own inverse.
fn agree(forms: &Forms, tweak: &[u8], x: &[u16]) {
    let (mut forward, mut backward) = (x.to_vec(), x.to_vec());
    let (_, portable) = &forms[0];
    portable.encrypt_numerals(tweak, &mut forward).unwrap();
    portable.decrypt_numerals(tweak, &mut backward).unwrap();
    for (name, form) in forms {
        let mut y = x.to_vec();
        form.encrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, forward, "{name}: encrypt");
        form.decrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, x, "{name}: decrypt what was encrypted");
        form.decrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, backward, "{name}: decrypt");
    }
}

/// The largest `n` with `radix^n <= 2^bits`.
fn half(radix: u32, bits: u32) -> usize {
    let powers = std::iter::successors(Some(u128::from(radix)), |x| {
        x.checked_mul(u128::from(radix))
    });
    powers.take_while(|&x| x <= 1 << bits).count()
}

/// Fewest numerals of at least 100 values.
fn min_len(radix: u32) -> usize {
    Ff1::new(&[0; 16], radix)
        .unwrap()
        .allow_small_domain()
        .min_len()
}

/// Where lengths, pieces of `y` or bytes of a numeral change, and their neighbours.
const RADICES: [u32; 22] = [
    2, 3, 4, 5, 9, 10, 11, 16, 26, 36, 62, 64, 99, 100, 101, 255, 256, 257, 1000, 46341, 65535,
    65536,
];

/// Numerals that make the smallest and the largest halves, and a pattern.
fn extremes(radix: u32, len: usize) -> [Vec<u16>; 3] {
    let numerals = |numeral: &dyn Fn(u32) -> u32| {
        (0u32..)
            .take(len)
            .map(|i| u16::try_from(numeral(i) % radix).unwrap())
            .collect()
    };
    [
        numerals(&|_| 0),
        numerals(&|_| radix - 1),
        numerals(&|i| i.wrapping_mul(0x9e37_79b9) >> 13),
    ]
}

/// Every length to the end of what vector registers hold, odd and even, at each of [`RADICES`].
#[test]
fn every_length_of_the_edge_radices() {
    let key = *b"a key: 16 bytes.";
    for radix in RADICES {
        let narrow = 2 * half(radix, 32);
        for len in min_len(radix)..=narrow.max(min_len(radix)) + 3 {
            let forms = ff1(&key, radix, len, 8);
            for x in extremes(radix, len) {
                agree(&forms, b"a tweak.", &x);
            }
        }
        #[cfg(feature = "legacy-ff3")]
        for len in min_len(radix)..=2 * half(radix, 96) {
            let forms = ff3(&key, radix, len);
            for x in extremes(radix, len) {
                agree(&forms, b"a tweak.", &x);
            }
        }
    }
}

/// Without this the others would compare the portable form with itself.
#[cfg(target_arch = "x86_64")]
#[test]
fn halves_to_2_26_go_through_vector_registers() {
    if sordino_cpu::Avx512Ifma::detect().is_none() || sordino_cpu::AesNi::detect().is_none() {
        return;
    }
    for radix in RADICES {
        for len in min_len(radix)..=2 * half(radix, 26) {
            let ff1 = Ff1::new(&[0; 16], radix).unwrap().allow_small_domain();
            let ff1 = ff1.plan(len, 0).unwrap();
            assert!(ff1.rounds.is_some(), "{radix} {len}");
            assert!(matches!(ff1.key, Key::AesNi(_)));
            #[cfg(feature = "legacy-ff3")]
            {
                let ff3 = crate::Ff3::new(&[0; 16], radix).unwrap();
                let ff3 = ff3.allow_small_domain().plan(len).unwrap();
                assert!(ff3.rounds.is_some(), "{radix} {len}");
                assert!(matches!(ff3.key, Key::AesNi(_)));
            }
        }
    }
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(16), Just(24), Just(32)].prop_flat_map(|len| vec(any::<u8>(), len))
}

fn radix() -> impl Strategy<Value = u32> {
    prop_oneof![
        proptest::sample::select(&RADICES[..]),
        2u32..=65536,
        // As many small ones as large ones.
        (1u32..=16, any::<u32>()).prop_map(|(bits, x)| (x >> (32 - bits)).max(2)),
    ]
}

/// A radix and numerals below it: as many as halves of `bits` bits have, and of more.
fn numerals(bits: u32, more: usize) -> impl Strategy<Value = (u32, Vec<u16>)> {
    radix().prop_flat_map(move |radix| {
        let min = min_len(radix);
        let len = min..=min.max(2 * half(radix, bits)) + more;
        let below = (0..radix).prop_map(|x| u16::try_from(x).unwrap());
        let numeral = prop_oneof![4 => below, 1 => Just(u16::try_from(radix - 1).unwrap())];
        (Just(radix), vec(numeral, len))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn ff1_on_narrow_halves((radix, x) in numerals(32, 2), key in key(), tweak in vec(any::<u8>(), 0..40), other: bool) {
        let tweak_len = if other { 8 } else { tweak.len() };
        agree(&ff1(&key, radix, x.len(), tweak_len), &tweak, &x);
    }

    #[cfg(feature = "legacy-ff3")]
    #[test]
    fn ff3_on_narrow_halves((radix, x) in numerals(30, 0), key in key(), tweak: [u8; 8]) {
        agree(&ff3(&key, radix, x.len()), &tweak, &x);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn ff1_on_all_halves((radix, x) in numerals(127, 40), key in key(), tweak in vec(any::<u8>(), 0..40)) {
        agree(&ff1(&key, radix, x.len(), tweak.len()), &tweak, &x);
    }

    #[cfg(feature = "legacy-ff3")]
    #[test]
    fn ff3_on_all_halves((radix, x) in numerals(96, 0), key in key(), tweak: [u8; 8]) {
        agree(&ff3(&key, radix, x.len()), &tweak, &x);
    }

    #[test]
    fn ff1_batches((radix, x) in numerals(127, 2), key in key(), tweak: [u8; 8], records in 1usize..20) {
        let portable = Ff1::with_key(Key::portable(&key), radix).unwrap().allow_small_domain();
        let native = Ff1::new(&key, radix).unwrap().allow_small_domain();
        let (portable, native) = (portable.plan(x.len(), 8).unwrap(), native.plan(x.len(), 8).unwrap());
        // The first record as it is, each of the others turned by one more.
        let mut all: Vec<u16> = (0..records).flat_map(|i| {
            let (head, tail) = x.split_at(i % x.len());
            [tail, head].concat()
        }).collect();
        let mut expected = all.clone();
        for record in expected.chunks_mut(x.len()) {
            portable.encrypt_numerals(&tweak, record).unwrap();
        }
        let plain = all.clone();
        native.encrypt_numerals_batch(Tweaks::One(&tweak), &mut all).unwrap();
        prop_assert_eq!(&all, &expected);
        native.decrypt_numerals_batch(Tweaks::One(&tweak), &mut all).unwrap();
        prop_assert_eq!(&all, &plain);
        portable.encrypt_numerals_batch(Tweaks::One(&tweak), &mut all).unwrap();
        prop_assert_eq!(&all, &expected);
    }
}
