//! A verifier refuses chains that grant more than their first block, blocks that form no chain, and wrong keys.

use crate::coset_agrees::{behind, block, map};
use crate::{MAIL, NEWS, claims, key, verify};
use coset::cbor::value::Value;
use sordino_token::{
    Action, Actions, Algorithm, Claims, Error, MAX_LEN, PublicKey, SigningKey, Token,
};

#[test]
fn a_token_that_is_attenuated_upwards_is_refused_on_both_sides() {
    let mut narrow = claims(&key(2));
    narrow.indexes = vec![MAIL];
    let token = Token::issue(&narrow, &key(1)).unwrap();
    let good = narrow;
    assert!(verify(&behind(token.as_bytes(), &good, 2)).is_ok());
    type Change = fn(&mut Claims);
    let cases: [(&str, Change); 7] = [
        ("audience", |it| it.audience = "other.example".to_owned()),
        ("indexes", |it| it.indexes.push(NEWS)),
        ("indexes", |it| it.indexes = vec![NEWS]),
        ("actions", |it| it.actions = Actions::of(&[Action::Add])),
        ("rate", |it| it.rate += 1),
        ("not before", |it| it.not_before -= 1),
        ("expiry", |it| it.expiry += 1),
    ];
    for (claim, change) in cases {
        let mut claims = good.clone();
        change(&mut claims);
        let raised = Error::Raised { block: 1, claim };
        assert_eq!(token.attenuate(&claims, &key(2)), Err(raised.clone()));
        assert_eq!(verify(&behind(token.as_bytes(), &claims, 2)), Err(raised));
    }
}

#[test]
fn a_block_belongs_to_one_chain_and_one_holder() {
    let token = Token::issue(&claims(&key(2)), &key(1)).unwrap();
    let mut other = claims(&key(2));
    other.actions = Actions::of(&Action::ALL);
    let other = Token::issue(&other, &key(1)).unwrap();
    let narrowed = token.attenuate(&claims(&key(3)), &key(2)).unwrap();
    let last = &narrowed.as_bytes()[token.as_bytes().len()..];
    let parent = Error::Parent { block: 1 };
    // The block follows another token of the same holder.
    let moved = [other.as_bytes(), last].concat();
    assert_eq!(verify(&moved), Err(parent.clone()));
    // A stranger signed the block.
    let stranger = behind(token.as_bytes(), &claims(&key(4)), 4);
    assert_eq!(verify(&stranger), Err(parent));
    assert_eq!(token.attenuate(&claims(&key(4)), &key(4)), Err(Error::Key));
    // The block alone, a token twice, and a token followed by other bytes are all refused.
    assert!(matches!(verify(last), Err(Error::Form { .. })));
    let twice = [token.as_bytes(), token.as_bytes()].concat();
    assert!(matches!(verify(&twice), Err(Error::Form { .. })));
    let more = [token.as_bytes(), &[0][..]].concat();
    assert!(matches!(verify(&more), Err(Error::Form { .. })));
    let five = [last; 5].concat();
    let deep = [narrowed.as_bytes(), &five].concat();
    assert!(matches!(
        verify(&deep[..MAX_LEN]),
        Err(Error::Parent { block: 2 })
    ));
}

#[test]
fn keys_of_another_length_are_none() {
    let (found, expected) = (1312, 1952);
    let key = PublicKey::from_bytes(Algorithm::MlDsa65, &[0; 1312]);
    assert_eq!(key, Err(Error::KeyLength { found, expected }));
    let key = PublicKey::from_bytes(Algorithm::MlDsa44, &[0; 1312]).unwrap();
    let mut short = claims(&self::key(2));
    short.holder = key;
    let mut map = map(&short, None);
    let number = |number: i64| Value::from(number);
    let key = vec![
        (number(1), number(7)),
        (number(3), number(-49)),
        (number(-1), Value::from(&[0; 1312][..])),
    ];
    map[3].1 = Value::Map(vec![(number(1), Value::Map(key))]);
    assert_eq!(
        verify(&block(map, 1)),
        Err(Error::KeyLength { found, expected })
    );
}

#[test]
fn no_secret_is_printed() {
    let key = SigningKey::from_seed(Algorithm::MlDsa65, &[0xab; 32]);
    assert!(!format!("{key:?}").contains("abab"));
}
