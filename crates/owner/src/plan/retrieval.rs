//! The cost of payloads.

use std::time::Duration;

use sordino_index::numbers::{self, Numbers};
use sordino_index::payload::Class;
use sordino_index::wire::{message_len, request_len};
use sordino_index::{Error, TAG_LEN};
use sordino_pir::plan::Candidate;
use sordino_pir::{Params, hintless};
use sordino_vectors::u32_of;

use super::{Cost, Speed, check};

/// The most memory of a server for slots that are fetched without a hint, in bytes.
const MOST_MEMORY: usize = 16 << 30;

/// A way to fetch payloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// All payloads are downloaded once.
    Download,
    /// SimplePIR, with this layout: a hint is downloaded once.
    Simple(Params),
    /// Retrieval without a hint, all of a search in one request, which brings its keys.
    Hintless(hintless::Params),
}

impl Way {
    /// The one with the fewest bytes for a client that fetches `k` of so many slots at a time in `searches` searches of
    /// one version.
    pub(crate) fn cheapest(
        slots: usize,
        class: Class,
        k: usize,
        searches: u64,
    ) -> Result<Self, Error> {
        let (len, fetched) = (class.sealed_len(), searches.saturating_mul(k as u64));
        let plan = sordino_pir::plan::Plan::new(slots, len, fetched)?;
        let costs = plan.costs().iter();
        let known = costs.filter_map(|cost| match cost.candidate {
            Candidate::Download => Some((cost.total, Self::Download)),
            Candidate::Simple(params) => Some((cost.total, Self::Simple(params))),
            _ => None,
        });
        let hintless = hintless::Params::new(slots, len, k).ok();
        let hintless = hintless.filter(|params| params.server_bytes() <= MOST_MEMORY);
        let hintless = hintless.map(|params| {
            let request = request_of(&params) + params.answer_len();
            let total = searches.saturating_mul(request as u64);
            (total, Self::Hintless(params))
        });
        let cheapest = known.chain(hintless).min_by_key(|(total, _)| *total);
        Ok(cheapest.map_or(Self::Download, |(_, way)| way))
    }
}

/// Bytes of a request without a hint.
fn request_of(params: &hintless::Params) -> usize {
    hintless::Keys::LEN + params.query_len()
}

/// Nanoseconds that a new session's secret and keys take, on one thread of a Zen 4.
const NEW_SESSION: f64 = 2e6;

/// The way in which the payloads of an index are fetched, and what a client transfers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Records.
    pub slots: usize,
    /// The size that all payloads are filled up to.
    pub class: Class,
    /// Payloads of a search: the number of its results.
    pub fetched: usize,
    /// The way in which they are fetched.
    pub way: Way,
    /// The bytes that a client transfers. The list of whose payload is where is counted as it is for records
    /// that are numbered from 0.
    pub cost: Cost,
}

impl Retrieval {
    /// Plans payloads of at most `longest` bytes for `n` records, of which a search fetches `k`, and a client makes so
    /// many searches.
    pub(super) fn new(n: usize, k: usize, longest: usize, searches: u64) -> Result<Self, Error> {
        check(n, 1, k)?;
        let class = Class::of(longest)?;
        let way = Way::cheapest(n, class, k, searches)?;
        let mut list = Vec::new();
        Numbers::range(u32_of(n)).write(&mut list);
        numbers::fill(&mut list);
        let list = (list.len() + TAG_LEN) as u64;
        let cost = match &way {
            Way::Download => Cost {
                once: n as u64 * class.sealed_len() as u64 + list,
                up: 0,
                down: 0,
            },
            Way::Hintless(params) => Cost {
                once: list,
                up: request_len(request_of(params)) as u64,
                down: message_len(params.answer_len()) as u64,
            },
            Way::Simple(params) => Cost {
                once: params.hint_len() as u64 + list,
                up: request_len(k * params.query_len()) as u64,
                down: message_len(k * params.answer_len()) as u64,
            },
        };
        Ok(Self {
            slots: n,
            class,
            fetched: k,
            way,
            cost,
        })
    }

    /// Bytes of all payloads, as they are sealed.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.slots as u64 * self.class.sealed_len() as u64
    }

    /// The server's and the client's time for the payloads of one search, on one thread.
    #[must_use]
    pub fn times(&self, speed: &Speed) -> (Duration, Duration) {
        let (server, client) = self.nanoseconds(speed);
        let time = |ns: f64| Duration::from_secs_f64(ns * 1e-9);
        (time(server), time(client))
    }

    /// The word for how they are fetched, in reports.
    #[must_use]
    pub fn form(&self) -> &'static str {
        match self.way {
            Way::Download => "downloaded",
            Way::Simple(_) => "PIR",
            Way::Hintless(_) => "no hint",
        }
    }

    fn nanoseconds(&self, speed: &Speed) -> (f64, f64) {
        let params = match &self.way {
            Way::Download => return (0.0, 0.0),
            Way::Hintless(params) => {
                let (server, client) = params.nanoseconds();
                return (server, client + NEW_SESSION);
            }
            Way::Simple(params) => params,
        };
        let fetched = self.fetched as f64;
        let bytes = params.rows() as f64 * params.columns() as f64;
        let words = (params.columns() + params.rows()) as f64 * params.n() as f64;
        (
            speed.pir_scan * fetched * bytes,
            speed.pir_word * fetched * words,
        )
    }
}
