//! Lays records into pages, and lists the lengths that pages may have.

use rand_core::Rng;
use sordino_index::TAG_LEN;
use sordino_index::payload::{PAGE_LENS, PAGE_STEP, PageForm};
use sordino_vectors::u32_of;

/// The positions of records in pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Laid {
    /// The first byte of each record.
    pub(crate) starts: Vec<u64>,
    /// The number of pages.
    pub(crate) pages: u32,
    /// The number of pages that each record touches.
    pub(crate) counts: Vec<u32>,
}

impl Laid {
    /// Lays records of these lengths, in this order, into pages of this form.
    pub(crate) fn stepped(lens: &[usize], form: &PageForm) -> Self {
        let laid = Self::new(lens.iter().copied(), form.page_len, 1);
        let (_, step) = form.starts(u32_of(lens.len()), laid.pages);
        if step == 1 {
            return laid;
        }
        // The list of starts has coarser steps above 4 GiB. Steps add pages, so the result is never shorter than the
        // list allows.
        Self::new(lens.iter().copied(), form.page_len, u64::from(PAGE_STEP))
    }

    /// Lays records of these lengths, in this order, into pages of `len` bytes. Each record begins at a multiple of
    /// `step`.
    pub(crate) fn new(lens: impl IntoIterator<Item = usize>, len: u32, step: u64) -> Self {
        let len = u64::from(len);
        let mut laid = Self::default();
        let mut end = 0u64;
        for record in lens {
            let record = (record as u64).max(1);
            let mut start = end.next_multiple_of(step);
            let room = start.next_multiple_of(len) - start;
            if record > room {
                start += room;
            }
            end = start + record;
            laid.starts.push(start);
            let count = (end - 1) / len - start / len + 1;
            laid.counts.push(u32::try_from(count).unwrap_or(u32::MAX));
        }
        laid.pages = u32::try_from(end.div_ceil(len).max(1)).unwrap_or(u32::MAX);
        laid
    }
}

/// The number of random searches that are drawn to find out the number of pages that a search needs.
const DRAWN: usize = 4000;

/// One search in this number of searches may need more pages than it fetches.
const SHORT: usize = 1000;

/// The number of pages that a search of `results` results fetches. All but one of a thousand searches then get all of
/// their records. This holds for records drawn at random, and for records that follow one another, which are often
/// similar.
pub(crate) fn fetched<R: Rng + ?Sized>(rng: &mut R, counts: &[u32], records: usize) -> u32 {
    let most = counts.iter().copied().max().unwrap_or(1);
    if most <= 1 || counts.is_empty() {
        return u32_of(records);
    }
    let n = counts.len() as u64;
    let mut draw = |records: usize, together: bool| -> u64 {
        let first = rng.next_u64() % n;
        let place = |at: u64, random: u64| {
            if together {
                (first + at) % n
            } else {
                random % n
            }
        };
        let each = (0..records as u64).map(|at| {
            let place = place(at, rng.next_u64());
            u64::from(counts[usize::try_from(place).unwrap_or(0)])
        });
        each.sum()
    };
    let needed = [false, true].map(|together| {
        let mut sums: Vec<u64> = (0..DRAWN).map(|_| draw(records, together)).collect();
        sums.sort_unstable();
        sums[DRAWN - 1 - DRAWN / SHORT]
    });
    let needed = needed.into_iter().max().unwrap_or(1);
    u32::try_from(needed)
        .unwrap_or(u32::MAX)
        .max(u32_of(records))
}

/// The largest number of pages that a search of `records` records fetches. It is twice the number that short records
/// need, but no more than the 64 of a request without a hint. It is never below `records`.
pub(crate) fn most_fetched(records: usize) -> u32 {
    let most = (2 * records).min(64).max(records);
    u32_of(most)
}

