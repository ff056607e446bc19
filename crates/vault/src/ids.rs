//! The record ids of a segment, in their own order, which is also the order of its rows.
//!
//! | kind | code |
//! |---|---|
//! | numbers | a set of [numbers](crate::numbers) |
//! | texts | for each its length, a byte where it is below 128, else its lower 7 bits with the high bit set and a byte of the others; then its bytes |
//! | UUIDs | for each its 16 bytes |
//!
//! The code is filled with zeros to a class, because anyone who sees the sealed code sees its length. For UUIDs the length
//! reveals only their number. For texts it reveals their total length, and for numbers the number of their runs, up to a factor
//! of two.

use std::cmp::Ordering;

use sordino_vectors::id::{Id, IdKind};
use uuid::Uuid;

use crate::numbers::Numbers;
use sordino_index::Error;
use sordino_vectors::u32_of;

/// The size in bytes of a UUID.
pub(crate) const UUID_LEN: usize = 16;

/// Distinct record ids of one kind, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Numbers.
    Numbers(Numbers),
    /// Texts.
    Texts(Texts),
    /// UUIDs.
    Uuids(Vec<Uuid>),
}

/// Texts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    all: String,
    /// For each text, the position of its end.
    ends: Vec<u32>,
}

impl Texts {
    fn get(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start as usize..self.ends[row] as usize]
    }

    fn push(&mut self, text: &str) -> Result<(), Error> {
        self.all.push_str(text);
        let end = u32::try_from(self.all.len()).map_err(|_| Error::Malformed {
            what: "record ids",
            why: "more than 4 GiB of texts in one segment".to_owned(),
        })?;
        self.ends.push(end);
        Ok(())
    }
}

