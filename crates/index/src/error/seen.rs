//! The part of an error that a server knows of.

use super::Error;

impl Error {
    /// The part of it that a server knows of: nothing of a reply that was wrong, and of a failure after one the failure.
    /// Whoever tries again, or does not, decides by this alone.
    #[must_use]
    pub fn seen(&self) -> Option<&Self> {
        match self {
            Self::Search => None,
            Self::Wrong(then) => Some(then),
            error => Some(error),
        }
    }
}
