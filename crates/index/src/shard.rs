//! Shards: the shares of an index's data that several servers hold.
//!
//! The cut depends only on the signed manifest and a shard's number, so no file on disk names it. Each segment's blocks
//! are cut into one run for each shard. Routed mode's groups are cut in the same way. So a new segment moves no block
//! of the earlier segments, and all shards have the same work, up to a block of each segment. Sealed mode's buckets are
//! cut by their bytes: a shard has the same range of bytes of every bucket. The first shard has payloads for fetching,
//! and also scores sealed mode's centroids. A part that clients download is on the shard that its digest determines.
//!
//! ```text
//! reply of a shard: index: 16 bytes | edition: 24 | number: 2 | of: 2 | its part of the reply's body
//! ```

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::Error;
use crate::digest::Digest;
use crate::manifest::SignedManifest;
use crate::wire::{EDITION_LEN, Edition};

/// A share of an index's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    number: u16,
    of: u16,
}

impl Shard {
    /// All of the data, as the only shard.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The largest number of shards.
    pub const MOST: u16 = 1024;

    /// Shard `number` of `of`, from 1 on, or `None` if there is no such shard.
    #[must_use]
    pub fn new(number: u16, of: u16) -> Option<Self> {
        let there = (1..=of).contains(&number) && of <= Self::MOST;
        there.then_some(Self { number, of })
    }

    /// All of `of` shards, in order.
    pub fn all(of: u16) -> impl Iterator<Item = Self> {
        (1..=of).filter_map(move |number| Self::new(number, of))
    }

    /// The shard's number, from 1 on.
    #[must_use]
    pub fn number(self) -> u16 {
        self.number
    }

    /// The number of shards.
    #[must_use]
    pub fn of(self) -> u16 {
        self.of
    }

    /// True for the shard that holds payloads.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// True for the shard that holds the last block of every segment.
    #[must_use]
    pub fn is_last(self) -> bool {
        self.number == self.of
    }

    /// The numbers of the blocks or groups that this shard holds, of `count` in total.
    #[must_use]
    pub fn range(self, count: usize) -> Range<usize> {
        let share =
            |number: u16| (count as u128 * u128::from(number) / u128::from(self.of)) as usize;
        share(self.number - 1)..share(self.number)
    }

    /// The numbers of the rows that this shard holds, if an index has `count` rows in blocks of `block` rows. The last
    /// block may be incomplete. If the shard holds none, the range is empty and at the first row.
    #[must_use]
    pub fn rows(self, count: usize, block: usize) -> Range<usize> {
        let blocks = self.range(count.div_ceil(block));
        match blocks.is_empty() {
            true => 0..0,
            false => blocks.start * block..(blocks.end * block).min(count),
        }
    }

    /// True if this shard serves the part with this digest, which clients download.
    #[must_use]
    pub fn gives(self, part: &Digest) -> bool {
        let number = u16::from_le_bytes([part[0], part[1]]) % self.of;
        number + 1 == self.number
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads a text such as `2/8`, the second of eight.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers =
            numbers.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let shard = numbers.and_then(|(number, of)| Self::new(number, of));
        let most = Self::MOST;
        shard.ok_or_else(|| {
            format!(
                "expected NUMBER/OF, as in 2/8, the second of eight, with at most {most} shards"
            )
        })
    }
}

/// The size in bytes of a head.
pub const HEAD_LEN: usize = 16 + EDITION_LEN + 2 + 2;

/// The beginning of a shard's reply, which says what it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The index.
    pub index: [u8; 16],
    /// The version.
    pub edition: Edition,
    /// The shard.
    pub shard: Shard,
}

impl Head {
    /// The head of a shard's replies in a version.
    #[must_use]
    pub fn new(manifest: &SignedManifest, shard: Shard) -> Self {
        Self {
            index: manifest.index,
            edition: manifest.edition(),
            shard,
        }
    }

    /// True if it belongs to the same index as another, and is not older.
    #[must_use]
    pub fn follows(self, before: Self) -> bool {
        self.index == before.index && self.edition.version >= before.edition.version
    }

