//! Clients that are let in by a token, and are on no list.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_index::wire::Message;
use sordino_mldsa::MlDsa65;
use sordino_token::{Action, Algorithm, Grant, PublicKey, Verifier};

use super::logins::{Entrant, SharedRate};
use super::rate::Rate;
use super::replay::Replay;
use super::signed::Signed;
use crate::signature::now;
use crate::{Limits, Refusal};

/// The numbers of holders begin here. Those of listed keys begin at 0, and never come so far.
pub(crate) const FIRST: u32 = 1 << 31;

/// Holders whose rates are remembered, of tokens and of those that narrowed them.
const MOST_HOLDERS: usize = 4096;

/// Logins by one issued token's holder, and by all to whom it handed parts of that on.
const MOST_LOGINS: usize = 64;

/// The tokens that are accepted, and the holders that have come with one.
#[derive(Debug)]
pub(crate) struct Bearers(Mutex<State>);

#[derive(Debug)]
struct State {
    audience: String,
    issuers: Vec<PublicKey>,
    verifier: Verifier,
    /// Grows when the issuers change.
    generation: u64,
    replay: Replay,
    holders: HashMap<[u8; 32], Holder>,
    next: u32,
    /// Requests a second of one key, whatever its token says.
    most: f64,
}

#[derive(Debug)]
struct Holder {
    number: u32,
    rate: SharedRate,
}

impl Bearers {
    /// Accepts no token yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        let skew = u64::try_from(limits.skew.as_millis()).unwrap_or(u64::MAX);
        Self(Mutex::new(State {
            audience: String::new(),
            issuers: Vec::new(),
            verifier: Verifier::new("", &[]),
            generation: 0,
            replay: Replay::new(skew, limits.nonces()),
            holders: HashMap::new(),
            next: FIRST,
            most: limits.rate_per_key,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts tokens of these issuers for this audience from now on. Calls `ended` if logins by other tokens are over.
    pub(crate) fn renew(
        &self,
        (audience, issuers): (&str, &[PublicKey]),
        limits: &Limits,
        ended: impl FnOnce(),
    ) {
        let mut state = self.lock();
        state.most = limits.rate_per_key;
        state.replay.set_capacity(limits.nonces());
        if state.audience != audience || state.issuers != issuers {
            state.verifier = Verifier::new(audience, issuers);
            state.audience = audience.to_owned();
            state.issuers = issuers.to_vec();
            state.generation += 1;
            ended();
        }
    }

    /// The client that signed this login and came with this token, if both are good; and the state in which they were.
    pub(crate) fn admit(&self, token: &[u8], signed: &Signed) -> Result<(Entrant, u64), Refusal> {
        let time = now();
        let mut state = self.lock();
        let verified = state.verifier.verify(token, time / 1000);
        let grant = verified.map_err(|error| {
            tracing::debug!(%error, "token refused");
            Refusal::Token
        })?;
        let holder = grant.holder();
        // Logins are signed with ML-DSA-65.
        if holder.algorithm() != Algorithm::MlDsa65 || holder.id() != signed.key {
            return Err(Refusal::Key);
        }
        // All holders share one memory of what was seen, so the key is in the nonce.
        let named = blake3::hash(&[&signed.key[..], &signed.nonce].concat());
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&named.as_bytes()[..16]);
        let seen = (FIRST, nonce);
        state.replay.look(&seen, signed.time, time)?;
        let message = sordino_mldsa::Message::Pure {
            message: &signed.statement,
            context: signed.context,
        };
        let verdict =
            sordino_mldsa::verify::<MlDsa65>(holder.as_bytes(), message, &signed.signature);
        verdict.map_err(|_| Refusal::Signature)?;
        state.replay.accept(seen, signed.time, time)?;
        let mut rates = Vec::new();
        let mut client = None;
        for (holder, per_minute) in grant.rates() {
            let (number, rate) = state.holder(holder, per_minute)?;
            client = client.or(Some(number));
            if !rates.iter().any(|other| Arc::ptr_eq(other, &rate)) {
                rates.push(rate);
            }
        }
        let seconds = grant.claims().expiry.saturating_sub(time / 1000);
        let entrant = Entrant {
            // The first holder's: with those to whom it hands parts on it has one share.
            client: client.ok_or(Refusal::Token)?,
            most: MOST_LOGINS,
            rates,
            lifetime: Duration::from_secs(seconds),
            grant: Some(Arc::new(grant)),
        };
        Ok((entrant, state.generation))
    }

    /// Does something unless the issuers have changed since.
    pub(crate) fn unless_changed<T>(
        &self,
        generation: u64,
        then: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let state = self.lock();
        match state.generation == generation {
            true => then(),
            false => Err(Refusal::Token),
        }
    }
}

impl State {
    /// The number and the rate of a holder, at what its token says now.
    fn holder(&mut self, id: [u8; 32], per_minute: u32) -> Result<(u32, SharedRate), Refusal> {
        let instant = Instant::now();
        let per_second = (f64::from(per_minute) / 60.0).min(self.most);
        if let Some(holder) = self.holders.get(&id) {
            let mut rate = holder.rate.lock().unwrap_or_else(PoisonError::into_inner);
            rate.set(per_second, instant);
            return Ok((holder.number, Arc::clone(&holder.rate)));
        }
        if self.holders.len() >= MOST_HOLDERS {
            // Those without a login.
            self.holders
                .retain(|_, holder| Arc::strong_count(&holder.rate) > 1);
        }
        if self.holders.len() >= MOST_HOLDERS {
            return Err(Refusal::Busy);
        }
        let (number, rate) = (self.next, Rate::new(per_second, instant));
        self.next = self.next.checked_add(1).unwrap_or(FIRST);
        let rate = Arc::new(Mutex::new(rate));
        let holder = Holder {
            number,
            rate: Arc::clone(&rate),
        };
        self.holders.insert(id, holder);
        Ok((number, rate))
    }
}

/// Refuses a message that a token does not grant. The manifest is for whoever may do anything with the index.
pub(crate) fn permit(grant: &Grant, index: &[u8; 16], message: &[u8]) -> Result<(), Refusal> {
    let kind = message
        .get(6..8)
        .map(|kind| u16::from_le_bytes([kind[0], kind[1]]));
    let is = |one: Message| kind == Some(one as u16);
    let action = if is(Message::GetParts) || is(Message::GetHistory) {
        Some(Action::Download)
    } else if is(Message::Score) || is(Message::Fetch) {
        Some(Action::Search)
    } else if is(Message::FetchPayloads) {
        Some(Action::Payload)
    } else if is(Message::GetManifest) {
        None
    } else {
        // No message that an index answers.
        return Err(Refusal::Message);
    };
    let time = now() / 1000;
    let permitted = match action {
        Some(action) => grant.check(index, action, time),
        None => grant.check_index(index, time),
    };
    permitted.map_err(|error| {
        tracing::debug!(%error, "request refused by its token");
        Refusal::Token
    })
}
