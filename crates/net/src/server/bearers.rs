//! Clients that are let in by a token, and are on no list.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_index::wire::Message;
use sordino_mldsa::MlDsa65;
use sordino_token::{Action, Algorithm, Grant, PublicKey, Verifier};

use super::logins::{Entrant, LIFETIME, SharedRate, rate};
use super::rate::Rate;
use super::replay::Replay;
use super::signed::Signed;
use crate::signature::now;
use crate::{Limits, Refusal};

/// The numbers of holders begin here. Those of listed keys begin at 0, and never come so far.
pub(crate) const FIRST: u32 = 1 << 31;

/// Holders whose rates are remembered, of tokens and of those that narrowed them.
const MOST_HOLDERS: usize = 4096;

/// Holders behind one first holder among them.
const MOST_BEHIND: usize = 256;

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
    holders: HashMap<Name, Holder>,
    next: u32,
    /// Requests a second of one key, whatever its token says.
    most: f64,
}

/// A holder's key and its requests a minute: tokens of other rates do not change one another's.
type Name = ([u8; 32], u32);

#[derive(Debug)]
struct Holder {
    number: u32,
    /// The number of the first holder of its chain, unless it is that.
    root: Option<u32>,
    rate: SharedRate,
    /// Logins, which cost verifications.
    logins: Rate,
    /// When all of its logins are over.
    until: Instant,
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
        let (time, instant) = (now(), Instant::now());
        // All holders share one memory of what was seen, so the key is in the nonce.
        let named = blake3::hash(&[&signed.key[..], &signed.nonce].concat());
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&named.as_bytes()[..16]);
        let seen = (FIRST, nonce);
        let mut state = self.lock();
        state.replay.look(&seen, signed.time, time)?;
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
        let message = sordino_mldsa::Message::Pure {
            message: &signed.statement,
            context: signed.context,
        };
        let verdict =
            sordino_mldsa::verify::<MlDsa65>(holder.as_bytes(), message, &signed.signature);
        verdict.map_err(|_| Refusal::Signature)?;
        let chain: Vec<Name> = grant.rates().collect();
        let (client, rates) = state.holders_of(&chain, instant)?;
        state.replay.accept(seen, signed.time, time)?;
        let seconds = grant.claims().expiry.saturating_sub(time / 1000);
        let entrant = Entrant {
            // The first holder's: with those to whom it hands parts on it has one share.
            client,
            most: MOST_LOGINS,
            path: chain.iter().map(|(id, _)| *id).collect(),
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
    /// The number of a chain's first holder, and the rates of all, if each may log in once more now.
    fn holders_of(
        &mut self,
        chain: &[Name],
        now: Instant,
    ) -> Result<(u32, Vec<SharedRate>), Refusal> {
        let root = self.holder(chain.first().ok_or(Refusal::Token)?, None, now)?;
        let mut rates = Vec::new();
        for (depth, name) in chain.iter().enumerate() {
            self.holder(name, (depth > 0).then_some(root), now)?;
            let rate = &self.holders[name].rate;
            if !rates.iter().any(|other| Arc::ptr_eq(other, rate)) {
                rates.push(Arc::clone(rate));
            }
        }
        // The last holder first: who logs in too often is refused at its own cost.
        let mut taken: Vec<&Name> = Vec::new();
        for name in chain.iter().rev() {
            let holder = self.holders.get_mut(name).ok_or(Refusal::Token)?;
            if !holder.logins.take(now) {
                for name in taken {
                    if let Some(holder) = self.holders.get_mut(name) {
                        holder.logins.give_back();
                    }
                }
                return Err(Refusal::Rate);
            }
            taken.push(name);
        }
        Ok((root, rates))
    }

    /// The number of a holder, who is remembered for as long as a login lasts. `root` is the number of the first
    /// in its chain, unless it is that itself.
    fn holder(&mut self, name: &Name, root: Option<u32>, now: Instant) -> Result<u32, Refusal> {
        let until = now + LIFETIME;
        if let Some(holder) = self.holders.get_mut(name) {
            holder.until = until;
            return Ok(holder.number);
        }
        self.make_room(root, now)?;
        let per_second = (f64::from(name.1) / 60.0).min(self.most);
        let logins = match root {
            None => Rate::with_burst(1.0, 64.0, now),
            Some(_) => Rate::with_burst(1.0 / 60.0, 16.0, now),
        };
        let number = self.next;
        self.next = self.next.checked_add(1).unwrap_or(FIRST);
        let rate = rate(per_second);
        let holder = Holder {
            number,
            root,
            rate,
            logins,
            until,
        };
        self.holders.insert(*name, holder);
        Ok(number)
    }

    /// Makes room for a holder: the one used longest ago of those behind the same first holder goes, if these are many.
    fn make_room(&mut self, root: Option<u32>, now: Instant) -> Result<(), Refusal> {
        let behind = |holder: &Holder| root.is_some() && holder.root == root;
        let crowd = self.holders.iter().filter(|(_, holder)| behind(holder));
        if crowd.clone().count() >= MOST_BEHIND {
            let oldest = crowd.min_by_key(|(_, holder)| holder.until);
            let oldest = oldest.map(|(name, _)| *name);
            oldest.and_then(|name| self.holders.remove(&name));
        }
        if self.holders.len() >= MOST_HOLDERS {
            self.holders.retain(|_, holder| holder.until > now);
        }
        match self.holders.len() < MOST_HOLDERS {
            true => Ok(()),
            false => Err(Refusal::Busy),
        }
    }
}

/// The action that a message is; none for the manifest, which is for whoever may do anything with the index.
pub(crate) fn action(message: &[u8]) -> Result<Option<Action>, Refusal> {
    let kind = message
        .get(6..8)
        .map(|kind| u16::from_le_bytes([kind[0], kind[1]]));
    let is = |one: Message| kind == Some(one as u16);
    if is(Message::GetParts) || is(Message::GetHistory) {
        Ok(Some(Action::Download))
    } else if is(Message::Score) || is(Message::Fetch) {
        Ok(Some(Action::Search))
    } else if is(Message::FetchPayloads) {
        Ok(Some(Action::Payload))
    } else if is(Message::GetManifest) {
        Ok(None)
    } else {
        // No message that an index answers.
        Err(Refusal::Message)
    }
}

/// Refuses a message that a token does not grant.
pub(crate) fn permit(grant: &Grant, index: &[u8; 16], message: &[u8]) -> Result<(), Refusal> {
    let action = action(message)?;
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