    /// The bytes that a reply begins with.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let Shard { number, of } = self.shard;
        let numbers = [number.to_le_bytes(), of.to_le_bytes()].concat();
        [&self.index[..], &self.edition.to_bytes(), &numbers].concat()
    }

    /// The head of a reply, and the bytes that follow.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the body has no head.
    pub fn read(body: &[u8]) -> Result<(Self, &[u8]), Error> {
        let read = || {
            let (index, rest) = body.split_first_chunk()?;
            let (edition, rest) = rest.split_at_checked(EDITION_LEN)?;
            let (&[a, b, c, d], rest) = rest.split_first_chunk()?;
            let shard = Shard::new(u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))?;
            let head = Self {
                index: *index,
                edition: Edition::from_bytes(edition)?,
                shard,
            };
            Some((head, rest))
        };
        read().ok_or_else(|| Error::Malformed {
            what: "message",
            why: format!("a shard's reply of {} bytes has no head", body.len()),
        })
    }

    /// The rest of a reply, after this head.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the body has no head. The errors of [`check`](Self::check).
    pub fn strip(self, body: &[u8]) -> Result<&[u8], Error> {
        let (found, rest) = Self::read(body)?;
        found.check(self)?;
        Ok(rest)
    }

    /// Refuses a head that differs from the expected one.
    ///
    /// # Errors
    /// - [`Error::OtherIndex`] for another index
    /// - [`Error::Stale`] for another version
    /// - [`Error::Position`] for another shard
    pub fn check(self, expected: Self) -> Result<(), Error> {
        if self.index != expected.index {
            return Err(Error::OtherIndex {
                found: self.index,
                pinned: expected.index,
            });
        }
        if self.edition != expected.edition {
            return Err(Error::Stale {
                found: expected.edition.version,
                serving: self.edition.version,
            });
        }
        if self.shard != expected.shard {
            let numbers = |shard: Shard| [shard.number, shard.of];
            return Err(Error::Position(
                numbers(self.shard),
                numbers(expected.shard),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_and_nothing_twice() {
        for of in [1, 2, 3, 7, 1024] {
            for count in [0, 1, 2, 6, 7, 8, 1023, 100_000] {
                let mut next = 0;
                for shard in Shard::all(of) {
                    let own = shard.range(count);
                    assert_eq!(own.start, next);
                    let even = count / usize::from(of);
                    assert!((even..=even + 1).contains(&own.len()), "{shard} of {count}");
                    next = own.end;
                    let rows = shard.rows(3 * count + usize::from(count > 0), 3);
                    assert!(rows.is_empty() || rows.start % 3 == 0);
                }
                assert_eq!(next, count);
                // One shard has the last block, which the join relies on.
                let last = Shard::new(of, of).unwrap();
                assert!(count == 0 || last.range(count).contains(&(count - 1)));
            }
        }
        let rows: usize = Shard::all(4).map(|shard| shard.rows(1001, 10).len()).sum();
        assert_eq!(rows, 1001);
        for part in [[0; 32], [255; 32], [7; 32]] {
            assert_eq!(Shard::all(5).filter(|shard| shard.gives(&part)).count(), 1);
        }
        assert_eq!(Shard::WHOLE.range(usize::MAX), 0..usize::MAX);
    }

    #[test]
    fn a_shard_is_read_as_it_is_printed() {
        for text in ["1/1", "2/8", "1024/1024"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        for wrong in [
            "", "2", "0/8", "9/8", "1/1025", "1/0", "-1/2", "1/2/3", "a/b", "1/65537",
        ] {
            let error = wrong.parse::<Shard>().unwrap_err();
            assert!(error.contains("NUMBER/OF"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_head_reads_back_and_another_is_refused_by_what_differs() {
        let head = Head {
            index: [3; 16],
            edition: Edition::new(5, &[9; 32]),
            shard: Shard::new(2, 8).unwrap(),
        };
        let bytes = [&head.to_bytes()[..], b"rest"].concat();
        assert_eq!(bytes.len(), HEAD_LEN + 4);
        assert_eq!(Head::read(&bytes).unwrap(), (head, &b"rest"[..]));
        assert_eq!(head.strip(&bytes).unwrap(), b"rest");
        for len in 0..HEAD_LEN {
            assert!(matches!(
                Head::read(&bytes[..len]),
                Err(Error::Malformed { .. })
            ));
        }
        let refused = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            head.strip(&bytes).unwrap_err()
        };
        assert!(matches!(refused(0, 0), Error::OtherIndex { .. }));
        let stale = refused(16, 6);
        assert!(
            matches!(
                stale,
                Error::Stale {
                    found: 5,
                    serving: 6
                }
            ),
            "{stale}"
        );
        // The same number with another content.
        assert!(matches!(
            refused(24, 0),
            Error::Stale {
                found: 5,
                serving: 5
            }
        ));
        assert_eq!(
            refused(40, 3).to_string(),
            "this server holds shard 3/8, expected shard 2/8: name the shards in their order"
        );
        assert!(matches!(refused(42, 4), Error::Position(..)));
        assert!(matches!(refused(40, 0), Error::Malformed { .. }));
    }
}
