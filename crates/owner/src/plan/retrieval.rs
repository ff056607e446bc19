//! The cost of payloads, and of a second look.

use std::time::Duration;

use sordino_index::look::SecondLook;
use sordino_index::manifest::SecretPacking;
use sordino_index::page_scan::PageScan;
use sordino_index::payload::{FetchKind, MOST_PAYLOAD, PageForm};
use sordino_index::wire::{message_len, request_len};
use sordino_index::{Error, TAG_LEN};
use sordino_pir::hintless;
use sordino_pir::plan::Candidate;
use sordino_pir::simple::Params;
use sordino_vault::numbers::{self, Numbers};
use sordino_vectors::u32_of;

use super::{Cost, Speed, Wish, check};
use crate::pages;

/// The most memory of a server for buckets that are fetched without a hint and for an answer from them, in bytes.
const MOST_MEMORY: u64 = 16 << 30;

/// The layout without a hint for requests of `k` of so many records, if there is one that a server has memory for.
fn without_hint(records: usize, len: usize, k: usize, memory: u64) -> Option<hintless::Params> {
    let params = hintless::Params::new(records, len, k).ok()?;
    (memory_of(&params) as u64 <= memory).then_some(params)
}

fn memory_of(params: &hintless::Params) -> usize {
    params.server_bytes().saturating_add(params.room_bytes())
}

/// A way to fetch payloads, or buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// All payloads are downloaded once.
    Download,
    /// SimplePIR, with this layout: a hint is downloaded once.
    Simple(Params),
    /// Retrieval without a hint, all of a search in one request. The first one of a session brings keys.
    Hintless(hintless::Params),
    /// A scan of all pages: a short hint is downloaded once.
    Scan(PageScan),
}

/// Searches of a client in one version, at most, for which buckets are fetched without a hint, where that moves fewer
/// bytes. It takes a server some ten times the work of a scan, which a client that comes more often need not ask of it.
const FEW: u64 = 64;

impl Way {
    /// The one with the fewest bytes for a client that fetches `probes` of so many buckets at a time in `searches`
    /// searches of one version; `None` if SimplePIR has no layout for them, which serves any number of probes.
    pub(crate) fn of_buckets(
        buckets: usize,
        len: usize,
        probes: usize,
        searches: u64,
    ) -> Option<Self> {
        let simple = Self::Simple(Params::for_columns(buckets, len).ok()?);
        let few = (searches <= FEW).then(|| without_hint(buckets, len, probes, MOST_MEMORY));
        let ways = [simple]
            .into_iter()
            .chain(few.flatten().map(Self::Hintless));
        ways.min_by_key(|way| way.cost(probes).total(searches))
    }

    /// The bytes of what is fetched so, `count` at a time.
    pub(crate) fn cost(&self, count: usize) -> Cost {
        match self {
            Self::Download => Cost {
                once: 0,
                up: 0,
                down: 0,
            },
            Self::Simple(params) => Cost {
                once: params.hint_len() as u64,
                up: request_len(count * params.query_len()) as u64,
                down: message_len(count * params.answer_len()) as u64,
            },
            Self::Scan(scan) => Cost {
                once: scan.hint_len().unwrap_or(usize::MAX) as u64,
                up: request_len(scan.query_len().unwrap_or(usize::MAX)) as u64,
                down: message_len(scan.reply_len().unwrap_or(usize::MAX)) as u64,
            },
            Self::Hintless(params) => Cost {
                once: hintless::Keys::LEN as u64,
                up: request_len(params.query_len()) as u64,
                down: message_len(params.answer_len()) as u64,
            },
        }
    }

    /// Bytes of a server's memory for what is fetched so: the records as they are scanned and, without a hint, the room of
    /// one answer, which is kept from the first one on. Nothing for a file that is sent as it is.
    #[must_use]
    pub fn memory(&self) -> u64 {
        match self {
            Self::Download => 0,
            Self::Simple(params) => params.rows() as u64 * params.columns() as u64,
            Self::Hintless(params) => memory_of(params) as u64,
            Self::Scan(scan) => scan.memory(),
        }
    }

    /// The kind of it.
    #[must_use]
    pub fn kind(&self) -> FetchKind {
        match self {
            Self::Download => FetchKind::Download,
            Self::Simple(_) => FetchKind::Pir,
            Self::Hintless(_) => FetchKind::Hintless,
            Self::Scan(_) => FetchKind::Scan,
        }
    }

