//! Clients that are not on the list of keys, but have a token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sordino_index::wire::{Message, Request};
use sordino_mldsa::MlDsa65;
use sordino_token::{Action, Algorithm, Grant, PublicKey, Verifier};

use super::logins::{Entrant, LIFETIME, rate};
use super::rate::{Rate, Reservation, SharedRate};
use super::replay::Replay;
use super::signed::Signed;
use crate::signature::now;
use crate::{Limits, Refusal, login};

/// The first number of holders of tokens. Numbers of listed keys begin at 0 and never reach it.
pub(crate) const FIRST: u32 = 1 << 31;

/// The largest number of holders whose rates are remembered: first holders of tokens, and holders of narrowed tokens.
const MOST_HOLDERS: usize = 4096;

/// The largest number of later holders that are remembered for one first holder. A later holder has a token that was
/// narrowed from the first holder's token.
const MOST_BEHIND: usize = 256;

/// The largest number of logins with one issued token: by its holder, and by all holders of tokens narrowed from it.
const MOST_LOGINS: usize = 64;

/// The tokens that are accepted, and the holders that have come with one.
#[derive(Debug)]
pub(crate) struct Bearers(Mutex<State>);

#[derive(Debug)]
struct State {
    audience: String,
    issuers: Vec<PublicKey>,
    verifier: Verifier,
    leeway: u64,
    /// The number of changes of the audience, the issuers or the leeway so far.
    generation: u64,
    replay: Replay,
    holders: HashMap<Name, Holder>,
    next: u32,
    /// The largest number of requests per second of one key, whatever its token says.
    most: f64,
}

/// A holder's key, and its requests per minute. Tokens with other rates do not change its rate.
type Name = ([u8; 32], u32);

#[derive(Debug)]
struct Holder {
    number: u32,
    /// The number of the first holder of this holder's chain. `None` if this holder is the first.
    root: Option<u32>,
    rate: SharedRate,
    /// The rate of logins, which the server must verify.
    logins: SharedRate,
    /// The time at which all logins of this holder have ended.
    until: Instant,
}

