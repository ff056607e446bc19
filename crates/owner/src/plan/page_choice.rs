//! Chooses the length of pages, and the way to fetch them.

use rand_core::Rng;
use sordino_index::TAG_LEN;
use sordino_index::look::SecondLook;
use sordino_index::payload::LENGTH_LEN;
use sordino_vectors::u32_of;

use super::conditions::{Conditions, Rank};
use super::way::Way;
use crate::pages::{Laid, fetched, lengths, most_fetched};

/// Pages of some length, and the fastest way to fetch the pages of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// The size in bytes of a page's content.
    pub(crate) len: u32,
    pub(crate) pages: usize,
    /// The number of pages that a search fetches.
    pub(crate) fetched: usize,
    pub(crate) way: Way,
}

/// The largest number of requests by which one long record may be fetched as a whole, if pages can be long enough for
/// that.
const MOST_REQUESTS: usize = 8;

/// Records in pages of some length.
struct Need {
    pages: usize,
    /// The number of pages that a search needs.
    search: u32,
    /// The number of pages that the longest record touches.
    longest: u32,
}

/// The length of pages for which a client waits the least. A length with which records arrive complete is preferred, if
/// its wait is near the least. `laid` computes how records lie in pages of a length.
fn choose(
    lengths: Vec<u32>,
    records: usize,
    (look, conditions): (Option<SecondLook>, &Conditions),
    mut laid: impl FnMut(u32) -> Need,
) -> Option<Choice> {
    let choices: Vec<(bool, Rank, Choice)> = lengths
        .into_iter()
        .filter_map(|len| {
            let Need {
                pages,
                search,
                longest,
            } = laid(len);
            let fetched = search.min(most_fetched(records)) as usize;
            let sealed = len as usize + TAG_LEN;
            let (way, rank) = conditions.quickest((pages, sealed, fetched), look.is_some())?;
            let choice = Choice {
                len,
                pages,
                fetched,
                way,
            };
            let requests = (longest as usize).div_ceil(fetched.max(1));
            let slow = way != Way::Download && requests > MOST_REQUESTS;
            // Records arrive shortened, or complete after many requests.
            let short = slow || search as usize > fetched;
            Some((short, rank, choice))
        })
        .collect();
    let quickest = choices.iter().min_by_key(|(_, rank, _)| *rank)?;
    // Pages in which records arrive complete may take longer, but not much longer. Otherwise one long record would make
    // all searches slow.
    let whole = choices
        .iter()
        .filter(|(short, rank, _)| !short && rank.is_near(&quickest.1));
    let whole = whole.min_by_key(|(_, rank, _)| *rank);
    Some(whole.unwrap_or(quickest).2)
}

/// The choice for records of these lengths by content key.
pub(crate) fn best<R: Rng + ?Sized>(
    rng: &mut R,
    lens: &[Vec<usize>],
    records: usize,
    terms: (Option<SecondLook>, &Conditions),
) -> Option<Choice> {
    let all: Vec<usize> = lens.iter().flatten().copied().collect();
    let least = least(terms.0);
    choose(lengths(&all, least), records, terms, |len| {
        let laid = lens
            .iter()
            .map(|lens| Laid::new(lens.iter().copied(), len, 1));
        let laid: Vec<Laid> = laid.collect();
        let counts: Vec<u32> = laid
            .iter()
            .flat_map(|laid| laid.counts.iter().copied())
            .collect();
        Need {
            pages: laid.iter().map(|laid| laid.pages as usize).sum(),
            search: fetched(rng, &counts, records),
            longest: counts.iter().copied().max().unwrap_or(1),
        }
    })
}

/// The choice for `n` records of `len` bytes each.
pub(crate) fn best_of_equal(
    n: usize,
    len: usize,
    records: usize,
    terms: (Option<SecondLook>, &Conditions),
) -> Option<Choice> {
    choose(lengths(&[len], least(terms.0)), records, terms, |page| {
        let page = page as usize;
        let (pages, each) = match page / len.max(1) {
            0 => ((n * len).div_ceil(page), len.div_ceil(page) + 1),
            per_page => (n.div_ceil(per_page), 1),
        };
        Need {
            pages,
            search: u32_of(each * records),
            longest: u32_of(each),
        }
    })
}

/// The smallest number of bytes of a page. A record's vector and the bytes of its length lie in the page in which it
/// begins.
fn least(look: Option<SecondLook>) -> usize {
    look.map_or(0, SecondLook::vector_len) + LENGTH_LEN
}
