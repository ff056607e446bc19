//! The keys whose holders may send requests. Their signatures are verified in batches.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_mldsa::{BatchVerifier, ExpandedKey, Item, MlDsa65};
use sordino_token::PublicKey;

use super::logins::rate;
use super::rate::Rate;
use super::rate::SharedRate;
use super::replay::Replay;
use super::signed::Signed;
use crate::signature::now;
use crate::{ClientPublicKey, Error, Limits, Refusal, login};

/// The clients that may ask.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everyone may ask. Requests carry no tag, so the server cannot link them by key. Only the rates of an address and
    /// of all clients limit them.
    Anyone,
    /// The holders of these keys.
    Keys(Vec<ClientPublicKey>),
    /// The holders of these keys and of tokens, as far as a token allows it: for searches, payloads and downloads.
    /// A token never allows changes of an index: only its owner and writers make them.
    Tokens {
        /// The keys whose holders need no token.
        keys: Vec<ClientPublicKey>,
        /// The name of this server in tokens.
        audience: String,
        /// The keys of the issuers whose tokens count.
        issuers: Vec<PublicKey>,
    },
}

/// The keys with which clients may send requests.
#[derive(Clone, Copy)]
pub(crate) struct AccessKeys<'a> {
    /// Keys whose holders need no token.
    pub(crate) clients: &'a [ClientPublicKey],
    /// The audience of tokens.
    pub(crate) audience: &'a str,
    /// The issuers of tokens.
    pub(crate) issuers: &'a [PublicKey],
}

impl Access {
    /// The keys with which clients may send requests, unless anyone may.
    pub(crate) fn keys(&self) -> Option<AccessKeys<'_>> {
        match self {
            Self::Anyone => None,
            Self::Keys(clients) => Some(AccessKeys {
                clients,
                audience: "",
                issuers: &[],
            }),
            Self::Tokens {
                keys,
                audience,
                issuers,
            } => Some(AccessKeys {
                clients: keys,
                audience,
                issuers,
            }),
        }
    }
}

/// The number of signatures that are verified together: twice the eight lanes of the hash.
pub(crate) const BATCH: usize = 16;

/// The keys whose holders may send requests, by their digests. The look-up comes before any arithmetic, so a stranger
/// costs no more than that.
///
/// A key keeps its number as long as it is known, and no number is used twice. So a key's remembered logins stay right
/// when the list changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownKeys {
    numbers: HashMap<[u8; 32], u32>,
    next: u32,
}

impl KnownKeys {
    /// A list of these keys, in which known keys keep their numbers.
    pub(crate) fn renewed(&self, keys: &[ClientPublicKey]) -> Self {
        let mut renewed = Self {
            numbers: HashMap::new(),
            next: self.next,
        };
        for key in keys {
            let id = key.id();
            let number = self.numbers.get(&id).or(renewed.numbers.get(&id)).copied();
            renewed.next += u32::from(number.is_none());
            renewed
                .numbers
                .insert(id, number.unwrap_or(renewed.next - 1));
        }
        renewed
    }

    /// The numbers of all keys.
    pub(crate) fn all(&self) -> HashSet<u32> {
        self.numbers.values().copied().collect()
    }

    /// The number of the key that a login names as its signer.
    pub(crate) fn number(&self, signed: &Signed) -> Result<u32, Refusal> {
        self.numbers.get(&signed.key).copied().ok_or(Refusal::Key)
    }
}

/// A login that names a known key as its signer: the key's number, and the signed login.
pub(crate) type Claimed = (u32, Signed);

/// The known keys, their earlier logins, and their rates.
#[derive(Debug)]
pub(crate) struct Verifier {
    keys: HashMap<u32, Known>,
    replay: Replay,
    batch: BatchVerifier<MlDsa65>,
}

/// A known key in the form for verification, and the rest of its rate.
#[derive(Debug)]
struct Known {
    key: ExpandedKey<MlDsa65>,
    rate: SharedRate,
}

