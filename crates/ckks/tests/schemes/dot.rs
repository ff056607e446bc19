//! Row packing: scores compared with plain arithmetic, shapes, messages, refusals.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests"
)]
#![cfg_attr(
    feature = "mmap",
    expect(unsafe_code, reason = "files of the tests' own are mapped")
)]

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::Error;
use sordino_ckks::dot::{self, Params, Plaintexts, Query, Reply};
use sordino_ckks::precision::{self, Statistics};

fn vectors(rng: &mut ChaCha12Rng, count: usize, dim: usize, norm: f64) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        // Sums of uniforms, scaled to the norm.
        let raw: Vec<f64> = (0..dim)
            .map(|_| {
                (0..4)
                    .map(|_| f64::from(rng.next_u32()) / 2f64.powi(32) - 0.5)
                    .sum()
            })
            .collect();
        let length = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
        all.extend(raw.iter().map(|x| (x / length * norm) as f32));
    }
    all
}

fn exact(query: &[f32], vectors: &[f32]) -> Vec<f64> {
    vectors
        .chunks_exact(query.len())
        .map(|v| {
            v.iter()
                .zip(query)
                .map(|(&x, &y)| f64::from(x) * f64::from(y))
                .sum()
        })
        .collect()
}

/// The errors of the scores of one query. All messages pass through their wire forms.
fn errors(rng: &mut ChaCha12Rng, params: &Params, count: usize, dim: usize, norm: f64) -> Vec<f64> {
    let base = vectors(rng, count, dim, norm);
    let query = vectors(rng, 1, dim, norm);
    let plaintexts = Plaintexts::encode(params, &base, dim).unwrap();
    let (secret, encrypted) = dot::encrypt(rng, params, &query).unwrap();
    let message = encrypted.to_bytes();
    assert_eq!(message.len(), Query::encoded_len(dim));
    let reply = plaintexts
        .score(&Query::from_bytes(&message).unwrap())
        .unwrap();
    let message = reply.to_bytes();
    assert_eq!(
        message.len(),
        Reply::encoded_len(params, dim, count).unwrap()
    );
    let scores = secret
        .decrypt(count, &Reply::from_bytes(&message).unwrap())
        .unwrap();
    let expected = exact(&query, &base);
    assert_eq!(scores.len(), count);
    scores
        .iter()
        .zip(&expected)
        .map(|(&found, &expected)| f64::from(found) - expected)
        .collect()
}

#[test]
fn errors_have_the_predicted_size() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    for params in [Params::rlwe_2048_50(), Params::rlwe_2048_50_fine()] {
        for dim in [128, 384, 768, 1536, 3000] {
            let mut all = Vec::new();
            while all.len() < 2000 {
                all.extend(errors(&mut rng, &params, 200, dim, 1.0));
            }
            let rms = (all.iter().map(|e| e * e).sum::<f64>() / all.len() as f64).sqrt();
            let predicted = params.statistical_error(dim);
            // The estimate of the rms from 2000 errors has a relative error of 1.6 %.
            let ratio = rms / predicted;
            assert!(
                (0.92..1.08).contains(&ratio),
                "{} {dim}: {rms:e} / {predicted:e}",
                params.name()
            );
            let worst = all.iter().fold(0f64, |worst, e| worst.max(e.abs()));
            assert!(worst < 5.5 * predicted, "{worst:e}");
            assert!(predicted < 2f64.powf(-20.3), "16 bits at 19 sigma");
        }
    }
}