/// Lengths of pages to try for records of these lengths, each at least `least`.
pub(crate) fn lengths(lens: &[usize], least: usize) -> Vec<u32> {
    let mut sorted: Vec<usize> = lens.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a length"
        )]
        let place = (sorted.len() as f64 * part) as usize;
        sorted
            .get(place.min(sorted.len().saturating_sub(1)))
            .copied()
            .unwrap_or(1)
    };
    let records = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0].map(at);
    let of_records = records
        .into_iter()
        .flat_map(|len| (0..8).map(move |power| len.saturating_mul(1 << power).saturating_add(1)));
    // These lengths fill the polynomials of retrieval without a hint.
    let of_polys = (1..=12).map(|polys| 1792 * polys - TAG_LEN - 16 + 1);
    let lens = of_records.chain(of_polys).filter_map(|len| {
        let len = u32::try_from(len).ok()?.next_multiple_of(PAGE_STEP);
        (PAGE_LENS.contains(&len) && len as usize >= least).then_some(len)
    });
    let mut lens: Vec<u32> = lens.collect();
    lens.sort_unstable();
    lens.dedup();
    lens
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    /// A number from 0 on.
    fn below(rng: &mut StdRng, bound: usize) -> usize {
        usize::try_from(rng.next_u64() % bound as u64).unwrap()
    }

    #[test]
    fn records_that_fit_into_a_page_lie_in_one() {
        let rng = &mut StdRng::seed_from_u64(1);
        for (most, len) in [(1, 16), (40, 64), (100, 64), (700, 64), (3000, 512)] {
            let lens: Vec<usize> = (0..500).map(|_| 1 + below(rng, most)).collect();
            for step in [1, 16] {
                let laid = Laid::new(lens.iter().copied(), len, step);
                let len = u64::from(len);
                let mut end = 0;
                for ((&start, &record), &count) in laid.starts.iter().zip(&lens).zip(&laid.counts) {
                    assert!(start >= end && start.is_multiple_of(step));
                    end = start + record as u64;
                    assert!(end <= u64::from(laid.pages) * len);
                    let pages = (start / len..=(end - 1) / len).count() as u64;
                    assert_eq!(pages, u64::from(count));
                    // A record that does not begin at the start of a page fits into the rest of its page.
                    assert!(pages == 1 || start.is_multiple_of(len), "{start} {record}");
                }
                let least = lens.iter().sum::<usize>() as u64;
                assert!(u64::from(laid.pages) * len < 3 * (least + step * 500) + len);
            }
        }
        let none = Laid::new([], 64, 1);
        assert_eq!((none.pages, none.starts.len()), (1, 0));
    }

    #[test]
    fn a_thousand_searches_but_one_have_all_of_their_records() {
        let rng = &mut StdRng::seed_from_u64(2);
        assert_eq!(fetched(rng, &[1; 50], 10), 10);
        // One record in a hundred has 20 more pages. One search in ten thousand has four such records among its ten
        // results.
        let counts: Vec<u32> = (0..10_000)
            .map(|at| if at % 100 == 7 { 21 } else { 1 })
            .collect();
        let pages = fetched(rng, &counts, 10);
        assert!((30..=70).contains(&pages), "{pages}");
        let short = (0..20_000).filter(|_| {
            let needed = (0..10).map(|_| counts[below(rng, counts.len())]);
            needed.sum::<u32>() > pages
        });
        let short = short.count();
        assert!(short < 60, "{short} of 20,000");
        // If long records follow one another, searches find them together.
        let together: Vec<u32> = (0..10_000).map(|at| if at < 500 { 3 } else { 1 }).collect();
        assert_eq!(fetched(rng, &together, 10), 30);
    }

    #[test]
    fn lengths_are_ones_that_pages_have() {
        for lens in [
            &[0][..],
            &[1; 9],
            &[80, 606, 44],
            &[1 << 20],
            &[10, 1 << 20],
        ] {
            let lengths = lengths(lens, 0);
            assert!(!lengths.is_empty() && lengths.is_sorted());
            let fits = |len: &u32| PAGE_LENS.contains(len) && len.is_multiple_of(PAGE_STEP);
            assert!(lengths.iter().all(fits));
            let long = super::lengths(lens, 3000);
            assert!(!long.is_empty() && long.iter().all(|len| *len >= 3000));
        }
    }
}
