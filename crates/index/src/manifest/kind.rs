//! The five modes by name.

use std::fmt;

use super::Mode;

/// A mode without its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModeKind {
    /// See [`Mode::Masked`].
    Masked,
    /// See [`Mode::Routed`].
    Routed,
    /// See [`Mode::Sealed`].
    Sealed,
    /// See [`Mode::Open`].
    Open,
    /// See [`Mode::Local`].
    Local,
}

impl ModeKind {
    /// The mode's name, as commands and reports spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Masked => "masked",
            Self::Routed => "routed",
            Self::Sealed => "sealed",
            Self::Open => "open",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for ModeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Mode {
    /// The mode without its constants.
    #[must_use]
    pub fn kind(&self) -> ModeKind {
        match self {
            Self::Sealed(_) => ModeKind::Sealed,
            Self::Local(_) => ModeKind::Local,
            Self::Open(_) => ModeKind::Open,
            Self::Masked(_) => ModeKind::Masked,
            Self::Routed(_) => ModeKind::Routed,
        }
    }
}
