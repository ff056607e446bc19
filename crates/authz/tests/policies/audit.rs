//! A changed audit log is refused, with an error that names the change.

use proptest::prelude::*;
use sordino_authz::{
    AuditKey, AuditLog, Authorizer, Context, Engine, Error, Head, Request, Uid, Value,
};
use sordino_hash::merkle::Proof;

/// A log of `count` entries: the bytes of each entry, the log, its head and the head's bytes.
fn log(count: u64) -> (Vec<Vec<u8>>, AuditLog, Head, Vec<u8>) {
    let policies = "permit(principal, action, resource); forbid(principal == User::\"3\", action, resource); permit(principal, action, resource) when { context.none };";
    let engine = Engine::without_schema(policies, "[]").unwrap();
    let context = Context::new([("query", Value::string("a secret question"))]).unwrap();
    let mut log = AuditLog::new();
    let entries = (0..count).map(|i| {
        let id = i.to_string();
        let request = Request::new(
            Uid::new("User", &id),
            Uid::new("Action", "search"),
            Uid::new("Index", "mail"),
        );
        let request = request.with(&context);
        log.append(1_000 + i, &request, &engine.check(&request))
            .unwrap()
    });
    let entries = entries.collect();
    let key = AuditKey::from_seed(&[3; 32]);
    let head = log.sign(2_000, &key);
    (entries, log, head, key.public_key())
}

#[test]
fn a_log_is_what_was_decided() {
    let (entries, log, head, key) = log(5);
    let stored = entries.concat();
    let read = head.verify(&stored, &key).unwrap();
    assert_eq!(
        (read.len(), head.count(), head.time(), log.len()),
        (5, 5, 2_000, 5)
    );
    assert_eq!(
        (read[2].time, read[2].principal.id(), read[2].allowed),
        (1_002, "2", true)
    );
    assert_eq!(read[2].policies, ["policy0".into()]);
    assert_eq!(read[2].errors.len(), 1);
    assert_eq!((read[3].allowed, &*read[3].policies[0]), (false, "policy1"));
    assert!(
        !stored.windows(8).any(|bytes| bytes == b"question"),
        "no query is in it"
    );
    assert_eq!(Head::from_bytes(&head.to_bytes()), Ok(head.clone()));
    assert_eq!(Head::verify(&self::log(0).2, &[], &key), Ok(Vec::new()));
}

#[test]
fn changes_have_names() {
    let (entries, _, head, key) = log(6);
    let verify = |entries: &[Vec<u8>]| head.verify(&entries.concat(), &key).unwrap_err();
    let mut altered = entries.clone();
    altered[2][60] ^= 1;
    assert_eq!(verify(&altered), Error::AuditAltered { entry: 2 });
    let mut removed = entries.clone();
    removed.remove(3);
    assert_eq!(verify(&removed), Error::AuditRemoved { entry: 3 });
    removed.remove(3);
    assert_eq!(verify(&removed), Error::AuditRemoved { entry: 3 });
    let mut swapped = entries.clone();
    swapped.swap(1, 4);
    assert_eq!(
        verify(&swapped),
        Error::AuditReordered { entry: 1, place: 4 }
    );
    let mut repeated = entries.clone();
    repeated.insert(2, entries[1].clone());
    assert_eq!(
        verify(&repeated),
        Error::AuditReordered { entry: 1, place: 2 }
    );
    assert_eq!(
        verify(&entries[..4]),
        Error::AuditTruncated {
            found: 4,
            signed: 6
        }
    );
    assert_eq!(verify(&entries[1..]), Error::AuditRemoved { entry: 0 });
    let stored = entries.concat();
    let cut = head.verify(&stored[..stored.len() - 1], &key);
    assert_eq!(cut, Err(Error::AuditCut { entry: 5 }));
    let longer = log(7).0;
    assert_eq!(
        verify(&longer),
        Error::AuditUnsigned {
            found: 7,
            signed: 6
        }
    );
}

