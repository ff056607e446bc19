//! Sessions of retrieval without a hint. Each is a secret and its keys, for a number of requests.
//!
//! The first request also sends the keys, and later ones name them. A server without room forgets keys, and says so.
//! The client then sends them once more, with a fresh query. So the messages depend on what the server says about its
//! memory, and not on the requested records.

use std::sync::{Arc, Mutex, PoisonError};

use rand_core::CryptoRng;
use sordino_pir::hintless::{Digest, Keys, Session};

/// The number of requests of a session. The server can link them to each other by the name of their keys. They share
/// the 589 KB of the keys.
///
/// Suppose that a server answers wrongly and observes how the client reacts. Then it learns about half a coefficient
/// of the session's secret from each reaction. The secret has 2,048. After 64 reactions, the other queries of the
/// session have lost only 3 bits of security. If the client ended a session after a wrong reply, the next keys would
/// show the server that its reply was refused.
pub(crate) const REQUESTS: usize = 64;

/// The bytes that the keys of a session add to a request without a hint. They come with the first of 64 requests, and
/// again after a server has forgotten them.
pub const KEYS_LEN: usize = Keys::LEN;

/// A client's current session, which is replaced when it is used up.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Option<Current>>);

struct Current {
    session: Arc<Session>,
    keys: Arc<[u8]>,
    /// The number of requests that are left.
    left: usize,
    /// True after the server has answered a request with the keys.
    known: bool,
}

/// The session of one request.
pub(crate) struct Turn {
    pub(crate) session: Arc<Session>,
    /// The message with its keys, if the server does not have them.
    pub(crate) keys: Option<Arc<[u8]>>,
}

impl Sessions {
    /// The session for the next request.
    pub(crate) fn next<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Turn {
        turn(&mut self.lock(), rng)
    }

    /// The session for a request that is repeated because the server has forgotten keys. The request brings its own
    /// keys, whatever the answers to other requests say meanwhile. Those answers may be older, and a server that
    /// forgot one session may have forgotten all.
    pub(crate) fn again<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Turn {
        let mut held = self.lock();
        if let Some(current) = &mut *held {
            current.known = false;
        }
        turn(&mut held, rng)
    }

    /// Records that the server has the keys of this session.
    pub(crate) fn learn(&self, session: &Digest) {
        let mut held = self.lock();
        let current = held.as_mut();
        if let Some(current) = current.filter(|current| current.session.digest() == session) {
            current.known = true;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Current>> {
        // A session is valid after a panic at any point, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request of the current session, or of a new one.
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
        // An answer to a request of an earlier session says nothing about this one.
        sessions.learn(&name);
        assert!(sessions.next(rng).keys.is_some());
        // Whichever session a server has forgotten, the next request brings its own keys.
        sessions.learn(second.session.digest());
        assert!(sessions.again(rng).keys.is_some());
    }
}
