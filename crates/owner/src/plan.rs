//! Plans an index: clusters, codes and routing. The plan depends on public facts, never on a query.
//!
//! A client pays `once + queries * per query` over its life. More clusters make the hint smaller and the queries longer.
//! The planner tries powers of two and takes the cheapest. It also computes the cost of downloading everything. If the
//! download costs less, the plan says so.

use sordino_index::Error;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::columns::Rows;
use sordino_index::manifest::{CHUNK, MAX_DIM, MAX_K};
use sordino_index::wire::message_len;
use sordino_vectors::metric::Metric;
use sordino_vectors::{Vectors, u32_of};

mod candidates;
mod conditions;
mod cost;
mod page_choice;
mod record_bytes;
mod refusal;
mod report;
mod retrieval;
mod routed;
mod scoring;
mod segments;
mod speed;
mod table;
mod terms;
mod way;
mod wish;

pub use candidates::Candidate;
pub use conditions::Conditions;
pub use cost::{Bytes, Cost, break_even};
pub(crate) use page_choice::best as best_pages;
pub use record_bytes::RecordBytes;
pub(crate) use record_bytes::SEGMENT;
pub use refusal::Refusal;
pub(crate) use retrieval::second_look;
pub use retrieval::{Obstacle, Offer, Retrieval};
pub use routed::{Grouping, Most, Once};
pub(crate) use routed::{best as best_cut, cost as routed_cost, divisors};
pub(crate) use scoring::cheapest as cheapest_scoring;
pub use scoring::{Scoring, packings};
pub(crate) use segments::{capacity, clustering_bytes};
pub use speed::Speed;
pub use table::{Row, Table};
pub use terms::Terms;
pub use way::Way;
pub use wish::Wish;

/// The cheapest candidate, the other candidates, and the download for comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    n: usize,
    dim: usize,
    wish: Wish,
    chosen: Candidate,
    /// The cheapest codec and routing for each number of clusters. The smallest number of clusters comes first.
    candidates: Vec<Candidate>,
    open: Option<Scoring>,
    masked: Option<Scoring>,
    routed: Option<Grouping>,
    /// The bytes of each record's payload, if records have payloads.
    payload_bytes: Option<usize>,
    payloads: Option<Retrieval>,
    /// The cost of the slots that a second look fetches, including payloads, if there is one.
    look: Option<Retrieval>,
    record_bytes: RecordBytes,
    download: Cost,
}

/// This number of searches should not cost more than downloading everything. Otherwise the download serves a client
/// with this number of queries better.
const LEAST_QUERIES: u64 = 8;

impl Plan {
    /// Plans an index of `n` vectors of `dim` dimensions, for the cosine.
    ///
    /// # Errors
    /// [`Error`] if there are no vectors or too many, `k` is 0 or above `n`, or the recall is not between 0 and 1. The
    /// call also fails if a second look has fewer candidates than results, or more than 64.
    pub fn new(n: usize, dim: usize, wish: Wish) -> Result<Self, Error> {
        Self::for_metric(n, dim, Metric::Cosine, wish)
    }