/// An attacker can compute all digests again, but cannot sign a head for them, so the check against the real head
/// fails.
#[test]
fn another_log_is_not_the_heads() {
    let (_, _, head, key) = log(6);
    let engine = Engine::without_schema("permit(principal, action, resource);", "[]").unwrap();
    let mut forged = AuditLog::new();
    let mut stored = Vec::new();
    for _ in 0..6 {
        let request = Request::new(
            Uid::new("User", "x"),
            Uid::new("Action", "search"),
            Uid::new("Index", "mail"),
        );
        stored.extend(forged.append(0, &request, &engine.check(&request)).unwrap());
    }
    assert_eq!(head.verify(&stored, &key), Err(Error::AuditHead));
    let other = AuditKey::from_seed(&[4; 32]);
    let forged = forged.sign(2_000, &other);
    assert!(forged.verify(&stored, &other.public_key()).is_ok());
    assert_eq!(forged.verify(&stored, &key), Err(Error::AuditSignature));
    assert_eq!(forged.verify(&stored, &[]), Err(Error::AuditSignature));
    let mut bytes = head.to_bytes();
    bytes[8] += 1;
    let later = Head::from_bytes(&bytes).unwrap();
    assert_eq!(later.verify(&stored, &key), Err(Error::AuditSignature));
}

#[test]
fn one_entry_is_proved() {
    let (entries, log, head, key) = log(9);
    for (entry, i) in entries.iter().zip(0..) {
        let proof = log.prove(i).unwrap();
        let proof = Proof::from_bytes(&proof.to_bytes()).unwrap();
        assert_eq!(
            head.verify_one(entry, &proof, &key).unwrap().time,
            1_000 + i as u64
        );
        let other = log.prove((i + 1) % 9).unwrap();
        assert_eq!(
            head.verify_one(entry, &other, &key),
            Err(Error::AuditProof { entry: i as u64 })
        );
    }
    let mut altered = entries[4].clone();
    altered[50] ^= 1;
    assert!(
        head.verify_one(&altered, &log.prove(4).unwrap(), &key)
            .is_err()
    );
    assert!(
        head.verify_one(&entries.concat(), &log.prove(0).unwrap(), &key)
            .is_err()
    );
    assert!(log.prove(9).is_none());
}

#[test]
fn a_log_goes_on_where_it_ended() {
    let (entries, mut log, _, _) = log(4);
    let mut opened = AuditLog::open(&entries.concat()).unwrap();
    let engine = Engine::without_schema("", "[]").unwrap();
    let request = Request::new(
        Uid::new("User", "x"),
        Uid::new("Action", "search"),
        Uid::new("Index", "mail"),
    );
    let decision = engine.check(&request);
    assert_eq!(
        opened.append(9, &request, &decision),
        log.append(9, &request, &decision)
    );
    assert_eq!(
        AuditLog::open(&entries[1..].concat()).unwrap_err(),
        Error::AuditRemoved { entry: 0 }
    );
}

#[test]
fn an_entry_above_its_bound_is_not_written() {
    let (_, mut log, _, _) = log(1);
    let long = "x".repeat(2 << 20);
    let request = Request::new(
        Uid::new("User", &long),
        Uid::new("Action", "search"),
        Uid::new("Index", "mail"),
    );
    let decision = Engine::without_schema("", "[]").unwrap().check(&request);
    assert!(matches!(
        log.append(0, &request, &decision),
        Err(Error::TooLarge { .. })
    ));
    assert_eq!(log.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A change of any one byte of a stored log or head is found.
    #[test]
    fn every_byte_is_protected(place in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (entries, _, head, key) = log(3);
        let mut stored = entries.concat();
        let at = place.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        prop_assert!(head.verify(&stored, &key).is_err());
        let mut bytes = head.to_bytes();
        let at = place.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(Head::from_bytes(&bytes).and_then(|head| head.verify(&entries.concat(), &key)).is_err());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = AuditLog::open(&bytes);
        let _ = Head::from_bytes(&bytes);
    }
}
