//! The ways to cut a sealed index, and what each costs.

use sordino_ckks::dot;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::digest::Digest;
use sordino_index::manifest::{self, Routing};
use sordino_index::wire::{message_len, request_len};
use sordino_vectors::metric::Metric;
use sordino_vectors::u32_of;

use super::{Cost, Way, Wish};
use crate::sample_recall::{MARGIN, target};

/// A possible cut of an index, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The number of buckets.
    pub clusters: usize,
    /// The shape of a bucket.
    pub layout: Layout,
    /// How clients find their buckets.
    pub routing: Routing,
    /// The number of buckets of a search, predicted from measured curves. The builder measures the real number.
    pub probes: usize,
    /// How clients fetch this number of buckets.
    pub way: Way,
    /// The bytes that a client transfers.
    pub cost: Cost,
}

/// The number of places per vector. Every vector has one place, and second copies fill the others. In measurements,
/// searches needed many more probes with fewer than 2 places, and no fewer probes with more than 2 places.
const PLACES: usize = 2;

/// True if a codec reaches this recall@10 with a margin when everything is read. It was measured on image
/// descriptors, which are the hardest for short codes among the tested sets. The longest codes are allowed for every
/// recall, since no others reach more. On generated sets they reach 0.982 to 0.985.
fn can_reach(codec: Codec, recall: f64) -> bool {
    match codec {
        Codec::Int8 | Codec::Int12 => true,
        Codec::Residual6 => recall < 0.965,
        Codec::Residual4 => recall < 0.91,
    }
}

/// The number of buckets that a search must read, from curves measured on image descriptors at 10,000 to 323,000
/// vectors. With two places per vector, P = 2.75 C^0.477 N^-0.147 at a recall of 0.95.
fn predicted_probes(n: usize, clusters: usize, codec: Codec, recall: f64) -> usize {
    let at_95 = 2.75 * (clusters as f64).powf(0.477) * (n as f64).powf(-0.147);
    // (-ln(1 - recall), ln(P / P at 0.95)), measured at 2,048 clusters.
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
        Codec::Int8 | Codec::Int12 => 1.0,
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

/// The cheapest codec and routing for each number of clusters. The smallest number of clusters comes first.
pub(super) fn all(n: usize, dim: usize, metric: Metric, wish: &Wish) -> Vec<Candidate> {
    // With more clusters, buckets would be smaller, but the vectors of a bucket must take more bytes than its
    // overhead.
    let most = (n / 4).max(1);
    let mut candidates = Vec::new();
    for clusters in (0..=20).map(|log| 1usize << log).filter(|&c| c <= most) {
        let ways = Codec::ALL
            .into_iter()
            .filter(|codec| codec.serves(metric) && can_reach(*codec, target(wish.recall, MARGIN)));
        let ways = ways.flat_map(|codec| Routing::ALL.map(|routing| (codec, routing)));
        let ways = ways.filter(|way| wish.routing.is_none_or(|routing| routing == way.1));
        let costed =
            ways.filter_map(|(codec, routing)| candidate(n, dim, clusters, codec, routing, wish));
        candidates.extend(costed.min_by_key(|candidate| candidate.cost.total(wish.queries)));
    }
    candidates
}

fn candidate(
    n: usize,
    dim: usize,
    clusters: usize,
    codec: Codec,
    routing: Routing,
    wish: &Wish,
) -> Option<Candidate> {
    let slots = (PLACES * n).div_ceil(clusters).min(n);
    let layout = Layout {
        dim: u32_of(dim),
        slots: u32_of(slots),
        codec,
    };
    let probes = predicted_probes(n, clusters, codec, wish.recall);
    let way = Way::of_buckets(clusters, layout.sealed_len(), probes, wish.queries)?;
    let cost = cost(clusters, &layout, routing, way, probes)?;
    Some(Candidate {
        clusters,
        layout,
        routing,
        probes,
        way,
        cost,
    })
}

/// The bytes that a client of this index transfers. `None` if no parameters serve its routing.
pub(super) fn cost(
    clusters: usize,
    layout: &Layout,
    routing: Routing,
    way: Way,
    probes: usize,
) -> Option<Cost> {
    let Cost {
        once,
        mut up,
        mut down,
    } = way.cost(probes);
    let dim = layout.dim as usize;
    let beside = clusters * size_of::<Digest>() + manifest::route_len(routing, clusters, dim);
    match routing {
        Routing::Downloaded => {}
        Routing::Encrypted => {
            let params = dot::Params::rlwe_2048_50();
            up += request_len(dot::Query::encoded_len(dim)) as u64;
            let reply = dot::Reply::encoded_len(&params, dim, clusters).ok()?;
            down += message_len(reply) as u64;
        }
    }
    Some(Cost {
        once: once + message_len(beside) as u64,
        up,
        down,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_follow_the_measured_curves() {
        let probes = |n, clusters, recall| predicted_probes(n, clusters, Codec::Int8, recall);
        // (n, clusters, recall, probes measured with 8-bit codes)
        for (n, clusters, recall, measured) in [
            (100_000, 2048, 0.95, 20.0),
            (100_000, 2048, 0.90, 12.0),
            (100_000, 2048, 0.98, 41.0),
            (100_000, 1024, 0.95, 13.0),
            (100_000, 4096, 0.95, 27.0),
            (10_000, 512, 0.95, 14.0),
        ] {
            let predicted = probes(n, clusters, recall) as f64;
            let ratio = predicted / measured;
            assert!(
                (0.75..1.35).contains(&ratio),
                "{n} {clusters} {recall}: {predicted}"
            );
        }
        assert_eq!(probes(100_000, 4, 0.99), 4);
        let few = probes(100_000, 2048, 0.3);
        assert!((1..5).contains(&few), "{few}");
    }

    /// At a low recall, the shortest code that serves the metric is cheapest.
    #[test]
    fn other_metrics_than_the_cosine_are_stored_in_8_bits() {
        let wish = Wish {
            recall: 0.8,
            ..Wish::default()
        };
        for metric in Metric::ALL {
            let plan = crate::Plan::for_metric(100_000, 128, metric, wish).unwrap();
            let short = plan.chosen().layout.codec != Codec::Int8;
            assert_eq!(short, metric == Metric::Cosine, "{metric:?}");
        }
    }

    /// The builder adds a margin. If codes cannot reach a recall, no number of buckets reaches it.
    #[test]
    fn codes_reach_the_margin_too() {
        let codec = |recall| {
            let wish = Wish {
                recall,
                ..Wish::default()
            };
            crate::Plan::new(100_000, 128, wish)
                .unwrap()
                .chosen()
                .layout
                .codec
        };
        for recall in [0.95, 0.957, 0.958, 0.96, 0.964] {
            let short = codec(recall) == Codec::Residual6;
            assert_eq!(short, recall <= 0.957, "{recall}");
        }
        for recall in [0.903, 0.905, 0.909] {
            assert_ne!(codec(recall), Codec::Residual4, "{recall}");
        }
        for recall in [0.99, 0.9925, 0.995, 0.999_999] {
            assert_eq!(codec(recall), Codec::Int8, "{recall}");
        }
    }
}