    /// The word for it in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The bytes of so many pages, each of so many bytes, of which so many are fetched at a time: all of them, where they are
    /// downloaded.
    fn cost_of(&self, (pages, len, fetched): (usize, usize, usize)) -> Cost {
        let mut cost = self.cost(fetched);
        if *self == Self::Download {
            cost.once = (pages as u64).saturating_mul(len as u64);
        }
        cost
    }

    /// Nanoseconds of one thread of server and client for `count` at a time.
    pub(super) fn nanoseconds(&self, count: usize, speed: &Speed) -> (f64, f64) {
        let params = match self {
            Self::Download => return (0.0, 0.0),
            Self::Hintless(params) => return params.nanoseconds(),
            Self::Scan(scan) => return scan_nanoseconds(scan, speed),
            Self::Simple(params) => params,
        };
        let bytes = params.rows() as f64 * params.columns() as f64;
        let words = (params.columns() + params.rows()) as f64 * params.n() as f64;
        let count = count as f64;
        (
            speed.pir_scan * count * bytes,
            speed.pir_word * count * words,
        )
    }
}

/// Nanoseconds of one thread of server and client for the pages of a search.
fn scan_nanoseconds(scan: &PageScan, speed: &Speed) -> (f64, f64) {
    let (shape, outer) = (scan.shape(), scan.outer());
    let bytes = shape.rows() as f64 * shape.columns() as f64 * shape.groups() as f64;
    let product = scan.words() as f64 * PageScan::params().n() as f64;
    let server = speed.pir_scan * bytes + speed.column_score * product;
    let polys = PageScan::params().n().div_ceil(outer.t()) as f64;
    let blocks = scan.words().div_ceil(outer.degree() / outer.t()) as f64;
    let words = speed.table_word * shape.words() as f64;
    let client = words + speed.column_query * polys + speed.column_block * blocks;
    (server, client)
}

/// The seconds that a client waits at most for what is downloaded once, where there is another way.
const MOST_ONCE: f64 = 3.0;

/// A second before the first search counts for so many later ones: a user who waits for the first sees nothing yet.
const FIRST: f64 = 5.0;

/// The seconds of a download that need not be weighed.
const LITTLE: f64 = 0.1;

/// The order of ways: the least is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// True of a way that is not preferred.
    other: bool,
    /// True of a way that a client waits too long for, or that makes searches needless.
    unusual: bool,
    wait: u64,
}

/// The terms by which the way to payloads is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conditions {
    /// Searches that a client makes in one version of the index.
    pub searches: u64,
    /// Bits per second of the line between client and server, each way.
    pub line: f64,
    /// Cores of the server that work on one search.
    pub cores: u32,
    /// Bytes of the server's memory that payloads may take.
    pub memory: u64,
    /// The way that comes before all others.
    preferred: Option<FetchKind>,
}

impl Default for Conditions {
    /// A hundred searches on a line of 100 Mbit/s, by two cores, in 16 GiB.
    fn default() -> Self {
        Self {
            searches: 100,
            line: 1e8,
            cores: 2,
            memory: MOST_MEMORY,
            preferred: None,
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
    /// The same, with a way that comes before all others if it can serve.
    #[must_use]
    pub fn prefer(self, kind: FetchKind) -> Self {
        let preferred = Some(kind);
        Self { preferred, ..self }
    }

    /// The ways to fetch some of so many pages, each of so many bytes, with the seconds that a client waits for each in
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
        let scans = SecretPacking::ALL.into_iter().filter_map(|packing| {
            let scan = PageScan::new((pages, len, fetched), packing).ok()?;
            Some(Way::Scan(scan))
        });
        let ways = [Some(Way::Download), simple, hintless];
        let ways = ways.into_iter().flatten().chain(scans);
        let ways = ways.filter(|way| way.memory() <= self.memory);
        ways.map(|way| (way, self.wait(&way, (pages, len, fetched))))
            .collect()
    }

    /// The way for which a client waits the least. For a second look a client is taken to come once, and nothing is
    /// downloaded: a client with all exact vectors needs no server to score them.
    pub(crate) fn quickest(&self, sizes: (usize, usize, usize), look: bool) -> Option<(Way, Rank)> {
        let own = if look { self.searches(1) } else { *self };
        let ranked = own.ways(sizes).into_iter().map(|(way, wait)| {
            let once = way.cost_of(sizes).once as f64 * 8.0 / self.line;
            let useless = look && way == Way::Download && once > LITTLE;
            let rank = Rank {
                other: self.preferred.is_some_and(|kind| kind != way.kind()),
                unusual: once > MOST_ONCE || useless,
                // Of numbers that are not negative the order is that of their bits.
                wait: wait.to_bits(),
            };
            (way, rank)
        });
        ranked.min_by_key(|(_, rank)| *rank)
    }

    /// The seconds that a client waits for what is fetched in this way.
    fn wait(&self, way: &Way, sizes: (usize, usize, usize)) -> f64 {
        let cost = way.cost_of(sizes);
        let (server, client) = way.nanoseconds(sizes.2, &Speed::ZEN5);
        let seconds = |bytes: u64| bytes as f64 * 8.0 / self.line;
        let computing = (server / f64::from(self.cores.max(1)) + client) * 1e-9;
        let each = seconds(cost.up + cost.down) + computing;
        FIRST * seconds(cost.once) + self.searches as f64 * each
    }
}

/// The way in which the pages of an index are fetched, and what a client transfers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Records.
    pub records: usize,
    /// The content of a page.
    pub form: PageForm,
    /// Pages.
    pub pages: usize,
    /// Pages of a search: one for each of its results or, for a second look, of its candidates, and more for long records.
    pub fetched: usize,
    /// The way in which they are fetched.
    pub way: Way,
    /// The bytes that a client transfers. The list of which record is where is counted as it is for records
    /// that are numbered from 0.
    pub cost: Cost,
}

