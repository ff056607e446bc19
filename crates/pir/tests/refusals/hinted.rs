//! Bytes from a network or a file give errors, never a panic. No allocation is larger than the
//! length of the bytes justifies.

use std::io::Write as _;
use std::path::Path;

use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sordino_pir::simple::{self, Change, Database, Params};
use sordino_pir::{Error, Security, Seed, Set, double};

type Decode = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;
type Message = (&'static str, Vec<u8>, Decode);

/// One message of every kind, with its decoder.
fn messages() -> Vec<Message> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let seed = Seed([1; 32]);
    let params = Params::for_database(60, 3).unwrap();
    let database = Database::from_slice(&params, &[5; 180]).unwrap();
    let (mut server, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let (_, query) = client.query(&mut rng, 7).unwrap();
    let answer = server.answer(&query).unwrap();
    let raw = server.answer_raw(&query).unwrap();
    let changes = [
        Change::Delete { index: 1 },
        Change::Append {
            record: vec![1, 2, 3],
        },
    ];
    let update = server.update(&changes).unwrap();
    let two = double::Params::for_double(30, 1).unwrap();
    let database = double::Database::from_slice(&two, &[5; 30]).unwrap();
    let (mut server, two_hint) = double::Server::setup(database, &two, &seed).unwrap();
    let client = double::Client::new(&two, &seed, &two_hint).unwrap();
    let (_, two_query) = client.query(&mut rng, 7).unwrap();
    let two_answer = server.answer(&two_query).unwrap();
    let two_update = server.update(&changes[..1]).unwrap();
    vec![
        (
            "params",
            params.to_bytes(),
            Box::new(|b: &[u8]| Params::from_bytes(b).is_ok()),
        ),
        (
            "hint",
            hint.to_bytes(),
            Box::new(move |b: &[u8]| simple::Hint::from_bytes(&params, b).is_ok()),
        ),
        (
            "query",
            query.to_bytes(),
            Box::new(move |b: &[u8]| simple::Query::from_bytes(&params, b).is_ok()),
        ),
        (
            "answer",
            answer.to_bytes(),
            Box::new(move |b: &[u8]| simple::Answer::from_bytes(&params, b).is_ok()),
        ),
        (
            "raw answer",
            raw.to_bytes(),
            Box::new(move |b: &[u8]| simple::RawAnswer::from_bytes(&params, b).is_ok()),
        ),
        (
            "update",
            update.to_bytes(),
            Box::new(move |b: &[u8]| simple::Update::from_bytes(&params, b).is_ok()),
        ),
        (
            "double query",
            two_query.to_bytes(),
            Box::new(move |b: &[u8]| double::Query::from_bytes(&two, b).is_ok()),
        ),
        (
            "double answer",
            two_answer.to_bytes(),
            Box::new(move |b: &[u8]| double::Answer::from_bytes(&two, b).is_ok()),
        ),
        (
            "double hint",
            two_hint.to_bytes(),
            Box::new(move |b: &[u8]| double::Hint::from_bytes(&two, b).is_ok()),
        ),
        (
            "double update",
            two_update.to_bytes(),
            Box::new(move |b: &[u8]| double::Update::from_bytes(&two, b).is_ok()),
        ),
    ]
}

#[test]
fn truncated_and_extended_messages_are_refused() {
    for (name, bytes, decode) in messages() {
        assert!(decode(&bytes), "{name}");
        let step = (bytes.len() / 300).max(1);
        for len in (0..bytes.len()).step_by(step).chain(0..60.min(bytes.len())) {
            assert!(!decode(&bytes[..len]), "{name} cut to {len}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(!decode(&longer), "{name} with a byte more");
    }
}

/// The seeds of the fuzz targets are the current messages; `SORDINO_WRITE_SEEDS=1` writes them
/// again.
#[test]
fn the_fuzz_targets_start_from_messages_of_today() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    if !corpus.is_dir() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: the fuzz targets' seeds, they are not next to this package"
        );
        return;
    }
    let seed = |target: &str, name: &str, bytes: &[u8]| {
        let path = corpus.join(target).join(name);
        if std::env::var_os("SORDINO_WRITE_SEEDS").is_some() {
            std::fs::write(&path, bytes).unwrap();
        }
        assert!(
            std::fs::read(&path).is_ok_and(|found| found == bytes),
            "{target}/{name} is not of today: SORDINO_WRITE_SEEDS=1"
        );
    };
    // Two hints are too long for a fuzzer to change usefully.
    for (name, bytes, _) in messages() {
        match name.strip_prefix("double ") {
            Some("hint") => (),
            Some(name) => seed("pir_double", name, &bytes),
            None if name == "hint" => (),
            None => seed("pir_simple", &name.replace(' ', "_"), &bytes),
        }
    }
    let params = Params::for_database(60, 3).unwrap();
    let database = Database::from_slice(&params, &[5; 180]).unwrap();
    let path = std::env::temp_dir().join(format!("sordino-pir-seed-{}", std::process::id()));
    database.write_file(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    seed("pir_file", "database", &bytes);
}

#[test]
fn a_changed_header_is_refused_and_the_version_kept_apart() {
    for (name, bytes, decode) in messages() {
        // Bytes 32 to 40 are the version, which the receiver compares with its own.
        for bit in (0..8 * 48).filter(|bit| !(32..40).contains(&(bit / 8))) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            // With a changed number of records, the bytes may still be a valid update or valid
            // parameters.
            if !name.ends_with("update") && name != "params" {
                assert!(!decode(&changed), "{name}, bit {bit}");
            } else {
                decode(&changed);
            }
        }
    }
}

