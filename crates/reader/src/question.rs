//! A question for a search, and its answer.

use sordino_index::Id;
use sordino_vectors::Metric;

use crate::filter::Filter;
use crate::stages::Stages;

/// A question: the vector, and how the client selects results.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The vector.
    pub vector: &'a [f32],
    /// The number of results, from 1 to the manifest's `k`, which is the default.
    pub k: Option<usize>,
    /// Records farther than this are left out: those with a lower score or, for the Euclidean distance, a higher one.
    pub threshold: Option<f32>,
    /// Records that do not pass are left out before ranking. Sealed and routed mode rank only the records of the buckets or
    /// clusters that a search reads, so they may find fewer than exist.
    pub filter: Option<&'a Filter>,
}

impl<'a> Question<'a> {
    /// A question for the records nearest to a vector, with the index's number of results.
    #[must_use]
    pub fn new(vector: &'a [f32]) -> Self {
        Self {
            vector,
            k: None,
            threshold: None,
            filter: None,
        }
    }

    /// True if a score is good enough.
    pub(crate) fn reaches(&self, metric: Metric, score: f32) -> bool {
        self.threshold.is_none_or(|threshold| match metric {
            Metric::Euclidean => score <= threshold,
            Metric::Cosine | Metric::InnerProduct => score >= threshold,
        })
    }
}

/// For each row of each segment, true if its record passes a filter.
pub(crate) type Passing = Vec<Vec<bool>>;

/// The number of wanted records, and the records that a search may find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) k: usize,
    /// For each row of each segment, in the order in which the mode reads rows, whether a search may find it. `None` allows all
    /// records.
    pub(crate) chosen: Option<&'a [Vec<bool>]>,
}

impl<'a> Wanted<'a> {
    /// The rows of the base that a search may find, and what is wanted of the added segments.
    pub(crate) fn split_base(self) -> (Option<&'a [bool]>, Self) {
        let Some((base, chosen)) = self.chosen.and_then(<[_]>::split_first) else {
            return (None, self);
        };
        let chosen = Some(chosen);
        (Some(base), Self { chosen, ..self })
    }
}

/// A record that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The id of the record.
    pub id: Id,
    /// Its score in the index's metric.
    pub score: f32,
    /// True if the payload is longer than the pages of a search, and so arrived shortened.
    /// [`Client::payloads`](crate::Client::payloads) fetches all of it.
    pub truncated: bool,
}

/// The result of a search, and the time that it took.
#[derive(Clone, Debug)]
pub struct Found {
    /// The nearest records, best first, with their scores in the index's metric. For the Euclidean distance, smaller is better.
    /// Equal scores are in the order of the ids. There is the requested number, or fewer if no more exist.
    ///
    /// # Security
    /// Never send the scores back to the server, not even rounded. Together with the messages that it saw, they would be
    /// chosen-plaintext decryptions (IND-CPA-D), and they reveal the query.
    pub hits: Vec<Hit>,
    /// The payload of each hit, in the order of the hits. Empty if the index has no payloads.
    pub payloads: Vec<Vec<u8>>,
    /// The time of each stage.
    pub stages: Stages,
}

impl Found {
    /// The ids that are numbers, in the order of the hits.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.hits.iter().filter_map(|hit| hit.id.number())
    }
}
