//! Column packing: scores against plain arithmetic, measured errors against the formula, exactness,
//! deltas, messages, refusals.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "tests"
)]
#![expect(unsafe_code, reason = "files of the tests' own are mapped")]

use chacha20::ChaCha12Rng;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::Error;
use sordino_ckks::column::{Client, Database, Hint, HintDelta, Params, Query, Reply};

const SEED: [u8; 32] = [42; 32];

fn unit_vectors(rng: &mut ChaCha12Rng, count: usize, dim: usize) -> Vec<f32> {
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let raw: Vec<f64> = (0..dim)
            .map(|_| {
                (0..4)
                    .map(|_| f64::from(rng.next_u32()) / 2f64.powi(32) - 0.5)
                    .sum()
            })
            .collect();
        let length = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
        all.extend(raw.iter().map(|x| (x / length) as f32));
    }
    all
}

/// Integers uniform mod `2^log_p`, centred, as codes under a pad are.
fn residues(rng: &mut ChaCha12Rng, count: usize, log_p: u32) -> Vec<i32> {
    let unused = 32 - log_p;
    (0..count)
        .map(|_| (rng.next_u32() << unused).cast_signed() >> unused)
        .collect()
}

/// A query of the norm that fills the score window: `sqrt(P / 2.05)`.
fn integer_query(rng: &mut ChaCha12Rng, dim: usize, log_p: u32) -> Vec<i32> {
    let scale = (2f64.powi(log_p.cast_signed()) / 2.05).sqrt();
    unit_vectors(rng, 1, dim)
        .iter()
        .map(|&x| (f64::from(x) * scale).round() as i32)
        .collect()
}

fn dots<T: Copy + Into<f64>>(query: &[T], vectors: &[T]) -> Vec<f64> {
    let rows = vectors.chunks_exact(query.len());
    rows.map(|row| {
        row.iter()
            .zip(query)
            .map(|(&x, &y)| x.into() * y.into())
            .sum()
    })
    .collect()
}

fn client_of(database: &Database, hint: &Hint) -> Client {
    let hint = Hint::from_bytes(&hint.to_bytes()).unwrap();
    Client::new(
        database.params(),
        SEED,
        database.dim(),
        database.len(),
        &hint,
    )
    .unwrap()
}

/// The scores of one query, through the wire forms.
fn score_real(
    rng: &mut ChaCha12Rng,
    database: &Database,
    client: &Client,
    query: &[f32],
) -> Vec<f32> {
    let (secret, query) = client.encrypt(rng, query).unwrap();
    let params = *database.params();
    let message = query.to_bytes();
    assert_eq!(
        message.len(),
        Query::encoded_len(&params, database.dim()).unwrap()
    );
    let reply = database
        .score(&Query::from_bytes(&message).unwrap())
        .unwrap();
    let message = reply.to_bytes();
    let expected = Reply::encoded_len(&params, database.dim(), database.len()).unwrap();
    assert_eq!(message.len(), expected);
    client
        .decrypt(secret, &Reply::from_bytes(&message).unwrap())
        .unwrap()
}

