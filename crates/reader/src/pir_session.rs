//! Sessions of retrieval without a hint: a secret and its keys for a number of requests.
//!
//! Keys go up with the first request; later ones name them. A server forgets keys when it has no room for them, and
//! says so. Then they go up once more, with a fresh query. So the messages follow from what the server says of its
//! memory, and not from the requested records.

use std::sync::{Arc, Mutex, PoisonError};

use rand_core::CryptoRng;
use sordino_pir::hintless::{Digest, Keys, Session};

/// Requests of a session: they can be linked to each other by the name of its keys, and share their 589 KB.
///
/// A server that answers wrongly, and notices how the client reacts, learns about half a coefficient of the session's
/// secret from each reaction. The secret has 2,048. After 64 reactions the other queries of the session are as safe as
/// before, but for 3 bits. To end a session after a wrong reply would show the server, by the next keys, that it was
/// refused.
pub(crate) const REQUESTS: usize = 64;

/// Bytes that the keys of a session add to a request without a hint. They come with the first of 64 requests, and the
/// next one after a server has forgotten them.
pub const KEYS_LEN: usize = Keys::LEN;

/// A client's session, the next one when it is used up.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Option<Current>>);

struct Current {
    session: Arc<Session>,
    keys: Arc<[u8]>,
    /// Requests that it is still good for.
    left: usize,
    /// True when a request that brought the keys was answered.
    known: bool,
}

/// A request's session.
pub(crate) struct Turn {
    pub(crate) session: Arc<Session>,
    /// The message of its keys, if the server has them not.
    pub(crate) keys: Option<Arc<[u8]>>,
}

impl Sessions {
    /// The session of the next request.
    pub(crate) fn next<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Turn {
        turn(&mut self.lock(), rng)
    }

    /// The session of a request that is asked once more, since the server has forgotten keys. It brings its own,
    /// whatever the answers to other requests say meanwhile. Those answers may be older, and a server that forgot one
    /// session may have forgotten all.
    pub(crate) fn again<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Turn {
        let mut held = self.lock();
        if let Some(current) = &mut *held {
            current.known = false;
        }
        turn(&mut held, rng)
    }

    /// The server has the keys of this session.
    pub(crate) fn learn(&self, session: &Digest) {
        let mut held = self.lock();
        let current = held.as_mut();
        if let Some(current) = current.filter(|current| current.session.digest() == session) {
            current.known = true;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Current>> {
        // Whatever was being done, a session is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request of the session that is held, or of a new one.
fn turn<R: CryptoRng + ?Sized>(held: &mut Option<Current>, rng: &mut R) -> Turn {
    let current = held.take().filter(|current| current.left > 0);
    let mut current = current.unwrap_or_else(|| {
        let (session, keys) = Session::new(rng);
        Current {
            session: Arc::new(session),
            keys: keys.to_bytes().into(),
            left: REQUESTS,
            known: false,
        }
    });
    current.left -= 1;
    let turn = Turn {
        session: Arc::clone(&current.session),
        keys: (!current.known).then(|| Arc::clone(&current.keys)),
    };
    *held = Some(current);
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn keys_go_up_until_they_are_known_and_sessions_end() {
        let (rng, sessions) = (&mut StdRng::seed_from_u64(1), Sessions::default());
        let first = sessions.next(rng);
        let name = *first.session.digest();
        assert!(first.keys.is_some() && sessions.next(rng).keys.is_some());
        sessions.learn(&name);
        assert!(sessions.next(rng).keys.is_none());
        assert!(sessions.again(rng).keys.is_some());
        sessions.learn(&name);
        for _ in 4..REQUESTS {
            let turn = sessions.next(rng);
            assert!(*turn.session.digest() == name && turn.keys.is_none());
        }
        let second = sessions.next(rng);
        assert!(*second.session.digest() != name && second.keys.is_some());
        // An answer to a request of the earlier session says nothing about this one.
        sessions.learn(&name);
        assert!(sessions.next(rng).keys.is_some());
        // Whichever session a server has forgotten, the next request brings the keys of its own.
        sessions.learn(second.session.digest());
        assert!(sessions.again(rng).keys.is_some());
    }
}
