//! How an index is cut: clusters, codes and routing from public facts, never from a query.
//!
//! What a client pays over its life is `once + queries * per query`. More clusters make the hint
//! smaller and the queries longer; the planner tries powers of two and takes the cheapest. Beside
//! it stands what it costs to download everything, which is often less, and then the plan says so.

use std::fmt;

use sordino_ckks::column;

use crate::bucket::Layout;
use crate::code::Codec;
use crate::manifest::{CHUNK, Digest, MAX_DIM, MAX_K, Packing, Routing};
use crate::wire::message_len;
use crate::{Error, index};

/// What the owner wants of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Results of a search.
    pub k: usize,
    /// Part of the true nearest that a search should find, above 0 and below 1.
    pub recall: f64,
    /// Searches that a typical client makes in one version of the index.
    pub queries: u64,
    /// How clients find their buckets; `None` lets the planner choose.
    pub routing: Option<Routing>,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            k: 10,
            recall: 0.95,
            queries: 100,
            routing: None,
        }
    }
}

/// What a client transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes downloaded once.
    pub once: u64,
    /// Bytes sent for each query.
    pub up: u64,
    /// Bytes received for each query.
    pub down: u64,
}

impl Cost {
    /// Bytes in all for this many queries.
    #[must_use]
    pub fn total(&self, queries: u64) -> u64 {
        (self.up + self.down)
            .saturating_mul(queries)
            .saturating_add(self.once)
    }
}

/// One way to cut an index, with what it would cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Buckets.
    pub clusters: usize,
    /// The shape of a bucket.
    pub layout: Layout,
    /// How clients find their buckets.
    pub routing: Routing,
    /// Buckets of a search, predicted from measured curves; the builder measures it.
    pub probes: usize,
    /// What a client transfers.
    pub cost: Cost,
}

/// The cheapest candidate, the others, and the download to compare them with.
#[derive(Clone, Debug)]
pub struct Plan {
    n: usize,
    dim: usize,
    wish: Wish,
    chosen: Candidate,
    /// For each number of clusters the cheapest codec and routing, fewest clusters first.
    candidates: Vec<Candidate>,
    open: Option<Scoring>,
    masked: Option<Scoring>,
    download: Cost,
}

/// How an index that is scored whole is packed, and what a client of it transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scoring {
    /// How vectors share polynomials.
    pub packing: Packing,
    /// What a client transfers.
    pub cost: Cost,
}

/// Places per vector: every vector has one, second copies fill the rest. Measured: fewer than 2
/// cost many more probes, more than 2 save none.
const PLACES: usize = 2;

/// A search should not cost more than this part of downloading everything: past that, a client
/// with this many queries is better served by the download.
const LEAST_QUERIES: u64 = 8;

impl Plan {
    /// Plans an index of `n` vectors of `dim` dimensions.
    ///
    /// # Errors
    /// If there are no vectors or too many, `k` is 0 or above `n`, or the recall is no share.
    pub fn new(n: usize, dim: usize, wish: Wish) -> Result<Self, Error> {
        check(n, dim, wish.k)?;
        if !(wish.recall > 0.0 && wish.recall < 1.0) {
            return Err(Error::Recall(wish.recall));
        }
        let download = download_cost(n, dim);
        // A hair of probes is saved by very many clusters, but a bucket must be worth its frame.
        let most = (n / 4).max(1);
        let mut candidates = Vec::new();
        for clusters in (0..=20).map(|log| 1usize << log).filter(|&c| c <= most) {
            let ways = Codec::ALL
                .into_iter()
                .filter(|codec| ceiling(*codec) > wish.recall);
            let ways = ways.flat_map(|codec| {
                [Routing::Downloaded, Routing::Encrypted].map(|routing| (codec, routing))
            });
            let ways = ways.filter(|way| wish.routing.is_none_or(|routing| routing == way.1));
            let costed = ways.filter_map(|(codec, routing)| {
                candidate(n, dim, clusters, codec, routing, wish.recall)
            });
            candidates.extend(costed.min_by_key(|candidate| candidate.cost.total(wish.queries)));
        }
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
            open: scoring(n, dim, wish.queries, Packing::open),
            masked: scoring(n, dim, wish.queries, Packing::masked),
            download,
        })
    }

    /// Checks that these are vectors of the planned number and dimension.
    pub(crate) fn check(&self, vectors: &crate::Vectors) -> Result<(), Error> {
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

    /// The wish that this plan serves.
    #[must_use]
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// The cheaper packing of open mode; `None` if there are too many vectors to be scored whole.
    #[must_use]
    pub fn open(&self) -> Option<&Scoring> {
        self.open.as_ref()
    }

    /// The cheaper packing of masked mode; `None` if there are too many vectors to be scored whole.
    #[must_use]
    pub fn masked(&self) -> Option<&Scoring> {
        self.masked.as_ref()
    }

    /// What it costs to download everything and search locally.
    #[must_use]
    pub fn download(&self) -> &Cost {
        &self.download
    }

    /// The most buckets that the builder may settle on: what a search costs then is still less
    /// than an eighth of the download, or what the prediction says if that is more.
    #[must_use]
    pub fn most_probes(&self) -> usize {
        let Candidate {
            clusters,
            layout,
            probes,
            ..
        } = self.chosen;
        let budget = self.download.once / LEAST_QUERIES;
        let affordable = (1..=clusters)
            .take_while(|&probes| {
                fetch_cost(clusters, &layout, probes).is_some_and(|(up, down)| up + down <= budget)
            })
            .last();
        affordable.unwrap_or(1).max(probes)
    }

    /// What a client transfers with the number of probes that the builder measured.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the chosen candidate has a cost")]
    pub fn cost(&self, probes: usize) -> Cost {
        let Candidate {
            clusters,
            layout,
            routing,
            ..
        } = self.chosen;
        cost(clusters, &layout, routing, probes).expect("the chosen candidate has a cost")
    }
}

