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

/// The measured recall that is enough for a request, with this margin.
pub(crate) fn target(recall: f64, margin: f64) -> f64 {
    (recall + margin).min(1.0)
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
fn first(recalls: &[f64], wish: f64, margin: f64) -> usize {
    let highest = recalls.iter().copied().fold(0.0, f64::max);
    let target = target(wish, margin);
    let least = if reaches(highest, target) {
        target
    } else if reaches(highest, wish) {
        wish.max(highest - GAIN)
    } else {
        highest - GAIN
    };
    let first = recalls.iter().position(|recall| reaches(*recall, least));
    first.unwrap_or(0)
}

/// The position of the first of these recalls that is enough for the request, both for vectors and for questions.
pub(crate) fn first_enough(recalls: &[SampleRecall], wish: f64) -> usize {
    let of = |kind: &dyn Fn(&SampleRecall) -> f64, margin: f64| {
        let recalls: Vec<f64> = recalls.iter().map(kind).collect();
        first(&recalls, wish, margin)
    };
    let margin = recalls.first().map_or(0.0, |recall| recall.margin);
    let questions = of(&|recall| recall.questions.unwrap_or(1.0), margin);
    of(&|recall| recall.held_out, MARGIN).max(questions)
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
    /// The lower of both recalls.
    pub(crate) fn lower(&self) -> f64 {
        self.held_out.min(self.questions.unwrap_or(1.0))
    }

    /// True if vectors and questions reach the requested recall.
    pub(crate) fn reaches(&self, wish: f64) -> bool {
        reaches(self.lower(), wish)
    }

    /// True if vectors and questions reach the requested recall and their margins.
    pub(crate) fn is_enough(&self, wish: f64) -> bool {
        self.kinds()
            .all(|(recall, margin)| reaches(recall, target(wish, margin)))
    }

    /// True if a longer search than this one would be useless. `before` is the recall of a shorter search, and `seen` is the
    /// recall if scores were exact. Each kind of query must have enough, or its last step must have gained little. In the
    /// second case it must also reach the request without the margin, or only the precision of codes is missing.
    pub(crate) fn is_all(&self, before: &Self, wish: f64, seen: impl FnOnce() -> Self) -> bool {
        let flat = self.kinds().zip(before.kinds());
        let mut flat = flat.map(|((now, margin), (before, _))| {
            reaches(now, target(wish, margin)) || now < before + GAIN
        });
        let is_flat = flat.all(|is_flat| is_flat);
        is_flat
            && (self.reaches(wish) || {
                let mut exact = self.kinds().zip(seen().kinds().collect::<Vec<_>>());
                exact.all(|((now, _), (seen, _))| reaches(now, wish) || seen > 1.0 - GAIN)
            })
    }

    /// The recall of each kind of query, with its margin.
    fn kinds(&self) -> impl Iterator<Item = (f64, f64)> {
        let questions = self.questions.map(|recall| (recall, self.margin));
        std::iter::once((self.held_out, MARGIN)).chain(questions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_for_what_codes_do_not_reach() {
        // The recall reaches the request and the margin, although the search misses some neighbours.
        assert_eq!(first(&[0.5, 0.9575, 0.958, 0.97], 0.95, MARGIN), 1);
        assert_eq!(first(&[0.9, 0.979, 0.9875, 0.9875], 0.98, MARGIN), 2);
        // The request is reached without the margin. Then the first recall that is close to the highest is taken.
        let curve = [0.7, 0.979, 0.9805, 0.9845, 0.985, 0.9855, 0.9853];
        assert_eq!(first(&curve, 0.98, MARGIN), 3);
        assert_eq!(first(&curve, 0.985, MARGIN), 4);
        // The request is out of reach.
        assert_eq!(first(&curve, 0.995, MARGIN), 3);
        assert_eq!(first(&curve, 0.999_999, MARGIN), 3);
        assert_eq!(first(&[0.3], 0.95, MARGIN), 0);
    }

    #[test]
    fn sums_of_tenths_reach_their_mean() {
        assert!(target(0.993, MARGIN) <= 1.0 && target(0.9, MARGIN) > 0.9);
        let sum: f64 = (0..20).map(|at| if at % 2 == 0 { 0.9 } else { 1.0 }).sum();
        assert!(reaches(sum / 20.0, 0.95) && !reaches(0.949, 0.95));
    }

    /// A search must be enough for both kinds of queries, each with its margin.
    #[test]
    fn questions_never_reduce_what_is_read() {
        let chosen = |held_out: &[f64], questions: &[f64], count: f64, wish: f64| {
            let both = held_out.iter().zip(questions);
            let both = both.map(|(&held_out, &questions)| SampleRecall {
                held_out,
                questions: Some(questions),
                margin: DEVIATION / count.sqrt(),
            });
            let both: Vec<SampleRecall> = both.collect();
            let at = first_enough(&both, wish);
            assert!(at >= first(held_out, wish, MARGIN));
            (at, both[at].reaches(wish))
        };
        // The recall of questions no longer rises.
        let held_out = [0.60, 0.85, 0.93, 0.955, 0.96];
        let flat = [0.70, 0.80, 0.801, 0.802, 0.802];
        assert_eq!(chosen(&held_out, &flat, 100.0, 0.95), (4, false));
        // A few questions may all be answered.
        let held_out = [0.9915, 0.996, 0.9985, 1.0];
        assert_eq!(
            chosen(&held_out, &[0.998, 1.0, 1.0, 1.0], 50.0, 0.995),
            (3, true)
        );
        // Questions decide.
        let held_out = [0.96, 0.97, 0.975];
        assert_eq!(
            chosen(&held_out, &[0.90, 0.9491, 0.951], 60.0, 0.95),
            (2, true)
        );
        assert_eq!(
            chosen(&held_out, &[0.9471, 0.9495, 0.9512], 500.0, 0.95),
            (2, true)
        );
        assert_eq!(
            chosen(&held_out, &[0.97, 0.98, 0.98], 500.0, 0.95),
            (0, true)
        );
    }

    #[test]
    fn a_longer_search_is_useless_only_if_it_is_for_both_kinds() {
        let of = |held_out, questions| SampleRecall {
            held_out,
            questions: Some(questions),
            margin: 0.01,
        };
        let useless = |before, now: SampleRecall, seen| now.is_all(&before, 0.95, || seen);
        let exact = of(1.0, 1.0);
        assert!(useless(of(0.951, 0.951), of(0.952, 0.952), exact));
        assert!(useless(of(0.951, 0.90), of(0.952, 0.901), exact));
        assert!(!useless(of(0.951, 0.90), of(0.952, 0.901), of(1.0, 0.99)));
        assert!(!useless(of(0.951, 0.90), of(0.952, 0.91), exact));
        assert!(!useless(of(0.90, 0.97), of(0.93, 0.97), exact));
        // Vectors have enough, although they still rise.
        assert!(useless(of(0.95, 0.90), of(0.97, 0.901), exact));
        assert!(of(0.9575, 0.96).is_enough(0.95) && !of(0.9575, 0.959).is_enough(0.95));
        assert!(!of(0.957, 0.97).is_enough(0.95) && of(0.957, 0.97).reaches(0.95));
    }
}
