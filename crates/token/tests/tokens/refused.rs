//! A verifier refuses bytes that are no tokens, and tokens for other services or times.

use crate::coset_agrees::{block, map};
use crate::{MAIL, NEWS, NOW, claims, key, verifier, verify};
use coset::cbor::value::Value;
use sordino_token::{Actions, Claims, Error, MAX_LEN, Token, Verifier};

#[test]
fn a_token_for_another_service_or_by_another_issuer_is_refused() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let (found, expected) = ("search.example".to_owned(), "other.example".to_owned());
    let mut other = Verifier::new("other.example", &[key(1).public().clone()]);
    assert_eq!(
        other.verify(token.as_bytes(), NOW),
        Err(Error::Audience { found, expected })
    );
    let mut other = Verifier::new("search.example", &[key(5).public().clone()]);
    assert_eq!(other.verify(token.as_bytes(), NOW), Err(Error::Issuer));
}

#[test]
fn every_part_of_a_token_is_needed_and_signed() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let narrowed = token.attenuate(&claims(&key(3)), &key(2)).unwrap();
    let (bytes, first) = (narrowed.as_bytes(), token.as_bytes().len());
    let mut verifier = verifier();
    for len in 0..bytes.len() {
        let verdict = verifier.verify(&bytes[..len], NOW);
        match len {
            // The first block alone is the original token.
            _ if len == first => assert!(verdict.is_ok()),
            _ => assert!(matches!(verdict, Err(Error::Truncated { .. })), "{len}"),
        }
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << (at % 8);
        assert!(verifier.verify(&changed, NOW).is_err(), "{at}");
    }
}

#[test]
fn no_other_algorithm_is_taken() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let good = token.as_bytes();
    // Tag, array, string of 39 bytes, map with two entries, label 1, then the number -49.
    assert_eq!(good[..8], [0xd2, 0x84, 0x58, 0x27, 0xa2, 0x01, 0x38, 0x30]);
    let with = |algorithm: &[u8]| {
        let len = u8::try_from(0x27 - 2 + algorithm.len()).unwrap();
        let head = [0xd2, 0x84, 0x58, len, 0xa2, 0x01];
        verify(&[&head, algorithm, &good[8..]].concat())
    };
    let block = 0;
    // These are the numbers of ML-DSA-87, ES256, EdDSA and HMAC, which a token may not use.
    for (bytes, found) in [
        (&[0x38, 0x31][..], -50),
        (&[0x26], -7),
        (&[0x27], -8),
        (&[0x05], 5),
    ] {
        assert_eq!(with(bytes), Err(Error::Algorithm { block, found }));
    }
    // None of these names an algorithm: the text `none`, null, and the number that COSE reserves.
    for none in [&b"\x64none"[..], &[0xf6], &[0x00]] {
        assert_eq!(with(none), Err(Error::Unsigned { block }));
    }
    assert!(matches!(with(b"\x69ML-DSA-65"), Err(Error::Form { .. })));
    // Under the other algorithm's number, the signature is no signature of that algorithm.
    assert_eq!(with(&[0x38, 0x2f]), Err(Error::Issuer));
    // The header is missing, is empty, or names no algorithm.
    for header in [&[0x40][..], &[0x41, 0xa0], &[0x44, 0xa1, 0x04, 0x41, 0x00]] {
        let unsigned = [&good[..2], header, &good[4 + 0x27..]].concat();
        assert_eq!(verify(&unsigned), Err(Error::Unsigned { block }));
    }
}

#[test]
fn what_is_nested_is_refused_at_its_first_item() {
    for item in [0x81, 0xa1, 0xd2, 0xc1, 0x9f, 0xbf, 0x5f] {
        let nested = vec![item; MAX_LEN];
        assert!(
            matches!(verify(&nested), Err(Error::Form { at: 0..=2, .. })),
            "{item:x}"
        );
    }
    let found = MAX_LEN + 1;
    assert_eq!(
        verify(&vec![0x81; found]),
        Err(Error::Length {
            found,
            most: MAX_LEN
        })
    );
    // A deeply nested value replaces each claim in turn.
    let mut deep = Value::from(1);
    for _ in 0..200 {
        deep = Value::Array(vec![deep]);
    }
    for at in 0..7 {
        let mut map = map(&claims(&key(2)), None);
        map[at].1 = deep.clone();
        assert!(
            matches!(verify(&block(map, 1)), Err(Error::Form { .. })),
            "{at}"
        );
    }
}

#[test]
fn claims_outside_their_bounds_are_refused_on_both_sides() {
    type Change = fn(&mut Claims);
    let cases: [(&str, Change); 8] = [
        ("audience", |it| it.audience = String::new()),
        ("audience", |it| it.audience = "a".repeat(256)),
        ("indexes", |it| it.indexes.clear()),
        ("indexes", |it| {
            it.indexes = (0..17).map(|i| [i; 16]).collect();
        }),
        ("actions", |it| it.actions = Actions::default()),
        ("rate", |it| it.rate = 0),
        ("expiry", |it| it.expiry = it.not_before),
        ("expiry", |it| it.not_before = u64::MAX),
    ];
    for (name, change) in cases {
        let mut claims = claims(&key(2));
        change(&mut claims);
        let issued = Token::issue(&claims, &key(1));
        assert!(
            matches!(issued, Err(Error::Claim { claim, .. }) if claim == name),
            "{name}"
        );
        let token = block(map(&claims, None), 1);
        let verdict = verify(&token);
        let by_form = name == "indexes" && matches!(verdict, Err(Error::Form { .. }));
        assert!(
            by_form || matches!(verdict, Err(Error::Claim { claim, .. }) if claim == name),
            "{verdict:?}"
        );
    }
    // Indexes out of order, or repeated, are another encoding, which is refused.
    for indexes in [vec![NEWS, MAIL], vec![MAIL, MAIL]] {
        let mut claims = claims(&key(2));
        claims.indexes = indexes;
        assert!(matches!(
            verify(&block(map(&claims, None), 1)),
            Err(Error::Claim {
                claim: "indexes",
                ..
            })
        ));
        assert!(verify(Token::issue(&claims, &key(1)).unwrap().as_bytes()).is_ok());
    }
    // Claims that are missing, out of order or unknown are refused.
    let good = || map(&claims(&key(2)), None);
    for at in 0..7 {
        let mut map = good();
        map.remove(at);
        assert!(matches!(verify(&block(map, 1)), Err(Error::Form { .. })));
    }
    let mut swapped = good();
    swapped.swap(0, 1);
    assert!(matches!(
        verify(&block(swapped, 1)),
        Err(Error::Form { .. })
    ));
    let mut unknown = good();
    unknown.push((Value::from(-65541), Value::from(1)));
    assert!(matches!(
        verify(&block(unknown, 1)),
        Err(Error::Form { .. })
    ));
    let mut bits = good();
    bits[5].1 = Value::from(128);
    assert!(matches!(verify(&block(bits, 1)), Err(Error::Form { .. })));
}
