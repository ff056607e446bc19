//! An owner's demands on an index, before it is planned.

use sordino_index::Error;
use sordino_index::manifest::{Checking, Routing};

use super::conditions::Conditions;

/// The number of neighbours that a short question about a longer text misses for each that a record misses. We measured 2.4 to 3
/// in routed mode.
const MORE_MISSED: f64 = 3.0;

/// The owner's demands on an index.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wish {
    /// The number of results of a search.
    pub k: usize,
    /// The share of the true nearest records that a search should find, above 0 and below 1.
    pub recall: f64,
    /// The number of searches that a typical client makes in one version of the index.
    pub queries: u64,
    /// How clients find their buckets. `None` lets the planner choose.
    pub routing: Option<Routing>,
    /// The number of candidates that a search ranks by their exact vectors, if it has a second look: in masked, open
    /// and routed mode.
    pub second_look: Option<u32>,
    /// How clients check the scores of open mode and masked mode. Masked mode always checks.
    pub checking: Checking,
    /// The number of bits per second of the link between client and server. It decides how clients fetch payloads.
    pub line: f64,
    /// The size in bytes of a server's memory that payloads may take.
    pub memory: u64,
}

sordino_index::setters! {
    Wish {
        k: usize,
        recall: f64,
        queries: u64,
        routing: Option<Routing>,
        second_look: Option<u32>,
        checking: Checking,
        line: f64,
        memory: u64,
    }
}

impl Wish {
    /// The conditions that decide how clients fetch payloads.
    #[must_use]
    pub fn conditions(&self) -> Conditions {
        let conditions = Conditions::default().searches(self.queries);
        conditions.line(self.line).memory(self.memory)
    }

    /// Checks that a recall is between 0 and 1.
    pub(crate) fn check_recall(&self) -> Result<(), Error> {
        if self.recall > 0.0 && self.recall < 1.0 {
            return Ok(());
        }
        Err(Error::Recall(self.recall))
    }

    /// The wish of a build for questions or, without questions, this one. It is for vectors of the index itself: the plan
    /// predicts for these, and later builds measure with them, because an index does not contain the questions.
    pub(crate) fn planned_for(self, questions: bool) -> Self {
        let recall = match questions {
            true => (1.0 - (1.0 - self.recall) / MORE_MISSED).min(0.999_999),
            false => self.recall,
        };
        Self { recall, ..self }
    }

    /// The requested recall in the form that the manifest holds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share in millionths"
    )]
    pub(crate) fn millionths(&self) -> u32 {
        ((self.recall * 1e6).round() as u32).clamp(1, 999_999)
    }
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            k: 10,
            recall: 0.95,
            queries: 100,
            routing: None,
            second_look: None,
            checking: Checking::Sums,
            line: Conditions::default().line,
            memory: Conditions::default().memory,
        }
    }
}