impl Bearers {
    /// Accepts no tokens yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        let skew = u64::try_from(limits.skew.as_millis()).unwrap_or(u64::MAX);
        Self(Mutex::new(State {
            audience: String::new(),
            issuers: Vec::new(),
            verifier: Verifier::new("", &[]),
            leeway: 0,
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

    /// From now on, accepts tokens of these issuers for this audience. Calls `ended` if this ends logins by other
    /// tokens.
    pub(crate) fn renew(
        &self,
        audience: &str,
        issuers: &[PublicKey],
        limits: &Limits,
        ended: impl FnOnce(),
    ) {
        let (mut state, time) = (self.lock(), Instant::now());
        state.most = limits.rate_per_key;
        for ((_, minute), holder) in &state.holders {
            let rate = holder.rate.lock();
            let mut rate = rate.unwrap_or_else(PoisonError::into_inner);
            rate.set(per_second(*minute, state.most), time);
        }
        state.replay.set_capacity(limits.nonces());
        let leeway = limits.leeway.as_secs();
        if state.audience != audience || state.issuers != issuers || state.leeway != leeway {
            state.verifier = Verifier::new(audience, issuers).leeway(leeway);
            state.leeway = leeway;
            state.audience = audience.to_owned();
            state.issuers = issuers.to_vec();
            state.generation += 1;
            ended();
        }
    }

    /// The client that signed this login and showed this token, if both are valid, and the state in which they were
    /// valid.
    pub(crate) fn admit(&self, token: &[u8], signed: &Signed) -> Result<(Entrant, u64), Refusal> {
        let (time, instant) = (now(), Instant::now());
        // All holders share one memory of nonces, so the nonce includes the key.
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
            context: login::CONTEXT,
        };
        let verdict =
            sordino_mldsa::verify::<MlDsa65>(holder.as_bytes(), message, &signed.signature);
        verdict.map_err(|_| Refusal::Signature)?;
        let chain: Vec<Name> = grant.rates().collect();
        let (client, rates) = state.holders_of(&chain, instant)?;
        state.replay.accept(seen, signed.time, time)?;
        let end = grant.claims().expiry.saturating_add(state.leeway);
        let seconds = end.saturating_sub(time / 1000);
        let entrant = Entrant {
            // The first holder's number. The first holder shares its places with the holders of all tokens that were
            // narrowed from its token.
            client,
            most: MOST_LOGINS,
            path: chain.iter().map(|(id, _)| *id).collect(),
            rates,
            lifetime: Duration::from_secs(seconds),
            grant: Some(Arc::new(grant)),
        };
        Ok((entrant, state.generation))
    }

    /// Runs `work`, unless the issuers have changed since.
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
    /// The number of a chain's first holder, and the rates of all holders, if each may log in once more now. If
    /// the login is refused for a rate, no new holder is remembered.
    fn holders_of(
        &mut self,
        chain: &[Name],
        now: Instant,
    ) -> Result<(u32, Vec<SharedRate>), Refusal> {
        // Before, the client showed a token that was narrowed from another holder's token. Now it shows a token of the
        // issuer, so it is a first holder from now on.
        let first = chain.first().and_then(|first| self.holders.get_mut(first));
        if let Some(first) = first.filter(|first| first.root.is_some()) {
            first.root = None;
            first.logins = logins(None, now);
        }
        // The last holder of the chain pays first, so a holder that logs in too often is refused at its own cost.
        let mut reserved = Reservation::default();
        let known = chain.iter().rev().filter_map(|name| self.holders.get(name));
        for holder in known {
            if !reserved.take(&holder.logins, now) {
                return Err(Refusal::Rate);
            }
        }
        self.named(chain, now).inspect(|_| reserved.spend())
    }

    /// The number of a chain's first holder, and the rates of all holders, which are remembered from
    /// now on.
    fn named(&mut self, chain: &[Name], now: Instant) -> Result<(u32, Vec<SharedRate>), Refusal> {
        let first = chain.first().ok_or(Refusal::Token)?;
        let (root, _) = self.holder(first, None, now)?;
        let mut rates: Vec<SharedRate> = Vec::new();
        for (depth, name) in chain.iter().enumerate() {
            let (_, rate) = self.holder(name, (depth > 0).then_some(root), now)?;
            if !rates.iter().any(|other| Arc::ptr_eq(other, &rate)) {
                rates.push(rate);
            }
        }
        Ok((root, rates))
    }

    /// The number and the rate of a holder, which are remembered for as long as a login lasts. `root` is the number of
    /// the chain's first holder, or `None` if this holder is the first. A new holder uses up one of the root's logins.
    fn holder(
        &mut self,
        name: &Name,
        root: Option<u32>,
        now: Instant,
    ) -> Result<(u32, SharedRate), Refusal> {
        let until = now + LIFETIME;
        if let Some(holder) = self.holders.get_mut(name) {
            holder.until = until;
            return Ok((holder.number, Arc::clone(&holder.rate)));
        }
        self.make_room(root, now)?;
        let logins = logins(root, now);
        let mut first = Reservation::default();
        first.take(&logins, now);
        first.spend();
        let number = self.next;
        self.next = self.next.checked_add(1).unwrap_or(FIRST);
        let rate = rate(per_second(name.1, self.most));
        let holder = Holder {
            number,
            root,
            rate: Arc::clone(&rate),
            logins,
            until,
        };
        self.holders.insert(*name, holder);
        Ok((number, rate))
    }

    /// Makes room for a new holder. If its first holder already has [`MOST_BEHIND`] later holders, the server forgets
    /// one of these. If there are too many holders in all, it first forgets holders whose logins have all ended. Then
    /// it forgets a later holder of the first holder that has the most.
    fn make_room(&mut self, root: Option<u32>, now: Instant) -> Result<(), Refusal> {
        let mut behind: HashMap<u32, usize> = HashMap::new();
        for root in self.holders.values().filter_map(|holder| holder.root) {
            *behind.entry(root).or_default() += 1;
        }
        if let Some(root) = root.filter(|root| behind.get(root) >= Some(&MOST_BEHIND)) {
            self.forget_one(root);
        }
        if self.holders.len() >= MOST_HOLDERS {
            self.holders.retain(|_, holder| holder.until > now);
        }
        if self.holders.len() >= MOST_HOLDERS {
            let most = behind.into_iter().max_by_key(|(root, size)| (*size, *root));
            most.into_iter().for_each(|(root, _)| self.forget_one(root));
        }
        match self.holders.len() < MOST_HOLDERS {
            true => Ok(()),
            false => Err(Refusal::Busy),
        }
    }

    /// Forgets one later holder in the chain of the first holder with this number. It prefers a holder without a
    /// login. Among these it chooses the holder whose logins end first.
    fn forget_one(&mut self, root: u32) {
        let crowd = self.holders.iter();
        let crowd = crowd.filter(|(_, holder)| holder.root == Some(root));
        let first =
            crowd.min_by_key(|(_, holder)| (Arc::strong_count(&holder.rate) > 1, holder.until));
        let first = first.map(|(name, _)| *name);
        first.and_then(|name| self.holders.remove(&name));
    }
}

/// The rate of logins: of a first holder if `root` is `None`, and otherwise of a later holder in a chain.
fn logins(root: Option<u32>, now: Instant) -> SharedRate {
    let rate = match root {
        None => Rate::with_burst(1.0, 64.0, now),
        Some(_) => Rate::with_burst(1.0 / 60.0, 16.0, now),
    };
    Arc::new(Mutex::new(rate))
}

/// The rate, per second, of a holder whose token allows `minute` requests per minute.
fn per_second(minute: u32, most: f64) -> f64 {
    (f64::from(minute) / 60.0).min(most)
}

/// The action that a message needs. `None` for the manifest: every client that may do something with the index may get
/// the manifest. In an index without payloads, the fetch at the end of a search gets exact vectors.
pub(crate) fn action(
    request: Option<Request<&[u8]>>,
    has_payloads: bool,
) -> Result<Option<Action>, Refusal> {
    match request.ok_or(Refusal::Message)?.kind() {
        Message::GetManifest => Ok(None),
        Message::GetParts | Message::GetHistory => Ok(Some(Action::Download)),
        Message::FetchPayloads if has_payloads => Ok(Some(Action::Payload)),
        Message::Score | Message::Fetch | Message::FetchPayloads => Ok(Some(Action::Search)),
        // The index does not answer this message.
        _ => Err(Refusal::Message),
    }
}

/// Refuses an action that a token does not grant.
pub(crate) fn permit(
    grant: &Grant,
    index: &[u8; 16],
    action: Option<Action>,
) -> Result<(), Refusal> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: u16) -> Name {
        let mut key = [7; 32];
        key[..2].copy_from_slice(&of.to_le_bytes());
        (key, 6000)
    }

