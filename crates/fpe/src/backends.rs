//! Tests that compare every backend of the rounds with the definition of FF1 and FF3, which has the steps of SP
//! 800-38G. The backends are vector registers, AES instructions, portable code, and eight strings in step.

use crate::{
    AesKey, AesSize, Error, Ff1, NumeralCipher, Tweaks,
    feistel::{DECRYPT, Direction, ENCRYPT},
    ff1::definition::ff1 as ff1_definition,
};
use proptest::{collection::vec, prelude::*};
use sordino_aes::Key;
use std::{boxed::Box, vec::Vec};

/// The definition, then a plan of the same cipher for every backend that this processor has.
type Backends = Vec<(&'static str, Box<dyn NumeralCipher>)>;

/// The definition as a cipher: its radix, and a function of direction, tweak and numerals.
struct Definition<F>(u32, F);

impl<F: Fn(Direction, &[u8], &[u16]) -> Vec<u16>> NumeralCipher for Definition<F> {
    fn radix(&self) -> u32 {
        self.0
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        x.copy_from_slice(&(self.1)(ENCRYPT, tweak, x));
        Ok(())
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        x.copy_from_slice(&(self.1)(DECRYPT, tweak, x));
        Ok(())
    }
}

fn ff1(key: &AesKey, radix: u32, len: usize, tweak_len: usize) -> Backends {
    let plan = |key| {
        let ff1 = Ff1::with_key(key, radix).unwrap().allow_small_domain();
        ff1.plan(len, tweak_len).unwrap()
    };
    let owned = key.clone();
    let definition = Definition(radix, move |forward, tweak: &[u8], x: &[u16]| {
        if forward {
            ff1_definition::<ENCRYPT>(&owned, radix, tweak, x)
        } else {
            ff1_definition::<DECRYPT>(&owned, radix, tweak, x)
        }
    });
    let (portable, native) = (
        plan(Key::portable(key.bytes())),
        plan(Key::new(key.bytes())),
    );
    let mut backends: Backends = std::vec![
        ("definition", Box::new(definition)),
        ("portable", Box::new(portable))
    ];
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    {
        let mut native = native.clone();
        native.rounds = None;
        backends.push(("AES instructions", Box::new(native)));
    }
    backends.push(("native", Box::new(native)));
    backends
}

#[cfg(feature = "legacy-ff3")]
fn ff3(key: &AesKey, radix: u32, len: usize) -> Backends {
    use crate::ff3::definition::ff3 as ff3_definition;
    let cipher = crate::Ff3::new(key, radix).unwrap().allow_small_domain();
    let plan = |key| {
        let mut cipher = cipher.clone();
        cipher.cipher.0 = key;
        cipher.plan(len).unwrap()
    };
    let owned = key.clone();
    let definition = Definition(radix, move |forward, tweak: &[u8], x: &[u16]| {
        if forward {
            ff3_definition::<ENCRYPT>(&owned, radix, tweak, x)
        } else {
            ff3_definition::<DECRYPT>(&owned, radix, tweak, x)
        }
    });
    let portable = plan(Key::portable(key.reversed().bytes()));
    let native = cipher.plan(len).unwrap();
    let mut backends: Backends = std::vec![
        ("definition", Box::new(definition)),
        ("portable", Box::new(portable))
    ];
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    {
        let mut native = native.clone();
        native.rounds = None;
        backends.push(("AES instructions", Box::new(native)));
    }
    backends.push(("native", Box::new(native)));
    backends
}

/// All backends give the same result for `x`, in both directions, and each inverts itself.
fn agree(backends: &Backends, tweak: &[u8], x: &[u16]) {
    let (mut forward, mut backward) = (x.to_vec(), x.to_vec());
    let (_, definition) = &backends[0];
    definition.encrypt_numerals(tweak, &mut forward).unwrap();
    definition.decrypt_numerals(tweak, &mut backward).unwrap();
    for (name, backend) in backends {
        let mut y = x.to_vec();
        backend.encrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, forward, "{name}: encrypt");
        backend.decrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, x, "{name}: decrypt what was encrypted");
        backend.decrypt_numerals(tweak, &mut y).unwrap();
        assert_eq!(y, backward, "{name}: decrypt");
    }
}

/// The largest `n` for which `radix^n <= 2^bits`.
fn half(radix: u32, bits: u32) -> usize {
    let powers = std::iter::successors(Some(u128::from(radix)), |x| {
        x.checked_mul(u128::from(radix))
    });
    powers.take_while(|&x| x <= 1 << bits).count()
}

/// The smallest number of numerals with at least 100 values.
fn min_len(radix: u32) -> usize {
    Ff1::new(&AesKey::new_128(&[0; 16]), radix)
        .unwrap()
        .allow_small_domain()
        .min_len()
}

