//! The recall of a sample, and the rules that say when it is enough.

/// A margin above the requested recall for choosing the number of probes. The standard error of a sample of 500 is about 0.004.
/// Queries that are vectors of the set itself reach a recall up to 0.007 higher than new queries (measured on image
/// descriptors).
pub(crate) const MARGIN: f64 = 0.0075;

/// The standard deviation of the recall of a question. The margin for questions is their standard error. We measured 0.07
/// to 0.13 for short questions about definitions.
pub(crate) const DEVIATION: f64 = 0.1;

/// A smaller difference in recall may be chance, so it is no reason to read more buckets.
pub(crate) const GAIN: f64 = 0.002;

/// The measured recall that is enough for a request.
pub(crate) fn target(recall: f64) -> f64 {
    (recall + MARGIN).min(1.0)
}

/// True if a recall reaches the requested one. The comparison allows for errors in the last bits, because sums of tenths are
/// not exact.
pub(crate) fn reaches(recall: f64, wish: f64) -> bool {
    recall >= wish - 1e-9
}

/// The position of the first of these recalls that is enough for the request. Each recall belongs to a longer search than
/// the recall before it.
///
/// Codes may be too short for the margin, even in the longest search. Then the first recall that reaches the request
/// and is close to the highest is enough. If none reaches the request, the first recall that is close to the highest is
/// enough.
pub(crate) fn first_enough(recalls: &[f64], wish: f64) -> usize {
    let highest = recalls.iter().copied().fold(0.0, f64::max);
    let least = if reaches(highest, target(wish)) {
        target(wish)
    } else if reaches(highest, wish) {
        wish.max(highest - GAIN)
    } else {
        highest - GAIN
    };
    let first = recalls.iter().position(|recall| reaches(*recall, least));
    first.unwrap_or(0)
}

/// The recall of a sample's queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampleRecall {
    /// The recall of rows that serve as queries.
    pub(crate) held_out: f64,
    /// The recall of the owner's questions.
    pub(crate) questions: Option<f64>,
    /// The margin for questions.
    pub(crate) margin: f64,
}

impl SampleRecall {
    /// The recall that decides, to which [`MARGIN`] applies. A search must read enough both for vectors and for questions.
    pub(crate) fn decisive(&self) -> f64 {
        let questions = self
            .questions
            .map_or(1.0, |recall| recall + MARGIN - self.margin);
        self.held_out.min(questions)
    }

    /// True if vectors and questions reach the requested recall.
    pub(crate) fn reaches(&self, wish: f64) -> bool {
        reaches(self.held_out.min(self.questions.unwrap_or(1.0)), wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_for_what_codes_do_not_reach() {
        // The recall reaches the request and the margin, although the search misses some neighbours.
        assert_eq!(first_enough(&[0.5, 0.9575, 0.958, 0.97], 0.95), 1);
        assert_eq!(first_enough(&[0.9, 0.979, 0.9875, 0.9875], 0.98), 2);
        // The request is reached without the margin. Then the first recall that is close to the highest is taken.
        let curve = [0.7, 0.979, 0.9805, 0.9845, 0.985, 0.9855, 0.9853];
        assert_eq!(first_enough(&curve, 0.98), 3);
        assert_eq!(first_enough(&curve, 0.985), 4);
        // The request is out of reach.
        assert_eq!(first_enough(&curve, 0.995), 3);
        assert_eq!(first_enough(&curve, 0.999_999), 3);
        assert_eq!(first_enough(&[0.3], 0.95), 0);
    }

    #[test]
    fn sums_of_tenths_reach_their_mean() {
        assert!(target(0.993) <= 1.0 && target(0.9) > 0.9);
        let sum: f64 = (0..20).map(|at| if at % 2 == 0 { 0.9 } else { 1.0 }).sum();
        assert!(reaches(sum / 20.0, 0.95) && !reaches(0.949, 0.95));
    }

    /// A search must be enough for both kinds of queries, each with its margin.
    #[test]
    fn the_worse_of_vectors_and_questions_decides() {
        let of = |held_out, questions| SampleRecall {
            held_out,
            questions,
            margin: 0.01,
        };
        let close = |recall: SampleRecall, expected: f64| {
            assert!((recall.decisive() - expected).abs() < 1e-9, "{recall:?}");
        };
        close(of(0.96, None), 0.96);
        close(of(0.96, Some(0.99)), 0.96);
        close(of(0.96, Some(0.95)), 0.9475);
        assert!(of(0.96, Some(0.95)).reaches(0.95) && !of(0.96, Some(0.95)).reaches(0.96));
        assert!(!of(0.94, Some(1.0)).reaches(0.95));
    }
}
