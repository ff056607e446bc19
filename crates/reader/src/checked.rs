//! Replies that were read, and the one error that must not shorten a search.

/// The content of a reply, or [`Wrong`].
///
/// A step of a search gives `Result<Checked<T>, Error>`, two results in one another, because they end a search
/// differently. After an [`Error`](sordino_index::Error), the transport's or this program's, `?` ends it at once. A
/// reply that is wrong must not: the messages that are left are sent all the same, or the server would see that
/// its reply was refused, and learn about the query from when. One flat `Result` would let `?` do that.
pub(crate) type Checked<T> = Result<T, Wrong>;

/// A reply that does not belong to this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong;