    #[test]
    fn a_login_that_is_refused_for_its_rate_names_nobody_new() {
        let bearers = Bearers::new(&Limits::default());
        let (mut state, now) = (bearers.lock(), Instant::now());
        let mut login = |sub| state.holders_of(&[name(0), name(sub)], now).map(drop);
        for sub in 1..=64 {
            login(sub).unwrap();
        }
        for sub in 65..100 {
            assert_eq!(login(sub), Err(Refusal::Rate));
        }
        assert_eq!(state.holders.len(), 65);
    }

    #[test]
    fn a_first_holder_who_was_known_behind_another_is_held_to_what_first_holders_may() {
        let bearers = Bearers::new(&Limits::default());
        let (mut state, now) = (bearers.lock(), Instant::now());
        let bob = name(1);
        let behind = (0..20).filter(|_| state.holders_of(&[name(0), bob], now).is_ok());
        assert_eq!(behind.count(), 16);
        let first = (0..70).filter(|_| state.holders_of(&[bob], now).is_ok());
        assert_eq!(first.count(), 64);
        assert_eq!(state.holders[&bob].root, None);
    }

    #[test]
    fn many_behind_some_first_holders_shut_nobody_out() {
        let bearers = Bearers::new(&Limits::default());
        let (mut state, now) = (bearers.lock(), Instant::now());
        let mut kept = Vec::new();
        for first in 0..20 {
            let (root, _) = state.holder(&name(300 * first), None, now).unwrap();
            for sub in 1..=257 {
                let holder = state.holder(&name(300 * first + sub), Some(root), now);
                // The first client stays logged in.
                kept.extend((sub == 1).then(|| holder.unwrap().1));
            }
        }
        assert!(state.holders.len() <= MOST_HOLDERS);
        for (first, rate) in (0..20).zip(&kept) {
            assert!(state.holders.contains_key(&name(300 * first)));
            let held = &state.holders[&name(300 * first + 1)].rate;
            assert!(Arc::ptr_eq(held, rate), "{first}");
        }
    }

    #[test]
    fn new_limits_hold_for_holders_who_are_known() {
        let bearers = Bearers::new(&Limits::default());
        let (_, rates) = bearers
            .lock()
            .holders_of(&[name(0)], Instant::now())
            .unwrap();
        let limits = Limits {
            rate_per_key: 2.0,
            ..Limits::default()
        };
        bearers.renew("", &[], &limits, || ());
        let mut rate = rates[0].lock().unwrap();
        let now = Instant::now();
        let passed = (0..100).filter(|_| rate.take(now)).count();
        // This number of requests may come at once.
        assert_eq!(passed, 16);
    }
}