/// Radices at which lengths, pieces of `y` or bytes of a numeral change, and their neighbours.
const RADICES: [u32; 22] = [
    2, 3, 4, 5, 9, 10, 11, 16, 26, 36, 62, 64, 99, 100, 101, 255, 256, 257, 1000, 46341, 65535,
    65536,
];

/// Numerals that give the smallest and the largest halves, and a pattern.
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

/// Tests every length up to the longest for vector registers, odd and even, at each of [`RADICES`].
#[test]
fn every_length_of_the_edge_radices() {
    let key = AesKey::new_128(b"a key: 16 bytes.");
    for radix in RADICES {
        let small = 2 * half(radix, 32);
        for len in min_len(radix)..=small.max(min_len(radix)) + 3 {
            let backends = ff1(&key, radix, len, 8);
            for x in extremes(radix, len) {
                agree(&backends, b"a tweak.", &x);
            }
        }
        #[cfg(feature = "legacy-ff3")]
        for len in min_len(radix)..=2 * half(radix, 96) {
            let backends = ff3(&key, radix, len);
            for x in extremes(radix, len) {
                agree(&backends, b"a tweak.", &x);
            }
        }
    }
}

/// Without this check, the other tests might not reach the vector registers.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[test]
fn halves_to_2_26_go_through_vector_registers() {
    if sordino_cpu::Avx512Ifma::detect().is_none() || sordino_cpu::AesNi::detect().is_none() {
        return;
    }
    for radix in RADICES {
        for len in min_len(radix)..=2 * half(radix, 26) {
            let ff1 = Ff1::new(&AesKey::new_128(&[0; 16]), radix)
                .unwrap()
                .allow_small_domain();
            let ff1 = ff1.plan(len, 0).unwrap();
            assert!(ff1.rounds.is_some(), "{radix} {len}");
            assert!(matches!(ff1.cipher.0, Key::AesNi(_)));
            #[cfg(feature = "legacy-ff3")]
            {
                let ff3 = crate::Ff3::new(&AesKey::new_128(&[0; 16]), radix).unwrap();
                let ff3 = ff3.allow_small_domain().plan(len).unwrap();
                assert!(ff3.rounds.is_some(), "{radix} {len}");
                assert!(matches!(ff3.cipher.0, Key::AesNi(_)));
            }
        }
    }
}

fn key() -> impl Strategy<Value = AesKey> {
    let size = prop_oneof![
        Just(AesSize::Aes128),
        Just(AesSize::Aes192),
        Just(AesSize::Aes256)
    ];
    (size, any::<[u8; 32]>())
        .prop_map(|(size, key)| AesKey::from_slice(size, &key[..size.bytes()]).unwrap())
}

fn radix() -> impl Strategy<Value = u32> {
    prop_oneof![
        proptest::sample::select(&RADICES[..]),
        2u32..=65536,
        // The distribution makes small radices as frequent as large ones.
        (1u32..=16, any::<u32>()).prop_map(|(bits, x)| (x >> (32 - bits)).max(2)),
    ]
}

/// A radix, and numerals below it. Their number is up to the length of two halves of `bits` bits, plus `more`.
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
    fn ff1_on_small_halves((radix, x) in numerals(32, 2), key in key(), tweak in vec(any::<u8>(), 0..40), other: bool) {
        let tweak_len = if other { 8 } else { tweak.len() };
        agree(&ff1(&key, radix, x.len(), tweak_len), &tweak, &x);
    }

    #[cfg(feature = "legacy-ff3")]
    #[test]
    fn ff3_on_small_halves((radix, x) in numerals(30, 0), key in key(), tweak: [u8; 8]) {
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
    fn ff1_on_small_radices_and_awkward_lengths(radix in 2u32..12, len in 20usize..150, seed in vec(any::<u16>(), 150), key in key(), tweak in vec(any::<u8>(), 0..70)) {
        let x: Vec<u16> = seed[..len].iter().map(|&x| u16::try_from(u32::from(x) % radix).unwrap()).collect();
        agree(&ff1(&key, radix, len, 8), &tweak, &x);
    }

    #[test]
    fn ff1_batches((radix, x) in numerals(127, 2), key in key(), tweak: [u8; 8], records in 1usize..20) {
        let portable = Ff1::with_key(Key::portable(key.bytes()), radix).unwrap().allow_small_domain();
        let native = Ff1::new(&key, radix).unwrap().allow_small_domain();
        let (portable, native) = (portable.plan(x.len(), 8).unwrap(), native.plan(x.len(), 8).unwrap());
        // The first record unchanged, and each further record rotated by one more numeral.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Halves of many limbs. Their conversion is faster than quadratic.
    #[test]
    fn ff1_on_long_halves((radix, x) in numerals(127, 1500), key in key(), tweak in vec(any::<u8>(), 0..40)) {
        agree(&ff1(&key, radix, x.len(), 8), &tweak, &x);
    }
}
