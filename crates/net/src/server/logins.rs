//! The logged-in clients, and the requests of each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::{Ciphertext, DecapsulationKey, MlKem768, Seed};
use rand_core::CryptoRng;
use sordino_token::{Grant, MAX_BLOCKS};
use zeroize::Zeroize;

use super::rate::{Rate, Reservation, SharedRate};
use super::signed::Signed;
use crate::Refusal;
use crate::login::{KEM_KEY_LEN, RequestKey};
use crate::schema::RequestTag;
use crate::signature::shown;

/// The time after which a client logs in again.
pub(crate) const LIFETIME: Duration = Duration::from_secs(3600);

/// The largest number of logins of one listed key. A further login ends the key's oldest one, so no
/// key can end another key's login.
const MOST_PER_KEY: usize = 16;

/// The number of requests that a key may send at once, whatever its rate: enough to connect and to
/// search.
const AT_ONCE: f64 = 16.0;

/// A rate for a key's requests, with its burst.
pub(crate) fn rate(per_second: f64) -> SharedRate {
    let rate = Rate::with_burst(per_second, AT_ONCE, Instant::now());
    Arc::new(Mutex::new(rate))
}

/// The KEM key of this run, and the logins that are valid.
pub(crate) struct Logins {
    kem: DecapsulationKey<MlKem768>,
    kem_key: [u8; KEM_KEY_LEN],
    by_id: RwLock<HashMap<u64, Arc<Login>>>,
}

/// A client that may log in.
#[derive(Debug)]
pub(crate) struct Entrant {
    /// The number of the client's key, or of the first holder of its token.
    pub(crate) client: u32,
    /// The largest number of logins that may exist at a time for this `client`.
    pub(crate) most: usize,
    /// The keys of the token's holders; empty for a listed key.
    pub(crate) path: Vec<[u8; 32]>,
    /// The rates against which each request counts.
    pub(crate) rates: Vec<SharedRate>,
    /// The longest time of the login.
    pub(crate) lifetime: Duration,
    /// The limits of the token, if the client is not on the list.
    pub(crate) grant: Option<Arc<Grant>>,
}

impl Entrant {
    /// The entrant for a listed key.
    pub(crate) fn listed(client: u32, rate: SharedRate) -> Self {
        Self {
            client,
            most: MOST_PER_KEY,
            path: Vec::new(),
            rates: vec![rate],
            lifetime: LIFETIME,
            grant: None,
        }
    }
}

impl Login {
    /// The digests of the client's keys: the keys of its token's holders, or the listed key.
    pub(crate) fn clients(&self) -> &[[u8; 32]] {
        match &self.entrant.path[..] {
            [] => std::slice::from_ref(&self.client),
            path => path,
        }
    }
}

impl Entrant {
    /// Counts a request against all rates, or against none if one of them is used up. So a client with a low rate uses
    /// up nothing of the holder that gave it a token.
    fn take(&self, now: Instant) -> bool {
        let mut reserved = Reservation::default();
        let all = self.rates.iter().all(|rate| reserved.take(rate, now));
        if all {
            reserved.spend();
        }
        all
    }
}

/// A logged-in client.
pub(crate) struct Login {
    pub(crate) entrant: Entrant,
    /// The digest of the key that signed it.
    pub(crate) client: [u8; 32],
    /// The run and the index for which the client signed the login.
    instance: [u8; 32],
    key: RequestKey,
    window: Mutex<Window>,
    begun: Instant,
    until: Instant,
}

