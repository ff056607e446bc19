//! The grants of tokens, verified alone and in batches.

use crate::{MAIL, NEWS, NOW, claims, key, small, verifier, verify};
use sordino_token::{Action, Actions, Error, Token};

#[test]
fn a_token_grants_what_it_says_and_nothing_else() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let grant = verify(token.as_bytes()).unwrap();
    assert_eq!(grant.claims(), &claims(&key(2)));
    assert_eq!(*grant.issuer(), key(1).public().id());
    assert_eq!(grant.check_key(key(2).public()), Ok(()));
    assert_eq!(grant.check_key(key(3).public()), Err(Error::Key));
    for action in Action::ALL {
        let granted = [Action::Search, Action::Payload, Action::Download].contains(&action);
        let expected = if granted {
            Ok(())
        } else {
            Err(Error::Action {
                action: action.name(),
            })
        };
        assert_eq!(grant.check(&MAIL, action, NOW), expected);
    }
    assert_eq!(
        grant.check(&[8; 16], Action::Search, NOW),
        Err(Error::Index)
    );
    let (expiry, not_before) = (NOW + 3600, NOW - 10);
    assert_eq!(grant.check(&NEWS, Action::Search, expiry - 1), Ok(()));
    let late = Error::Expired {
        expiry,
        now: expiry,
    };
    assert_eq!(
        grant.check(&NEWS, Action::Search, expiry),
        Err(late.clone())
    );
    assert_eq!(verifier().verify(token.as_bytes(), expiry), Err(late));
    let now = not_before - 1;
    let early = Error::NotYetValid { not_before, now };
    assert_eq!(grant.check(&NEWS, Action::Search, now), Err(early.clone()));
    assert_eq!(verifier().verify(token.as_bytes(), now), Err(early));
    assert!(verifier().verify(token.as_bytes(), not_before).is_ok());
}

#[test]
fn holders_narrow_tokens_without_the_issuer() {
    let mut token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let mut now = claims(&small(3));
    now.indexes = vec![MAIL];
    token = token.attenuate(&now, &key(2)).unwrap();
    now.actions = Actions::of(&[Action::Search]);
    now.rate = 60;
    now.holder = key(4).public().clone();
    token = token.attenuate(&now, &small(3)).unwrap();
    now.expiry = NOW + 60;
    token = token.attenuate(&now, &key(4)).unwrap();
    assert_eq!(
        token.attenuate(&now, &key(4)),
        Err(Error::Depth { most: 4 })
    );
    let grant = verify(token.as_bytes()).unwrap();
    assert_eq!(grant.claims(), &now);
    assert_eq!(grant.check(&NEWS, Action::Search, NOW), Err(Error::Index));
    let rates: Vec<([u8; 32], u32)> = grant.rates().collect();
    let names = [key(2), small(3), key(4), key(4)].map(|key| key.public().id());
    assert_eq!(
        rates,
        [
            (names[0], 600),
            (names[1], 600),
            (names[2], 60),
            (names[3], 60)
        ]
    );
    assert_eq!(Token::from_bytes(token.as_bytes()).unwrap(), token);
    assert_eq!(*token.issuer(), key(1).public().id());
}

#[test]
fn each_token_of_a_batch_gets_its_own_verdict() {
    let good = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let of_44 = Token::issue(&claims(&small(2)), &small(1)).unwrap();
    let long = good.attenuate(&claims(&small(5)), &key(2)).unwrap();
    let stranger = Token::issue(&claims(&key(2)), &key(6)).unwrap();
    let mut forged = long.as_bytes().to_vec();
    let end = forged.len();
    forged[end - 100] ^= 1;
    let mut tokens: Vec<&[u8]> = vec![
        &forged[..],
        stranger.as_bytes(),
        &b""[..],
        &good.as_bytes()[..3000],
    ];
    for _ in 0..12 {
        tokens.extend([good.as_bytes(), of_44.as_bytes(), long.as_bytes()]);
    }
    let mut verifier = verifier();
    let together = verifier.verify_each(&tokens, NOW);
    for (token, verdict) in tokens.iter().zip(&together) {
        assert_eq!(&verifier.verify(token, NOW), verdict);
    }
    assert!(matches!(
        together[0],
        Err(Error::Signature { block: 1, .. })
    ));
    assert_eq!(together[1], Err(Error::Issuer));
    assert!(matches!(
        together[2..4],
        [Err(Error::Truncated { .. }), Err(Error::Truncated { .. })]
    ));
    assert!(together[4..].iter().all(Result::is_ok));
}

#[test]
fn a_leeway_is_granted_at_both_ends_and_no_more() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let (first, end) = (NOW - 10, NOW + 3600);
    let mut lenient = verifier().leeway(60);
    for (now, good) in [
        (first - 61, false),
        (first - 60, true),
        (end + 59, true),
        (end + 60, false),
    ] {
        assert_eq!(lenient.verify(token.as_bytes(), now).is_ok(), good, "{now}");
    }
    // A grant keeps the verifier's leeway at every time of use.
    let grant = lenient.verify(token.as_bytes(), NOW).unwrap();
    assert!(grant.check(&MAIL, Action::Search, end + 59).is_ok());
    assert!(grant.check(&MAIL, Action::Search, end + 60).is_err());
    let late = verifier().verify(token.as_bytes(), end).unwrap_err();
    assert!(
        late.to_string().contains("expired at 2027-01-15T09:00:00Z"),
        "{late}"
    );
}

#[test]
fn a_fifth_block_is_one_too_many() {
    let mut token = Token::issue(&claims(&small(2)), &small(1)).unwrap();
    let mut before = 0;
    for _ in 0..3 {
        before = token.as_bytes().len();
        token = token.attenuate(&claims(&small(2)), &small(2)).unwrap();
    }
    assert!(verify(token.as_bytes()).is_ok());
    let last = &token.as_bytes()[before..];
    let five = [token.as_bytes(), last].concat();
    assert_eq!(verify(&five), Err(Error::Depth { most: 4 }));
}