/// Queries after which downloading everything has cost less: `None` if it never does, 0 if it
/// costs less from the start.
#[must_use]
pub fn break_even(cost: &Cost, download: &Cost) -> Option<u64> {
    match download.once.checked_sub(cost.once) {
        None => Some(0),
        Some(saved) => saved.checked_div(cost.up + cost.down),
    }
}

/// Refuses sizes that an index cannot have.
pub(crate) fn check(n: usize, dim: usize, k: usize) -> Result<(), Error> {
    if n == 0 || dim == 0 {
        return Err(Error::NoVectors);
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
pub(crate) fn chunk_layout(n: usize, dim: usize) -> Layout {
    let slots = crate::recall::number(n).min(CHUNK);
    Layout {
        dim: crate::recall::number(dim),
        slots,
        codec: Codec::Int8,
    }
}

/// What it costs to download everything.
fn download_cost(n: usize, dim: usize) -> Cost {
    let layout = chunk_layout(n, dim);
    let count = n.div_ceil(layout.slots as usize);
    let once = message_len(count * layout.sealed_len()) as u64;
    Cost {
        once,
        up: 0,
        down: 0,
    }
}

/// The packing that moves the fewest bytes in this many queries.
fn scoring(
    n: usize,
    dim: usize,
    queries: u64,
    params: fn(Packing) -> column::Params,
) -> Option<Scoring> {
    let costed = Packing::ALL.into_iter().filter_map(|packing| {
        let cost = scoring_cost(n, dim, &params(packing)).ok()?;
        Some(Scoring { packing, cost })
    });
    costed.min_by_key(|scoring| scoring.cost.total(queries))
}

/// What a client of an index that is scored whole transfers.
fn scoring_cost(n: usize, dim: usize, params: &column::Params) -> Result<Cost, Error> {
    let len = |body: usize| message_len(body) as u64;
    Ok(Cost {
        once: len(column::Hint::encoded_len(params, dim, n)?),
        up: len(column::Query::encoded_len(params, dim)?),
        down: len(column::Reply::encoded_len(params, dim, n)?),
    })
}

/// The recall@10 that a codec reaches when everything is read, with something to spare:
/// measured on image descriptors, which are the hardest of the sets that were tried.
fn ceiling(codec: Codec) -> f64 {
    match codec {
        Codec::Int8 => 1.0,
        Codec::Residual6 => 0.965,
        Codec::Residual4 => 0.91,
    }
}

/// Buckets that a search must read, from curves measured on image descriptors at 10,000 to
/// 323,000 vectors: P = 2.75 C^0.477 N^-0.147 at a recall of .95, two places per vector.
fn predicted_probes(n: usize, clusters: usize, codec: Codec, recall: f64) -> usize {
    let at_95 = 2.75 * (clusters as f64).powf(0.477) * (n as f64).powf(-0.147);
    // (-ln(1 - recall), ln(P / P at .95)), measured at 2,048 clusters.
    const CURVE: [(f64, f64); 5] = [
        (0.69, -1.9),
        (2.303, -0.51),
        (2.996, 0.0),
        (3.912, 0.72),
        (4.605, 1.5),
    ];
    let x = -(1.0 - recall).ln();
    let after = CURVE
        .iter()
        .position(|point| point.0 > x)
        .unwrap_or(4)
        .max(1);
    let ((x0, y0), (x1, y1)) = (CURVE[after - 1], CURVE[after]);
    let factor = (y0 + (x - x0) * (y1 - y0) / (x1 - x0)).exp();
    let codec_factor = match codec {
        Codec::Int8 => 1.0,
        Codec::Residual6 => 1.15,
        Codec::Residual4 => 1.5,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small, positive"
    )]
    let probes = (at_95 * factor * codec_factor).ceil() as usize;
    probes.clamp(1, clusters)
}

fn candidate(
    n: usize,
    dim: usize,
    clusters: usize,
    codec: Codec,
    routing: Routing,
    recall: f64,
) -> Option<Candidate> {
    let slots = (PLACES * n).div_ceil(clusters).min(n);
    let layout = Layout {
        dim: crate::recall::number(dim),
        slots: crate::recall::number(slots),
        codec,
    };
    let probes = predicted_probes(n, clusters, codec, recall);
    let cost = cost(clusters, &layout, routing, probes)?;
    Some(Candidate {
        clusters,
        layout,
        routing,
        probes,
        cost,
    })
}

/// What a client of this index transfers; `None` if the PIR has no parameters for it.
fn cost(clusters: usize, layout: &Layout, routing: Routing, probes: usize) -> Option<Cost> {
    let (mut up, mut down) = fetch_cost(clusters, layout, probes)?;
    let dim = layout.dim as usize;
    let mut once = clusters * size_of::<Digest>() + pir_params(clusters, layout)?.hint_len();
    match routing {
        Routing::Downloaded => once += index::centroids_len(clusters, dim),
        Routing::Encrypted => {
            let params = sordino_ckks::dot::Params::rlwe_2048_50();
            up += message_len(sordino_ckks::dot::Query::encoded_len(dim)) as u64;
            let reply = sordino_ckks::dot::Reply::encoded_len(&params, dim, clusters).ok()?;
            down += message_len(reply) as u64;
        }
    }
    Some(Cost {
        once: message_len(once) as u64,
        up,
        down,
    })
}

/// Bytes up and down of fetching buckets.
fn fetch_cost(clusters: usize, layout: &Layout, probes: usize) -> Option<(u64, u64)> {
    let params = pir_params(clusters, layout)?;
    let len = |each: usize| message_len(probes * each) as u64;
    Some((len(params.query_len()), len(params.answer_len())))
}

fn pir_params(clusters: usize, layout: &Layout) -> Option<sordino_pir::Params> {
    sordino_pir::Params::for_columns(clusters, layout.sealed_len()).ok()
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            n,
            dim,
            wish,
            chosen,
            download,
            ..
        } = self;
        writeln!(
            f,
            "plan for {n} x {dim}, recall@{} {}, {} queries per client and version",
            wish.k, wish.recall, wish.queries
        )?;
        writeln!(
            f,
            "  {:>8} {:>10} {:>10} {:>6} {:>12} {:>12} {:>12}",
            "clusters", "code", "centroids", "probes", "once", "per query", "in all"
        )?;
        for candidate in &self.candidates {
            let Candidate {
                clusters,
                layout,
                routing,
                probes,
                cost,
            } = candidate;
            writeln!(
                f,
                "{} {clusters:>8} {:>10} {:>10} {probes:>6} {:>12} {:>12} {:>12}",
                if candidate == chosen { ">" } else { " " },
                format!("{:?}", layout.codec),
                routing.name(),
                Bytes(cost.once),
                Bytes(cost.up + cost.down),
                Bytes(cost.total(wish.queries)),
            )?;
        }
        writeln!(
            f,
            "  downloading everything: {} once, nothing per query",
            Bytes(download.once)
        )?;
        match break_even(&chosen.cost, download) {
            Some(0) => writeln!(
                f,
                "  the download is cheaper from the first query on: what is downloaded once for \
                 sealed mode alone is {:.1} times as much. Sealed mode is for readers who must \
                 not hold the whole index.",
                chosen.cost.once as f64 / download.once as f64
            ),
            Some(queries) => writeln!(f, "  sealed mode costs less for up to {queries} queries"),
            None => writeln!(f, "  sealed mode always costs less"),
        }?;
        self.write_modes(f)
    }
}

