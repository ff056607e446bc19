//! The sealed list of the records under one content key. It says which records exist, and where each begins in their
//! pages. It also has the dictionary that compresses their payloads.
//!
//! ```text
//! bytes of the next field, bytes of the dictionary: 32 bits each, little-endian
//! | places of the records, filled up to a class | first bytes, in the records' secret order | dictionary
//! ```
//!
//! The first bytes are an Elias-Fano list, whose length follows from the numbers of records and pages.

use sordino_index::Error;
use sordino_index::payload::{Extent, MOST_DICTIONARY, PageForm, PageGroup};
use sordino_vectors::u32_of;

use crate::numbers::{self, Numbers};

/// The number of bytes before the lists.
pub const HEAD_LEN: usize = 8;

/// Where the records under one content key lie.
#[derive(Clone, Debug)]
pub struct PageList {
    /// The records, as places among all records of the index.
    pub places: Numbers,
    /// For each record, its first byte among the pages of the key, in the secret order.
    pub starts: Vec<u64>,
    /// A dictionary of zstd; empty if the payloads have no dictionary.
    pub dictionary: Vec<u8>,
}

impl PageList {
    /// The code of the list of these pages.
    ///
    /// # Panics
    /// Panics if a record begins beyond the pages, or between two steps.
    #[must_use]
    pub fn to_bytes(&self, form: &PageForm, pages: u32) -> Vec<u8> {
        let mut places = Vec::new();
        self.places.write(&mut places);
        numbers::fill(&mut places);
        let (list, step) = form.starts(u32_of(self.starts.len()), pages);
        let starts = self.starts.iter().map(|start| {
            assert!(start.is_multiple_of(step), "a record between two steps");
            u32::try_from(start / step).expect("fewer than 2^32 steps")
        });
        let starts: Vec<u32> = starts.collect();
        let lens = [places.len(), self.dictionary.len()];
        let mut code: Vec<u8> = lens
            .iter()
            .flat_map(|&len| u32_of(len).to_le_bytes())
            .collect();
        code.extend(places);
        list.append(&starts, &mut code);
        code.extend_from_slice(&self.dictionary);
        code
    }

    /// The list in a code.
    ///
    /// # Errors
    /// [`Error`] if these are not the bytes of a list of this group.
    pub fn read(form: &PageForm, group: &PageGroup, code: &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "payload places",
            why: why.to_owned(),
        };
        let truncated = || malformed("truncated");
        let (head, rest) = code.split_first_chunk::<HEAD_LEN>().ok_or_else(truncated)?;
        let len = |at: usize| {
            let bytes = std::array::from_fn(|i| head[at + i]);
            usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| truncated())
        };
        let (places_len, dictionary_len) = (len(0)?, len(4)?);
        let (places, rest) = rest.split_at_checked(places_len).ok_or_else(truncated)?;
        let places = Numbers::read(&mut &places[..])?;
        if places.len() != group.records as usize {
            let found = places.len();
            return Err(malformed(&format!("{found} of {} payloads", group.records)));
        }
        let (list, step) = form.starts(group.records, group.pages);
        let (starts, dictionary) = rest
            .split_at_checked(list.list_len())
            .ok_or_else(truncated)?;
        if dictionary.len() != dictionary_len || dictionary_len > MOST_DICTIONARY {
            return Err(malformed("a dictionary of another length"));
        }
        let starts = list
            .read(starts)
            .ok_or_else(|| malformed("first bytes that do not ascend"))?;
        let starts: Vec<u64> = starts.into_iter().map(|at| u64::from(at) * step).collect();
        let end = u64::from(group.pages) * u64::from(form.page_len);
        let inside = starts.iter().all(|&start| start < end);
        if !inside || !starts.is_sorted_by(|a, b| a < b) {
            return Err(malformed("a record outside its pages"));
        }
        Ok(Self {
            places,
            starts,
            dictionary: dictionary.to_vec(),
        })
    }

    /// The extent of each record, in the secret order, for pages from `first` on.
    ///
    /// # Panics
    /// Panics if there are more than 2^32 pages.
    #[must_use]
    pub fn extents(&self, form: &PageForm, group: &PageGroup, first: u32) -> Vec<Extent> {
        let len = u64::from(form.page_len);
        let number = |page: u64| u32::try_from(page).expect("pages have numbers of 32 bits");
        let end = u64::from(group.pages) * len;
        let next = self.starts.iter().copied().skip(1).chain([end]);
        let both = self.starts.iter().zip(next);
        let extents = both.map(|(&start, next)| {
            let (page, last) = (start / len, (next - 1) / len);
            Extent {
                page: first + number(page),
                offset: number(start - page * len),
                count: number(last - page + 1),
            }
        });
        extents.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(n: u32) -> (PageForm, PageGroup, PageList) {
        let form = PageForm {
            page_len: 64,
            payloads: true,
            look: None,
        };
        let group = PageGroup {
            key: 0,
            records: n,
            pages: n + 2,
        };
        let places = Numbers::from_ascending((0..u64::from(n)).map(|at| 3 * at)).unwrap();
        let list = PageList {
            places,
            starts: (0..u64::from(n)).map(|at| at * 61).collect(),
            dictionary: vec![7; 300],
        };
        (form, group, list)
    }

    #[test]
    fn a_list_comes_back_and_nothing_else_is_one() {
        for n in [1, 2, 300] {
            let (form, group, list) = list(n);
            let code = list.to_bytes(&form, group.pages);
            let read = PageList::read(&form, &group, &code).unwrap();
            assert_eq!((&read.places, &read.starts), (&list.places, &list.starts));
            assert_eq!(read.dictionary, list.dictionary);
            for len in 0..code.len() {
                assert!(
                    PageList::read(&form, &group, &code[..len]).is_err(),
                    "{len}"
                );
            }
            let long = [&code[..], &[0]].concat();
            assert!(PageList::read(&form, &group, &long).is_err());
            let other = PageGroup {
                records: n + 1,
                ..group
            };
            assert!(PageList::read(&form, &other, &code).is_err());
            // A list with a flipped bit is refused, or it is another valid list: nothing panics, and no record is
            // outside its pages.
            for at in 0..8 * code.len() {
                let mut code = code.clone();
                code[at / 8] ^= 1 << (at % 8);
                if let Ok(read) = PageList::read(&form, &group, &code) {
                    for extent in read.extents(&form, &group, 0) {
                        assert!(extent.page + extent.count <= group.pages && extent.count > 0);
                        assert!(extent.offset < form.page_len);
                    }
                }
            }
        }
    }

    #[test]
    fn a_record_touches_the_pages_up_to_the_next_one() {
        let (form, group, mut list) = list(4);
        list.starts = vec![0, 63, 64, 200];
        let extents = list.extents(&form, &group, 10);
        let found: Vec<_> = extents
            .iter()
            .map(|it| (it.page, it.offset, it.count))
            .collect();
        // The third record begins with the second page and ends in the fourth. The last record has the remaining
        // bytes.
        assert_eq!(found, [(10, 0, 1), (10, 63, 1), (11, 0, 3), (13, 8, 3)]);
    }

    #[test]
    fn more_than_4_gib_have_steps() {
        let form = PageForm {
            page_len: 1 << 20,
            payloads: true,
            look: None,
        };
        for (pages, expected) in [(4095, 1), (4096, 2), (8191, 2), (8192, 4), (1 << 16, 32)] {
            assert_eq!(form.starts(10, pages).1, expected, "{pages}");
        }
    }
}
