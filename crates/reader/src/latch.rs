//! The rule for bad replies: a bad reply changes no message, only the outcome.
//!
//! Suppose that a server learns when its reply is refused. Then it can forge replies that are refused only for some queries, and
//! the reactions reveal the query. So every message depends only on what the server knows: the public parameters, and the [part
//! of an error that it sees](Error::seen).
//!
//! | level | what goes on after a bad reply | where |
//! |---|---|---|
//! | search | its other messages | [`Round`](crate::round::Round) |
//! | call | its attempts after a refusal, and the index's next version | [`Session`](crate::Session) |
//! | batch | its other searches | [`SearchBatch`](crate::SearchBatch) |
//! | session | the other batches that have begun; no batch begins | [`Session::batch`](crate::Session::batch) |
//!
//! *Claim.* Let two servers send the same refusals, and one of them also bad replies. They get the same messages until all
//! batches have ended. *Proof.* By levels. A search sends its messages for every value of [`Verdict`](crate::verdict::Verdict).
//! It ends early only for an error of the transport. A call is repeated depending on [`Error::kind`], which is the kind of the
//! seen part. So it is the same with and without a bad reply. An attempt that succeeds after a bad reply ends the call as a good
//! one would. A batch ends early by the same kind. The latch of the session is set when a batch is dropped, so after its last
//! message. ∎
//!
//! Then the session is over, and its silence reveals one bit: some reply of some batch was bad. A client that went on would
//! reveal one bit with each batch. `search/tests/searches/refusals.rs` tries all refusals at all moments.

use sordino_index::{Error, Kind};

use crate::verdict::{Ranked, Verdict};

/// This type remembers that a reply was bad, until the outcome is reported.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    bad: bool,
}

impl Latch {
    /// Records whether a reply was bad.
    pub(crate) fn checked<T>(&mut self, read: Verdict<T>) -> Verdict<T> {
        self.bad |= read.is_err();
        read
    }

    /// Records whether a bad reply may have influenced a ranking.
    pub(crate) fn ranked(&mut self, found: &Ranked) {
        self.bad |= !found.right;
    }

    /// Records how an attempt ended.
    pub(crate) fn ended<T>(&mut self, outcome: &Result<T, Error>) {
        self.bad |= outcome.as_ref().is_err_and(Error::is_bad_reply);
    }

    /// The outcome, or an error if an earlier reply was bad.
    pub(crate) fn outcome<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        match outcome {
            outcome if !self.bad => outcome,
            Ok(_) => Err(Error::BadReply),
            Err(error) => Err(error.after_bad_reply()),
        }
    }
}

/// The more serious of two errors, which is reported. Faults that the index's owner did not cause, such as a fork, come
/// first, then errors that the server knows. A bad reply is reported with either.
#[must_use]
pub fn graver(one: Error, other: Error) -> Error {
    let bad = one.is_bad_reply() || other.is_bad_reply();
    let rank = |error: &Error| match (error.seen(), error.kind()) {
        (None, _) => 0,
        (_, Kind::Untrusted) => 2,
        _ => 1,
    };
    let told = match rank(&other) > rank(&one) {
        true => other,
        false => one,
    };
    match bad {
        true => told.after_bad_reply(),
        false => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Error {
        Error::transport(Kind::Busy, "busy")
    }

    fn fork() -> Error {
        Error::Fork { version: 7 }
    }

    #[test]
    fn an_outcome_after_a_bad_reply_is_an_error_with_the_same_kind_as_without() {
        let mut latch = Latch::default();
        assert!(latch.outcome(Ok(())).is_ok());
        latch.ended::<()>(&Err(busy()));
        assert!(!latch.outcome::<()>(Err(busy())).unwrap_err().is_bad_reply());
        latch.ended::<()>(&Err(Error::BadReply));
        assert!(matches!(latch.outcome(Ok(())), Err(Error::BadReply)));
        for error in [busy, fork, || Error::NoReader] {
            let after = latch.outcome::<()>(Err(error())).unwrap_err();
            assert!(after.is_bad_reply());
            assert_eq!(after.kind(), error().kind());
            assert_eq!(after.seen().unwrap().to_string(), error().to_string());
        }
    }

    #[test]
    fn of_two_errors_neither_a_fork_nor_a_bad_reply_is_hidden() {
        let all: [fn() -> Error; 4] = [
            busy,
            || busy().after_bad_reply(),
            || Error::BadReply,
            || Error::NoReader,
        ];
        for error in all {
            for told in [graver(error(), fork()), graver(fork(), error())] {
                assert!(told.to_string().contains("does not follow"), "{told}");
                assert_eq!(told.is_bad_reply(), error().is_bad_reply());
            }
            assert!(graver(error(), Error::BadReply).is_bad_reply());
        }
        assert!(graver(Error::BadReply, busy()).seen().is_some());
        assert!(graver(Error::BadReply, Error::BadReply).seen().is_none());
    }
}
