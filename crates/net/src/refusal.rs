//! Refusals: why a server does not answer a request, and how that travels.

/// The reason why a server does not answer a request. Its name travels with the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The server answers signed requests only, and this one is not.
    #[error("the request is not signed")]
    Unsigned,
    /// A part of the request's signature does not have its length.
    #[error("the request's signature is malformed")]
    Malformed,
    /// The key is not among those that may ask.
    #[error("the key is not known here")]
    Key,
    /// The signature was made for another run of the server.
    #[error("the signature is for another run of the server")]
    Instance,
    /// The client's clock and the server's are too far apart, or the request was held back.
    #[error("the request's time is too far from the server's: look at both clocks")]
    Time,
    /// The signature is not this key's on this request.
    #[error("the signature is wrong")]
    Signature,
    /// The request was seen before.
    #[error("the request was seen before")]
    Replayed,
    /// This client, its address, or all clients together ask too often.
    #[error("too many requests: ask again later")]
    Rate,
    /// There are as many requests in flight as the server takes, of all or of this client; or this one
    /// was given up before it was whole, because there were too many of those.
    #[error("the server is busy: ask again later")]
    Busy,
    /// The server is about to stop.
    #[error("the server is stopping")]
    Stopping,
    /// The server took too long.
    #[error("the server took too long")]
    Slow,
    /// The server does not accept changes of its index.
    #[error("the server does not accept changes: it is to be started with --accept-changes")]
    Changes,
    /// The message is not one that this index answers.
    #[error("the message is not one that the index answers")]
    Message,
    /// The request is longer than any that this index answers.
    #[error("the request is longer than any that the index answers")]
    Long,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Self; 14] = [
        Self::Unsigned,
        Self::Malformed,
        Self::Key,
        Self::Instance,
        Self::Time,
        Self::Signature,
        Self::Replayed,
        Self::Rate,
        Self::Busy,
        Self::Stopping,
        Self::Slow,
        Self::Changes,
        Self::Message,
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
            Self::Rate => "rate",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
            Self::Slow => "slow",
            Self::Changes => "changes",
            Self::Message => "message",
            Self::Long => "long",
        }
    }

    /// The same request, made anew, may well be answered a little later.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Rate | Self::Busy | Self::Stopping | Self::Slow)
    }

    /// The gRPC code that fits it.
    fn code(self) -> tonic::Code {
        match self {
            Self::Unsigned
            | Self::Malformed
            | Self::Key
            | Self::Instance
            | Self::Time
            | Self::Signature
            | Self::Replayed => tonic::Code::Unauthenticated,
            Self::Rate | Self::Busy => tonic::Code::ResourceExhausted,
            Self::Stopping => tonic::Code::Unavailable,
            Self::Slow => tonic::Code::DeadlineExceeded,
            Self::Changes => tonic::Code::PermissionDenied,
            Self::Message => tonic::Code::InvalidArgument,
            Self::Long => tonic::Code::OutOfRange,
        }
    }

    /// The refusal as it travels, with details where there are any.
    fn status(self, detail: Option<String>) -> tonic::Status {
        let text = detail.unwrap_or_else(|| self.to_string());
        let mut status = tonic::Status::new(self.code(), text);
        let name = tonic::metadata::MetadataValue::from_static(self.name());
        status.metadata_mut().insert(METADATA, name);
        status
    }
}

/// The metadata key of a refusal's name.
pub(crate) const METADATA: &str = "sordino-refusal";

/// The metadata key of the two versions of a stale request.
pub(crate) const STALE: &str = "sordino-stale";

/// A request that is not answered: refused by the server, or by the index.
#[derive(Debug)]
pub(crate) enum Refused {
    By(Refusal),
    /// The index says what is wrong with the message. That is public: the server knows nothing else.
    Message(sordino_server::Error),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::By(refusal)
    }
}

impl Refused {
    /// The reason, for counts.
    pub(crate) fn reason(&self) -> Refusal {
        match self {
            Self::By(refusal) => *refusal,
            Self::Message(_) => Refusal::Message,
        }
    }

    /// The refusal as it travels.
    pub(crate) fn status(&self) -> tonic::Status {
        let Self::Message(error) = self else {
            return self.reason().status(None);
        };
        let mut status = Refusal::Message.status(Some(error.to_string()));
        if let sordino_server::Error::Stale { found, serving } = error
            && let Ok(versions) = format!("{found} {serving}").parse()
        {
            status.metadata_mut().insert(STALE, versions);
        }
        status
    }
}