fn score_modular(
    rng: &mut ChaCha12Rng,
    database: &Database,
    client: &Client,
    query: &[i32],
) -> Vec<i64> {
    let (secret, query) = client.encrypt_modular(rng, query).unwrap();
    let reply = database
        .score(&Query::from_bytes(&query.to_bytes()).unwrap())
        .unwrap();
    client
        .decrypt_modular(secret, &Reply::from_bytes(&reply.to_bytes()).unwrap())
        .unwrap()
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

#[test]
fn real_errors_have_the_predicted_size() {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    for params in [Params::real_t4(), Params::real_t8()] {
        for dim in [128, 100] {
            let base = unit_vectors(&mut rng, 2500, dim);
            let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
            let client = client_of(&database, &hint);
            let mut errors = Vec::new();
            for _ in 0..2 {
                let query = unit_vectors(&mut rng, 1, dim);
                let scores = score_real(&mut rng, &database, &client, &query);
                assert_eq!(scores.len(), 2500);
                errors.extend(
                    scores
                        .iter()
                        .zip(dots(&query, &base))
                        .map(|(&x, y)| f64::from(x) - y),
                );
            }
            let ratio = rms(&errors) / params.predicted_error(dim);
            assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", params.name());
            assert!(params.predicted_error(dim) < 5e-5);
            let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
            assert!(worst < 5.5 * params.predicted_error(dim), "{worst:e}");
        }
    }
}

#[test]
fn modular_errors_have_the_predicted_size() {
    let mut rng = ChaCha12Rng::from_seed([2; 32]);
    for params in [Params::modular_26_t4(), Params::modular_26_t8()] {
        let (dim, p) = (128, 2f64.powi(26));
        let base = residues(&mut rng, 2500 * dim, 26);
        let (database, hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        let mut errors = Vec::new();
        for _ in 0..2 {
            let query = integer_query(&mut rng, dim, 26);
            let scores = score_modular(&mut rng, &database, &client, &query);
            // Doubles hold these sums exactly: below 2^25 * 2^13 * 2^7.
            errors.extend(scores.iter().zip(dots(&query, &base)).map(|(&x, y)| {
                let error = x as f64 - y;
                error - (error / p).round() * p
            }));
        }
        let ratio = rms(&errors) / params.predicted_error(dim);
        assert!((0.95..1.05).contains(&ratio), "{}: {ratio}", params.name());
        // In units of a score of unit vectors, R / P.
        assert!(params.predicted_error(dim) * 2.05 / p < 6e-5);
    }
}

#[test]
fn the_exact_set_is_exact() {
    let mut rng = ChaCha12Rng::from_seed([3; 32]);
    let params = Params::modular_18_exact();
    for (dim, count) in [(128, 1000), (512, 300), (7, 300), (1, 1)] {
        let base = residues(&mut rng, count * dim, 18);
        let (database, hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        for query in [
            integer_query(&mut rng, dim, 18),
            residues(&mut rng, dim, 18),
        ] {
            let scores = score_modular(&mut rng, &database, &client, &query);
            for (row, &score) in base.chunks_exact(dim).zip(&scores) {
                let exact: i64 = row
                    .iter()
                    .zip(&query)
                    .map(|(&x, &y)| i64::from(x) * i64::from(y))
                    .sum();
                assert_eq!((exact - score) & ((1 << 18) - 1), 0);
                assert!((-(1 << 17)..1 << 17).contains(&score));
            }
        }
        // Half a unit at the standard deviation: a tail below 2^-128 takes 13.37 of them.
        assert!(0.5 / params.predicted_error(dim) > 13.37, "{dim}");
    }
    assert_eq!(
        Database::encode_modular(&params, SEED, &[0; 513], 513).unwrap_err(),
        Error::Dimension {
            found: 513,
            most: 512
        }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn scores_agree_with_plain_arithmetic(
        seed: [u8; 32],
        dim in prop_oneof![1..=16usize, 1..=400usize],
        count in prop_oneof![0..5usize, 500..530usize, 1..700usize],
        norm in 0.0..1.0f32,
        t8: bool,
    ) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let params = if t8 { Params::real_t8() } else { Params::real_t4() };
        let scaled = |rng: &mut _, count| -> Vec<f32> {
            unit_vectors(rng, count, dim).iter().map(|x| x * norm).collect()
        };
        let (base, query) = (scaled(&mut rng, count), scaled(&mut rng, 1));
        let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
        let client = client_of(&database, &hint);
        let scores = score_real(&mut rng, &database, &client, &query);
        prop_assert_eq!(scores.len(), count);
        for (&score, expected) in scores.iter().zip(dots(&query, &base)) {
            let error = f64::from(score) - expected;
            prop_assert!(error.abs() < 7.0 * params.predicted_error(dim), "{error:e}");
        }
    }

    #[test]
    fn damaged_messages_are_refused_or_read(seed: [u8; 32], cut: u32, flip: u32) {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let params = Params::real_t4();
        let base = unit_vectors(&mut rng, 5, 3);
        let (mut database, hint) = Database::encode(&params, SEED, &base, 3).unwrap();
        let client = client_of(&database, &hint);
        let (_, query) = client.encrypt(&mut rng, &base[..3]).unwrap();
        let reply = database.score(&query).unwrap();
        let delta = database.delete(0).unwrap();
        for message in [query.to_bytes(), reply.to_bytes(), hint.to_bytes(), delta.to_bytes()] {
            let mut flipped = message.clone();
            let bit = flip as usize % (8 * message.len());
            flipped[bit / 8] ^= 1 << (bit % 8);
            for damaged in [&message[..cut as usize % message.len()], &flipped] {
                // What is still read must be the message that its contents write.
                if let Ok(query) = Query::from_bytes(damaged) {
                    prop_assert_eq!(query.to_bytes(), damaged);
                }
                if let Ok(reply) = Reply::from_bytes(damaged) {
                    prop_assert_eq!(reply.to_bytes(), damaged);
                }
                if let Ok(hint) = Hint::from_bytes(damaged) {
                    prop_assert_eq!(hint.to_bytes(), damaged);
                }
                if let Ok(delta) = HintDelta::from_bytes(damaged) {
                    prop_assert_eq!(delta.to_bytes(), damaged);
                }
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes: Vec<u8>) {
        prop_assert!(Query::from_bytes(&bytes).is_err());
        prop_assert!(Reply::from_bytes(&bytes).is_err());
        prop_assert!(Hint::from_bytes(&bytes).is_err());
        prop_assert!(HintDelta::from_bytes(&bytes).is_err());
    }
}

#[test]
fn updates_equal_encoding_anew() {
    let mut rng = ChaCha12Rng::from_seed([4; 32]);
    let (params, dim) = (Params::modular_26_t4(), 10);
    let mut base = residues(&mut rng, 700 * dim, 26);
    let (mut database, mut hint) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
    let mut client = client_of(&database, &hint);
    let old_client = client_of(&database, &hint);
    let follow = |deltas: Vec<HintDelta>, hint: &mut Hint, client: &mut Client| {
        for delta in deltas {
            let delta = HintDelta::from_bytes(&delta.to_bytes()).unwrap();
            hint.apply(&delta).unwrap();
            client.apply(&delta).unwrap();
        }
    };

    let fresh = residues(&mut rng, dim, 26);
    base[513 * dim..514 * dim].copy_from_slice(&fresh);
    follow(
        vec![database.replace_modular(513, &fresh).unwrap()],
        &mut hint,
        &mut client,
    );
    base[3 * dim..4 * dim].fill(0);
    follow(vec![database.delete(3).unwrap()], &mut hint, &mut client);
    // Within the last block, across its end, far beyond it, nothing, and from a full block on.
    for more in [5, 400, 2000, 0, 3 * 512 - 33, 1] {
        let fresh = residues(&mut rng, more * dim, 26);
        base.extend(&fresh);
        follow(
            database.append_modular(&fresh).unwrap(),
            &mut hint,
            &mut client,
        );
        assert_eq!(database.len() * dim, base.len());
        let (mut anew, _) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        anew.set_revision(database.revision());
        assert_eq!(hint, anew.hint());
        assert_eq!(client.revision(), database.revision());
        let query = integer_query(&mut rng, dim, 26);
        let (secret, encrypted) = client.encrypt_modular(&mut rng, &query).unwrap();
        let reply = database.score(&encrypted).unwrap();
        assert_eq!(reply, anew.score(&encrypted).unwrap());
        assert_eq!(
            client.decrypt_modular(secret, &reply).unwrap().len(),
            database.len()
        );
    }

    // A client that missed the changes is told so, not given wrong scores.
    let query = integer_query(&mut rng, dim, 26);
    let (secret, encrypted) = old_client.encrypt_modular(&mut rng, &query).unwrap();
    let reply = database.score(&encrypted).unwrap();
    assert!(matches!(
        old_client.decrypt_modular(secret, &reply).unwrap_err(),
        Error::Mismatch { what: "counts", .. }
    ));
    // The same number of vectors, one of them another.
    let behind = client_of(&database, &hint);
    let delta = database.delete(0).unwrap();
    let (secret, encrypted) = behind.encrypt_modular(&mut rng, &query).unwrap();
    let reply = database.score(&encrypted).unwrap();
    let revision = |found, expected| Error::Revision { found, expected };
    let expected = behind.revision();
    assert_eq!(
        behind.decrypt_modular(secret, &reply).unwrap_err(),
        revision(expected + 1, expected)
    );
    follow(vec![delta.clone()], &mut hint, &mut client);
    // Deltas out of order, or twice.
    let deltas = database
        .append_modular(&residues(&mut rng, 4000 * dim, 26))
        .unwrap();
    let at = hint.revision();
    for (wrong, found) in [(&deltas[1], at + 2), (&delta, at)] {
        assert_eq!(client.apply(wrong).unwrap_err(), revision(found, at + 1));
        assert_eq!(hint.apply(wrong).unwrap_err(), revision(found, at + 1));
    }
    // A block beyond the next.
    let mut message = deltas[0].to_bytes();
    message[32..36].copy_from_slice(&((deltas[0].count() / 512) as u32).to_le_bytes());
    let far = HintDelta::from_bytes(&message).unwrap();
    assert!(matches!(
        client.apply(&far).unwrap_err(),
        Error::Index { .. }
    ));
    assert!(matches!(hint.apply(&far).unwrap_err(), Error::Index { .. }));
}

#[test]
fn other_seeds_are_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([9; 32]);
    let params = Params::real_t4();
    let (database, hint) = Database::encode(&params, SEED, &[0.5; 6], 2).unwrap();
    let (other, other_hint) = Database::encode(&params, [1; 32], &[0.5; 6], 2).unwrap();
    let epoch = |found: &[u8; 32], expected: &[u8; 32]| Error::Epoch {
        found: u64::from_le_bytes(*found.first_chunk().unwrap()),
        expected: u64::from_le_bytes(*expected.first_chunk().unwrap()),
    };
    assert_eq!(
        Client::new(&params, SEED, 2, 3, &other_hint).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
    let mut client = client_of(&database, &hint);
    let (secret, query) = client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    assert_eq!(other.score(&query).unwrap_err(), epoch(&SEED, &[1; 32]));
    let other_client = Client::new(&params, [1; 32], 2, 3, &other_hint).unwrap();
    let (_, other_query) = other_client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    let reply = other.score(&other_query).unwrap();
    assert_eq!(
        client.decrypt(secret, &reply).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
    let mut other = other;
    assert_eq!(
        client.apply(&other.delete(0).unwrap()).unwrap_err(),
        epoch(&[1; 32], &SEED)
    );
}

#[test]
fn sizes_of_the_default_set() {
    let params = Params::real_t4();
    let up = Query::encoded_len(&params, 128).unwrap();
    let down = Reply::encoded_len(&params, 128, 100_000).unwrap();
    assert!(up + down <= 460_000, "{up} + {down}");
    for params in [params, Params::modular_26_t4()] {
        let hint = Hint::encoded_len(&params, 128, 100_000).unwrap();
        assert!(hint <= 1_000_000, "{hint}");
    }
}

#[test]
fn segments_lie_in_one_database_as_in_databases_of_their_own() {
    let mut rng = ChaCha12Rng::from_seed([9; 32]);
    let (params, dim) = (Params::modular_26_t4(), 11);
    let mut database = Database::empty(&params, SEED, dim, 0).unwrap();
    let mut client = Client::empty(&params, SEED, dim).unwrap();
    assert!(client.is_empty() && database.is_empty());
    let query = integer_query(&mut rng, dim, 26);
    let mut segments: Vec<(usize, Vec<i32>)> = Vec::new();
    for count in [1, 512, 700, 3] {
        let first = database.len().next_multiple_of(params.block_vectors());
        let codes = residues(&mut rng, count * dim, 26);
        let hint = database.append_segment_modular(&codes).unwrap();
        let (alone, alone_hint) = Database::encode_modular(&params, SEED, &codes, dim).unwrap();
        assert_eq!(hint, alone_hint);
        client.extend(&hint).unwrap();
        assert_eq!(
            (database.len(), client.len()),
            (first + count, first + count)
        );
        segments.push((first, codes));

        let (secret, encrypted) = client.encrypt_modular(&mut rng, &query).unwrap();
        let reply = database.score(&encrypted).unwrap();
        let found = client.decrypt_modular(secret, &reply).unwrap();
        for (first, codes) in &segments {
            let expected = dots(&query, codes);
            for (found, expected) in found[*first..].iter().zip(expected) {
                let error = (*found as f64 - expected).rem_euclid(f64::from(1 << 26));
                let error = error.min(f64::from(1 << 26) - error);
                assert!(error < 50_000.0, "{found} for {expected}");
            }
        }
        drop(alone);
    }

    // Back to the first two segments, and on in another way.
    client.truncate(1024).unwrap();
    let mut other = Database::empty(&params, SEED, dim, 5000).unwrap();
    for (_, codes) in &segments[..2] {
        other.append_segment_modular(codes).unwrap();
    }
    let codes = residues(&mut rng, 40 * dim, 26);
    client
        .extend(&other.append_segment_modular(&codes).unwrap())
        .unwrap();
    assert_eq!(client.len(), 1064);
    let (secret, encrypted) = client.encrypt_modular(&mut rng, &query).unwrap();
    let reply = other.score(&encrypted).unwrap();
    assert_eq!(client.decrypt_modular(secret, &reply).unwrap().len(), 1064);
    assert!(client.truncate(1065).is_err());

    let foreign = Database::empty(&Params::modular_26_t8(), SEED, dim, 0);
    let hint = foreign.unwrap().append_segment_modular(&codes).unwrap();
    assert!(matches!(
        client.extend(&hint).unwrap_err(),
        Error::Mismatch { .. }
    ));
    let wide = Database::empty(&params, SEED, 40, 0);
    let hint = wide.unwrap().append_segment_modular(&codes).unwrap();
    assert!(matches!(
        client.extend(&hint).unwrap_err(),
        Error::Mismatch {
            what: "dimensions",
            ..
        }
    ));
    assert!(database.append_segment(&[0.0; 11]).is_err());
}

#[test]
fn a_database_survives_its_file() {
    const FIRST: usize = 4096;
    let mut rng = ChaCha12Rng::from_seed([8; 32]);
    let (params, dim) = (Params::real_t4(), 9);
    let base = unit_vectors(&mut rng, 600, dim);
    let (mut database, _) = Database::encode(&params, SEED, &base, dim).unwrap();
    database.append(&unit_vectors(&mut rng, 5, dim)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    database.write_file(&path).unwrap();
    assert_eq!(
        database.write_file(&path).unwrap_err(),
        Error::Io(std::io::ErrorKind::AlreadyExists)
    );
    let mut file = std::fs::read(&path).unwrap();
    assert_eq!(file.len(), FIRST + database.encoded_len() + 64);
    let fresh = unit_vectors(&mut rng, 1, dim);
    let delta = database.replace(604, &fresh).unwrap();
    // SAFETY: nobody else writes to the file while it is mapped.
    let mapped = unsafe { Database::map_file(&path).unwrap() };
    for mut read in [Database::from_bytes(&file).unwrap(), mapped] {
        assert_eq!((read.seed(), read.revision()), (&SEED, 1));
        let client = client_of(&read, &read.hint());
        let (secret, query) = client.encrypt(&mut rng, &base[..dim]).unwrap();
        let reply = read.score(&query).unwrap();
        let scores = client.decrypt(secret, &reply).unwrap();
        assert!((scores[0] - 1.0).abs() < 1e-3);
        assert_eq!(read.replace(604, &fresh).unwrap(), delta);
        assert_eq!(read.hint(), database.hint());
        assert_eq!(read.score(&query).unwrap(), database.score(&query).unwrap());
    }
    // The changes stayed in memory.
    assert_eq!(std::fs::read(&path).unwrap(), file);

    for cut in [0, 15, 16, 47, 48, 4095, 4096, file.len() - 1] {
        assert!(Database::from_bytes(&file[..cut]).is_err());
        let path = folder.path().join(cut.to_string());
        std::fs::write(&path, &file[..cut]).unwrap();
        // SAFETY: as above.
        assert!(unsafe { Database::map_file(&path) }.is_err());
    }
    for at in [7, 60, 4095, file.len() - 1] {
        file[at] ^= 1;
        assert_eq!(Database::from_bytes(&file).unwrap_err(), Error::Kind);
        file[at] ^= 1;
    }
    file[FIRST + 5 * 7..][..5].fill(0xff);
    assert_eq!(
        Database::from_bytes(&file).unwrap_err(),
        // Neighbours in a row are t = 4 values of the polynomial apart.
        Error::Coefficient { index: 7 * 4 }
    );
    // A head that promises more than there is, and more than there can be.
    for bytes in [[0xff, 0xff, 0xff, 0x0f], [0xff; 4]] {
        file[12..16].copy_from_slice(&bytes);
        assert!(Database::from_bytes(&file).is_err());
    }

    // A file that is cut while it is mapped.
    // SAFETY: the mapping is not read after the file was cut, which is what is tested.
    let mapped = unsafe { Database::map_file(&path).unwrap() };
    let client = client_of(&mapped, &mapped.hint());
    let (_, query) = client.encrypt(&mut rng, &base[..dim]).unwrap();
    let handle = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    handle.set_len(4096).unwrap();
    assert!(matches!(
        mapped.score(&query).unwrap_err(),
        Error::MessageLength { found: 4096, .. }
    ));
}

#[test]
fn a_batch_equals_single_queries() {
    let mut rng = ChaCha12Rng::from_seed([5; 32]);
    let (params, dim) = (Params::real_t8(), 24);
    let base = unit_vectors(&mut rng, 900, dim);
    let (database, hint) = Database::encode(&params, SEED, &base, dim).unwrap();
    let client = client_of(&database, &hint);
    for count in [0, 1, 2, 3, 4, 5] {
        let queries: Vec<Query> = (0..count)
            .map(|_| {
                let query = unit_vectors(&mut rng, 1, dim);
                client.encrypt(&mut rng, &query).unwrap().1
            })
            .collect();
        let single: Vec<Reply> = queries.iter().map(|q| database.score(q).unwrap()).collect();
        assert_eq!(database.score_batch(&queries).unwrap(), single);
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let mut rng = ChaCha12Rng::from_seed([6; 32]);
    let (real, modular) = (Params::real_t4(), Params::modular_26_t4());
    let refuse = |vectors: &[f32], dim| Database::encode(&real, SEED, vectors, dim).unwrap_err();
    assert!(matches!(refuse(&[], 0), Error::Dimension { found: 0, .. }));
    assert!(matches!(refuse(&[], 1 << 20), Error::Dimension { .. }));
    assert_eq!(
        refuse(&[0.1; 5], 2),
        Error::Length {
            found: 5,
            expected: 6
        }
    );
    assert_eq!(refuse(&[0.1, f32::NAN], 2), Error::NotFinite { index: 1 });
    assert_eq!(refuse(&[0.1, 0.1, 0.9, 0.9], 2), Error::Norm { index: 1 });
    let refuse =
        |vectors: &[i32]| Database::encode_modular(&modular, SEED, vectors, 2).unwrap_err();
    assert_eq!(
        refuse(&[0, 1 << 25]),
        Error::Range {
            index: 1,
            log_p: 26
        }
    );
    assert_eq!(
        refuse(&[-(1 << 25) - 1, 0]),
        Error::Range {
            index: 0,
            log_p: 26
        }
    );
    assert_eq!(
        Database::encode(&modular, SEED, &[0.5; 2], 2).unwrap_err(),
        Error::Form { modular: true }
    );
    assert_eq!(
        Database::encode_modular(&real, SEED, &[1; 2], 2).unwrap_err(),
        Error::Form { modular: false }
    );

    let (mut database, hint) = Database::encode(&real, SEED, &[0.5; 6], 2).unwrap();
    assert_eq!(
        database.replace(3, &[0.5; 2]).unwrap_err(),
        Error::Index { index: 3, count: 3 }
    );
    assert_eq!(
        database.replace(0, &[0.5; 4]).unwrap_err(),
        Error::Length {
            found: 4,
            expected: 2
        }
    );
    assert_eq!(
        database.delete(9).unwrap_err(),
        Error::Index { index: 9, count: 3 }
    );
    let mismatch = |what, found, expected| Error::Mismatch {
        what,
        found,
        expected,
    };
    assert_eq!(
        Client::new(&real, SEED, 2, 4, &hint).unwrap_err(),
        mismatch("counts", 3, 4)
    );
    assert_eq!(
        Client::new(&real, SEED, 3, 3, &hint).unwrap_err(),
        mismatch("dimensions", 2, 3)
    );
    assert_eq!(
        Client::new(&Params::real_t8(), SEED, 2, 3, &hint).unwrap_err(),
        mismatch("parameter sets", 1, 2)
    );
    let client = client_of(&database, &hint);
    let encrypt = |rng: &mut _, query: &[f32]| client.encrypt(rng, query).unwrap_err();
    assert_eq!(
        encrypt(&mut rng, &[0.1; 3]),
        Error::Length {
            found: 3,
            expected: 2
        }
    );
    assert_eq!(
        encrypt(&mut rng, &[f32::INFINITY, 0.0]),
        Error::NotFinite { index: 0 }
    );
    assert_eq!(encrypt(&mut rng, &[0.9, 0.9]), Error::Norm { index: 0 });
    assert_eq!(
        client.encrypt_modular(&mut rng, &[1, 1]).unwrap_err(),
        Error::Form { modular: false }
    );

    let (secret, query) = client.encrypt(&mut rng, &[0.6, 0.8]).unwrap();
    let (other, _) = Database::encode(&real, SEED, &[0.5; 3], 3).unwrap();
    assert_eq!(
        other.score(&query).unwrap_err(),
        mismatch("dimensions", 2, 3)
    );
    let (other, _) = Database::encode(&real, SEED, &[0.5; 8], 2).unwrap();
    let reply = other.score(&query).unwrap();
    assert_eq!(
        client.decrypt(secret, &reply).unwrap_err(),
        mismatch("counts", 4, 3)
    );

    let mut message = query.to_bytes();
    message[4] = 7;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::Version {
            found: 7,
            expected: 2
        }
    );
    message[4] = 2;
    // All planes of coefficient 9 full: above q / 2^7.
    for plane in 0..4 {
        message[24 + plane * 2048 + 9] = 0xff;
    }
    message[24 + 4 * 2048 + 1] |= 2;
    assert_eq!(
        Query::from_bytes(&message).unwrap_err(),
        Error::Coefficient { index: 9 }
    );
}

#[test]
fn equal_queries_encrypt_to_unrelated_messages() {
    let mut rng = ChaCha12Rng::from_seed([7; 32]);
    let (database, hint) = Database::encode(&Params::real_t4(), SEED, &[0.5; 8], 4).unwrap();
    let client = client_of(&database, &hint);
    let (secret, first) = client.encrypt(&mut rng, &[0.5; 4]).unwrap();
    let (_, second) = client.encrypt(&mut rng, &[0.5; 4]).unwrap();
    let (first, second) = (first.to_bytes(), second.to_bytes());
    let same = first
        .iter()
        .zip(&second)
        .skip(24)
        .filter(|(x, y)| x == y)
        .count();
    // One byte in 256 agrees by chance: 33 of 8448.
    assert!(same < 80, "{same}");
    let printed = format!("{secret:?}{client:?}");
    assert!(printed.len() < 800 && printed.contains(".."), "{printed}");
}
