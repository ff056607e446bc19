//! The argument that chooses how scores are checked.

use clap::ValueEnum;
use sordino_search::manifest::Checking;

/// The check of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Checks {
    /// Sums of rows: a change of a score by more than some hundredths of a cosine is refused.
    #[default]
    Sums,
    /// All answers exactly, before anything is decrypted: any change is refused, and a refusal tells nothing of the
    /// query. Replies are three times as long. Masked and open mode only.
    Exact,
    /// None: a server can change results. Open mode only.
    None,
}

impl Checks {
    /// The arguments with which an index of this mode is built with these checks.
    pub(crate) fn argument(self, mode: &str) -> &'static str {
        let whole = ["masked", "open"].contains(&mode);
        match self {
            Self::Exact if whole => " --checks exact",
            Self::None if mode == "open" => " --checks none",
            _ => "",
        }
    }
}

impl From<Checks> for Checking {
    fn from(checks: Checks) -> Self {
        match checks {
            Checks::Sums => Self::Sums,
            Checks::Exact => Self::Exact,
            Checks::None => Self::None,
        }
    }
}
