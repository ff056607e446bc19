//! A query and its secret.

use sordino_lattice::aligned::Aligned;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::check_same;
use crate::{Error, Params, Shape};

const MAGIC: [u8; 4] = *b"SLWE";
const VERSION: u8 = 1;
/// The size in bytes of the head: magic, version, set, two zeros, groups, columns, epoch.
const HEAD_LEN: usize = 24;

/// The secret `s` of one query; erased when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    #[zeroize(skip)]
    params: Params,
    entries: Aligned<i8>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl Secret {
    pub(crate) const fn new(params: Params, entries: Aligned<i8>) -> Self {
        Self { params, entries }
    }

    /// `-s`, the query for the product with the hint. Scoring it onto `y` gives `y - H s`.
    ///
    /// # Security
    /// It may leave the client only under encryption, and must serve only one query.
    #[must_use]
    pub fn into_negated(self) -> Zeroizing<Vec<i32>> {
        Zeroizing::new(self.entries.iter().map(|s| -i32::from(*s)).collect())
    }
}

/// `b`, an encrypted message: 4 bytes a column.
#[derive(Clone, PartialEq, Eq)]
pub struct Query {
    params: Params,
    groups: usize,
    columns: usize,
    epoch: u64,
    words: Vec<u32>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query")
            .field("params", &self.params)
            .field("groups", &self.groups)
            .field("columns", &self.columns)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Query {
    pub(crate) const fn new(params: Params, shape: Shape, epoch: u64, words: Vec<u32>) -> Self {
        Self {
            params,
            groups: shape.groups(),
            columns: shape.columns(),
            epoch,
            words,
        }
    }

    /// The length in bytes of a message to a table of `shape`.
    #[must_use]
    pub const fn encoded_len(shape: Shape) -> usize {
        HEAD_LEN + 4 * shape.words()
    }

    /// The message.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "limits of a shape")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEAD_LEN + 4 * self.words.len());
        message.extend_from_slice(&MAGIC);
        message.extend_from_slice(&[VERSION, self.params.id(), 0, 0]);
        message.extend_from_slice(&(self.groups as u32).to_le_bytes());
        message.extend_from_slice(&(self.columns as u32).to_le_bytes());
        message.extend_from_slice(&self.epoch.to_le_bytes());
        message.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        message
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, the set is unknown, or the shape exceeds the limits of the set.
    /// The call also fails if the length does not fit the set and the shape. The function checks all this before it
    /// allocates memory.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = message.split_first_chunk::<HEAD_LEN>().ok_or(Error::Kind)?;
        let &[a, b, c, d, version, set, zero, also_zero, ..] = head;
        if [a, b, c, d] != MAGIC || (zero, also_zero) != (0, 0) {
            return Err(Error::Kind);
        }
        if version != VERSION {
            return Err(Error::FormatVersion {
                found: version,
                expected: VERSION,
            });
        }
        let params = Params::from_id(set)?;
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let shape = params.shape(number(8) as usize, 1, number(12) as usize)?;
        if message.len() != Self::encoded_len(shape) {
            return Err(Error::MessageLength {
                found: message.len(),
                expected: Self::encoded_len(shape),
            });
        }
        let epoch = u64::from_le_bytes(std::array::from_fn(|i| head[16 + i]));
        let words = body.as_chunks().0.iter().copied();
        let words = words.map(u32::from_le_bytes).collect();
        Ok(Self::new(params, shape, epoch, words))
    }

    /// The words of group `g`.
    pub(crate) fn group(&self, g: usize) -> &[u32] {
        &self.words[g * self.columns..][..self.columns]
    }

    /// Checks that a query is meant for a table of this set, shape and epoch.
    pub(crate) fn check(&self, params: &Params, shape: Shape, epoch: u64) -> Result<(), Error> {
        self.params.check_same(params)?;
        check_same("groups", self.groups, shape.groups())?;
        check_same("columns of a group", self.columns, shape.columns())?;
        if self.epoch != epoch {
            return Err(Error::Epoch {
                found: self.epoch,
                expected: epoch,
            });
        }
        Ok(())
    }
}
