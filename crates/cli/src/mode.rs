//! The modes, as arguments.

use clap::ValueEnum;
use sordino_search::manifest::ModeKind;

/// A way to search an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// The server sees neither vectors nor queries, and scores all vectors.
    Masked,
    /// The server sees neither vectors nor queries, and scores some clusters without knowing which.
    Routed,
    /// The server holds the vectors and does not see the queries.
    Open,
    /// The server sees neither; clients fetch sealed buckets.
    Sealed,
    /// Clients download everything, sealed, and search it themselves.
    Local,
}

impl Mode {
    /// All modes.
    pub(crate) const ALL: [Self; 5] = [
        Self::Masked,
        Self::Routed,
        Self::Open,
        Self::Sealed,
        Self::Local,
    ];

    /// The mode's name.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        let kind = match self {
            Self::Masked => ModeKind::Masked,
            Self::Routed => ModeKind::Routed,
            Self::Open => ModeKind::Open,
            Self::Sealed => ModeKind::Sealed,
            Self::Local => ModeKind::Local,
        };
        kind.name()
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
