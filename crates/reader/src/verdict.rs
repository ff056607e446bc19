//! The outcome of reading a reply. A wrong reply is the one error that must not shorten a search.

use sordino_vectors::recall::Scored;

/// The content of a reply, or [`Wrong`].
///
/// A step of a search gives `Result<Verdict<T>, Error>`, a result within a result, because the two errors end a search
/// differently. After an [`Error`](sordino_index::Error), of the transport or this program, `?` ends it at once. A
/// wrong reply must not end it: the remaining messages are still sent. Otherwise the server would see that its reply
/// was refused, and the moment would reveal something about the query. With one flat `Result`, `?` would end it.
pub(crate) type Verdict<T> = Result<T, Wrong>;

/// The outcome of scoring.
///
/// Hits from wrong replies are ranked like others and carried to the end of the search, where no caller gets them. The
/// time until the message that asks for their payloads must not reveal that they are wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) hits: Vec<Scored>,
    /// False if a reply was wrong.
    pub(crate) right: bool,
}

impl Ranked {
    /// The outcome of a reply in a wrong form, which the server knows to be wrong: there is nothing to rank.
    pub(crate) fn nothing() -> Self {
        Self {
            hits: Vec::new(),
            right: false,
        }
    }
}

/// A reply that does not belong to this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong;
