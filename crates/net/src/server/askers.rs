//! The keys whose holders may send requests, and the thread that verifies their signatures.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::batcher::Batcher;
use super::bearers::{self, Bearers};
use super::logins::{Entrant, Logins};
use super::metrics::Metrics;
use super::signed::Signed;
use super::verifier::{self, AccessKeys, Claimed, KnownKeys, Verifier};
use crate::schema::LoginRequest;
use crate::{Error, Limits, Refusal};

/// The keys whose holders may send requests. The list can change while requests arrive.
#[derive(Debug)]
pub(crate) struct Askers {
    known: RwLock<KnownKeys>,
    verifier: Arc<Mutex<Verifier>>,
    pub(crate) logins: Logins,
    pub(crate) bearers: Bearers,
    queue: Batcher<Claimed, Result<(), Refusal>>,
}

/// A client that may log in.
#[derive(Debug)]
pub(crate) struct Admitted {
    signed: Signed,
    by: By,
}

#[derive(Debug)]
enum By {
    /// A listed client, by its number on the list.
    List(u32),
    /// A client with a token, and the state of the issuers at that time.
    Token(Entrant, u64),
}

impl Admitted {
    /// The number for which the client's requests in flight are counted.
    pub(crate) fn client(&self) -> u32 {
        match &self.by {
            By::List(client) => *client,
            By::Token(entrant, _) => entrant.client,
        }
    }
}

impl Askers {
    /// Starts the thread. Only requests that have a place for receiving wait for it, so its queue
    /// is never full.
    pub(crate) fn new(
        keys: AccessKeys<'_>,
        limits: &Limits,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, Error> {
        let verifier = Arc::new(Mutex::new(Verifier::new(limits)));
        let (held, metrics) = (Arc::clone(&verifier), Arc::clone(metrics));
        let verify = move |claimed: Vec<Claimed>| {
            let start = Instant::now();
            let mut verifier = held.lock().unwrap_or_else(PoisonError::into_inner);
            let verdicts = verifier.verify(&claimed);
            metrics.verified(start.elapsed());
            verdicts
        };
        let (waiting, most) = (limits.receiving, verifier::BATCH);
        let queue = Batcher::start("sordino-verify", waiting, most, verify);
        let askers = Self {
            known: RwLock::default(),
            verifier,
            logins: Logins::new(&mut rand::rng()),
            bearers: Bearers::new(limits),
            queue: queue.map_err(Error::Start)?,
        };
        askers.renew(keys, limits)?;
        Ok(askers)
    }

    /// Changes the list and the rates. If a key cannot be read, nothing changes.
    pub(crate) fn renew(&self, keys: AccessKeys<'_>, limits: &Limits) -> Result<(), Error> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let renewed = known.renewed(keys.clients);
        let mut verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        verifier.renew(keys.clients, &renewed, limits)?;
        verifier.set_rates(limits);
        let numbers = renewed.all();
        let listed = |client| client >= bearers::FIRST || numbers.contains(&client);
        self.logins.retain(listed);
        let end = || self.logins.retain(|client| client < bearers::FIRST);
        self.bearers.renew(keys.audience, keys.issuers, limits, end);
        *known = renewed;
        Ok(())
    }

    /// The client that asks to log in, if its signature is good and its key is listed.
    pub(crate) async fn admit(
        &self,
        instance: &[u8; 32],
        request: &LoginRequest,
    ) -> Result<Admitted, Refusal> {
        let signed = Signed::of_login(instance, self.logins.kem_key(), request)?;
        let by = By::List(self.number(signed.clone()).await?);
        Ok(Admitted { signed, by })
    }

    /// Admits a client that comes with a token. It verifies some signatures, which takes milliseconds at
    /// worst.
    pub(crate) fn admit_bearer(
        &self,
        instance: &[u8; 32],
        request: &LoginRequest,
    ) -> Result<Admitted, Refusal> {
        let signed = Signed::of_login(instance, self.logins.kem_key(), request)?;
        let (entrant, generation) = self.bearers.admit(&request.token, &signed)?;
        let by = By::Token(entrant, generation);
        Ok(Admitted { signed, by })
    }

    /// Logs in a client that was admitted. Returns the login's name and its lifetime.
    pub(crate) fn log_in(
        &self,
        Admitted { signed, by }: Admitted,
        ciphertext: &[u8],
    ) -> Result<(u64, Duration), Refusal> {
        let open = |entrant| self.logins.open(entrant, &signed, ciphertext);
        match by {
            By::List(client) => {
                // The lock is held until the login is registered, so a change of the list meanwhile
                // ends the login.
                let verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
                let rate = verifier.rate_of(client).ok_or(Refusal::Key)?;
                open(Entrant::listed(client, rate))
            }
            By::Token(entrant, generation) => {
                self.bearers.unless_changed(generation, || open(entrant))
            }
        }
    }

    /// The number of the key that signed a login, if its signature is good.
    async fn number(&self, signed: Signed) -> Result<u32, Refusal> {
        let number = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.number(&signed)?
        };
        self.queue.ask((number, signed)).await??;
        Ok(number)
    }
}
