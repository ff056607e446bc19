//! A second implementation of COSE, `coset`, writes the tokens that this crate reads, and reads the tokens that it
//! writes.

use crate::{claims, key, small};
use coset::cbor::value::Value;
use coset::{
    CborSerializable, CoseKey, CoseSign1, CoseSign1Builder, HeaderBuilder, TaggedCborSerializable,
    iana,
};
use sordino_mldsa::ml_dsa;
use sordino_token::{Action, Algorithm, Claims, Token};

/// Signs bytes that `coset` laid out, with `ml-dsa`.
fn sign_65(seed: u8, message: &[u8]) -> Vec<u8> {
    let key = ml_dsa::SigningKey::<ml_dsa::MlDsa65>::from_seed(&[seed; 32].into());
    let signature = key.expanded_key().sign_deterministic(message, b"");
    signature.unwrap().encode().to_vec()
}

/// The claims as a map, which tests change.
pub(crate) fn map(claims: &Claims, parent: Option<&[u8]>) -> Vec<(Value, Value)> {
    let number = |number: i64| Value::from(number);
    let (algorithm, key) = match claims.holder.algorithm() {
        Algorithm::MlDsa44 => (-48, claims.holder.as_bytes()),
        Algorithm::MlDsa65 => (-49, claims.holder.as_bytes()),
    };
    let key = Value::Map(vec![
        (number(1), number(7)),
        (number(3), number(algorithm)),
        (number(-1), Value::from(key)),
    ]);
    let indexes = claims.indexes.iter().map(|index| Value::from(&index[..]));
    let actions = Action::ALL.into_iter().enumerate();
    let bits: i64 = actions
        .map(|(bit, action)| i64::from(claims.actions.has(action)) << bit)
        .sum();
    let mut map = vec![
        (number(3), Value::from(claims.audience.as_str())),
        (number(4), Value::from(claims.expiry)),
        (number(5), Value::from(claims.not_before)),
        (number(8), Value::Map(vec![(number(1), key)])),
        (number(-65537), Value::Array(indexes.collect())),
        (number(-65538), number(bits)),
        (number(-65539), number(claims.rate.into())),
    ];
    if let Some(parent) = parent {
        map.push((number(-65540), Value::from(parent)));
    }
    map
}

pub(crate) fn block(map: Vec<(Value, Value)>, signer: u8) -> Vec<u8> {
    let mut payload = Vec::new();
    coset::cbor::into_writer(&Value::Map(map), &mut payload).unwrap();
    let header = HeaderBuilder::new()
        .algorithm(iana::Algorithm::ML_DSA_65)
        .key_id(key(signer).public().id().to_vec());
    let sign = CoseSign1Builder::new()
        .protected(header.build())
        .payload(payload)
        .create_signature(b"", |message| sign_65(signer, message));
    sign.build().to_tagged_vec().unwrap()
}

/// `token`, followed by a block with any `claims`.
pub(crate) fn behind(token: &[u8], claims: &Claims, signer: u8) -> Vec<u8> {
    let parent = digest_of(token);
    [token, &block(map(claims, Some(&parent)), signer)].concat()
}

/// The digest of a token's only block, read from a narrowed token, which names it.
fn digest_of(token: &[u8]) -> Vec<u8> {
    let token = Token::from_bytes(token).unwrap();
    let narrowed = token.attenuate(&token.claims()[0], &key(2)).unwrap();
    let last = &narrowed.as_bytes()[token.as_bytes().len()..];
    let last = CoseSign1::from_tagged_slice(last).unwrap();
    let claims: Value = coset::cbor::from_reader(&last.payload.unwrap()[..]).unwrap();
    let parent = claims.as_map().unwrap().last().unwrap();
    parent.1.as_bytes().unwrap().clone()
}

#[test]
fn another_writer_makes_the_same_bytes() {
    let claims = claims(&key(2));
    let ours = Token::issue(&claims, &key(1)).unwrap();
    assert_eq!(block(map(&claims, None), 1), ours.as_bytes());
    let (holder, token) = (key(2), ours.as_bytes());
    let narrowed = ours.attenuate(&claims, &holder).unwrap();
    assert_eq!(behind(token, &claims, 2), narrowed.as_bytes());
}

#[test]
fn another_reader_verifies_a_block_and_its_key() {
    for (issuer, number) in [
        (key(1), iana::Algorithm::ML_DSA_65),
        (small(1), iana::Algorithm::ML_DSA_44),
    ] {
        let token = Token::issue(&claims(&key(2)), &issuer).unwrap();
        let read = CoseSign1::from_tagged_slice(token.as_bytes()).unwrap();
        let algorithm = coset::RegisteredLabelWithPrivate::Assigned(number);
        assert_eq!(read.protected.header.alg, Some(algorithm));
        let (message, signature) = (read.tbs_data(b""), &read.signature[..]);
        let public = issuer.public().as_bytes();
        let good = match issuer.public().algorithm() {
            Algorithm::MlDsa44 => {
                let key =
                    ml_dsa::VerifyingKey::<ml_dsa::MlDsa44>::decode(public.try_into().unwrap());
                let signature = ml_dsa::Signature::decode(signature.try_into().unwrap()).unwrap();
                key.verify_with_context(&message, b"", &signature)
            }
            Algorithm::MlDsa65 => {
                let key =
                    ml_dsa::VerifyingKey::<ml_dsa::MlDsa65>::decode(public.try_into().unwrap());
                let signature = ml_dsa::Signature::decode(signature.try_into().unwrap()).unwrap();
                key.verify_with_context(&message, b"", &signature)
            }
        };
        assert!(good);
        let claims = coset::cwt::ClaimsSet::from_slice(&read.payload.unwrap()).unwrap();
        assert_eq!(claims.audience.as_deref(), Some("search.example"));
        let (_, confirmation) = &claims.rest[0];
        let (_, key) = &confirmation.as_map().unwrap()[0];
        let mut bytes = Vec::new();
        coset::cbor::into_writer(key, &mut bytes).unwrap();
        let key = CoseKey::from_slice(&bytes).unwrap();
        assert_eq!(key.kty, coset::KeyType::Assigned(iana::KeyType::AKP));
    }
}
