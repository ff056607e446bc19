//! The steps of changes that were accepted. No step is accepted twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::limits::MAX_NONCES;
use super::replay::Replay;
use super::signed::Signed;
use crate::signature::now;
use crate::{Limits, Refusal};

/// The owner's number among the keys that have signed something.
const OWNER: u32 = u32::MAX;

/// The steps that an owner has signed for this run of the server. An index that is closed and opened again keeps its
/// steps.
///
/// The memory suffices for all accepted steps, because owners have a rate of their own.
#[derive(Debug)]
pub(crate) struct Steps(Mutex<Replay>);

impl Steps {
    pub(crate) fn new(limits: &Limits) -> Self {
        let skew = u64::try_from(limits.skew.as_millis()).unwrap_or(u64::MAX);
        Self(Mutex::new(Replay::new(skew, MAX_NONCES)))
    }

    fn lock(&self) -> MutexGuard<'_, Replay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a step whose signature is good, if it is fresh and was not seen before.
    pub(crate) fn accept(&self, signed: &Signed) -> Result<(), Refusal> {
        self.lock()
            .accept((OWNER, signed.nonce), signed.time, now())
    }

    /// Forgets entries that are no longer fresh.
    pub(crate) fn forget(&self) {
        self.lock().forget(now());
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::signature::STATEMENT_LEN;

    /// A push may have thousands of steps. They are accepted even if the rate of searches is low.
    #[test]
    fn the_rate_of_searches_holds_no_owner_up() {
        let limits = Limits {
            rate: 1.0,
            ..Limits::default()
        };
        let (steps, time) = (Steps::new(&limits), now());
        let step = |number: u64| {
            let mut nonce = [0; 16];
            nonce[..8].copy_from_slice(&number.to_le_bytes());
            Signed {
                instance: [0; 32],
                key: [0; 32],
                time,
                nonce,
                statement: [0; STATEMENT_LEN],
                signature: Bytes::new(),
            }
        };
        for number in 0..10_000 {
            assert_eq!(steps.accept(&step(number)), Ok(()));
        }
        steps.forget();
        assert_eq!(steps.accept(&step(9_999)), Err(Refusal::Replayed));
    }
}
