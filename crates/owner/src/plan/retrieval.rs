//! The cost of payloads, and of a second look.

use std::time::Duration;

use sordino_index::look::SecondLook;
use sordino_index::payload::{FetchKind, MOST_PAYLOAD, PageForm};
use sordino_index::{Error, TAG_LEN};
use sordino_vault::numbers::{self, Numbers};
use sordino_vault::page_list::HEAD_LEN;
use sordino_vectors::u32_of;

use super::conditions::Conditions;
use super::page_choice;
use super::way::Way;
use super::{Cost, Speed, Wish, check};

/// How the pages of an index are fetched, and what a client transfers for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// The number of records.
    pub records: usize,
    /// The content of a page.
    pub form: PageForm,
    /// The number of pages.
    pub pages: usize,
    /// The number of pages of a search. A search fetches one page for each result or, with a second look, for each
    /// candidate. If records are long, it fetches more.
    pub fetched: usize,
    /// How clients fetch the pages.
    pub way: Way,
    /// The bytes that a client transfers. The list of records' positions is counted as if the records had the numbers from 0
    /// on.
    pub cost: Cost,
}

impl Retrieval {
    /// Plans what `n` records carry: `payload` bytes each, and a vector each for a second look, if there is one. `k` is the
    /// number of results.
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
        let choice = page_choice::best_of_equal(n, len, records, (look, conditions));
        let choice = choice.ok_or(too_long)?;
        let (form, way) = (form(choice.len), choice.way);
        let mut list = Vec::new();
        Numbers::range(u32_of(n)).write(&mut list);
        numbers::fill(&mut list);
        let (starts, _) = form.starts(u32_of(n), u32_of(choice.pages));
        let mut cost = way.cost_of((choice.pages, form.sealed_len(), choice.fetched));
        cost.once += (HEAD_LEN + list.len() + starts.list_len() + TAG_LEN) as u64;
        Ok(Self {
            records: n,
            form,
            pages: choice.pages,
            fetched: choice.fetched,
            way,
            cost,
        })
    }

    /// Plans the second look, if one is requested.
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

    /// The size in bytes of all sealed pages.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.pages as u64 * self.form.sealed_len() as u64
    }

    /// The bytes of memory that writing takes: the records, the pages, and the tables from which a hint is made.
    pub(super) fn build_bytes(&self) -> u64 {
        let tables = match &self.way {
            Way::Scan(scan) => u64::from(scan.copies()).max(1),
            Way::Download | Way::Simple(_) | Way::Hintless(_) => 1,
        };
        (2 + tables) * self.whole()
    }

    /// The time for which a client waits for the pages of one search. The time includes the transfer of their bytes,
    /// and the computation on the server's cores and on one thread of the client.
    #[must_use]
    pub fn wait(&self, conditions: &Conditions, speed: &Speed) -> Duration {
        let times = self.way.nanoseconds(self.fetched, speed);
        Duration::from_secs_f64(conditions.wait_of_search(&self.cost, times))
    }

    /// The time on one thread for the pages of one search, for the server and for the client.
    #[must_use]
    pub fn times(&self, speed: &Speed) -> (Duration, Duration) {
        let (server, client) = self.way.nanoseconds(self.fetched, speed);
        let time = |ns: f64| Duration::from_secs_f64(ns * 1e-9);
        (time(server), time(client))
    }
}

/// A way to fetch payloads, with the cost that it has in pages laid for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// The way.
    pub kind: FetchKind,
    /// The pages and their cost, or the reason why this way is not possible.
    pub planned: Result<Retrieval, Obstacle>,
}

/// The reason why payloads cannot be fetched in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The server would need this number of bytes of memory, which is more than it may use.
    Memory(u64),
    /// No layout serves pages of this number and length.
    Layout,
}

impl Offer {
    /// One offer for each way. `planned` plans pages under the given conditions.
    pub(super) fn all(
        conditions: &Conditions,
        planned: impl Fn(&Conditions) -> Result<Retrieval, Error>,
    ) -> Result<Vec<Self>, Error> {
        let offer = |kind| {
            let wished = conditions.prefer(kind);
            let of_kind = |planned: &Retrieval| planned.way.kind() == kind;
            let best = planned(&wished)?;
            let planned = if of_kind(&best) {
                Ok(best)
            } else {
                let unbounded = planned(&wished.memory(u64::MAX))?;
                Err(match of_kind(&unbounded) {
                    true => Obstacle::Memory(unbounded.way.memory()),
                    false => Obstacle::Layout,
                })
            };
            Ok(Self { kind, planned })
        };
        FetchKind::ALL.into_iter().map(offer).collect()
    }
}

/// A second look at `candidates` candidates for `k` results, of vectors of `width` stored coordinates.
pub(crate) fn second_look(candidates: u32, k: usize, width: usize) -> Result<SecondLook, Error> {
    if candidates > SecondLook::MOST || (candidates as usize) < k {
        return Err(Error::Candidates(candidates));
    }
    let width = u32_of(width);
    Ok(SecondLook { candidates, width })
}
