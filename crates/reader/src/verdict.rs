//! Replies that were read, and the one error that must not shorten a search.

use sordino_vectors::recall::Scored;

/// The content of a reply, or [`Wrong`].
///
/// A step of a search gives `Result<Checked<T>, Error>`, two results in one another, because they end a search
/// differently. After an [`Error`](sordino_index::Error), the transport's or this program's, `?` ends it at once. A
/// wrong reply must not end it. The messages that are left are sent all the same. Otherwise the server would see that
/// its reply was refused, and learn about the query from when. One flat `Result` would let `?` do that.
pub(crate) type Verdict<T> = Result<T, Wrong>;

/// The outcome of scoring.
///
/// Hits of wrong replies are ranked as others are and carried to the end of the search, where no caller gets them. The
/// time until the message that asks for their payloads must not tell that they are wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) hits: Vec<Scored>,
    /// False if a reply was wrong.
    pub(crate) right: bool,
}

impl Ranked {
    /// The outcome of a reply of another form, which the server knows to be wrong: there is nothing to rank.
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