impl Logins {
    /// Draws the KEM key of this run.
    pub(crate) fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let kem = DecapsulationKey::from_seed(seed);
        seed.zeroize();
        let mut kem_key = [0; KEM_KEY_LEN];
        kem_key.copy_from_slice(&kem.encapsulation_key().to_bytes());
        let by_id = RwLock::default();
        Self {
            kem,
            kem_key,
            by_id,
        }
    }

    /// The KEM key to which clients encapsulate.
    pub(crate) fn kem_key(&self) -> &[u8; KEM_KEY_LEN] {
        &self.kem_key
    }

    /// Begins a login of a client whose signature `signed` is good. Returns the login's name and lifetime. If a ciphertext
    /// was not made for this run's key, no one can make the login's tags (FIPS 203, implicit rejection).
    pub(crate) fn open(
        &self,
        entrant: Entrant,
        signed: &Signed,
        ciphertext: &[u8],
    ) -> Result<(u64, Duration), Refusal> {
        let ciphertext = Ciphertext::<MlKem768>::try_from(ciphertext);
        let ciphertext = ciphertext.map_err(|_| Refusal::Malformed)?;
        let mut secret = self.kem.decapsulate(&ciphertext);
        let key = RequestKey::new(&secret, &signed.statement);
        secret.zeroize();
        let (client, most) = (entrant.client, entrant.most);
        let lifetime = LIFETIME.min(entrant.lifetime);
        let begun = Instant::now();
        let login = Arc::new(Login {
            entrant,
            client: signed.key,
            instance: signed.instance,
            key,
            window: Mutex::default(),
            begun,
            until: begun + lifetime,
        });
        let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        make_room(&mut by_id, client, most, begun);
        loop {
            let random = shown(&mut rand::rng(), b"login");
            let (id, _) = random
                .split_first_chunk()
                .expect("32 bytes are more than 8");
            let id = u64::from_le_bytes(*id);
            if let std::collections::hash_map::Entry::Vacant(place) = by_id.entry(id) {
                place.insert(login);
                return Ok((id, lifetime));
            }
        }
    }

    /// The login whose client made this tag for this message to this instance. A tag is accepted
    /// once.
    pub(crate) fn check(
        &self,
        instance: &[u8; 32],
        tag: &RequestTag,
        message: &[u8],
    ) -> Result<Arc<Login>, Refusal> {
        self.check_at(instance, tag, message, Instant::now())
    }

    fn check_at(
        &self,
        instance: &[u8; 32],
        tag: &RequestTag,
        message: &[u8],
        now: Instant,
    ) -> Result<Arc<Login>, Refusal> {
        let given: [u8; 32] = tag.tag[..].try_into().map_err(|_| Refusal::Malformed)?;
        let login = {
            let by_id = self.by_id.read().unwrap_or_else(PoisonError::into_inner);
            by_id.get(&tag.login).cloned()
        };
        let login = login.filter(|login| now < login.until && login.instance == *instance);
        let login = login.ok_or(Refusal::Login)?;
        // This check comes before any arithmetic, and again once the tag is known to be good: of two equal
        // requests at the same time, one is a recording.
        login.window().look(tag.number)?;
        // The comparison takes constant time.
        if login.key.tag(tag.number, message) != given {
            return Err(Refusal::Signature);
        }
        login.window().accept(tag.number)?;
        match login.entrant.take(now) {
            true => Ok(login),
            false => Err(Refusal::Rate),
        }
    }

    /// Ends the logins of keys that are no longer known.
    pub(crate) fn retain(&self, known: impl Fn(u32) -> bool) {
        let mut by_id = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        by_id.retain(|_, login| known(login.entrant.client));
    }
}

/// Makes room for one more login of `client`. Logins that have ended go first. If `client` has the largest allowed
/// number, one login of the largest crowd goes. At each step of a token's path, the crowd is the logins of the holder
/// that has the most. So a holder loses no login to the holders of parts of its token, as long as one of these has at
/// least the same number of logins.
fn make_room(by_id: &mut HashMap<u64, Arc<Login>>, client: u32, most: usize, now: Instant) {
    by_id.retain(|_, login| now < login.until);
    let own = by_id
        .iter()
        .filter(|(_, login)| login.entrant.client == client);
    let mut crowd: Vec<(u64, Arc<Login>)> = own.map(|(id, it)| (*id, Arc::clone(it))).collect();
    if crowd.len() < most {
        return;
    }
    for depth in 1..MAX_BLOCKS {
        let step = |login: &Login| login.entrant.path.get(depth).copied();
        let mut sizes: HashMap<Option<[u8; 32]>, usize> = HashMap::new();
        for (_, login) in &crowd {
            *sizes.entry(step(login)).or_default() += 1;
        }
        // If two crowds are equally large, the crowd of the token's holder keeps its logins, because these logins have no
        // such step.
        let largest = sizes.into_iter().max_by_key(|(step, size)| (*size, *step));
        let largest = largest.and_then(|(step, _)| step);
        crowd.retain(|(_, login)| step(login) == largest);
    }
    let oldest = crowd.iter().min_by_key(|(_, login)| login.begun);
    oldest.and_then(|(id, _)| by_id.remove(id));
}

impl Login {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("entrant", &self.entrant)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

/// The accepted numbers of a login's requests: the highest one, and which of the 64 up to it.
///
/// Each number is accepted once. Requests in flight may come in any order, as long as no number is 64 behind another.
#[derive(Debug, Default)]
struct Window {
    /// One more than the highest accepted number; 0 before the first.
    next: u64,
    /// Bit `i` is set if the number `next - 1 - i` was accepted.
    seen: u64,
}

impl Window {
    /// Refuses a number that was accepted before, or may have been.
    fn look(&self, number: u64) -> Result<(), Refusal> {
        let behind = match self.next.checked_sub(number) {
            // The largest number is refused, because no number follows it.
            None | Some(0) if number < u64::MAX => return Ok(()),
            None | Some(0) => return Err(Refusal::Replayed),
            Some(behind) => behind - 1,
        };
        match behind < 64 && self.seen >> behind & 1 == 0 {
            true => Ok(()),
            false => Err(Refusal::Replayed),
        }
    }

    fn accept(&mut self, number: u64) -> Result<(), Refusal> {
        self.look(number)?;
        if number >= self.next {
            let steps = number - self.next + 1;
            let shift = u32::try_from(steps).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(shift).unwrap_or(0);
            self.next = number + 1;
        }
        self.seen |= 1 << (self.next - 1 - number);
        Ok(())
    }
}

#[cfg(test)]
#[cfg(feature = "client")]
mod tests;
