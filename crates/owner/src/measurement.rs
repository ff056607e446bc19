//! The recall that a build measured, of an index that is searched in parts.

use sordino_index::manifest::ModeKind;

use crate::plan::Cost;

/// The measurements that are made when buckets or clusters are built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Recall of held-out vectors with the probes or groups chosen.
    pub expected_recall: f64,
    /// True if that reaches the recall wished for. If not, no affordable number of probes or groups does: the
    /// data has too little structure to be searched in parts.
    pub reached: bool,
    /// The bytes that a client of this index transfers, without ids, attributes and payloads.
    pub cost: Cost,
    /// The searches of a typical client, for which the index was planned.
    pub queries: u64,
    /// The mode that would serve these clients better, if there is one.
    pub instead: Option<Alternative>,
}

/// Masked mode, which hides as much and finds more, where what was built does not save a fifth of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The mode.
    pub mode: ModeKind,
    /// The bytes that a client of it transfers.
    pub cost: Cost,
}

impl Measurement {
    /// The measurements of an index of this cost, next to masked mode where that is possible.
    pub(crate) fn new(
        expected_recall: f64,
        reached: bool,
        cost: Cost,
        masked: Option<Cost>,
        queries: u64,
    ) -> Self {
        let better = |masked: &Cost| cost.total(queries) > masked.saving_a_fifth(queries);
        Self {
            expected_recall,
            reached,
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
        let masked = cost(1000, 10);
        let instead = |built: Cost| Measurement::new(0.9, true, built, Some(masked), 100).instead;
        assert_eq!(instead(cost(600, 10)), None);
        let better = instead(cost(601, 10)).expect("masked mode");
        assert_eq!((better.mode, better.cost), (ModeKind::Masked, masked));
        assert_eq!(
            Measurement::new(0.9, true, cost(601, 10), None, 100).instead,
            None
        );
    }
}
