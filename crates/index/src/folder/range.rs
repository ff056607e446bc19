//! Ranges of a part's bytes.

use std::ops::Range;

use blake3::Hasher;

use super::{Folder, names};
use crate::manifest::Part;
use crate::{Bytes, Disk, Error};

/// The bytes of a part: a range of it, or the same range of each of its pieces, if it consists of pieces of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    range: Range<u64>,
    each: u64,
}

impl From<Range<u64>> for Span {
    /// A range of the part.
    fn from(range: Range<u64>) -> Self {
        let each = u64::MAX;
        Self { range, each }
    }
}

impl Span {
    /// This range of each of the part's pieces, which have `each` bytes.
    #[must_use]
    pub fn of_each(range: Range<u64>, each: u64) -> Self {
        Self { range, each }
    }

    /// True if it covers the whole part.
    #[must_use]
    pub fn is_whole(&self, part: &Part) -> bool {
        let all = self.range == (0..self.each);
        self.range == (0..part.len) || all && self.each > 0
    }

    /// The number of bytes of this span. `None` if the part lacks some of them, or does not consist of such
    /// pieces.
    fn len(&self, part: &Part) -> Option<u64> {
        let one = self.range.end.checked_sub(self.range.start)?;
        if self.each == u64::MAX {
            return (self.range.end <= part.len).then_some(one);
        }
        let whole = self.each > 0 && part.len.is_multiple_of(self.each);
        (whole && self.range.end <= self.each).then(|| part.len / self.each * one)
    }

    /// Passes those bytes of this span to `own` that are in a piece of the part. The piece begins at byte
    /// `at`.
    fn take(&self, at: u64, bytes: &[u8], own: &mut dyn FnMut(&[u8])) {
        let end = at + bytes.len() as u64;
        let mut first = at / self.each * self.each;
        while first < end {
            // The position of a byte of the part within the piece, or the nearest position.
            let place = |byte: u64| {
                let byte = first.saturating_add(byte).clamp(at, end);
                usize::try_from(byte - at).unwrap_or(bytes.len())
            };
            own(&bytes[place(self.range.start)..place(self.range.end)]);
            match first.checked_add(self.each) {
                Some(next) => first = next,
                None => break,
            }
        }
    }
}

impl<D: Disk> Folder<D> {
    /// Reads some bytes of a part, into existing memory that is extended if needed. It reads and checks the whole part,
    /// but memory holds only these bytes and some megabytes.
    ///
    /// # Errors
    /// The errors of [`part`](Self::part). Fails if a range ends beyond the last byte.
    pub fn part_range(&self, part: &Part, span: &Span, room: Vec<u8>) -> Result<Bytes, Error> {
        let mut own = room;
        own.clear();
        let expected = span.len(part).and_then(|len| usize::try_from(len).ok());
        own.reserve_exact(expected.unwrap_or(0));
        self.part_pieces(part, span, &mut |bytes| own.extend_from_slice(bytes))?;
        Ok(Bytes::from(own))
    }

    /// Passes the bytes of [`part_range`](Self::part_range) to `take`, piece by piece as they are read. The digest is
    /// known only after the whole part was read. Until then the caller must not act on the pieces, or on the position
    /// of an error.
    ///
    /// # Errors
    /// The errors of `part_range`.
    pub fn part_pieces(
        &self,
        part: &Part,
        span: &Span,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        let path = self.parts().join(names::of_digest(&part.digest));
        let what = part.kind.name();
        if span.len(part).is_none() {
            let why = format!("{} bytes, of which a share is {span:?}", part.len);
            return Err(Error::Malformed { what, why });
        }
        let (mut hasher, mut at) = (Hasher::new(), 0);
        let streamed = self.disk.stream(&path, part.len, &mut |bytes| {
            hasher.update_rayon(bytes);
            span.take(at, bytes, take);
            at += bytes.len() as u64;
        });
        self.run(&path, streamed)?;
        check_len(part, at)?;
        if *hasher.finalize().as_bytes() != part.digest {
            return Err(Error::Digest { what });
        }
        Ok(())
    }
}

/// Checks that a part has the length that the manifest says.
pub(super) fn check_len(part: &Part, found: u64) -> Result<(), Error> {
    if found == part.len {
        return Ok(());
    }
    let longer = if found > part.len { " and more" } else { "" };
    Err(Error::Malformed {
        what: part.kind.name(),
        why: format!(
            "{} bytes{longer}, expected {}: its file is damaged or cut short. Stop using this copy, and restore it from its \
             owner or a backup",
            found.min(part.len + 1),
            part.len
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any division of a part into pieces gives the same bytes.
    #[test]
    fn a_span_is_taken_of_any_pieces() {
        let bytes: Vec<u8> = (0..120).collect();
        let spans = [
            Span::from(0..120),
            Span::from(7..8),
            Span::from(50..50),
            Span::of_each(0..12, 12),
            Span::of_each(3..5, 12),
            Span::of_each(2..2, 12),
            Span::of_each(0..1, 1),
        ];
        for span in spans {
            let expected: Vec<u8> = (0..120u8)
                .filter(|&byte| span.range.contains(&(u64::from(byte) % span.each)))
                .collect();
            for len in [1, 2, 5, 12, 13, 64, 120] {
                let (mut at, mut own) = (0, Vec::new());
                for piece in bytes.chunks(len) {
                    span.take(at, piece, &mut |bytes| own.extend_from_slice(bytes));
                    at += piece.len() as u64;
                }
                assert_eq!(own, expected, "{span:?} of {len} at a time");
            }
        }
    }
}