impl Ids {
    /// The list of these ids. They must have the same kind and strictly ascend.
    ///
    /// # Errors
    /// - [`Error::IdKind`] with the first id of another kind
    /// - [`Error::RepeatedId`] with the first id that is not above the id before it
    /// - [`Error::Malformed`] for more than 4 GiB of texts
    pub fn from_ascending<'a>(
        kind: IdKind,
        ids: impl IntoIterator<Item = &'a Id>,
    ) -> Result<Self, Error> {
        let mut before: Option<&Id> = None;
        let ids = ids.into_iter().map(|id| {
            if id.kind() != kind {
                return Err(Error::IdKind {
                    id: id.clone(),
                    expected: kind,
                });
            }
            if before.is_some_and(|before| before >= id) {
                return Err(Error::RepeatedId { id: id.clone() });
            }
            before = Some(id);
            Ok(id)
        });
        match kind {
            IdKind::Number => {
                let numbers: Result<Vec<u64>, Error> =
                    ids.map(|id| Ok(id?.number().unwrap_or_default())).collect();
                let numbers = Numbers::from_ascending(numbers?);
                let repeated = |id| Error::RepeatedId { id: Id::Number(id) };
                Ok(Self::Numbers(numbers.map_err(repeated)?))
            }
            IdKind::Text => {
                let mut texts = Texts::default();
                for id in ids {
                    if let Id::Text(text) = id? {
                        texts.push(text)?;
                    }
                }
                Ok(Self::Texts(texts))
            }
            IdKind::Uuid => {
                let uuids = ids.map(|id| {
                    Ok(match id? {
                        Id::Uuid(uuid) => *uuid,
                        _ => Uuid::nil(),
                    })
                });
                Ok(Self::Uuids(uuids.collect::<Result<_, Error>>()?))
            }
        }
    }

    /// The number of ids.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Texts(texts) => texts.ends.len(),
            Self::Uuids(uuids) => uuids.len(),
        }
    }

    /// True if there are no ids.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = Id> {
        (0..u32_of(self.len())).map(|row| self.id(row))
    }

    /// The kind of the ids.
    #[must_use]
    pub fn kind(&self) -> IdKind {
        match self {
            Self::Numbers(_) => IdKind::Number,
            Self::Texts(_) => IdKind::Text,
            Self::Uuids(_) => IdKind::Uuid,
        }
    }

    /// The id of a row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[must_use]
    pub fn id(&self, row: u32) -> Id {
        match self {
            Self::Numbers(numbers) => Id::Number(numbers.number(row)),
            Self::Texts(texts) => Id::Text(texts.get(row as usize).into()),
            Self::Uuids(uuids) => Id::Uuid(uuids[row as usize]),
        }
    }

    /// The row of an id.
    #[must_use]
    pub fn row(&self, id: &Id) -> Option<u32> {
        match (self, id) {
            (Self::Numbers(numbers), Id::Number(id)) => numbers.rank(*id),
            (Self::Texts(texts), Id::Text(id)) => {
                let at = search(self.len(), |row| texts.get(row).cmp(id));
                at.map(u32_of)
            }
            (Self::Uuids(uuids), Id::Uuid(id)) => uuids.binary_search(id).ok().map(u32_of),
            _ => None,
        }
    }

    /// The rows whose ids `other` also has.
    #[must_use]
    pub fn common(&self, other: &Self) -> Vec<u32> {
        match (self, other) {
            (Self::Numbers(own), Self::Numbers(others)) => own.common(others),
            (Self::Texts(own), Self::Texts(others)) => {
                let compare = |a, b| own.get(a).cmp(others.get(b));
                merged(self.len(), other.len(), compare)
            }
            (Self::Uuids(own), Self::Uuids(others)) => {
                let compare = |a: usize, b: usize| own[a].cmp(&others[b]);
                merged(self.len(), other.len(), compare)
            }
            _ => Vec::new(),
        }
    }

    /// Appends the code.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Numbers(numbers) => numbers.write(out),
            Self::Texts(texts) => {
                for row in 0..texts.ends.len() {
                    let text = texts.get(row);
                    let [low, high, ..] = (text.len() << 1).to_le_bytes();
                    match high {
                        0 => out.push(low >> 1),
                        _ => out.extend([low >> 1 | 1 << 7, high]),
                    }
                    out.extend_from_slice(text.as_bytes());
                }
            }
            Self::Uuids(uuids) => uuids.iter().for_each(|uuid| out.extend(uuid.as_bytes())),
        }
    }

    /// Reads `count` ids of this kind from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not the code of such ids.
    pub fn read(kind: IdKind, count: u32, bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "record ids",
            why: why.to_owned(),
        };
        let ids = match kind {
            IdKind::Number => Self::Numbers(Numbers::read(&mut &*bytes)?),
            IdKind::Uuid => {
                let uuids = bytes.as_chunks::<UUID_LEN>().0.iter();
                let uuids = uuids.take(count as usize).copied().map(Uuid::from_bytes);
                let uuids: Vec<Uuid> = uuids.collect();
                if !uuids.is_sorted_by(|a, b| a < b) {
                    return Err(malformed("not in order"));
                }
                Self::Uuids(uuids)
            }
            IdKind::Text => {
                let (mut texts, mut rest) = (Texts::default(), bytes);
                for row in 0..count as usize {
                    let text = text_len(rest).and_then(|(len, after)| {
                        let (text, after) = after.split_at_checked(len)?;
                        rest = after;
                        std::str::from_utf8(text).ok()
                    });
                    let text = text.ok_or_else(|| malformed("truncated, or no text"))?;
                    IdKind::Text.parse(text)?;
                    if row > 0 && texts.get(row - 1) >= text {
                        return Err(malformed("not in order"));
                    }
                    texts.push(text)?;
                }
                Self::Texts(texts)
            }
        };
        if ids.len() == count as usize {
            return Ok(ids);
        }
        Err(Error::Ids {
            found: ids.len(),
            expected: count as usize,
        })
    }
}

/// Reads the length of the first text, and returns it with the bytes that follow. A length has only one form.
fn text_len(code: &[u8]) -> Option<(usize, &[u8])> {
    match *code {
        [len @ ..128, ref after @ ..] => Some((len.into(), after)),
        [low, high, ref after @ ..] if high > 0 => {
            Some((usize::from(low & 127) | usize::from(high) << 7, after))
        }
        _ => None,
    }
}

/// The position at which `compare` finds the wanted item among `len` ascending ones.
fn search(len: usize, compare: impl Fn(usize) -> Ordering) -> Option<usize> {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = usize::midpoint(low, high);
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Some(middle),
        }
    }
    None
}