#[test]
fn every_decoder_refuses_every_other_kind() {
    let messages = messages();
    for (name, bytes, _) in &messages {
        for (other, _, decode) in &messages {
            assert_eq!(decode(bytes), name == other, "{name} read as {other}");
        }
    }
}

#[test]
fn errors_say_what_was_found() {
    let params = Params::for_database(60, 3).unwrap();
    let bytes = params.to_bytes();
    let error = |change: fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        Params::from_bytes(&bytes).unwrap_err().to_string()
    };
    assert_eq!(error(|b| b.truncate(5)), "5 bytes, expected 48");
    assert_eq!(
        error(|b| b[0] = 0),
        "not a message of this crate: magic [00, 50, 49, 52]"
    );
    assert_eq!(error(|b| b[4] = 9), "wire format 9, expected 1");
    assert_eq!(error(|b| b[6] = 2), "message kind 2, expected 1");
    assert_eq!(
        error(|b| b[7] = 15),
        "malformed header: unknown parameter set"
    );
    assert_eq!(error(|b| b[7] = 0x21), "malformed header: unknown scheme");
    assert_eq!(error(|b| b.push(0)), "1 bytes, expected 0");
}

#[test]
fn sizes_that_no_machine_has_are_refused_without_being_allocated() {
    let mut bytes = Params::for_database(60, 3).unwrap().to_bytes();
    for at in [8, 16, 24] {
        for value in [0, u64::MAX, 1 << 40, u64::MAX / 2, 1 << 32] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
            assert!(Params::from_bytes(&changed).is_err(), "{value} at {at}");
        }
    }
    bytes[8..32].fill(0xff);
    assert!(Params::from_bytes(&bytes).is_err());
}

