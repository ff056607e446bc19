//! The reasons against a mode.

/// The reason why the terms exclude a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server must not see the vectors.
    Visible,
    /// A search takes the client longer than allowed.
    Slow,
    /// The mode does not reach the requested recall.
    Recall,
    /// A second look is requested, and the mode has none.
    OneLook,
}

impl Refusal {
    /// The refusal in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Visible => "shows vectors",
            Self::Slow => "slow client",
            Self::Recall => "recall",
            Self::OneLook => "no second look",
        }
    }
}
