//! The keys that may ask, and the thread that verifies what they sign.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use super::batcher::Batcher;
use super::metrics::Metrics;
use super::signed::Signed;
use super::verifier::{self, Claimed, KnownKeys, Verifier};
use crate::{ClientPublicKey, Error, Limits, Refusal};

/// The keys that may ask. Their list can change while requests come.
#[derive(Debug)]
pub(crate) struct Askers {
    known: RwLock<KnownKeys>,
    verifier: Arc<Mutex<Verifier>>,
    queue: Batcher<Claimed, Result<(), Refusal>>,
}

impl Askers {
    /// Starts the thread. As many requests wait for it as are let in to be received, so its queue is
    /// never full.
    pub(crate) fn new(
        keys: &[ClientPublicKey],
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
            queue: queue.map_err(Error::Start)?,
        };
        askers.renew(keys, limits)?;
        Ok(askers)
    }

    /// Changes the list and the rates; where a key cannot be read, nothing is changed.
    pub(crate) fn renew(&self, keys: &[ClientPublicKey], limits: &Limits) -> Result<(), Error> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let renewed = known.renewed(keys);
        let mut verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        verifier.renew(keys, &renewed, limits)?;
        verifier.set_rates(limits);
        *known = renewed;
        Ok(())
    }

    /// The number of the key that signed a request, if its signature is good.
    pub(crate) async fn number(&self, signed: Signed) -> Result<u32, Refusal> {
        let number = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.number(&signed)?
        };
        self.queue.ask((number, signed)).await??;
        Ok(number)
    }
}
