//! The cost of payloads, and of a second look.

use std::time::Duration;

use sordino_index::look::SecondLook;
use sordino_index::payload::{Class, SlotForm};
use sordino_index::wire::{message_len, request_len};
use sordino_index::{Error, TAG_LEN};
use sordino_pir::hintless;
use sordino_pir::plan::Candidate;
use sordino_pir::simple::Params;
use sordino_vault::numbers::{self, Numbers};
use sordino_vectors::u32_of;

use super::{Cost, Speed, Wish, check};

/// The most memory of a server for slots that are fetched without a hint and for an answer from them, in bytes.
const MOST_MEMORY: usize = 16 << 30;

/// The layout without a hint for requests of `k` of these records, if there is one that a server has memory for.
fn without_hint(records: usize, len: usize, k: usize) -> Option<hintless::Params> {
    let params = hintless::Params::new(records, len, k).ok()?;
    (memory_of(&params) <= MOST_MEMORY).then_some(params)
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
}

/// Searches of a client in one version, at most, for which buckets are fetched without a hint, where that moves fewer
/// bytes. It takes a server some ten times the work of a scan, which a client that comes more often need not ask of it.
const FEW: u64 = 64;

impl Way {
    /// The one with the fewest bytes for a client that fetches what `searches` searches of one version need, each with
    /// `k` results, of this number of slots. For a second look a client is taken to come once: a client that downloads all
    /// exact vectors needs no server to score them.
    pub(crate) fn cheapest(
        slots: usize,
        form: SlotForm,
        k: usize,
        searches: u64,
    ) -> Result<Self, Error> {
        let searches = form.look.map_or(searches, |_| 1);
        let (len, k) = (form.sealed_len(), form.fetched(k));
        let fetched = searches.saturating_mul(k as u64);
        let plan = sordino_pir::plan::Plan::new(slots, len, fetched)?;
        let costs = plan.costs().iter();
        let known = costs.filter_map(|cost| match cost.candidate {
            Candidate::Download => Some((cost.total, Self::Download)),
            Candidate::Simple(params) => Some((cost.total, Self::Simple(params))),
            _ => None,
        });
        let hintless = without_hint(slots, len, k).map(|params| {
            // A client that comes seldom has a new session each time.
            let request = hintless::Keys::LEN + params.query_len() + params.answer_len();
            let total = searches.saturating_mul(request as u64);
            (total, Self::Hintless(params))
        });
        let cheapest = known.chain(hintless).min_by_key(|(total, _)| *total);
        Ok(cheapest.map_or(Self::Download, |(_, way)| way))
    }

    /// The one with the fewest bytes for a client that fetches `probes` of the buckets at a time in `searches`
    /// searches of one version; `None` if SimplePIR has no layout for them, which serves any number of probes.
    pub(crate) fn of_buckets(
        buckets: usize,
        len: usize,
        probes: usize,
        searches: u64,
    ) -> Option<Self> {
        let simple = Self::Simple(Params::for_columns(buckets, len).ok()?);
        let few = (searches <= FEW).then(|| without_hint(buckets, len, probes));
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
        }
    }

    /// The word for it in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Download => "downloaded",
            Self::Simple(_) => "PIR",
            Self::Hintless(_) => "no hint",
        }
    }

    /// Nanoseconds of one thread of server and client for `count` at a time.
    pub(super) fn nanoseconds(&self, count: usize, speed: &Speed) -> (f64, f64) {
        let params = match self {
            Self::Download => return (0.0, 0.0),
            Self::Hintless(params) => return params.nanoseconds(),
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

/// The way in which the slots of an index are fetched, and what a client transfers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Records.
    pub slots: usize,
    /// The content of a slot.
    pub form: SlotForm,
    /// Slots of a search: the number of its results or, for a second look, of its candidates.
    pub fetched: usize,
    /// The way in which they are fetched.
    pub way: Way,
    /// The bytes that a client transfers. The list of whose payload is where is counted as it is for records
    /// that are numbered from 0.
    pub cost: Cost,
}

impl Retrieval {
    /// Plans slots for `n` records, of which a search has `k` results, and a client makes `searches` searches.
    pub(super) fn new(n: usize, k: usize, form: SlotForm, searches: u64) -> Result<Self, Error> {
        check(n, 1, k)?;
        let way = Way::cheapest(n, form, k, searches)?;
        let fetched = form.fetched(k);
        let mut list = Vec::new();
        Numbers::range(u32_of(n)).write(&mut list);
        numbers::fill(&mut list);
        let list = (list.len() + TAG_LEN) as u64;
        let mut cost = way.cost(fetched);
        cost.once += list;
        if way == Way::Download {
            cost.once += n as u64 * form.sealed_len() as u64;
        }
        Ok(Self {
            slots: n,
            form,
            fetched,
            way,
            cost,
        })
    }

    /// Plans the slots of the second look that is wished for, if one is.
    pub(super) fn of_look(
        n: usize,
        dim: usize,
        class: Option<Class>,
        wish: &Wish,
    ) -> Result<Option<Self>, Error> {
        let Some(candidates) = wish.second_look else {
            return Ok(None);
        };
        let look = Some(second_look(candidates, wish.k, dim)?);
        let form = SlotForm { class, look };
        Self::new(n, wish.k, form, wish.queries).map(Some)
    }

    /// Bytes of all slots, as they are sealed.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.slots as u64 * self.form.sealed_len() as u64
    }

    /// The server's and the client's time for the slots of one search, on one thread.
    #[must_use]
    pub fn times(&self, speed: &Speed) -> (Duration, Duration) {
        let (server, client) = self.way.nanoseconds(self.fetched, speed);
        let time = |ns: f64| Duration::from_secs_f64(ns * 1e-9);
        (time(server), time(client))
    }
}

/// A second look at these candidates for `k` results, of vectors of `width` stored coordinates.
pub(crate) fn second_look(candidates: u32, k: usize, width: usize) -> Result<SecondLook, Error> {
    if candidates > SecondLook::MOST || (candidates as usize) < k {
        return Err(Error::Candidates(candidates));
    }
    let width = u32_of(width);
    Ok(SecondLook { candidates, width })
}