/// With 25 bits per coefficient, 64 scores fit into 26 KB. An error below `2^-19` in every reply needs at
/// least 27 bits, and the set has 28. With 26 bits no scale suffices, because a score contains `sqrt(2N/3)`
/// rounding errors of `c1`.
#[test]
fn worst_errors_stay_within_their_bounds() {
    let mut rng = ChaCha12Rng::from_seed([7; 32]);
    let (count, dim, target) = (1024, 128, 2f64.powi(-19));
    let (default, fine) = (Params::rlwe_2048_50(), Params::rlwe_2048_50_fine());
    assert!(Reply::encoded_len(&default, dim, 64).unwrap() <= 26_000);
    assert!(precision::statistical_bound(fine.statistical_error(dim), 64, -40.0) <= target);
    assert!(precision::statistical_bound(fine.statistical_error(dim), count, -40.0) <= target);
    for params in [default, fine] {
        let base = vectors(&mut rng, count, dim, 1.0);
        let plaintexts = Plaintexts::encode(&params, &base, dim).unwrap();
        let mut pairs = Vec::new();
        for _ in 0..20 {
            let query = vectors(&mut rng, 1, dim, 1.0);
            let (secret, encrypted) = dot::encrypt(&mut rng, &params, &query).unwrap();
            let reply = plaintexts.score(&encrypted).unwrap();
            let scores = secret.decrypt(count, &reply).unwrap();
            pairs.extend(scores.into_iter().map(f64::from).zip(exact(&query, &base)));
        }
        let errors = Statistics::of(pairs.iter().copied());
        println!(
            "{}: worst of {} errors 2^-{:.2}",
            params.name(),
            errors.count,
            errors.worst_bits()
        );
        // The randomness is fixed, so the errors stay below a bound that a random run exceeds with
        // probability 2^-20.
        let bound = precision::statistical_bound(params.statistical_error(dim), pairs.len(), -20.0);
        assert!(errors.worst <= bound, "{:e} {bound:e}", errors.worst);
        assert!(params != fine || errors.worst <= target);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn scores_agree_with_plain_arithmetic(
        seed: [u8; 32],
        dim in prop_oneof![1..=16usize, 1..=2048usize, 2049..=5000usize, Just(128)],
        count in 0..40usize,
        norm in 0.0..1.0f64,
    ) {
        let params = Params::rlwe_2048_50();
        let mut rng = ChaCha12Rng::from_seed(seed);
        let bound = 7.0 * params.statistical_error(dim);
        for error in errors(&mut rng, &params, count, dim, norm) {
            prop_assert!(error.abs() < bound, "{error:e} {bound:e}");
        }
    }

    #[test]
    fn damaged_messages_are_refused_or_read(seed: [u8; 32], cut in 0..20_000usize, flip in 0..20_000usize) {
        let params = Params::rlwe_2048_50();
        let mut rng = ChaCha12Rng::from_seed(seed);
        let (_, query) = dot::encrypt(&mut rng, &params, &[0.5; 3]).unwrap();
        let base = vectors(&mut rng, 5, 3, 1.0);
        let reply = Plaintexts::encode(&params, &base, 3).unwrap().score(&query).unwrap();
        for message in [query.to_bytes(), reply.to_bytes()] {
            let cut = cut % message.len();
            prop_assert!(Query::from_bytes(&message[..cut]).is_err());
            prop_assert!(Reply::from_bytes(&message[..cut]).is_err());
            let mut flipped = message.clone();
            let bit = flip % (8 * message.len());
            flipped[bit / 8] ^= 1 << (bit % 8);
            // If the flipped bytes are still read as a message, it encodes to the same bytes again.
            if let Ok(query) = Query::from_bytes(&flipped) {
                prop_assert_eq!(query.to_bytes(), flipped.clone());
            }
            if let Ok(reply) = Reply::from_bytes(&flipped) {
                prop_assert_eq!(reply.to_bytes(), flipped);
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes: Vec<u8>) {
        prop_assert!(Query::from_bytes(&bytes).is_err());
        prop_assert!(Reply::from_bytes(&bytes).is_err());
    }
}

#[test]
fn a_batch_equals_single_queries_and_replace_equals_encode() {
    let params = Params::rlwe_2048_50();
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    for (dim, count) in [(100, 900), (2500, 5)] {
        let mut base = vectors(&mut rng, count, dim, 1.0);
        let mut plaintexts = Plaintexts::encode(&params, &base, dim).unwrap();
        let queries: Vec<Query> = (0..3)
            .map(|_| {
                let query = vectors(&mut rng, 1, dim, 1.0);
                dot::encrypt(&mut rng, &params, &query).unwrap().1
            })
            .collect();
        let batch = plaintexts.score_batch(&queries).unwrap();
        for (query, reply) in queries.iter().zip(&batch) {
            assert_eq!(&plaintexts.score(query).unwrap(), reply);
        }

        let fresh = vectors(&mut rng, 1, dim, 1.0);
        base[2 * dim..3 * dim].copy_from_slice(&fresh);
        plaintexts.replace(2, &fresh).unwrap();
        let encoded = Plaintexts::encode(&params, &base, dim).unwrap();
        assert_eq!(
            plaintexts.score(&queries[0]).unwrap(),
            encoded.score(&queries[0]).unwrap()
        );
        assert_eq!(
            plaintexts.replace(count, &fresh).unwrap_err(),
            Error::Index {
                index: count,
                count
            }
        );
    }
}

#[cfg(feature = "mmap")]
#[test]
fn encoded_vectors_survive_their_file() {
    let (params, dim) = (Params::rlwe_2048_50(), 100);
    let mut rng = ChaCha12Rng::from_seed([6; 32]);
    let plaintexts = Plaintexts::encode(&params, &vectors(&mut rng, 45, dim, 1.0), dim).unwrap();
    let query = vectors(&mut rng, 1, dim, 1.0);
    let (_, query) = dot::encrypt(&mut rng, &params, &query).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    plaintexts.write_file(&path).unwrap();
    assert_eq!(
        plaintexts.write_file(&path).unwrap_err(),
        Error::Io(std::io::ErrorKind::AlreadyExists)
    );
    let mut file = std::fs::read(&path).unwrap();
    assert_eq!(file.len(), 4096 + 3 * 2048 * 8);
    let fresh = vectors(&mut rng, 1, dim, 1.0);
    // SAFETY: only this test writes to the file, and not while it is mapped.
    let mapped = unsafe { Plaintexts::map_file(&path).unwrap() };
    for mut read in [Plaintexts::from_bytes(&file).unwrap(), mapped] {
        let mut expected = plaintexts.clone();
        assert_eq!(read.score(&query).unwrap(), expected.score(&query).unwrap());
        read.replace(44, &fresh).unwrap();
        expected.replace(44, &fresh).unwrap();
        assert_eq!(read.score(&query).unwrap(), expected.score(&query).unwrap());
    }
    assert_eq!(std::fs::read(&path).unwrap(), file);
    for cut in [0, 15, 16, 4095, 4096, file.len() - 1] {
        assert!(Plaintexts::from_bytes(&file[..cut]).is_err());
        let path = folder.path().join(cut.to_string());
        std::fs::write(&path, &file[..cut]).unwrap();
        // SAFETY: as above.
        assert!(unsafe { Plaintexts::map_file(&path) }.is_err());
    }
    file[5000] ^= 1;
    file[4096 + 8 * 9 + 7] = 1;
    assert_eq!(
        Plaintexts::from_bytes(&file).unwrap_err(),
        Error::Coefficient { index: 9 }
    );
    // A head that claims more than a head may claim.
    file[8..16].copy_from_slice(&[0, 0, 1, 0, 0, 0, 0, 0x10]);
    assert!(matches!(
        Plaintexts::from_bytes(&file).unwrap_err(),
        Error::MessageLength { .. }
    ));
}

#[test]
fn bad_input_is_refused_by_name() {
    let params = Params::rlwe_2048_50();
    let mut rng = ChaCha12Rng::from_seed([4; 32]);
    let encode = |vectors: &[f32], dim| Plaintexts::encode(&params, vectors, dim).unwrap_err();
    assert!(matches!(encode(&[], 0), Error::Dimension { found: 0, .. }));
    assert_eq!(
        encode(&[0.1; 7], 3),
        Error::Length {
            found: 7,
            expected: 9
        }
    );
    assert_eq!(
        encode(&[0.1, 0.2, f32::NAN, 0.1], 2),
        Error::NotFinite { index: 2 }
    );
    assert_eq!(
        encode(&[0.1, 0.2, 0.1, f32::INFINITY], 2),
        Error::NotFinite { index: 3 }
    );
    assert_eq!(encode(&[0.1, 0.2, 0.8, 0.8], 2), Error::Norm { index: 1 });
    assert_eq!(encode(&[f32::MAX; 2], 2), Error::Norm { index: 0 });
    assert_eq!(
        dot::encrypt(&mut rng, &params, &[f32::NEG_INFINITY]).unwrap_err(),
        Error::NotFinite { index: 0 }
    );
    assert_eq!(
        dot::encrypt(&mut rng, &params, &[1.1]).unwrap_err(),
        Error::Norm { index: 0 }
    );
    assert!(matches!(
        dot::encrypt(&mut rng, &params, &[]).unwrap_err(),
        Error::Dimension { .. }
    ));

    let plaintexts = Plaintexts::encode(&params, &[0.5; 8], 4).unwrap();
    let (secret, query) = dot::encrypt(&mut rng, &params, &[0.5; 4]).unwrap();
    let (other_secret, other) = dot::encrypt(&mut rng, &params, &[0.5; 3]).unwrap();
    let mismatch = |what, found, expected| Error::Mismatch {
        what,
        found,
        expected,
    };
    assert_eq!(
        plaintexts.score(&other).unwrap_err(),
        mismatch("dimensions", 3, 4)
    );
    let fine = Plaintexts::encode(&Params::rlwe_2048_50_fine(), &[0.5; 8], 4).unwrap();
    assert_eq!(
        fine.score(&query).unwrap_err(),
        mismatch("parameter sets", 1, 2)
    );
    let reply = plaintexts.score(&query).unwrap();
    assert_eq!(
        secret.decrypt(3, &reply).unwrap_err(),
        mismatch("counts", 2, 3)
    );
    assert_eq!(
        other_secret.decrypt(2, &reply).unwrap_err(),
        mismatch("dimensions", 4, 3)
    );

    let mut message = query.to_bytes();
    assert_eq!(Reply::from_bytes(&message).unwrap_err(), Error::Kind);
    message[4] = 9;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::FormatVersion {
            found: 9,
            expected: 2
        }
    );
    message[4] = 2;
    message[6] = 77;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::UnknownSet { found: 77 }
    );
    message[6] = 1;
    message[16 + 32 + 6 * 5..][..6].fill(0xff);
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::Coefficient { index: 5 }
    );
}

#[test]
fn secrets_are_not_printed() {
    let mut rng = ChaCha12Rng::from_seed([5; 32]);
    let (secret, _) = dot::encrypt(&mut rng, &Params::rlwe_2048_50(), &[0.5; 4]).unwrap();
    let printed = format!("{secret:?}");
    assert!(printed.len() < 150 && printed.contains(".."), "{printed}");
}
