//! Databases that change, and databases made of several segments.

use std::sync::Arc;

use chacha20::ChaCha12Rng;
use rand_core::SeedableRng;
use sordino_ckks::Error;
use sordino_ckks::column::{Client, Database, Hint, HintDelta, Params, Reply, Segments};

use super::parties::{SEED, client_of, dots, integer_query, residues};

#[test]
fn updates_equal_a_fresh_encoding() {
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
    // The additions end within the last block, cross its end, go far beyond it, add nothing, and
    // start at a full block.
    for more in [5, 400, 2000, 0, 3 * 512 - 33, 1] {
        let fresh = residues(&mut rng, more * dim, 26);
        base.extend(&fresh);
        follow(
            database.append_modular(&fresh).unwrap(),
            &mut hint,
            &mut client,
        );
        assert_eq!(database.len() * dim, base.len());
        let (mut encoded, _) = Database::encode_modular(&params, SEED, &base, dim).unwrap();
        encoded.set_version(database.version());
        assert_eq!(hint, encoded.hint());
        assert_eq!(client.version(), database.version());
        let query = integer_query(&mut rng, dim, 26);
        let (secret, encrypted) = client.encrypt_modular(&mut rng, &query).unwrap();
        let reply = database.score(&encrypted).unwrap();
        assert_eq!(reply, encoded.score(&encrypted).unwrap());
        assert_eq!(
            client.decrypt_modular(secret, &reply).unwrap().len(),
            database.len()
        );
    }

    // A client that missed the changes gets an error, not wrong scores.
    let query = integer_query(&mut rng, dim, 26);
    let (secret, encrypted) = old_client.encrypt_modular(&mut rng, &query).unwrap();
    let reply = database.score(&encrypted).unwrap();
    assert!(matches!(
        old_client.decrypt_modular(secret, &reply).unwrap_err(),
        Error::Mismatch { what: "counts", .. }
    ));
    // The database has the same number of vectors, but one of them has changed.
    let behind = client_of(&database, &hint);
    let delta = database.delete(0).unwrap();
    let (secret, encrypted) = behind.encrypt_modular(&mut rng, &query).unwrap();
    let reply = database.score(&encrypted).unwrap();
    let version = |found, expected| Error::Version { found, expected };
    let expected = behind.version();
    assert_eq!(
        behind.decrypt_modular(secret, &reply).unwrap_err(),
        version(expected + 1, expected)
    );
    follow(vec![delta.clone()], &mut hint, &mut client);
    // Applies deltas out of order, or twice.
    let deltas = database
        .append_modular(&residues(&mut rng, 4000 * dim, 26))
        .unwrap();
    let at = hint.version();
    for (wrong, found) in [(&deltas[1], at + 2), (&delta, at)] {
        assert_eq!(client.apply(wrong).unwrap_err(), version(found, at + 1));
        assert_eq!(hint.apply(wrong).unwrap_err(), version(found, at + 1));
    }
    // A delta for a block after the next one.
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

    // The client goes back to the first two segments and continues with a different one. It refuses a
    // hint for another seed.
    let len = client.len();
    let mut other = Database::empty(&params, SEED, dim, 5000).unwrap();
    for (_, codes) in &segments[..2] {
        other.append_segment_modular(codes).unwrap();
    }
    let codes = residues(&mut rng, 40 * dim, 26);
    let hint = other.append_segment_modular(&codes).unwrap();
    let foreign = Database::empty(&params, [77; 32], dim, 0);
    let foreign = foreign.unwrap().append_segment_modular(&codes).unwrap();
    let both = [hint, foreign];
    let refused = client.replace_after(1024, &both).unwrap_err();
    assert!(matches!(refused, Error::Epoch { .. }), "{refused}");
    assert!(client.replace_after(len + 1, &both[..1]).is_err());
    assert_eq!(client.len(), len);
    client.replace_after(1024, &both[..1]).unwrap();
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

/// Replies equal the replies of one database, bit for bit. One segment serves two states at the
/// same time.
#[test]
fn shared_segments_score_as_one_database_does() {
    let mut rng = ChaCha12Rng::from_seed([10; 32]);
    let (params, dim) = (Params::modular_26_t4(), 9);
    let mut database = Database::empty(&params, SEED, dim, 0).unwrap();
    let mut segments = Segments::new(&params, SEED, dim).unwrap();
    let mut client = Client::empty(&params, SEED, dim).unwrap();
    let mut states = vec![segments.clone()];
    for count in [700, 1, 1024, 30] {
        let codes = residues(&mut rng, count * dim, 26);
        let (segment, hint) = segments.encode_modular(&codes).unwrap();
        assert_eq!(segments.hint_modular(&codes).unwrap(), hint);
        assert_eq!(hint, database.append_segment_modular(&codes).unwrap());
        client.extend(&hint).unwrap();
        segments.push(Arc::new(segment)).unwrap();
        assert_eq!(segments.len(), database.len());
        let query = || integer_query(&mut ChaCha12Rng::from_seed([3; 32]), dim, 26);
        let queries: Vec<_> = (0..3)
            .map(|_| client.encrypt_modular(&mut rng, &query()).unwrap().1)
            .collect();
        let together = segments.score_batch(&queries).unwrap();
        assert_eq!(together, database.score_batch(&queries).unwrap());
        states.push(segments.clone());
    }
    // The earlier states did not change.
    let lens: Vec<usize> = states.iter().map(Segments::len).collect();
    assert_eq!(lens, [0, 700, 1025, 2560, 2590]);
    assert!(states[0].is_empty() && states[0].score_batch(&[]).unwrap().is_empty());

    let other = |params: &Params, seed, dim: usize| {
        let codes = vec![1; 5 * dim];
        let (segment, _) = Database::encode_modular(params, seed, &codes, dim).unwrap();
        segments.clone().push(Arc::new(segment)).unwrap_err()
    };
    let wide = Params::modular_26_t8();
    assert!(matches!(other(&wide, SEED, dim), Error::Mismatch { .. }));
    assert!(matches!(other(&params, SEED, 10), Error::Mismatch { .. }));
    assert!(matches!(other(&params, [9; 32], dim), Error::Epoch { .. }));
}

/// Joined parts of segments give the replies and hints of the whole segments, bit for bit.
#[test]
fn parts_of_segments_join_to_the_whole() {
    let mut rng = ChaCha12Rng::from_seed([11; 32]);
    for params in [Params::modular_26_t4(), Params::modular_26_t8()] {
        let (dim, block) = (9, params.block_vectors());
        let codes: Vec<Vec<i32>> = [5 * block + 3, 1, 2 * block, 30]
            .map(|count| residues(&mut rng, count * dim, 26))
            .into();
        let mut whole = Segments::new(&params, SEED, dim).unwrap();
        let mut client = Client::empty(&params, SEED, dim).unwrap();
        let mut hints = Vec::new();
        for codes in &codes {
            let (segment, hint) = whole.encode_modular(codes).unwrap();
            client.extend(&hint).unwrap();
            whole.push(Arc::new(segment)).unwrap();
            hints.push(hint);
        }
        let query = integer_query(&mut rng, dim, 26);
        let query = [client.encrypt_modular(&mut rng, &query).unwrap().1];
        let expected = whole.score_batch(&query).unwrap()[0].to_bytes();
        for of in 1..5 {
            let mut parts = vec![Segments::new(&params, SEED, dim).unwrap(); of];
            let mut runs = Vec::new();
            for (codes, hint) in codes.iter().zip(&hints) {
                let blocks = codes.len().div_ceil(block * dim);
                let mut pieces = Vec::new();
                for (at, part) in parts.iter_mut().enumerate() {
                    let (start, end) = (blocks * at / of, blocks * (at + 1) / of);
                    let own = start * block * dim..(end * block * dim).min(codes.len());
                    let own = if start == end { &[][..] } else { &codes[own] };
                    let (segment, hint) = part.encode_modular(own).unwrap();
                    part.push(Arc::new(segment)).unwrap();
                    runs.push((at, end - start));
                    pieces.extend((start < end).then_some(hint));
                }
                assert_eq!(Hint::join(&pieces).unwrap(), *hint);
            }
            for part in &mut parts[..of - 1] {
                part.complete().unwrap();
            }
            let replies: Vec<Vec<u8>> = parts
                .iter()
                .map(|part| part.score_batch(&query).unwrap()[0].to_bytes())
                .collect();
            let replies: Vec<&[u8]> = replies.iter().map(Vec::as_slice).collect();
            let mut joined = vec![7];
            Reply::join(&replies, runs.iter().copied(), &mut joined).unwrap();
            assert_eq!(joined[1..], expected, "{of}");
            let refused = |replies: &[&[u8]], runs: &[(usize, usize)]| {
                Reply::join(replies, runs.iter().copied(), &mut Vec::new()).is_err()
            };
            assert!(refused(&replies[1..], &runs) && refused(&[], &runs));
            assert!(refused(&replies, &runs[1..]));
            assert!(refused(&replies, &[&runs[..], &[(of, 1)]].concat()));
            assert!(refused(&replies, &[&runs[..], &[(0, 1)]].concat()));
            let last = replies[of - 1];
            assert!(refused(
                &[&replies[..of - 1], &[&last[..last.len() - 1]]].concat(),
                &runs
            ));
            if of > 1 {
                // One part replaces another, and a part whose last block is incomplete precedes
                // other parts.
                assert!(refused(&[&[last], &replies[1..]].concat(), &runs));
                let turned: Vec<_> = runs.iter().rev().copied().collect();
                assert!(refused(&replies, &turned));
            }
        }
        let count = whole.len();
        assert!(Reply::check_bytes(&expected, &params, dim, count).is_ok());
        assert!(Reply::check_bytes(&expected, &params, dim, count + 1).is_err());
        assert!(Reply::check_bytes(&expected, &params, dim + 1, count).is_err());
        assert!(Reply::check_bytes(&expected, &Params::real_t4(), dim, count).is_err());
        assert!(Hint::join(&[]).is_err());
        let (short, long) = (hints[1].clone(), hints[2].clone());
        assert!(Hint::join(&[short.clone(), long.clone()]).is_err());
        assert!(Hint::join(&[long, short]).is_ok());
    }
}