    /// Plans an index of `n` vectors of `dim` dimensions, including those that the metric [adds](Metric::added). Each code
    /// of a sealed index [serves](Codec::serves) only some metrics.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub(crate) fn for_metric(
        n: usize,
        dim: usize,
        metric: Metric,
        wish: Wish,
    ) -> Result<Self, Error> {
        check(n, dim, wish.k)?;
        wish.check_recall()?;
        let download = download_cost(n, dim, Codec::of_downloads(metric));
        let candidates = candidates::all(n, dim, metric, &wish);
        let cheapest = candidates
            .iter()
            .min_by_key(|candidate| candidate.cost.total(wish.queries));
        let chosen = *cheapest.ok_or(Error::Recall(wish.recall))?;
        Ok(Self {
            n,
            dim,
            wish,
            chosen,
            candidates,
            open: scoring::cheapest(n, dim, wish.queries, Rows::Open, wish.checking),
            masked: scoring::cheapest(n, dim, wish.queries, Rows::Masked, wish.checking),
            routed: Grouping::cheapest(n, dim, &wish),
            payload_bytes: None,
            payloads: None,
            look: Retrieval::of_look(n, dim, None, &wish)?,
            record_bytes: RecordBytes::default(),
            download,
        })
    }

    /// The plan for records with payloads of `len` bytes each, after compression. Clients fetch them in the same way in
    /// every mode: one for each result, after the search.
    ///
    /// # Errors
    /// [`Error::Payload`] if the payloads are too long.
    pub fn with_payloads(self, len: usize) -> Result<Self, Error> {
        let (sizes, conditions) = ((self.n, self.wish.k), self.wish.conditions());
        let payloads = Retrieval::new(sizes, (Some(len), None), &conditions)?;
        Ok(Self {
            payload_bytes: Some(len),
            payloads: Some(payloads),
            look: Retrieval::of_look(self.n, self.dim, Some(len), &self.wish)?,
            ..self
        })
    }

    /// The plan for records whose ids and attributes have these sizes. Without this call, ids are consecutive numbers,
    /// and there are no attributes. [`table`](Self::table) counts them in every mode.
    #[must_use]
    pub fn with_record_bytes(self, record_bytes: RecordBytes) -> Self {
        Self {
            record_bytes,
            ..self
        }
    }

    /// The cost of payloads, if records have any. [`table`](Self::table) includes it in every mode. Other methods about a
    /// candidate or a packing do not include it.
    #[must_use]
    pub fn payloads(&self) -> Option<&Retrieval> {
        self.payloads.as_ref()
    }

    /// The ways to fetch payloads, or the slots of the second look if there is one. Each offer has the cost of pages
    /// that are laid out for that way, or the reason why the way is not possible. A build takes the way that
    /// [`payloads`](Self::payloads) or [`second_look`](Self::second_look) returns. Empty if records carry nothing.
    ///
    /// # Errors
    /// The errors of planning these payloads before. If that succeeded, this call succeeds, too.
    pub fn offers(&self) -> Result<Vec<Offer>, Error> {
        let look = self.look.as_ref().and_then(|look| look.form.look);
        let carried = (self.payload_bytes, look);
        if carried == (None, None) {
            return Ok(Vec::new());
        }
        Offer::all(&self.wish.conditions(), |conditions| {
            Retrieval::new((self.n, self.wish.k), carried, conditions)
        })
    }

    /// The cost of the requested second look, including payloads. [`table`](Self::table) includes it in masked, open and
    /// routed mode.
    #[must_use]
    pub fn second_look(&self) -> Option<&Retrieval> {
        self.look.as_ref()
    }

    /// Checks that these are vectors of the planned number and dimension.
    pub(crate) fn check(&self, vectors: &Vectors) -> Result<(), Error> {
        if vectors.dim() != self.dim {
            return Err(Error::Dimension {
                found: vectors.dim(),
                expected: self.dim,
            });
        }
        if vectors.len() != self.n {
            return Err(Error::Count {
                found: vectors.len(),
                expected: self.n,
            });
        }
        Ok(())
    }

    /// The cheapest candidate.
    #[must_use]
    pub fn chosen(&self) -> &Candidate {
        &self.chosen
    }

    /// The owner's demands that this plan serves.
    #[must_use]
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// The cheaper packing of open mode, or `None` if there are too many vectors for scoring all of them.
    #[must_use]
    pub fn open(&self) -> Option<&Scoring> {
        self.open.as_ref()
    }

    /// The cheaper packing of masked mode, or `None` if there are too many vectors for scoring all of them.
    #[must_use]
    pub fn masked(&self) -> Option<&Scoring> {
        self.masked.as_ref()
    }

    /// The cheapest cut of routed mode, or `None` if vectors are too many or too long for any.
    #[must_use]
    pub fn routed(&self) -> Option<&Grouping> {
        self.routed.as_ref()
    }

    /// The plan of a build that may measure recall with questions.
    pub(crate) fn of_build(
        n: usize,
        dim: usize,
        metric: Metric,
        wish: Wish,
        questions: bool,
    ) -> Result<Self, Error> {
        wish.check_recall()?;
        let planned = Self::for_metric(n, dim, metric, wish.planned_for(questions))?;
        Ok(Self { wish, ..planned })
    }

    /// The cost of downloading everything and searching locally.
    #[must_use]
    pub fn download(&self) -> &Cost {
        &self.download
    }

    /// The largest number of buckets that the builder may choose: 1.5 times the prediction. It may choose more while a
    /// search costs at most an eighth of the download.
    #[must_use]
    pub(crate) fn most_probes(&self) -> usize {
        let Candidate {
            clusters, probes, ..
        } = self.chosen;
        let budget = self.download.once / LEAST_QUERIES;
        let affordable = |probes: usize| {
            let cost = self.way(probes).cost(probes);
            cost.up + cost.down <= budget
        };
        // The number of bytes grows with the number of probes. It may fall by small steps if clients download nothing.
        let (mut few, mut many) = (1, clusters + 1);
        while many - few > 1 {
            let middle = usize::midpoint(few, many);
            if affordable(middle) {
                few = middle;
            } else {
                many = middle;
            }
        }
        few.max(probes + probes / 2)
    }

    /// The way to fetch `probes` buckets.
    ///
    /// # Panics
    /// Panics if no layout serves them. The buckets of the chosen candidate have one.
    #[must_use]
    pub fn way(&self, probes: usize) -> Way {
        let Candidate {
            clusters, layout, ..
        } = self.chosen;
        Way::of_buckets(clusters, layout.sealed_len(), probes, self.wish.queries)
            .expect("a way to fetch the chosen candidate's buckets")
    }

    /// The bytes that a client transfers with the number of probes that the builder has measured.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the chosen candidate has a cost")]
    pub fn cost(&self, probes: usize) -> Cost {
        let Candidate {
            clusters,
            layout,
            routing,
            ..
        } = self.chosen;
        candidates::cost(clusters, &layout, routing, self.way(probes), probes)
            .expect("the chosen candidate has a cost")
    }
}