impl Known {
    fn new(key: &ClientPublicKey, limits: &Limits) -> Result<Self, Error> {
        let bytes = key.to_bytes();
        let key_length = |_| Error::KeyLength {
            what: "public key",
            found: bytes.len(),
            expected: <MlDsa65 as sordino_mldsa::Params>::PUBLIC_KEY_LEN,
        };
        Ok(Self {
            key: ExpandedKey::from_bytes(bytes).map_err(key_length)?,
            rate: rate(limits.rate_per_key),
        })
    }
}

impl Known {
    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Verifier {
    /// The rest of a key's rate, as long as the key is known.
    pub(crate) fn rate_of(&self, number: u32) -> Option<SharedRate> {
        self.keys.get(&number).map(|known| Arc::clone(&known.rate))
    }

    /// A verifier that knows no key yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            keys: HashMap::new(),
            replay: Replay::new(milliseconds(limits.skew), limits.nonces()),
            batch: BatchVerifier::new(),
        }
    }

    /// Replaces the known keys by these, under their numbers in `known`. A key that was known before keeps what is left
    /// of its rate, and all accepted logins stay remembered.
    pub(crate) fn renew(
        &mut self,
        keys: &[ClientPublicKey],
        known: &KnownKeys,
        limits: &Limits,
    ) -> Result<(), Error> {
        let mut new = Vec::new();
        for key in keys {
            let number = known.numbers.get(&key.id()).copied();
            let number = number.filter(|number| !self.keys.contains_key(number));
            if let Some(number) = number {
                new.push((number, Known::new(key, limits)?));
            }
        }
        // No step fails from here on.
        let stay = known.all();
        self.keys.retain(|number, _| stay.contains(number));
        self.keys.extend(new);
        Ok(())
    }

    /// Changes the rates to the rates of `limits`.
    pub(crate) fn set_rates(&mut self, limits: &Limits) {
        let now = Instant::now();
        for known in self.keys.values() {
            known.rate().set(limits.rate_per_key, now);
        }
        self.replay.set_capacity(limits.nonces());
    }

    /// A verdict for each login. Only a login with a good signature uses up its key's rate, and only one within that
    /// rate uses the memory for nonces. So no client can use these up for another client, and no key for all.
    pub(crate) fn verify(&mut self, claimed: &[Claimed]) -> Vec<Result<(), Refusal>> {
        let (time, instant) = (now(), Instant::now());
        self.verify_at(claimed, time, instant)
    }

    fn verify_at(
        &mut self,
        claimed: &[Claimed],
        time: u64,
        instant: Instant,
    ) -> Vec<Result<(), Refusal>> {
        // A repeated recording is refused before any arithmetic.
        let looks: Vec<Result<(), Refusal>> = claimed
            .iter()
            .map(|(number, signed)| {
                // The list may have changed since the number was looked up.
                self.keys.get(number).ok_or(Refusal::Key)?;
                self.replay
                    .look(&(*number, signed.nonce), signed.time, time)
            })
            .collect();
        let items: Vec<Item<'_, MlDsa65>> = claimed
            .iter()
            .zip(&looks)
            .filter(|(_, look)| look.is_ok())
            .map(|((number, signed), _)| {
                let key = &self.keys[number].key;
                Item::new(key, &signed.statement, login::CONTEXT, &signed.signature)
            })
            .collect();
        let mut verdicts = self.batch.verify_each(&items).into_iter();
        claimed
            .iter()
            .zip(looks)
            .map(|((number, signed), look)| {
                look?;
                // Each login that was looked up has a verdict.
                let verdict = verdicts.next().ok_or(Refusal::Signature)?;
                verdict.map_err(|_| Refusal::Signature)?;
                let seen = (*number, signed.nonce);
                // This checks again, because this batch may contain a recording twice. It does not
                // use up the rate.
                self.replay.look(&seen, signed.time, time)?;
                let known = self.keys.get(number).ok_or(Refusal::Key)?;
                if !known.rate().take(instant) {
                    return Err(Refusal::Rate);
                }
                self.replay.accept(seen, signed.time, time)
            })
            .collect()
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(feature = "client")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKey;
    use crate::schema::{LoginRequest, RequestSignature};
    use bytes::Bytes;

    const INSTANCE: [u8; 32] = [9; 32];
    const KEM_KEY: &[u8] = b"the KEM key of this run";
    const TIME: u64 = 1_800_000_000_000;

    fn key(number: u8) -> ClientKey {
        ClientKey::from_seed(&[number; 32])
    }

    fn public() -> Vec<ClientPublicKey> {
        (0..3).map(|number| key(number).public().clone()).collect()
    }

    fn known() -> KnownKeys {
        KnownKeys::default().renewed(&public())
    }

    fn verifier(limits: &Limits) -> Verifier {
        let mut verifier = Verifier::new(limits);
        verifier.renew(&public(), &known(), limits).unwrap();
        verifier
    }

    /// A login that client `number` signs for this instance at this time.
    fn login_at(instance: &[u8; 32], number: u8, time: u64) -> LoginRequest {
        let ciphertext = Bytes::from_static(&[1; 1088]);
        let transcript = login::transcript(KEM_KEY, &ciphertext, b"");
        let (signature, _) = key(number).sign_login(instance, &transcript, time);
        LoginRequest {
            ciphertext,
            signature: Some(signature),
            token: Bytes::new(),
        }
    }

    fn login_of(number: u8) -> LoginRequest {
        login_at(&INSTANCE, number, TIME)
    }

    /// A login of client `number` whose signature was changed.
    fn changed(number: u8, change: impl FnOnce(&mut RequestSignature)) -> LoginRequest {
        let mut login = login_of(number);
        change(login.signature.as_mut().unwrap());
        login
    }

    fn signed(login: &LoginRequest) -> Signed {
        Signed::of_login(&INSTANCE, KEM_KEY, login).unwrap()
    }

    fn claim(login: &LoginRequest) -> Claimed {
        let signed = signed(login);
        (known().number(&signed).unwrap(), signed)
    }

    #[test]
    fn each_login_of_a_batch_gets_its_own_verdict() {
        let mut verifier = verifier(&Limits::default());
        let good = |number| claim(&login_of(number));
        let replayed = login_of(0);
        let shown = |number| login_of(number).signature.unwrap();
        let flipped = changed(1, |it| {
            let mut signature = it.signature.to_vec();
            signature[100] ^= 1;
            it.signature = Bytes::from(signature);
        });
        let other = LoginRequest {
            ciphertext: Bytes::from_static(&[2; 1088]),
            ..login_of(0)
        };
        let with_token = LoginRequest {
            token: Bytes::from_static(b"token"),
            ..login_of(0)
        };
        let wrong = Err(Refusal::Signature);
        let cases = [
            (good(0), Ok(())),
            (claim(&replayed), Ok(())),
            (claim(&other), wrong),
            (claim(&with_token), wrong),
            (claim(&flipped), wrong),
            (claim(&replayed), Err(Refusal::Replayed)),
            (claim(&changed(2, |it| it.time += 1)), wrong),
            (claim(&changed(0, |it| it.key = shown(1).key)), wrong),
            (claim(&changed(0, |it| it.nonce = shown(0).nonce)), wrong),
            (claim(&login_at(&[8; 32], 1, TIME)), wrong),
            (
                claim(&login_at(&INSTANCE, 1, TIME - 61_000)),
                Err(Refusal::Time),
            ),
            (good(2), Ok(())),
        ];
        let (claims, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
        let found = verifier.verify_at(&claims, TIME, Instant::now());
        assert_eq!(found, expected);
        // The recording is refused again, now before its signature is verified.
        let again = verifier.verify_at(&claims[..1], TIME, Instant::now());
        assert_eq!(again, [Err(Refusal::Replayed)]);
    }

    #[test]
    fn an_unknown_key_is_refused_without_any_arithmetic() {
        let stranger = signed(&login_of(3));
        let keys = known();
        assert_eq!(keys.number(&stranger), Err(Refusal::Key));
        assert_eq!(keys.number(&signed(&login_of(2))), Ok(2));
    }

    #[test]
    fn a_list_that_changes_forgets_no_login_and_gives_no_number_twice() {
        let (limits, instant) = (Limits::default(), Instant::now());
        let mut verifier = verifier(&limits);
        let recorded = claim(&login_of(1));
        let ask = |verifier: &mut Verifier, claim: &Claimed| {
            let claim = (claim.0, claim.1.clone());
            verifier.verify_at(&[claim], TIME, instant).remove(0)
        };
        assert_eq!(ask(&mut verifier, &recorded), Ok(()));
        let list = [public()[1].clone(), key(3).public().clone()];
        let renewed = known().renewed(&list);
        verifier.renew(&list, &renewed, &limits).unwrap();
        // The number of the removed client differs from the added client's number.
        let gone = claim(&login_of(0));
        assert_eq!(renewed.number(&gone.1), Err(Refusal::Key));
        assert_eq!(ask(&mut verifier, &gone), Err(Refusal::Key));
        let new = signed(&login_of(3));
        let new = (renewed.number(&new).unwrap(), new);
        assert_eq!(new.0, 3);
        assert_eq!(ask(&mut verifier, &new), Ok(()));
        assert_eq!(ask(&mut verifier, &recorded), Err(Refusal::Replayed));
        // A client that returns has a new number, and nothing else is left of it.
        let back = renewed.renewed(&public());
        assert_eq!(back.number(&gone.1), Ok(4));
    }

    #[test]
    fn a_key_that_asks_too_often_is_held_back_alone() {
        let limits = Limits {
            rate_per_key: 20.0,
            ..Limits::default()
        };
        let mut verifier = verifier(&limits);
        let instant = Instant::now();
        let mut ask = |number| {
            let claim = claim(&login_of(number));
            verifier.verify_at(&[claim], TIME, instant).remove(0)
        };
        let first: Vec<_> = (0..22).map(|_| ask(0)).collect();
        assert_eq!(first[..20], [Ok(()); 20]);
        assert_eq!(first[20..], [Err(Refusal::Rate); 2]);
        assert_eq!(ask(1), Ok(()));
    }

    #[test]
    fn a_key_that_asks_too_often_does_not_fill_the_memory_for_nonces() {
        let limits = Limits {
            rate: 20.0,
            rate_per_key: 2.0,
            skew: Duration::ZERO,
            ..Limits::default()
        };
        let most = limits.nonces();
        let mut verifier = verifier(&limits);
        let instant = Instant::now();
        let mut ask = |number| {
            let claim = claim(&login_of(number));
            verifier.verify_at(&[claim], TIME, instant).remove(0)
        };
        let asked: Vec<_> = (0..2 * most).map(|_| ask(0)).collect();
        // This number of requests may come at once.
        assert_eq!(asked.iter().filter(|verdict| verdict.is_ok()).count(), 16);
        assert_eq!(ask(1), Ok(()));
    }

    #[test]
    fn a_recording_that_stands_twice_in_a_batch_uses_up_the_rate_once() {
        let limits = Limits {
            rate_per_key: 2.0,
            ..Limits::default()
        };
        let mut verifier = verifier(&limits);
        let recorded = claim(&login_of(0));
        let claims = vec![recorded; 3];
        let instant = Instant::now();
        let found = verifier.verify_at(&claims, TIME, instant);
        assert_eq!(
            found,
            [Ok(()), Err(Refusal::Replayed), Err(Refusal::Replayed)]
        );
        let next = claim(&login_of(0));
        assert_eq!(verifier.verify_at(&[next], TIME, instant), [Ok(())]);
    }

    #[test]
    fn a_malformed_signature_is_refused_before_any_arithmetic() {
        let read = |login: &LoginRequest| Signed::of_login(&INSTANCE, KEM_KEY, login).map(|_| ());
        assert_eq!(read(&login_of(0)), Ok(()));
        let unsigned = LoginRequest {
            signature: None,
            ..login_of(0)
        };
        assert_eq!(read(&unsigned), Err(Refusal::Unsigned));
        let empty = changed(0, |it| *it = RequestSignature::default());
        assert_eq!(read(&empty), Err(Refusal::Malformed));
        for change in [
            |signed: &mut RequestSignature| signed.key = signed.key.slice(1..),
            |signed: &mut RequestSignature| signed.nonce = Bytes::from(vec![0; 17]),
            |signed: &mut RequestSignature| signed.signature = signed.signature.slice(..3308),
        ] {
            assert_eq!(read(&changed(0, change)), Err(Refusal::Malformed));
        }
    }
}
