//! The recall that a build measured for an index that is searched in parts.

use sordino_index::manifest::ModeKind;

use crate::plan::Cost;
use crate::sample_recall::SampleRecall;

/// Measurements from the building of buckets or clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Recall of held-out vectors with the chosen number of probes or groups.
    pub expected_recall: f64,
    /// Recall of the owner's [questions](crate::Spec::questions), if there are any.
    pub question_recall: Option<f64>,
    /// True if the requested recall is reached, for questions too if there are any. If not, no affordable number of probes
    /// or groups reaches it.
    pub reached: bool,
    /// The bytes that a client of this index transfers, without ids, attributes and payloads.
    pub cost: Cost,
    /// The number of searches of a typical client, for which the index was planned.
    pub queries: u64,
    /// The mode that would serve these clients better, if there is one.
    pub instead: Option<Alternative>,
}

/// Masked mode as an alternative. It hides as much and finds more. It is offered if the built index does not save a
/// fifth of masked mode's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The mode.
    pub mode: ModeKind,
    /// The bytes that a client of that mode transfers.
    pub cost: Cost,
}

impl Measurement {
    /// The measurements of an index of this cost, compared with masked mode if that is possible.
    pub(crate) fn new(
        recall: &SampleRecall,
        wish: f64,
        cost: Cost,
        masked: Option<Cost>,
        queries: u64,
    ) -> Self {
        let better = |masked: &Cost| cost.total(queries) > masked.saving_a_fifth(queries);
        Self {
            expected_recall: recall.held_out,
            question_recall: recall.questions,
            reached: recall.reaches(wish),
            cost,
            queries,
            instead: masked.filter(better).map(|cost| Alternative {
                mode: ModeKind::Masked,
                cost,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_that_finds_less_has_to_save_a_fifth() {
        let cost = |once, up| Cost { once, up, down: 0 };
        let recall = SampleRecall {
            held_out: 0.9,
            questions: None,
            margin: 0.0,
        };
        let masked = cost(1000, 10);
        let instead =
            |built: Cost| Measurement::new(&recall, 0.9, built, Some(masked), 100).instead;
        assert_eq!(instead(cost(600, 10)), None);
        let better = instead(cost(601, 10)).expect("masked mode");
        assert_eq!((better.mode, better.cost), (ModeKind::Masked, masked));
        assert_eq!(
            Measurement::new(&recall, 0.9, cost(601, 10), None, 100).instead,
            None
        );
    }
}
