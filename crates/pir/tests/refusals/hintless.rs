//! Messages that no honest party sends give typed errors, and no panic.

use std::io::Write as _;
use std::path::Path;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_pir::hintless::{
    Answer, Client, Database, Evaluation, Keys, Params, Query, Server, Session,
};
use sordino_pir::{Error, Seed};

const SEED: Seed = Seed([9; 32]);
const HEADER: usize = 48;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
fn deploy_of(records: usize, len: usize, seed: Seed) -> (Server, Client) {
    let params = Params::new(records, len, 2).unwrap();
    let all = vec![vec![7; len]; records];
    let database = Database::from_records(&params, &seed, all).unwrap();
    (Server::from(database), Client::new(&params, &seed))
}

fn deploy(records: usize, seed: Seed) -> (Server, Client) {
    deploy_of(records, 300, seed)
}

/// A database whose slots have several rows.
fn deploy_rows() -> (Server, Client) {
    let (server, client) = deploy_of(300, 1792, SEED);
    assert!(client.params().query_len() > 2 * 9216);
    (server, client)
}

#[test]
fn messages_cut_short_or_long_or_of_another_kind_are_refused() {
    let (session, keys) = Session::new(&mut rng(1));
    let (server, client) = deploy(20, SEED);
    let params = client.params();
    let (_, query) = client.query(&mut rng(2), &session, &[3, 4]).unwrap();
    let answer = server.answer(&Evaluation::from(&keys), &query).unwrap();
    let messages = [keys.to_bytes(), query.to_bytes(), answer.to_bytes()];
    assert_eq!(messages[0].len(), Keys::LEN);
    let read = |i: usize, bytes: &[u8]| match i {
        0 => Keys::from_bytes(bytes).map(drop),
        1 => Query::from_bytes(params, bytes).map(drop),
        _ => Answer::from_bytes(params, bytes).map(drop),
    };
    for (i, message) in messages.iter().enumerate() {
        read(i, message).unwrap();
        for len in [
            0,
            1,
            HEADER - 1,
            HEADER,
            HEADER + 31,
            HEADER + 63,
            message.len() - 1,
        ] {
            assert!(matches!(
                read(i, &message[..len]),
                Err(Error::Length { .. })
            ));
            // A header that states the truncated length is refused too.
            let mut cut = message[..len.max(HEADER)].to_vec();
            let payload = (cut.len() - HEADER) as u64;
            cut[40..HEADER].copy_from_slice(&payload.to_le_bytes());
            assert!(
                matches!(read(i, &cut), Err(Error::Length { .. })),
                "{i} {len}"
            );
        }
        let mut long = message.clone();
        long.push(0);
        assert!(matches!(read(i, &long), Err(Error::Length { .. })));
        for other in (0..3).filter(|other| *other != i) {
            assert!(matches!(read(other, message), Err(Error::Kind { .. })));
        }
        let mut magic = message.clone();
        magic[0] ^= 1;
        assert!(matches!(read(i, &magic), Err(Error::Magic { .. })));
        let mut set = message.clone();
        set[7] = 9;
        assert!(matches!(read(i, &set), Err(Error::Header(_))));
    }
}

#[test]
fn keys_of_another_ring_or_out_of_range_are_refused() {
    let (_, keys) = Session::new(&mut rng(1));
    let bytes = keys.to_bytes();
    let mut numbers = bytes.clone();
    numbers[8] = 1;
    assert!(matches!(Keys::from_bytes(&numbers), Err(Error::Header(_))));
    // A word of ones is above q, at every position.
    for at in [0, 1000, 46 * 12_800 - 8] {
        let mut large = bytes.clone();
        large[HEADER + 32 + at..][..8].fill(0xff);
        assert!(matches!(
            Keys::from_bytes(&large),
            Err(Error::Coefficient { .. })
        ));
    }
    // The keys have half of the polynomials, as with a ring of half the degree.
    let mut half = bytes[..HEADER + 32 + 46 * 6400].to_vec();
    half[40..HEADER].copy_from_slice(&(32 + 46 * 6400u64).to_le_bytes());
    assert!(matches!(Keys::from_bytes(&half), Err(Error::Length { .. })));
}

#[test]
fn queries_for_another_layout_seed_or_session_are_refused() {
    let (session, keys) = Session::new(&mut rng(1));
    let (other_session, other_keys) = Session::new(&mut rng(2));
    let (keys, other_keys) = (Evaluation::from(&keys), Evaluation::from(&other_keys));
    let (server, client) = deploy(20, SEED);
    let (_, query) = client.query(&mut rng(3), &session, &[3]).unwrap();
    let refused = server.answer(&other_keys, &query);
    assert!(matches!(refused, Err(Error::SessionMismatch)));

    let (larger, larger_client) = deploy(21, SEED);
    let refused = larger.answer(&keys, &query);
    assert!(matches!(refused, Err(Error::LayoutMismatch { .. })));
    let bytes = query.to_bytes();
    let refused = Query::from_bytes(larger_client.params(), &bytes);
    assert!(matches!(refused, Err(Error::LayoutMismatch { .. })));

    let (reseeded, _) = deploy(20, Seed([8; 32]));
    let refused = reseeded.answer(&keys, &query);
    assert!(matches!(refused, Err(Error::VersionMismatch { .. })));

    // Answers are checked in the same way.
    let (asked, query) = client.query(&mut rng(3), &session, &[3]).unwrap();
    let answer = server.answer(&keys, &query).unwrap();
    let refused = client.recover(&other_session, asked, &answer);
    assert!(matches!(refused, Err(Error::SessionMismatch)));
    let (asked, _) = larger_client.query(&mut rng(3), &session, &[3]).unwrap();
    let refused = larger_client.recover(&session, asked, &answer);
    assert!(matches!(refused, Err(Error::LayoutMismatch { .. })));
}