/// The positions in the first list of the values that the second list also has. Both ascend.
fn merged(len: usize, others: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<u32> {
    // If one list is short, looking its values up is faster than walking through both.
    if others < len / 32 {
        let found = (0..others).filter_map(|other| search(len, |at| compare(at, other)));
        return found.map(u32_of).collect();
    }
    let (mut at, mut other, mut found) = (0, 0, Vec::new());
    while at < len && other < others {
        let order = compare(at, other);
        if order.is_eq() {
            found.push(u32_of(at));
        }
        at += usize::from(order.is_le());
        other += usize::from(order.is_ge());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::fill;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn id(kind: IdKind, number: u64) -> Id {
        match kind {
            IdKind::Number => Id::Number(number),
            // A text has 2 to 512 bytes.
            IdKind::Text => {
                let text = format!("{:x}", number % 5000);
                Id::Text(
                    text.repeat(2 + usize::try_from(number % 127).unwrap())
                        .into(),
                )
            }
            IdKind::Uuid => Id::Uuid(Uuid::from_u64_pair(number % 3, number)),
        }
    }

    fn ids(kind: IdKind, numbers: &[u64]) -> BTreeSet<Id> {
        numbers.iter().map(|&number| id(kind, number)).collect()
    }

    proptest! {
        #[test]
        fn ids_survive_their_code_and_know_their_rows(
            (one, two) in (prop::collection::vec(0u64..600, 0..200), prop::collection::vec(0u64..600, 0..9)),
        ) {
            for kind in IdKind::ALL {
                let (one, two) = (ids(kind, &one), ids(kind, &two));
                let list = Ids::from_ascending(kind, &one).unwrap();
                prop_assert!(list.iter().eq(one.iter().cloned()));
                let mut code = Vec::new();
                list.write(&mut code);
                fill(&mut code);
                let read = Ids::read(kind, u32_of(one.len()), &code).unwrap();
                prop_assert_eq!(&read, &list);
                for (row, id) in (0..).zip(&one) {
                    prop_assert_eq!(list.row(id), Some(row));
                }
                let other = Ids::from_ascending(kind, &two).unwrap();
                for (a, b) in [(&list, &other), (&other, &list)] {
                    let common = a.common(b).into_iter().map(|row| a.id(row));
                    prop_assert!(common.eq(one.intersection(&two).cloned()));
                }
                for id in two.difference(&one) {
                    prop_assert_eq!(list.row(id), None);
                }
            }
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0u32..20) {
            for kind in IdKind::ALL {
                if let Ok(list) = Ids::read(kind, count, &bytes) {
                    prop_assert_eq!(list.len(), count as usize);
                }
            }
        }
    }

    #[test]
    fn disorder_and_other_kinds_are_refused() {
        for kind in IdKind::ALL {
            let (a, b) = (id(kind, 1), id(kind, 2));
            let repeated = Ids::from_ascending(kind, [&a, &b, &b]);
            assert!(matches!(repeated, Err(Error::RepeatedId { id }) if id == b));
            let other = IdKind::ALL
                .into_iter()
                .find(|&other| other != kind)
                .unwrap();
            let mixed = Ids::from_ascending(other, [&a]);
            assert!(matches!(mixed, Err(Error::IdKind { .. })));
        }
        assert!(Ids::read(IdKind::Text, 2, b"\x01b\x01a").is_err());
        assert!(Ids::read(IdKind::Text, 1, b"\x00").is_err());
        assert!(Ids::read(IdKind::Text, 1, b"\x01\xff").is_err());
        // A length is refused in a longer form than necessary, or beyond the longest length of a text.
        assert!(Ids::read(IdKind::Text, 1, b"\x81\x00a").is_err());
        let long = |len: u16| {
            let [low, high] = (len << 1).to_le_bytes();
            let mut code = vec![low >> 1 | 1 << 7, high];
            code.resize(2 + usize::from(len), b'a');
            Ids::read(IdKind::Text, 1, &code).map(drop)
        };
        assert!(long(512).is_ok() && long(513).is_err());
        assert!(Ids::read(IdKind::Uuid, 2, &[0; 32]).is_err());
    }
}