impl Plan {
    /// The table of all modes.
    fn write_modes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sealed = (self.chosen.routing.name(), self.chosen.cost);
        let hidden = match self.chosen.routing {
            Routing::Downloaded => "queries, vectors, centroids",
            Routing::Encrypted => "queries, vectors; it holds the centroids",
        };
        let packed = |scoring: &Scoring| (scoring.packing.name(), scoring.cost);
        let modes = [
            (
                "masked",
                self.masked.as_ref().map(packed),
                "queries, vectors",
            ),
            ("sealed", Some(sealed), hidden),
            (
                "open",
                self.open.as_ref().map(packed),
                "queries; it holds the vectors",
            ),
            (
                "local",
                Some(("", self.download)),
                "queries, vectors; readers hold all",
            ),
        ];
        write!(
            f,
            "  {:>8} {:>10} {:>10} {:>12} {:>12} {:>14}  the server does not see",
            "mode", "form", "once", "per query", "in all", "pays up to"
        )?;
        for (mode, planned, hides) in modes {
            let Some((form, cost)) = planned else {
                continue;
            };
            let even = match break_even(&cost, &self.download) {
                _ if mode == "local" => "-".to_owned(),
                Some(queries) => format!("{queries} queries"),
                None => "any".to_owned(),
            };
            write!(
                f,
                "\n  {mode:>8} {form:>10} {:>10} {:>12} {:>12} {even:>14}  {hides}",
                Bytes(cost.once).to_string(),
                Bytes(cost.up + cost.down).to_string(),
                Bytes(cost.total(self.wish.queries)).to_string(),
            )?;
        }
        Ok(())
    }
}

