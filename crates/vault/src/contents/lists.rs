//! Sealed lists of several content keys in one part.
//!
//! If an index has no readers of its own, the part consists of one list. Otherwise the part has one list for each key,
//! in the order of the keys' numbers:
//!
//! ```text
//! for each: length: 32 bits, little-endian | sealed list
//! ```

use sordino_index::Error;
use sordino_vectors::u32_of;

/// The part of these sealed lists. `own` is true for an index with readers of its own.
///
/// # Panics
/// Panics if there are several lists for an index without readers of its own.
#[must_use]
pub fn joined(lists: Vec<Vec<u8>>, own: bool) -> Vec<u8> {
    if !own {
        let [list] = <[_; 1]>::try_from(lists).expect("one list of one key");
        return list;
    }
    let mut part = Vec::new();
    for list in lists {
        part.extend(u32_of(list.len()).to_le_bytes());
        part.extend(list);
    }
    part
}

/// The sealed lists in a part.
///
/// # Errors
/// [`Error`] if the part does not consist of `count` lists.
pub(crate) fn split(part: &[u8], count: usize, own: bool) -> Result<Vec<&[u8]>, Error> {
    if !own {
        return Ok(vec![part]);
    }
    let mut rest = part;
    let next = |rest: &mut &'_ [u8]| -> Option<(usize, usize)> {
        let (len, after) = rest.split_first_chunk()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let start = part.len() - after.len();
        *rest = after.get(len..)?;
        Some((start, len))
    };
    let places: Option<Vec<(usize, usize)>> = (0..count).map(|_| next(&mut rest)).collect();
    let lists = places.filter(|_| rest.is_empty()).map(|places| {
        let lists = places.iter().map(|&(start, len)| &part[start..start + len]);
        lists.collect()
    });
    lists.ok_or_else(|| Error::Malformed {
        what: "sealed lists",
        why: format!("{} bytes, not of {count} lists", part.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_nothing_else_is_lists() {
        let lists = vec![vec![1; 3], Vec::new(), vec![2; 300]];
        let part = joined(lists.clone(), true);
        assert_eq!(split(&part, 3, true).unwrap(), lists);
        for count in [0, 2, 4, 1 << 20] {
            assert!(split(&part, count, true).is_err());
        }
        for len in 0..part.len() {
            assert!(split(&part[..len], 3, true).is_err());
        }
        let mut long = part.clone();
        long[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(split(&long, 3, true).is_err());
        assert_eq!(split(&part, 1, false).unwrap(), [&part[..]]);
    }
}
