//! The reasons for which a mode is not one to use.

/// Why terms rule a mode out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server may not see the vectors.
    Visible,
    /// A search takes the client longer than it has.
    Slow,
    /// It does not reach the recall wished for.
    Recall,
    /// It has no second look, and one is wished for.
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
