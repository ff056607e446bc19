//! Inclusion proofs: the siblings on the path from a leaf to the top.

use alloc::vec::Vec;

use blake3::Hash;

use super::Joins;
use crate::Error;

/// The first bytes of a proof.
const MAGIC: &[u8; 7] = b"SRDPRF\0";
/// Version of the form below.
const VERSION: u8 = 1;
/// Magic, version, index, count.
const HEAD: usize = 7 + 1 + 8 + 8;

/// A proof that a digest is at a certain position of a list with a known root.
/// [`Tree::prove`](super::Tree::prove) makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "Vec<u8>", try_from = "Vec<u8>"))]
pub struct Proof {
    index: u64,
    count: u64,
    /// The siblings, from the leaves up. A level on which the path has no sibling has no entry.
    siblings: Vec<[u8; 32]>,
}

impl Proof {
    pub(crate) fn new(index: u64, count: u64, siblings: Vec<[u8; 32]>) -> Self {
        Self {
            index,
            count,
            siblings,
        }
    }

    /// The position in the list that the proof is for.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The length of the list that the proof is for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Checks that `digest` is at position [`index`](Self::index) of the list of [`count`](Self::count)
    /// digests whose root is `root`.
    ///
    /// The proof names its own index. A caller that expects a certain position must compare it.
    ///
    /// # Errors
    /// [`Error::ProofMismatch`] if the digest is not at that position.
    pub fn verify(&self, root: &Hash, digest: &Hash) -> Result<(), Error> {
        let joins = Joins::new();
        let mut node = joins.leaf(digest);
        let mut siblings = self.siblings.iter();
        for side in way(self.index, self.count) {
            let sibling = *siblings.next().ok_or(Error::ProofMismatch)?;
            node = joins.node(&match side {
                Side::Left => [sibling, node],
                Side::Right => [node, sibling],
            });
        }
        if siblings.next().is_none() && joins.root(self.count, Some(&node)) == *root {
            Ok(())
        } else {
            Err(Error::ProofMismatch)
        }
    }

    /// The proof as bytes: magic, version, index and count (little-endian), then the siblings from the
    /// leaves up. It has at most 2072 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + 32 * self.siblings.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.index.to_le_bytes());
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(self.siblings.as_flattened());
        bytes
    }

    /// Reads a proof. It is safe to read bytes from any source, but they prove nothing before
    /// [`Self::verify`] accepts them.
    ///
    /// # Errors
    /// [`Error::ProofMagic`], [`Error::ProofVersion`], [`Error::ProofIndex`] or [`Error::ProofLength`]
    /// if [`Self::to_bytes`] does not write exactly these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (head, siblings) = bytes
            .split_first_chunk::<HEAD>()
            .ok_or(Error::ProofLength {
                found: bytes.len(),
                expected: HEAD,
            })?;
        let (magic, head) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(Error::ProofMagic);
        }
        if head[0] != VERSION {
            return Err(Error::ProofVersion {
                found: head[0],
                expected: VERSION,
            });
        }
        let [index, count] = [0, 1].map(|i| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[1 + 8 * i..][..8]);
            u64::from_le_bytes(bytes)
        });
        if index >= count {
            return Err(Error::ProofIndex { index, count });
        }
        let expected = HEAD + 32 * way(index, count).count();
        if bytes.len() != expected {
            return Err(Error::ProofLength {
                found: bytes.len(),
                expected,
            });
        }
        Ok(Self {
            index,
            count,
            siblings: siblings.as_chunks().0.to_vec(),
        })
    }
}

/// With the feature `serde`, a proof is serialised as its bytes.
#[cfg(feature = "serde")]
impl From<Proof> for Vec<u8> {
    fn from(proof: Proof) -> Self {
        proof.to_bytes()
    }
}

/// With the feature `serde`, a proof is deserialised from its bytes, with all checks of
/// [`Proof::from_bytes`].
#[cfg(feature = "serde")]
impl TryFrom<Vec<u8>> for Proof {
    type Error = Error;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_bytes(&bytes)
    }
}

/// The side of a node on which its sibling is.
pub(super) enum Side {
    Left,
    Right,
}

/// For each sibling on the path from node `index` of a level of `count` nodes to the top, its side.
/// There are at most 64.
pub(super) fn way(mut index: u64, mut count: u64) -> impl Iterator<Item = Side> {
    core::iter::from_fn(move || {
        while count > 1 {
            let (at, last) = (index, count - 1);
            index /= 2;
            count = count.div_ceil(2);
            if at % 2 == 1 {
                return Some(Side::Left);
            }
            if at < last {
                return Some(Side::Right);
            }
        }
        None
    })
}
