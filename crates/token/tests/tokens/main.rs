//! Tokens, compared with another implementation of COSE (`coset`), and every kind of refusal.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

mod coset_agrees;
mod granted;
mod refused;
mod upwards;

use sordino_token::{Algorithm, Claims, Error, Grant, SigningKey, Verifier};

const NOW: u64 = 1_800_000_000;
const MAIL: [u8; 16] = [7; 16];
const NEWS: [u8; 16] = [9; 16];

fn key(number: u8) -> SigningKey {
    SigningKey::from_seed(Algorithm::MlDsa65, &[number; 32])
}

fn small(number: u8) -> SigningKey {
    SigningKey::from_seed(Algorithm::MlDsa44, &[number; 32])
}

fn claims(holder: &SigningKey) -> Claims {
    Claims {
        audience: "search.example".to_owned(),
        holder: holder.public().clone(),
        indexes: vec![MAIL, NEWS],
        actions: "search,payload,download".parse().unwrap(),
        rate: 600,
        not_before: NOW - 10,
        expiry: NOW + 3600,
    }
}

fn verifier() -> Verifier {
    let issuers = [key(1).public().clone(), small(1).public().clone()];
    Verifier::new("search.example", &issuers)
}

fn verify(token: &[u8]) -> Result<Grant, Error> {
    verifier().verify(token, NOW)
}
