//! The conditions that decide how clients fetch payloads: they determine how long a client waits.

use sordino_index::manifest::SecretPacking;
use sordino_index::page_scan::{COPIES, PageScan};
use sordino_index::payload::FetchKind;
use sordino_pir::plan::Candidate;

use super::way::{MOST_MEMORY, Way, without_hint};
use super::{Cost, Speed};

/// The longest time in seconds that a client waits for the initial download, if there is another way.
const MOST_ONCE: f64 = 3.0;

/// One second of waiting before the first search counts like this number of later seconds, since the user sees no results yet.
const FIRST: f64 = 5.0;

/// If a search fetches at least this number of pages, copies of dealt pages are worth their memory. For ten pages of a
/// million records, a search takes about the same bytes without copies.
const MANY: usize = 24;

/// A download of at most this number of seconds is short enough to be ignored.
const LITTLE: f64 = 0.1;

/// The rank of a way. The way with the smallest rank is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// True for a way that is not the preferred one.
    other: bool,
    /// True for a way with which a client waits too long, or that makes searches unnecessary.
    unusual: bool,
    /// True for a way that differs from the current one.
    changed: bool,
    wait: u64,
}

impl Rank {
    /// True if a client waits at most three times as long as for `other`, and every reason against this way is also a reason
    /// against `other`.
    pub(crate) fn is_near(&self, other: &Self) -> bool {
        let faults = |it: &Self| [it.other, it.unusual, it.changed];
        let worse = faults(self)
            .iter()
            .zip(faults(other))
            .any(|(own, other)| *own && !other);
        !worse && f64::from_bits(self.wait) <= 3.0 * f64::from_bits(other.wait)
    }
}

/// The conditions that decide how clients fetch payloads.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conditions {
    /// The number of searches that a client makes in one version of the index.
    pub searches: u64,
    /// The number of bits per second of the link between client and server, each way.
    pub line: f64,
    /// The number of cores of the server that work on one search.
    pub cores: u32,
    /// The size in bytes of the server's memory that payloads may take.
    pub memory: u64,
    /// The way to use whenever it is possible.
    preferred: Option<FetchKind>,
    /// The way that the index used so far.
    kept: Option<FetchKind>,
}

impl Default for Conditions {
    /// A hundred searches on a link of 100 Mbit/s, two cores, and 16 GiB.
    fn default() -> Self {
        Self {
            searches: 100,
            line: 1e8,
            cores: 2,
            memory: MOST_MEMORY,
            preferred: None,
            kept: None,
        }
    }
}

sordino_index::setters! {
    Conditions {
        searches: u64,
        line: f64,
        cores: u32,
        memory: u64,
    }
}

impl Conditions {
    /// The same conditions, with a way to use whenever it is possible.
    #[must_use]
    pub fn prefer(self, kind: FetchKind) -> Self {
        let preferred = Some(kind);
        Self { preferred, ..self }
    }

    /// The same conditions, with the way that the index used so far. The way is kept unless a client waits too long for it.
    #[must_use]
    pub(crate) fn keep(self, kind: FetchKind) -> Self {
        let kept = Some(kind);
        Self { kept, ..self }
    }

    /// The ways to fetch some of these pages, with the seconds that a client waits for each in
    /// all of its searches.
    pub(crate) fn ways(&self, (pages, len, fetched): (usize, usize, usize)) -> Vec<(Way, f64)> {
        let wanted = self.searches.saturating_mul(fetched as u64);
        let simple = sordino_pir::plan::Plan::new(pages, len, wanted);
        let simple = simple.ok().and_then(|plan| {
            let simple = |candidate| match candidate {
                Candidate::Simple(params) => Some(Way::Simple(params)),
                _ => None,
            };
            plan.costs().iter().find_map(|cost| simple(cost.candidate))
        });
        let hintless = without_hint(pages, len, fetched, self.memory).map(Way::Hintless);
        let scans = SecretPacking::ALL.into_iter().flat_map(|packing| {
            let sizes = (pages, len, fetched);
            let scan = move |copies| PageScan::new(sizes, packing, copies).ok();
            COPIES.into_iter().filter_map(scan).map(Way::Scan)
        });
        let ways = [Some(Way::Download), simple, hintless];
        let ways = ways.into_iter().flatten().chain(scans);
        let ways = ways.filter(|way| way.memory() <= self.memory);
        ways.map(|way| (way, self.wait(&way, (pages, len, fetched))))
            .collect()
    }

    /// The way for which a client waits the shortest time. Clients never download the pages of a second look as a whole: a
    /// client with all exact vectors would need no server to score them.
    pub(crate) fn quickest(&self, sizes: (usize, usize, usize), look: bool) -> Option<(Way, Rank)> {
        let dealt = |way: &Way| matches!(way, Way::Scan(scan) if scan.copies() > 0);
        let ways = self.ways(sizes).into_iter();
        let ways = ways.filter(|(way, _)| sizes.2 >= MANY || !dealt(way));
        let ranked = ways.map(|(way, wait)| {
            let once = self.seconds(way.cost_of(sizes).once);
            let useless = look && way == Way::Download && once > LITTLE;
            let rank = Rank {
                other: self.preferred.is_some_and(|kind| kind != way.kind()),
                unusual: once > MOST_ONCE || useless,
                changed: self.kept.is_some_and(|kind| kind != way.kind()),
                // Numbers that are not negative sort like their bits.
                wait: wait.to_bits(),
            };
            (way, rank)
        });
        ranked.min_by_key(|(_, rank)| *rank)
    }

    /// The seconds that a client waits for data in this way.
    fn wait(&self, way: &Way, sizes: (usize, usize, usize)) -> f64 {
        let cost = way.cost_of(sizes);
        let each = self.wait_of_search(&cost, way.nanoseconds(sizes.2, &Speed::ZEN5));
        FIRST * self.seconds(cost.once) + self.searches as f64 * each
    }

    /// The seconds that a client waits for the pages of one search. Server and client compute for the given nanoseconds of one
    /// thread.
    pub(crate) fn wait_of_search(&self, cost: &Cost, (server, client): (f64, f64)) -> f64 {
        let computing = (server / f64::from(self.cores.max(1)) + client) * 1e-9;
        self.seconds(cost.up + cost.down) + computing
    }

    /// The seconds in which the link transfers a number of bytes.
    #[must_use]
    pub fn seconds(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.line
    }
}
