//! Tokens of any bytes, and tokens whose parts were replaced. The target must not panic, each token has only one encoding, and
//! only issued tokens are accepted.
//!
//! Input: a selector, then bytes. The bytes are a token, or they replace a part of a valid token from some position on, or they
//! change single bytes of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_token::{Algorithm, Claims, SigningKey, Token, Verifier};
use std::sync::{LazyLock, Mutex};

const NOW: u64 = 1_800_000_000;

struct Good {
    tokens: Vec<Vec<u8>>,
    verifier: Mutex<Verifier>,
}

static GOOD: LazyLock<Good> = LazyLock::new(|| {
    let key = |seed| SigningKey::from_seed(Algorithm::MlDsa44, &[seed; 32]);
    let (issuer, alice, bob) = (key(1), key(2), key(3));
    let claims = Claims {
        audience: "here".to_owned(),
        holder: alice.public().clone(),
        indexes: vec![[7; 16], [9; 16]],
        actions: "search,add".parse().unwrap(),
        rate: 600,
        not_before: NOW,
        expiry: NOW + 60,
    };
    let token = Token::issue(&claims, &issuer).unwrap();
    let claims = Claims {
        holder: bob.public().clone(),
        actions: "search".parse().unwrap(),
        ..claims
    };
    let narrowed = token.attenuate(&claims, &alice).unwrap();
    let verifier = Verifier::new("here", &[issuer.public().clone()]);
    Good {
        tokens: vec![token.as_bytes().to_vec(), narrowed.as_bytes().to_vec()],
        verifier: Mutex::new(verifier),
    }
});

fuzz_target!(|data: &[u8]| {
    let [selector, rest @ ..] = data else {
        return;
    };
    let mut token = GOOD.tokens[usize::from(selector & 1)].clone();
    let len = token.len();
    match selector >> 1 & 3 {
        0 => token = rest.to_vec(),
        // Replaces a part of the token, from some position on
        1 => {
            let Some((at, bytes)) = rest.split_first_chunk::<2>() else {
                return;
            };
            let at = usize::from(u16::from_le_bytes(*at)) % len;
            let n = bytes.len().min(len - at);
            token[at..at + n].copy_from_slice(&bytes[..n]);
        }
        // Replaces the beginning, which has the headers and claims
        2 => {
            let Some((cut, bytes)) = rest.split_first_chunk::<2>() else {
                return;
            };
            let cut = usize::from(u16::from_le_bytes(*cut)) % len;
            token = [bytes, &token[cut..]].concat();
        }
        // Changes single bytes
        _ => {
            for change in rest.chunks_exact(3).take(8) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % len;
                token[at] ^= change[2];
            }
        }
    }
    if let Ok(read) = Token::from_bytes(&token) {
        assert_eq!(read.as_bytes(), token);
        assert!(!read.claims().is_empty() && read.claims().len() <= sordino_token::MAX_BLOCKS);
        let last = &read.claims()[read.claims().len() - 1];
        for claims in read.claims() {
            assert!(last.actions.is_within(claims.actions));
            assert!(
                last.indexes
                    .iter()
                    .all(|index| claims.indexes.contains(index))
            );
            assert!(last.rate <= claims.rate && last.expiry <= claims.expiry);
            assert!(last.not_before >= claims.not_before);
        }
    }
    let mut verifier = GOOD.verifier.lock().unwrap();
    let valid = &GOOD.tokens[0][..];
    let verdicts = verifier.verify_each(&[valid, &token, valid], NOW);
    assert!(verdicts[0].is_ok() && verdicts[2].is_ok());
    assert_eq!(verdicts[1].is_ok(), GOOD.tokens.contains(&token));
});