#[test]
fn what_is_out_of_range_or_too_much_is_refused() {
    let (session, _) = Session::new(&mut rng(1));
    let (_, client) = deploy(20, SEED);
    let refused = client.query(&mut rng(2), &session, &[20]);
    assert!(matches!(
        refused,
        Err(Error::IndexOutOfRange { records: 20 })
    ));
    let refused = client.query(&mut rng(2), &session, &[usize::MAX]);
    assert!(matches!(refused, Err(Error::IndexOutOfRange { .. })));
    let refused = client.query(&mut rng(2), &session, &[1, 2, 3]);
    assert!(matches!(refused, Err(Error::Batch { found: 3, most: 2 })));

    let params = *client.params();
    let few = Database::from_records(&params, &SEED, [[0; 300]; 19]);
    assert!(matches!(few, Err(Error::RecordCount { found: 19, .. })));
    let many = Database::from_records(&params, &SEED, [[0; 300]; 22]);
    assert!(matches!(many, Err(Error::RecordCount { found: 21, .. })));
    let long = Database::from_records(&params, &SEED, [[0; 301]; 20]);
    assert!(matches!(long, Err(Error::RecordTooLong { index: 0, .. })));
}

#[test]
fn answers_and_queries_of_noise_are_used_without_a_panic() {
    let (session, keys) = Session::new(&mut rng(1));
    let keys = Evaluation::from(&keys);
    for (server, client) in [deploy(20, SEED), deploy_rows()] {
        for fill in [0, 0x5a, 0xff] {
            let (asked, query) = client.query(&mut rng(2), &session, &[3, 19]).unwrap();
            let mut bytes = query.to_bytes();
            bytes[HEADER + 32..].fill(fill);
            let query = Query::from_bytes(client.params(), &bytes).unwrap();
            let mut bytes = server.answer(&keys, &query).unwrap().to_bytes();
            bytes[HEADER..].fill(fill);
            let answer = Answer::from_bytes(client.params(), &bytes).unwrap();
            assert_eq!(client.recover(&session, asked, &answer).unwrap().len(), 2);
        }
    }
}

/// The seeds of the fuzz target are the current messages; `SORDINO_WRITE_SEEDS=1` writes them
/// again.
#[test]
fn the_fuzz_target_starts_from_messages_of_today() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/pir_hintless");
    if !corpus.is_dir() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a fuzz target's seeds, they are not next to this package"
        );
        return;
    }
    let (session, keys) = Session::new(&mut rng(1));
    let (server, client) = deploy_rows();
    let (_, query) = client.query(&mut rng(2), &session, &[3, 4]).unwrap();
    let answer = server.answer(&Evaluation::from(&keys), &query).unwrap();
    // Keys are too long for a fuzzer to change usefully, so only their head is a seed.
    let head = keys.to_bytes()[..HEADER + 32].to_vec();
    for (name, bytes) in [
        ("keys", head),
        ("query", query.to_bytes()),
        ("answer", answer.to_bytes()),
    ] {
        let path = corpus.join(name);
        if std::env::var_os("SORDINO_WRITE_SEEDS").is_some() {
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(
            std::fs::read(&path).is_ok_and(|found| found == bytes),
            "pir_hintless/{name} is not of today: SORDINO_WRITE_SEEDS=1"
        );
    }
}

#[test]
fn requests_look_alike_and_only_repeated_ones_repeat() {
    let (session, _) = Session::new(&mut rng(1));
    let (_, client) = deploy(20, SEED);
    let of = |seed, wanted: &[usize]| {
        client
            .query(&mut rng(seed), &session, wanted)
            .unwrap()
            .1
            .to_bytes()
    };
    let (one, other, fewer) = (of(2, &[3, 4]), of(2, &[3, 5]), of(2, &[]));
    assert!(one.len() == other.len() && one.len() == fewer.len());
    // The header and the name of the keys are equal. The seed and all encrypted parts differ, even with equal
    // generators.
    assert_eq!(one[..HEADER + 32], other[..HEADER + 32]);
    assert_ne!(
        one[HEADER + 32..HEADER + 64],
        other[HEADER + 32..HEADER + 64]
    );
    assert_eq!(one, of(2, &[3, 4]));
    assert_ne!(one, of(3, &[3, 4]));
    let (other_session, _) = Session::new(&mut rng(4));
    let under = client
        .query(&mut rng(2), &other_session, &[3, 4])
        .unwrap()
        .1
        .to_bytes();
    assert_ne!(
        one[HEADER + 32..HEADER + 64],
        under[HEADER + 32..HEADER + 64]
    );
}
