//! Who may ask, and the check of their proofs, many at a time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sordino_mldsa::{BatchVerifier, ExpandedKey, Item, MlDsa65};

use crate::proof::{CONTEXT, Claim, now};
use crate::rate::Rate;
use crate::replay::Replay;
use crate::{ClientPublicKey, Error, Limits, Refusal};

/// Who may ask.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everyone. Requests carry no proof, so the server cannot link them by key; whoever reaches
    /// the port can ask, and only the common rate holds them back.
    Anyone,
    /// The holders of these keys.
    Keys(Vec<ClientPublicKey>),
}

/// Signatures that are verified in one go: eight lanes of the hash, twice over.
pub(crate) const BATCH: usize = 16;

/// The keys that may ask, what they have asked before, and how often.
#[derive(Debug)]
pub(crate) struct Verifier {
    numbers: HashMap<[u8; 32], u32>,
    keys: Vec<ExpandedKey<MlDsa65>>,
    rates: Vec<Rate>,
    replay: Replay,
    batch: BatchVerifier<MlDsa65>,
}

impl Verifier {
    pub(crate) fn new(keys: &[ClientPublicKey], limits: &Limits) -> Result<Self, Error> {
        let start = Instant::now();
        let mut numbers = HashMap::new();
        let mut expanded = Vec::new();
        for (number, key) in (0..).zip(keys) {
            let bytes = key.to_bytes();
            let key_length = |_| Error::KeyLength {
                what: "public key",
                found: bytes.len(),
                expected: <MlDsa65 as sordino_mldsa::Params>::PUBLIC_KEY_LEN,
            };
            expanded.push(ExpandedKey::from_bytes(bytes).map_err(key_length)?);
            numbers.insert(key.id(), number);
        }
        Ok(Self {
            numbers,
            rates: keys
                .iter()
                .map(|_| Rate::new(limits.rate_per_key, start))
                .collect(),
            keys: expanded,
            replay: Replay::new(milliseconds(limits.skew), limits.nonces()),
            batch: BatchVerifier::new(),
        })
    }

    /// A verdict for each claim. Only a claim with a good signature uses up its key's rate and the
    /// memory for nonces, so nobody can do that for another.
    pub(crate) fn verify(&mut self, claims: &[Claim]) -> Vec<Result<(), Refusal>> {
        let (time, instant) = (now(), Instant::now());
        self.verify_at(claims, time, instant)
    }

    fn verify_at(
        &mut self,
        claims: &[Claim],
        time: u64,
        instant: Instant,
    ) -> Vec<Result<(), Refusal>> {
        let numbers: Vec<Option<u32>> = claims
            .iter()
            .map(|claim| self.numbers.get(&claim.key).copied())
            .collect();
        let items: Vec<Item<'_, MlDsa65>> = claims
            .iter()
            .zip(&numbers)
            .filter_map(|(claim, number)| {
                let key = &self.keys[(*number)? as usize];
                Some(Item::new(key, &claim.statement, CONTEXT, &claim.signature))
            })
            .collect();
        let mut verdicts = self.batch.verify_each(&items).into_iter();
        claims
            .iter()
            .zip(numbers)
            .map(|(claim, number)| {
                let number = number.ok_or(Refusal::Key)?;
                let verdict = verdicts.next().unwrap_or(Ok(()));
                verdict.map_err(|_| Refusal::Signature)?;
                self.replay
                    .accept((number, claim.nonce), claim.time, time)?;
                if self.rates[number as usize].take(instant) {
                    Ok(())
                } else {
                    Err(Refusal::Rate)
                }
            })
            .collect()
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKey;
    use crate::schema::Proof;
    use bytes::Bytes;

    const INSTANCE: [u8; 32] = [9; 32];
    const TIME: u64 = 1_800_000_000_000;

    fn key(number: u8) -> ClientKey {
        ClientKey::from_seed(&[number; 32])
    }

    fn verifier(limits: &Limits) -> Verifier {
        let keys: Vec<_> = (0..3).map(|number| key(number).public().clone()).collect();
        Verifier::new(&keys, limits).unwrap()
    }

    fn claim(proof: Proof, message: &[u8]) -> Claim {
        Claim::read(&INSTANCE, message, Some(proof)).unwrap()
    }

    #[test]
    fn each_claim_of_a_batch_gets_its_own_verdict() {
        let mut verifier = verifier(&Limits::default());
        let good = |number| key(number).prove(&INSTANCE, b"message", TIME);
        let replayed = good(0);
        let mut flipped = good(1);
        let mut signature = flipped.signature.to_vec();
        signature[100] ^= 1;
        flipped.signature = Bytes::from(signature);
        let mut later = good(2);
        later.time += 1;
        let mut renamed = good(0);
        renamed.key = good(1).key;
        let mut renonced = good(0);
        renonced.nonce = good(0).nonce;
        let cases = [
            (claim(good(0), b"message"), Ok(())),
            (claim(good(3), b"message"), Err(Refusal::Key)),
            (claim(replayed.clone(), b"message"), Ok(())),
            (claim(good(0), b"massage"), Err(Refusal::Signature)),
            (claim(flipped, b"message"), Err(Refusal::Signature)),
            (claim(replayed, b"message"), Err(Refusal::Replayed)),
            (claim(later, b"message"), Err(Refusal::Signature)),
            (claim(renamed, b"message"), Err(Refusal::Signature)),
            (claim(renonced, b"message"), Err(Refusal::Signature)),
            (
                claim(key(1).prove(&[8; 32], b"message", TIME), b"message"),
                Err(Refusal::Signature),
            ),
            (
                claim(
                    key(1).prove(&INSTANCE, b"message", TIME - 61_000),
                    b"message",
                ),
                Err(Refusal::Time),
            ),
            (claim(good(2), b"message"), Ok(())),
        ];
        let (claims, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
        let found = verifier.verify_at(&claims, TIME, Instant::now());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_key_that_asks_too_often_is_held_back_alone() {
        let limits = Limits {
            rate_per_key: 3.0,
            ..Limits::default()
        };
        let mut verifier = verifier(&limits);
        let instant = Instant::now();
        let mut ask = |number| {
            let claim = claim(key(number).prove(&INSTANCE, b"", TIME), b"");
            verifier.verify_at(&[claim], TIME, instant).remove(0)
        };
        let first: Vec<_> = (0..5).map(|_| ask(0)).collect();
        assert_eq!(first[..3], [Ok(()); 3]);
        assert_eq!(first[3..], [Err(Refusal::Rate); 2]);
        assert_eq!(ask(1), Ok(()));
    }

    #[test]
    fn a_malformed_proof_is_refused_before_any_arithmetic() {
        let good = key(0).prove(&INSTANCE, b"", TIME);
        let read = |proof| Claim::read(&INSTANCE, b"", proof).map(|_| ());
        assert_eq!(read(Some(good.clone())), Ok(()));
        assert_eq!(read(None), Err(Refusal::Unsigned));
        assert_eq!(read(Some(Proof::default())), Err(Refusal::Malformed));
        for change in [
            |proof: &mut Proof| proof.key = proof.key.slice(1..),
            |proof: &mut Proof| proof.nonce = Bytes::from(vec![0; 17]),
            |proof: &mut Proof| proof.signature = proof.signature.slice(..3308),
        ] {
            let mut proof = good.clone();
            change(&mut proof);
            assert_eq!(read(Some(proof)), Err(Refusal::Malformed));
        }
    }
}
