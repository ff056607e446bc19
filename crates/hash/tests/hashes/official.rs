//! Every function of the crate gives the official crate's results, on every backend.

use proptest::prelude::*;
use sordino_hash::{Backend, BatchHasher, Error, Hash, hash};

const NONE: Hash = Hash::from_bytes([0; 32]);

/// The input of the published test vectors: the bytes 0, 1, ..., 250, again and again.
fn painted(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

/// Bytes that differ from message to message.
fn message(seed: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

fn check_all_backends(messages: &[Vec<u8>]) {
    for backend in Backend::available() {
        let mut digests = vec![NONE; messages.len()];
        let hasher = BatchHasher::new().backend(backend);
        hasher.hash_into(messages, &mut digests).unwrap();
        for (i, (message, digest)) in messages.iter().zip(&digests).enumerate() {
            let (name, len) = (backend.name(), message.len());
            assert_eq!(
                *digest,
                hash(message),
                "{name}: message {i} of {}, {len} bytes",
                messages.len()
            );
        }
    }
}

/// The lengths of the published test vectors.
const PUBLISHED_LENGTHS: [usize; 35] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2048, 2049, 3072, 3073,
    4096, 4097, 5120, 5121, 6144, 6145, 7168, 7169, 8192, 8193, 16384, 31744, 102_400,
];

/// Digests from the published test vectors (hash mode, first 32 bytes).
const PUBLISHED: [(usize, &str); 4] = [
    (
        0,
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    ),
    (
        1,
        "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
    ),
    (
        1024,
        "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    ),
    (
        1025,
        "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
    ),
];

#[test]
fn published_digests() {
    let messages: Vec<_> = PUBLISHED.iter().map(|(len, _)| painted(*len)).collect();
    for backend in Backend::available() {
        let mut digests = [NONE; 4];
        let hasher = BatchHasher::new().backend(backend);
        hasher.hash_into(&messages, &mut digests).unwrap();
        for (digest, (len, expected)) in digests.iter().zip(PUBLISHED) {
            assert_eq!(
                digest.to_hex().as_str(),
                expected,
                "{}, {len} bytes",
                backend.name()
            );
        }
    }
}

#[test]
fn published_lengths_in_every_mode() {
    let messages = PUBLISHED_LENGTHS.map(painted);
    check_all_backends(&messages);

    let key = b"whats the Elvish word for friend";
    let expected = PUBLISHED_LENGTHS.map(|len| blake3::keyed_hash(key, &painted(len)));
    let hasher = BatchHasher::new_keyed(key);
    assert_eq!(hasher.hash(&messages), expected);
    #[cfg(feature = "rayon")]
    assert_eq!(hasher.par_hash(&messages), expected);

    let context = "BLAKE3 2019-12-27 16:29:52 test vectors context";
    let expected = PUBLISHED_LENGTHS.map(|len| blake3::derive_key(context, &painted(len)));
    let hasher = BatchHasher::new_derive_key(context);
    assert_eq!(hasher.hash(&messages), expected.map(Hash::from));
    #[cfg(feature = "rayon")]
    assert_eq!(hasher.par_hash(&messages), expected.map(Hash::from));
    // Writes digests to arrays of 32 bytes, and uses one hasher for several lists.
    let mut keys = [[0; 32]; PUBLISHED_LENGTHS.len()];
    hasher.hash_into(&messages, &mut keys).unwrap();
    assert_eq!(keys, expected);
    for (message, key) in messages.iter().zip(expected) {
        assert_eq!(hasher.hash(&[message]), [Hash::from(key)]);
    }
}

#[test]
fn every_batch_size_of_every_common_length() {
    // Under Miri, hashes only 17 messages, of 0 and 65 bytes.
    let steps = if cfg!(miri) { (4, 17) } else { (1, 1) };
    let lens = [0, 1, 63, 64, 65, 128, 1000, 1024];
    for len in lens.into_iter().step_by(steps.0) {
        for count in (0..=if cfg!(miri) { 17 } else { 35 }).step_by(steps.1) {
            check_all_backends(&(0..count).map(|i| message(i, len)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn one_odd_message_in_every_place() {
    for (common, odd) in [(64, 0), (64, 5000), (0, 1025), (300, 100_000), (2048, 1)] {
        for place in 0..33 {
            let lens = (0..33).map(|i| if i == place { odd } else { common });
            check_all_backends(
                &lens
                    .enumerate()
                    .map(|(i, len)| message(i, len))
                    .collect::<Vec<_>>(),
            );
        }
    }
}

#[test]
fn every_number_of_chunks_up_to_the_official_crate() {
    let lens = (1..=130).flat_map(|chunks| [1024 * chunks, 1024 * chunks + 1, 1024 * chunks - 1]);
    check_all_backends(
        &lens
            .enumerate()
            .map(|(i, len)| message(i, len))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn messages_that_share_blocks_but_not_lengths() {
    check_all_backends(
        &(0..if cfg!(miri) { 20 } else { 200 })
            .map(|i| message(i, 65 + i % 64))
            .collect::<Vec<_>>(),
    );
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_nothing() {
    let lens = (0..300).map(|i| if i == 150 { (1 << 20) + 3 } else { i * 7 });
    let messages: Vec<_> = lens.enumerate().map(|(i, len)| message(i, len)).collect();
    let hasher = BatchHasher::new();
    let digests = hasher.par_hash(&messages);
    assert!(
        messages
            .iter()
            .zip(&digests)
            .all(|(message, digest)| hash(message) == *digest)
    );
    // A single message takes different code, with and without threads.
    for message in [&messages[150][..], &messages[150][..1 << 19]] {
        assert_eq!(hasher.par_hash(&[message]), [hash(message)]);
    }
}

#[test]
fn runs_of_one_length_may_end_anywhere() {
    // Messages of `len` bytes, then one of `other` bytes: with and without a complete last block.
    for (len, other) in [
        (64, 65),
        (65, 64),
        (128, 64),
        (1024, 1025),
        (1000, 0),
        (0, 1024),
    ] {
        for run in 0..=40 {
            let lens = core::iter::repeat_n(len, run).chain([other; 3]);
            check_all_backends(
                &lens
                    .enumerate()
                    .map(|(i, len)| message(i, len))
                    .collect::<Vec<_>>(),
            );
        }
    }
}

/// A message whose length differs each time it is read.
struct Fickle(Vec<u8>, core::cell::Cell<usize>);

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        let at = self.1.replace(self.1.get() + 1);
        &self.0[..[64, 1024, 0, 65, 3000, 10][at % 6]]
    }
}

#[test]
fn messages_that_change_between_looks_are_hashed_to_something() {
    for count in [1, 3, 8, 9, 16, 17, 40] {
        for first in 0..6 {
            for step in 0..6 {
                let fickle = |i| Fickle(message(i, 3000), (first + step * i).into());
                let messages: Vec<Fickle> = (0..count).map(fickle).collect();
                for backend in Backend::available() {
                    let mut digests = vec![NONE; count];
                    let hasher = BatchHasher::new().backend(backend);
                    hasher.hash_into(&messages, &mut digests).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_digest_too_few_or_too_many_is_refused_and_none_is_written() {
    let messages = [b"a", b"b"];
    for found in [0, 1, 3] {
        let mut digests = vec![NONE; found];
        let mut keys = vec![[0; 32]; found];
        let plain = BatchHasher::new();
        let keyed = BatchHasher::new_keyed(&[1; 32]);
        let derived = BatchHasher::new_derive_key("context");
        let refused = [
            plain.hash_into(&messages, &mut digests),
            keyed.hash_into(&messages, &mut digests),
            derived.hash_into(&messages, &mut keys),
        ];
        #[cfg(feature = "rayon")]
        let refused = refused.into_iter().chain([
            plain.par_hash_into(&messages, &mut digests),
            keyed.par_hash_into(&messages, &mut digests),
            derived.par_hash_into(&messages, &mut keys),
        ]);
        for refused in refused {
            let expected = 2;
            assert!(
                matches!(refused, Err(Error::Digests { found: f, expected: e }) if (f, e) == (found, expected))
            );
        }
        assert!(digests.iter().all(|digest| *digest == NONE) && keys.iter().all(|k| *k == [0; 32]));
    }
    let mut digests = [NONE; 2];
    let hasher = BatchHasher::new();
    hasher.hash_into(&messages, &mut digests).unwrap();
    assert_eq!(hasher.hash(&messages), digests);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_mix_of_lengths(
        lens in prop::collection::vec(
            prop_oneof![3 => 0..=64_usize, 3 => 0..=2048_usize, 2 => 0..=20_000_usize],
            0..80,
        ),
        seed: u32,
    ) {
        let seed = seed as usize;
        let messages: Vec<_> = lens.iter().enumerate().map(|(i, len)| message(seed + i, *len)).collect();
        check_all_backends(&messages);
    }

    #[test]
    fn any_mix_in_keyed_and_derive_key_mode(
        lens in prop::collection::vec(0..=9000_usize, 0..40),
        key: [u8; 32],
        context in ".{0,100}",
    ) {
        let messages: Vec<_> = lens.iter().enumerate().map(|(i, len)| message(i, *len)).collect();
        let tags = BatchHasher::new_keyed(&key).hash(&messages);
        let keys = BatchHasher::new_derive_key(&context).hash(&messages);
        for ((message, tag), derived) in messages.iter().zip(tags).zip(keys) {
            prop_assert_eq!(tag, blake3::keyed_hash(&key, message));
            prop_assert_eq!(derived, Hash::from(blake3::derive_key(&context, message)));
        }
    }
}