impl Retrieval {
    /// Plans what `n` records carry, each `payload` bytes and a vector for a second look, if there are any, for searches of `k`
    /// results.
    pub(super) fn new(
        (n, k): (usize, usize),
        (payload, look): (Option<usize>, Option<SecondLook>),
        conditions: &Conditions,
    ) -> Result<Self, Error> {
        check(n, 1, k)?;
        let found = payload.unwrap_or(0);
        let too_long = Error::Payload {
            found,
            most: MOST_PAYLOAD,
        };
        if found > MOST_PAYLOAD {
            return Err(too_long);
        }
        let form = |page_len| PageForm {
            page_len,
            payloads: payload.is_some(),
            look,
        };
        let head = |len: usize| {
            let mut head = Vec::new();
            numbers::varint((len as u64) << 1, &mut head);
            head.len() + len
        };
        let len = form(0).vector_len() + payload.map_or(0, head);
        let records = form(0).records(k);
        let choice = pages::best_of_equal(n, len, records, (look, conditions));
        let choice = choice.ok_or(too_long)?;
        let (form, way) = (form(choice.len), choice.way);
        let mut list = Vec::new();
        Numbers::range(u32_of(n)).write(&mut list);
        numbers::fill(&mut list);
        let (starts, _) = form.starts(u32_of(n), u32_of(choice.pages));
        let mut cost = way.cost_of((choice.pages, form.sealed_len(), choice.fetched));
        cost.once += (list.len() + starts.list_len() + TAG_LEN) as u64;
        Ok(Self {
            records: n,
            form,
            pages: choice.pages,
            fetched: choice.fetched,
            way,
            cost,
        })
    }

    /// Plans the second look that is wished for, if one is.
    pub(super) fn of_look(
        n: usize,
        dim: usize,
        payload: Option<usize>,
        wish: &Wish,
    ) -> Result<Option<Self>, Error> {
        let Some(candidates) = wish.second_look else {
            return Ok(None);
        };
        let look = Some(second_look(candidates, wish.k, dim)?);
        Self::new((n, wish.k), (payload, look), &wish.conditions()).map(Some)
    }

    /// Bytes of all pages, as they are sealed.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.pages as u64 * self.form.sealed_len() as u64
    }

    /// The ways in which these pages could be fetched, each with its cost.
    #[must_use]
    pub fn ways(&self, conditions: &Conditions) -> Vec<(Way, Cost)> {
        let sizes = (self.pages, self.form.sealed_len(), self.fetched);
        let ways = conditions.ways(sizes).into_iter();
        ways.map(|(way, _)| (way, way.cost_of(sizes))).collect()
    }

    /// The server's and the client's time for the pages of one search, on one thread.
    #[must_use]
    pub fn times(&self, speed: &Speed) -> (Duration, Duration) {
        let (server, client) = self.way.nanoseconds(self.fetched, speed);
        let time = |ns: f64| Duration::from_secs_f64(ns * 1e-9);
        (time(server), time(client))
    }
}

/// A second look at so many candidates for `k` results, of vectors of `width` stored coordinates.
pub(crate) fn second_look(candidates: u32, k: usize, width: usize) -> Result<SecondLook, Error> {
    if candidates > SecondLook::MOST || (candidates as usize) < k {
        return Err(Error::Candidates(candidates));
    }
    let width = u32_of(width);
    Ok(SecondLook { candidates, width })
}
