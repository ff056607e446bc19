//! The cost of payloads.

use std::time::Duration;

use sordino_index::numbers::{self, Numbers};
use sordino_index::payload::Class;
use sordino_index::wire::{message_len, request_len};
use sordino_index::{Error, TAG_LEN};
use sordino_pir::Params;
use sordino_pir::plan::Candidate;
use sordino_vectors::u32_of;

use super::{Cost, Speed, check};

/// Searches of a client in one version, where the owner says nothing else.
const QUERIES: u64 = 100;

/// The cheapest way to fetch `k` of so many slots at a time: a layout of the PIR, or `None` to
/// download them all.
pub(crate) fn cheapest_fetch(
    slots: usize,
    class: Class,
    k: usize,
) -> Result<Option<Params>, Error> {
    let fetched = QUERIES * k as u64;
    let plan = sordino_pir::plan::Plan::new(slots, class.sealed_len(), fetched)?;
    let costs = plan.costs().iter();
    let single = costs.filter(|cost| !matches!(cost.candidate, Candidate::Double(_)));
    let cheapest = single.min_by_key(|cost| cost.total);
    Ok(match cheapest.map(|cost| cost.candidate) {
        Some(Candidate::Simple(params)) => Some(params),
        _ => None,
    })
}

/// The way in which the payloads of an index are fetched, and what a client transfers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Records.
    pub slots: usize,
    /// The size that all payloads are filled up to.
    pub class: Class,
    /// Payloads of a search: the number of its results.
    pub fetched: usize,
    /// The layout of the PIR; `None`: all payloads are downloaded once.
    pub params: Option<Params>,
    /// The bytes that a client transfers. The list of whose payload is where is counted as it is for records
    /// that are numbered from 0.
    pub cost: Cost,
}

impl Retrieval {
    /// Plans payloads of at most `longest` bytes for `n` records, of which a search fetches `k`.
    pub(super) fn new(n: usize, k: usize, longest: usize) -> Result<Self, Error> {
        check(n, 1, k)?;
        let class = Class::of(longest)?;
        let params = cheapest_fetch(n, class, k)?;
        let mut list = Vec::new();
        Numbers::range(u32_of(n)).write(&mut list);
        numbers::fill(&mut list);
        let list = (list.len() + TAG_LEN) as u64;
        let cost = match &params {
            None => Cost {
                once: n as u64 * class.sealed_len() as u64 + list,
                up: 0,
                down: 0,
            },
            Some(params) => Cost {
                once: params.hint_len() as u64 + list,
                up: request_len(k * params.query_len()) as u64,
                down: message_len(k * params.answer_len()) as u64,
            },
        };
        Ok(Self {
            slots: n,
            class,
            fetched: k,
            params,
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
        match self.params {
            Some(_) => "PIR",
            None => "downloaded",
        }
    }

    fn nanoseconds(&self, speed: &Speed) -> (f64, f64) {
        let Some(params) = &self.params else {
            return (0.0, 0.0);
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
