//! The ways to fetch payloads or buckets, and the cost of each.

use sordino_index::Error;
use sordino_index::page_scan::PageScan;
use sordino_index::payload::{FetchKind, Payloads};
use sordino_index::wire::{message_len, request_len};
use sordino_pir::hintless;
use sordino_pir::simple::Params;

use super::{Cost, Speed};

/// The largest number of bytes of a server's memory for buckets that are fetched without a hint, including one answer.
pub(super) const MOST_MEMORY: u64 = 16 << 30;

/// The layout without a hint for requests of `k` of these records. `None` if there is none, or a server would need too
/// much memory.
pub(super) fn without_hint(
    records: usize,
    len: usize,
    k: usize,
    memory: u64,
) -> Option<hintless::Params> {
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
    /// SimplePIR, with this layout. A hint is downloaded once.
    Simple(Params),
    /// Retrieval without a hint, with one request for all pages of a search. The first request of a session also has
    /// keys.
    Hintless(hintless::Params),
    /// A scan of all pages. A short hint is downloaded once.
    Scan(PageScan),
}

/// The largest number of searches of a client in one version for which buckets are fetched without a hint, if that
/// transfers fewer bytes. It costs a server about ten times the work of a scan, so frequent clients should not use it.
const FEW: u64 = 64;

impl Way {
    /// The way in which clients fetch these payloads.
    ///
    /// # Errors
    /// [`Error`] if no layout serves their pages. A checked manifest has no such pages.
    pub fn of_payloads(payloads: &Payloads) -> Result<Self, Error> {
        let simple = payloads.pir_params()?.map(Self::Simple);
        let hintless = payloads.hintless_params()?.map(Self::Hintless);
        let scan = payloads.scan()?.map(Self::Scan);
        Ok(simple.or(hintless).or(scan).unwrap_or(Self::Download))
    }

    /// The way with the fewest bytes for a client that fetches `probes` buckets at a time, in `searches` searches of
    /// one version. `None` if SimplePIR, which serves any number of probes, has no layout for them.
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

    /// The bytes that fetching takes in this way, if a client fetches `count` pages or buckets at a time.
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

    /// The bytes of a server's memory for this way. They hold the records in the form for scanning. Without a hint they
    /// also hold the working memory of one answer, which is kept after the first one. A file that is sent unchanged
    /// needs none.
    #[must_use]
    pub fn memory(&self) -> u64 {
        match self {
            Self::Download => 0,
            Self::Simple(params) => params.rows() as u64 * params.columns() as u64,
            Self::Hintless(params) => memory_of(params) as u64,
            Self::Scan(scan) => scan.memory(),
        }
    }

    /// The way's kind.
    #[must_use]
    pub fn kind(&self) -> FetchKind {
        match self {
            Self::Download => FetchKind::Download,
            Self::Simple(_) => FetchKind::Pir,
            Self::Hintless(_) => FetchKind::Hintless,
            Self::Scan(_) => FetchKind::Scan,
        }
    }

    /// The way's name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The bytes that fetching these pages takes, if a client fetches `fetched` pages at a time. If the pages are
    /// downloaded, all of them count.
    pub(super) fn cost_of(&self, (pages, len, fetched): (usize, usize, usize)) -> Cost {
        let mut cost = self.cost(fetched);
        if *self == Self::Download {
            cost.once = (pages as u64).saturating_mul(len as u64);
        }
        cost
    }

    /// Nanoseconds of one thread for fetching `count` pages or buckets at a time, for the server and for the client.
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

/// Nanoseconds of one thread for the pages of a search, for the server and for the client.
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
