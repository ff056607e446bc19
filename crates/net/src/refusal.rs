//! The reasons for which a server does not answer a request.

/// The reason why a server does not answer a request. Its name travels with the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The server answers only tagged requests, and this request has no tag. Or a login or a change has no
    /// signature.
    #[error("the server requires a client key: pass --client-key FILE (in Python client_key=)")]
    Unsigned,
    /// A part of the request's signature, tag or login does not have its length.
    #[error("the request's signature, tag or login is malformed")]
    Malformed,
    /// The server does not know the key.
    #[error(
        "the key is not known here, or no longer: ask the server's operator to add the public key or for a token (--token), \
         or of a writer's the index's owner"
    )]
    Key,
    /// The signature was made for another run of the server.
    #[error("the server was started again after the request was signed: ask again")]
    Instance,
    /// The client's clock and the server's are too far apart, or the request was held back.
    #[error("the request's time is too far from the server's: set both clocks")]
    Time,
    /// The signature is not this key's on this request.
    #[error("the signature is wrong")]
    Signature,
    /// The request was seen before.
    #[error("the request was seen before")]
    Replayed,
    /// The server does not know the login: it was started again, or the login is over.
    #[error("the login is not known to the server, or over: ask again")]
    Login,
    /// The token is not accepted here, or does not allow this request.
    #[error(
        "the token is not accepted here, or does not allow this: `sordino token inspect` prints what it says, and the \
         server's log has the reason at level debug"
    )]
    Token,
    /// Unknown index or access denied. The two are not distinguished, so that names do not leak.
    #[error(
        "there is no such index here, or this client may not do this with it; the address names one of several as \
         https://HOST:PORT/NAME"
    )]
    Index,
    /// This client, its address, or all clients together ask too often.
    #[error("too many requests: ask again later")]
    Rate,
    /// No place for requests in flight is free, for this client or for all clients together. Or the server gave
    /// this request up before it was complete, because too many requests were incomplete.
    #[error("the server is busy: ask again later")]
    Busy,
    /// The server is about to stop.
    #[error("the server is stopping")]
    Stopping,
    /// The request did not arrive, or was not answered, within the server's time limit.
    #[error("the request took too long: the line is slow, or the server is busy")]
    Slow,
    /// One of the servers that hold the index did not answer. The refusal does not say which.
    #[error("a part of the index did not answer: ask again later")]
    Shard,
    /// The server holds a shard of an index, and a client has asked for the index.
    #[error(
        "the server holds only a shard of the index: connect to the server that gathers all shards (`sordino gather`)"
    )]
    Share,
    /// The server does not accept changes of its index.
    #[error(
        "the server does not accept changes: start it with --accept-changes, and with the index, which a push cannot create"
    )]
    Changes,
    /// The message is not one that this index answers.
    #[error("this index does not answer messages of this kind")]
    Message,
    /// The server does not hold the keys that a query names: it did not get them, or has forgotten them.
    #[error("the server does not hold the session's keys: send them with the query")]
    Session,
    /// The request is longer than any that this index answers.
    #[error("the request is longer than any that the index answers")]
    Long,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Self; 20] = [
        Self::Unsigned,
        Self::Malformed,
        Self::Key,
        Self::Instance,
        Self::Time,
        Self::Signature,
        Self::Replayed,
        Self::Login,
        Self::Token,
        Self::Index,
        Self::Rate,
        Self::Busy,
        Self::Stopping,
        Self::Slow,
        Self::Shard,
        Self::Share,
        Self::Changes,
        Self::Message,
        Self::Session,
        Self::Long,
    ];

    /// The name that travels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Malformed => "malformed",
            Self::Key => "key",
            Self::Instance => "instance",
            Self::Time => "time",
            Self::Signature => "signature",
            Self::Replayed => "replayed",
            Self::Login => "login",
            Self::Token => "token",
            Self::Index => "index",
            Self::Rate => "rate",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
            Self::Slow => "slow",
            Self::Shard => "shard",
            Self::Share => "share",
            Self::Changes => "changes",
            Self::Message => "message",
            Self::Session => "session",
            Self::Long => "long",
        }
    }

    /// True if the server may well answer the same request a little later.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Rate | Self::Busy | Self::Stopping | Self::Slow | Self::Shard
        )
    }
}