/// A number of bytes for people: powers of 1000, three digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} B", self.0)),
            1_000..1_000_000 => (1e3, "kB"),
            1_000_000..1_000_000_000 => (1e6, "MB"),
            _ => (1e9, "GB"),
        };
        let value = self.0 as f64 / scale;
        let digits = if value < 9.995 {
            2
        } else {
            usize::from(value < 99.95)
        };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_follow_the_measured_curves() {
        // (n, clusters, recall, probes measured with 8-bit codes)
        for (n, clusters, recall, measured) in [
            (100_000, 2048, 0.95, 20.0),
            (100_000, 2048, 0.90, 12.0),
            (100_000, 2048, 0.98, 41.0),
            (100_000, 1024, 0.95, 13.0),
            (100_000, 4096, 0.95, 27.0),
            (10_000, 512, 0.95, 14.0),
        ] {
            let predicted = predicted_probes(n, clusters, Codec::Int8, recall) as f64;
            let ratio = predicted / measured;
            assert!(
                (0.75..1.35).contains(&ratio),
                "{n} {clusters} {recall}: {predicted}"
            );
        }
        assert_eq!(predicted_probes(100_000, 4, Codec::Int8, 0.99), 4);
        let few = predicted_probes(100_000, 2048, Codec::Int8, 0.3);
        assert!((1..5).contains(&few), "{few}");
    }

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
        assert!(plan(1).chosen().clusters > plan(100).chosen().clusters);
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
            masked.once <= 1_010_000 && masked.up + masked.down <= 600_000,
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
        assert!(matches!(plan(0, 8, 1, 0.9), Err(Error::NoVectors)));
        assert!(matches!(plan(8, 5000, 1, 0.9), Err(Error::TooLarge { .. })));
        assert!(matches!(plan(8, 8, 0, 0.9), Err(Error::K { k: 0, n: 8 })));
        assert!(matches!(plan(8, 8, 9, 0.9), Err(Error::K { k: 9, n: 8 })));
        for recall in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(matches!(plan(8, 8, 1, recall), Err(Error::Recall(_))));
        }
    }

    #[test]
    fn bytes_read_well() {
        let text = [0, 999, 1_000, 99_960, 12_345_678, 999_999, 5_000_000_000]
            .map(|b| Bytes(b).to_string());
        assert_eq!(
            text,
            [
                "0 B", "999 B", "1.00 kB", "100 kB", "12.3 MB", "1000 kB", "5.00 GB"
            ]
        );
    }
}
