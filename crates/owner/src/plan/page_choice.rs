//! The length of pages, and the way to fetch them.

use rand_core::Rng;
use sordino_index::TAG_LEN;
use sordino_index::look::SecondLook;
use sordino_vectors::u32_of;

use super::conditions::Conditions;
use super::way::Way;
use crate::pages::{Laid, fetched, lengths, most_fetched};

/// Pages of some length, and the quickest way to fetch those of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Bytes of a page's content.
    pub(crate) len: u32,
    pub(crate) pages: usize,
    /// Pages that a search fetches.
    pub(crate) fetched: usize,
    pub(crate) way: Way,
}

/// The length of the pages for which a client waits the least, of those that some searches need all records of. `laid` says for
/// a length how many pages there are, and how many of them a search needs.
pub(crate) fn choose(
    lengths: Vec<u32>,
    records: usize,
    (look, conditions): (Option<SecondLook>, &Conditions),
    mut laid: impl FnMut(u32) -> (usize, u32),
) -> Option<Choice> {
    let choices = lengths.into_iter().filter_map(|len| {
        let (pages, needed) = laid(len);
        let fetched = needed.min(most_fetched(records)) as usize;
        let sealed = len as usize + TAG_LEN;
        let (way, rank) = conditions.quickest((pages, sealed, fetched), look.is_some())?;
        let choice = Choice {
            len,
            pages,
            fetched,
            way,
        };
        // Pages of which a search fetches enough come first.
        Some(((needed as usize > fetched, rank), choice))
    });
    choices
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, choice)| choice)
}

/// The choice for records of these lengths by content key.
pub(crate) fn best<R: Rng + ?Sized>(
    rng: &mut R,
    lens: &[Vec<usize>],
    records: usize,
    terms: (Option<SecondLook>, &Conditions),
) -> Option<Choice> {
    let all: Vec<usize> = lens.iter().flatten().copied().collect();
    choose(lengths(&all), records, terms, |len| {
        let laid = lens
            .iter()
            .map(|lens| Laid::new(lens.iter().copied(), len, 1));
        let laid: Vec<Laid> = laid.collect();
        let counts: Vec<u32> = laid
            .iter()
            .flat_map(|laid| laid.counts.iter().copied())
            .collect();
        let pages = laid.iter().map(|laid| laid.pages as usize).sum();
        (pages, fetched(rng, &counts, records))
    })
}

/// The choice for `n` records of `len` bytes each.
pub(crate) fn best_of_equal(
    n: usize,
    len: usize,
    records: usize,
    terms: (Option<SecondLook>, &Conditions),
) -> Option<Choice> {
    choose(lengths(&[len]), records, terms, |page| {
        let page = page as usize;
        let (pages, each) = match page / len.max(1) {
            0 => ((n * len).div_ceil(page), len.div_ceil(page) + 1),
            per_page => (n.div_ceil(per_page), 1),
        };
        (pages, u32_of(each * records))
    })
}