/// Refuses sizes that an index cannot have.
pub(crate) fn check(n: usize, dim: usize, k: usize) -> Result<(), Error> {
    if n == 0 || dim == 0 {
        return Err(sordino_vectors::Error::NoVectors.into());
    }
    if u32::try_from(n).is_err() || dim > MAX_DIM as usize {
        return Err(Error::TooLarge { n, dim });
    }
    if k == 0 || k > n.min(MAX_K as usize) {
        return Err(Error::K { k, n });
    }
    Ok(())
}

/// The shape of a chunk of the download.
pub(crate) fn chunk_layout(n: usize, dim: usize, codec: Codec) -> Layout {
    let slots = u32_of(n).min(CHUNK);
    Layout {
        dim: u32_of(dim),
        slots,
        codec,
    }
}

fn download_cost(n: usize, dim: usize, codec: Codec) -> Cost {
    let layout = chunk_layout(n, dim, codec);
    let count = n.div_ceil(layout.slots as usize);
    let once = message_len(count * layout.sealed_len()) as u64;
    Cost {
        once,
        up: 0,
        down: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::manifest::Packing;
    use sordino_index::manifest::Routing;

    #[test]
    fn the_cheapest_candidate_is_chosen_and_more_queries_mean_fewer_clusters() {
        let plan = |queries| {
            Plan::new(
                100_000,
                128,
                Wish {
                    queries,
                    ..Wish::default()
                },
            )
            .unwrap()
        };
        for queries in [1, 100, 10_000] {
            let plan = plan(queries);
            let total = plan.chosen().cost.total(queries);
            assert!(
                plan.candidates
                    .iter()
                    .all(|other| other.cost.total(queries) >= total)
            );
        }
        // A hint pays only for many searches, and its bytes grow with the number of clusters.
        assert!(matches!(plan(1).chosen().way, Way::Hintless(_)));
        assert!(matches!(plan(100_000).chosen().way, Way::Simple(_)));
        assert!(plan(100).chosen().clusters >= plan(100_000).chosen().clusters);
        assert_eq!(plan(100).chosen().routing, Routing::Downloaded);
    }

    #[test]
    fn at_this_size_the_plan_says_that_downloading_is_cheaper() {
        let plan = Plan::new(100_000, 128, Wish::default()).unwrap();
        assert_eq!(break_even(&plan.chosen().cost, plan.download()), Some(0));
        assert!(plan.to_string().contains("the download is cheaper"));
        let plan = Plan::new(
            10_000_000,
            128,
            Wish {
                queries: 10,
                ..Wish::default()
            },
        )
        .unwrap();
        let even = break_even(&plan.chosen().cost, plan.download());
        assert!(even.is_some_and(|queries| queries > 10), "{even:?}");
    }

    #[test]
    fn scoring_everything_costs_less_than_the_download_for_a_session() {
        let plan = |queries| {
            let wish = Wish {
                queries,
                ..Wish::default()
            };
            Plan::new(100_000, 128, wish).unwrap()
        };
        let (few, many) = (plan(1), plan(1000));
        for (few, many) in [(few.open(), many.open()), (few.masked(), many.masked())] {
            let (few, many) = (few.unwrap(), many.unwrap());
            assert_eq!((few.packing, many.packing), (Packing::T4, Packing::T8));
            let even = break_even(&few.cost, plan(1).download());
            assert!(even.is_some_and(|queries| queries > 15), "{even:?}");
        }
        let masked = few.masked().unwrap().cost;
        assert!(
            masked.once <= 1_240_000 && masked.up + masked.down <= 600_000,
            "{masked:?}"
        );
        let open = few.open().unwrap().cost;
        assert!(open.up + open.down <= 460_000, "{open:?}");
        let table = few.to_string();
        for mode in ["masked", "sealed", "open", "local"] {
            assert!(table.contains(mode), "{table}");
        }
    }

    #[test]
    fn more_dimensions_share_a_polynomial_where_there_are_many() {
        let plan = |dim, queries| {
            let wish = Wish {
                queries,
                ..Wish::default()
            };
            let plan = Plan::new(100_000, dim, wish).unwrap();
            (*plan.masked().unwrap(), *plan.open().unwrap())
        };
        // Computed by hand: 24 polynomials of 2048 numbers of 46 bits, and 15 bits for each of 109,640 rows, with 64 rows
        // in a block.
        let (masked, open) = plan(1536, 20);
        assert_eq!((masked.packing, open.packing), (Packing::T32, Packing::T32));
        let near = |found: u64, bytes: u64| (bytes..bytes + 200).contains(&found);
        assert!(near(masked.cost.up, 48 * 11_776), "{masked:?}");
        assert!(near(masked.cost.down, 109_640 * 15 / 8), "{masked:?}");
        // The download also has 2 bytes for the base and the scale of each row.
        assert!(near(masked.cost.once, 1714 * 4864 + 200_000), "{masked:?}");
        assert!(masked.cost.up + masked.cost.down <= 900_000 && masked.cost.once <= 10_000_000);
        assert!(near(open.cost.up, 48 * 8192), "{open:?}");
        let (masked, open) = plan(1536, 100);
        assert_eq!((masked.packing, open.packing), (Packing::T64, Packing::T64));
        assert!(near(masked.cost.up, 24 * 11_776), "{masked:?}");
        assert_eq!(plan(384, 100).0.packing, Packing::T16);
        // A query of 128 coordinates is short for every packing.
        for queries in [1, 100, 100_000] {
            assert!(plan(128, queries).0.packing.t() <= 8);
        }
    }

    #[test]
    fn the_probe_limit_is_affordable_and_leaves_room() {
        let plan = Plan::new(100_000, 128, Wish::default()).unwrap();
        let most = plan.most_probes();
        assert!(most > plan.chosen().probes);
        let cost = plan.cost(most);
        assert!((cost.up + cost.down) * LEAST_QUERIES <= plan.download().once);
    }

    #[test]
    fn senseless_wishes_are_refused() {
        let plan = |n, dim, k, recall| {
            Plan::new(
                n,
                dim,
                Wish {
                    k,
                    recall,
                    ..Wish::default()
                },
            )
            .map(|_| ())
        };
        assert!(plan(1, 1, 1, 0.5).is_ok());
        assert!(matches!(
            plan(0, 8, 1, 0.9),
            Err(Error::Vectors(sordino_vectors::Error::NoVectors))
        ));
        assert!(matches!(plan(8, 9000, 1, 0.9), Err(Error::TooLarge { .. })));
        assert!(matches!(plan(8, 8, 0, 0.9), Err(Error::K { k: 0, n: 8 })));
        assert!(matches!(plan(8, 8, 9, 0.9), Err(Error::K { k: 9, n: 8 })));
        for recall in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(matches!(plan(8, 8, 1, recall), Err(Error::Recall(_))));
        }
    }
}