#[test]
fn files_that_are_short_long_changed_or_shrinking_are_refused() {
    let params = Params::for_database(900, 3).unwrap();
    let bytes: Vec<u8> = (0..2700u16).map(|i| i.to_le_bytes()[0]).collect();
    let database = Database::from_slice(&params, &bytes).unwrap();
    let folder = std::env::temp_dir().join(format!("sordino-pir-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("database");
    database.write_file(&path).unwrap();
    assert!(matches!(database.write_file(&path), Err(Error::Io(_))));
    let seed = Seed([7; 32]);
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let read = Database::read_file(&path).unwrap();
    assert_eq!(*read.params(), params);
    let (server, hint) = simple::Server::setup(read, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let (secret, query) = client.query(&mut rng, 899).unwrap();
    let answer = server.answer(&query).unwrap();
    assert_eq!(client.recover(secret, &answer).unwrap(), bytes[2697..]);
    let whole = std::fs::read(&path).unwrap();
    for len in [0, 47, 4095, 4096, whole.len() - 1, whole.len() + 1] {
        let mut other = whole.clone();
        other.resize(len, 0);
        std::fs::write(&path, &other).unwrap();
        assert!(Database::read_file(&path).is_err(), "{len} bytes");
    }
    // The older form, from before the matrix was stored in strips.
    let mut old = whole.clone();
    old[6] = 1;
    std::fs::write(&path, &old).unwrap();
    assert!(matches!(
        Database::read_file(&path),
        Err(Error::Kind {
            found: 1,
            expected: 11
        })
    ));
    let mut other = whole.clone();
    other[16] ^= 1;
    std::fs::write(&path, &other).unwrap();
    assert!(matches!(
        Database::read_file(&path),
        Err(Error::Length { .. })
    ));
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #[test]
    fn random_bytes_never_panic(head in any::<[u8; 40]>(), tail in prop::collection::vec(any::<u8>(), 0..200)) {
        static MESSAGES: std::sync::OnceLock<Vec<Message>> = std::sync::OnceLock::new();
        for (_, bytes, decode) in MESSAGES.get_or_init(messages) {
            decode(&tail);
            // Bytes after a valid magic, format and kind.
            let mut bytes = bytes[..8].to_vec();
            bytes.extend(head);
            bytes.extend(&tail);
            bytes[40..48].copy_from_slice(&(tail.len() as u64).to_le_bytes());
            decode(&bytes);
        }
    }

    #[test]
    fn flipped_payloads_decode_and_are_used_without_panics(flips in prop::collection::vec(any::<u32>(), 1..20)) {
        let params = Params::for_database(40, 3).unwrap();
        let seed = Seed([1; 32]);
        let database = Database::from_slice(&params, &[5; 120]).unwrap();
        let (server, hint) = simple::Server::setup(database, &params, &seed).unwrap();
        let client = simple::Client::new(&params, &seed, &hint).unwrap();
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let (secret, query) = client.query(&mut rng, 3).unwrap();
        let mut bytes = query.to_bytes();
        let payload = 8 * (bytes.len() - 48);
        for flip in &flips {
            let bit = *flip as usize % payload;
            bytes[48 + bit / 8] ^= 1 << (bit % 8);
        }
        let query = simple::Query::from_bytes(&params, &bytes).unwrap();
        let mut bytes = server.answer(&query).unwrap().to_bytes();
        let payload = 8 * (bytes.len() - 48);
        for flip in &flips {
            let bit = *flip as usize % payload;
            bytes[48 + bit / 8] ^= 1 << (bit % 8);
        }
        // Padding bits of the last byte may be set, and have no meaning.
        let answer = simple::Answer::from_bytes(&params, &bytes).unwrap();
        prop_assert_eq!(client.recover(secret, &answer).unwrap().len(), 3);
    }
}

#[test]
fn random_bytes_are_not_a_database_file() {
    let path = std::env::temp_dir().join(format!("sordino-pir-random-{}", std::process::id()));
    let mut bytes = vec![0; 10_000];
    ChaCha20Rng::from_seed([9; 32]).fill_bytes(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(
        Database::read_file(&path),
        Err(Error::Magic { .. })
    ));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn parameters_below_128_bits_are_read_only_by_who_asks_for_them() {
    let params = Params::for_columns(2000, 10).unwrap();
    let published = params.at(Security::Published121).unwrap();
    assert!(matches!(
        Params::from_bytes(&published.to_bytes()),
        Err(Error::Security {
            set: Set::Published121
        })
    ));
    let read = Params::published_from_bytes(&published.to_bytes());
    assert_eq!(read.unwrap(), published);
    assert!(matches!(
        Params::published_from_bytes(&params.to_bytes()),
        Err(Error::Security { set: Set::N1024S32 })
    ));
    for security in [Security::Classical128, Security::CoreSvp128] {
        let params = params.at(security).unwrap();
        assert_eq!(Params::from_bytes(&params.to_bytes()).unwrap(), params);
    }
}

#[test]
fn debug_prints_sizes_and_no_contents() {
    let params = Params::for_columns(3000, 100).unwrap();
    let database = Database::from_slice(&params, &vec![7; 300_000]).unwrap();
    assert!(format!("{database:?}").len() < 400);
    let seed = Seed([1; 32]);
    let (mut server, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let (secret, query) = client.query(&mut rng, 7).unwrap();
    let answer = server.answer_raw(&query).unwrap();
    let update = server.update(&[Change::Delete { index: 3 }]).unwrap();
    for printed in [
        format!("{server:?}"),
        format!("{client:?}"),
        format!("{hint:?}"),
        format!("{secret:?}"),
        format!("{query:?}"),
        format!("{answer:?}"),
        format!("{:?}", answer.round()),
        format!("{update:?}"),
    ] {
        assert!(
            printed.len() < 400 && printed.contains("version"),
            "{printed}"
        );
    }
}
