//! Extension proofs. They hold the nodes that an older and a newer tree of a growing list share, and the nodes next to them.

use alloc::vec::Vec;

use blake3::Hash;

use super::Joins;
use super::proof::{Side, way};
use crate::Error;

/// The first bytes of a proof.
const MAGIC: &[u8; 7] = b"SRDEXT\0";
/// Version of the form below.
const VERSION: u8 = 1;
/// Magic, version, lengths of both lists.
const HEAD: usize = 7 + 1 + 8 + 8;

/// A proof that the list of one root begins with the list of another: RFC 9162, 2.1.4.
/// [`Tree::prove_extension`](super::Tree::prove_extension) makes it.
///
/// The first node is the top of the last whole subtree of the old list. The path leads from there to the top of the new list.
/// A sibling on the left belongs to both trees, and one on the right only to the new tree.
///
/// # A proof as bytes
/// The magic bytes `SRDEXT\0`, the version 1, the lengths of the old and the new list (8 little-endian bytes each),
/// then the nodes. A node has 32 bytes. The two lengths fix their number, at most 65; it is 0 if the old list is empty.
///
/// # Examples
/// ```
/// use sordino_hash::{hash, merkle};
///
/// let digests: Vec<_> = (0..1000_u32).map(|i| hash(&i.to_le_bytes())).collect();
/// let tree = merkle::Tree::new(&digests);
/// let proof = tree.prove_extension(123).expect("there are more");
/// proof.verify(&merkle::root(&digests[..123]), &tree.root())?;
/// # Ok::<(), sordino_hash::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    old: u64,
    new: u64,
    nodes: Vec<[u8; 32]>,
}

/// Two numbers about the last whole subtree of a list of `count` digests: its position on its level, and the number of nodes
/// that this level has in a list of `new` digests. Levels are counted from the leaves.
fn start(count: u64, new: u64) -> (u64, u64) {
    let height = count.trailing_zeros();
    // Rounds up without a sum that could overflow.
    let level = (new >> height) + u64::from(new.trailing_zeros() < height);
    ((count >> height) - 1, level)
}

/// The number of nodes of a proof.
fn nodes(old: u64, new: u64) -> usize {
    if old == 0 {
        return 0;
    }
    let (last, level) = start(old, new);
    1 + way(last, level).count()
}

impl Extension {
    pub(crate) fn new(old: u64, new: u64, nodes: Vec<[u8; 32]>) -> Self {
        Self { old, new, nodes }
    }

    /// The length of the old list.
    #[must_use]
    pub fn old(&self) -> u64 {
        self.old
    }

    /// The length of the new list.
    #[must_use]
    pub fn new_len(&self) -> u64 {
        self.new
    }

    /// Checks that the list of [`new_len`](Self::new_len) digests whose root is `new` begins with the list of
    /// [`old`](Self::old) digests whose root is `old`. Every list begins with the empty one, so if [`old`](Self::old) is 0,
    /// any `new` is accepted.
    ///
    /// # Errors
    /// [`Error::ProofMismatch`] if the proof does not show that.
    pub fn verify(&self, old: &Hash, new: &Hash) -> Result<(), Error> {
        let joins = Joins::new();
        let mut rest = self.nodes.iter();
        if self.old == 0 {
            // Every list begins with the empty one, so the proof does not show anything about the new root.
            let empty = joins.root(0, None) == *old && rest.next().is_none();
            return empty.then_some(()).ok_or(Error::ProofMismatch);
        }
        let first = *rest.next().ok_or(Error::ProofMismatch)?;
        let (mut before, mut after) = (first, first);
        let (last, level) = start(self.old, self.new);
        for side in way(last, level) {
            let sibling = *rest.next().ok_or(Error::ProofMismatch)?;
            match side {
                Side::Left => {
                    before = joins.node(&[sibling, before]);
                    after = joins.node(&[sibling, after]);
                }
                Side::Right => after = joins.node(&[after, sibling]),
            }
        }
        let both = joins.root(self.old, Some(&before)) == *old
            && joins.root(self.new, Some(&after)) == *new;
        if rest.next().is_none() && both {
            Ok(())
        } else {
            Err(Error::ProofMismatch)
        }
    }

    /// The proof as bytes, at most 2,104 of them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + 32 * self.nodes.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.old.to_le_bytes());
        bytes.extend_from_slice(&self.new.to_le_bytes());
        bytes.extend_from_slice(self.nodes.as_flattened());
        bytes
    }

    /// Reads a proof. It is safe to read bytes from any source, but they prove nothing before [`Self::verify`] accepts them.
    ///
    /// # Errors
    /// [`Error::ProofMagic`], [`Error::ProofVersion`], [`Error::ProofShrinks`] or [`Error::ProofLength`] if
    /// [`Self::to_bytes`] does not write exactly these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let length = |expected| Error::ProofLength {
            found: bytes.len(),
            expected,
        };
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(length(HEAD))?;
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
        let [old, new] = [0, 1].map(|i| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[1 + 8 * i..][..8]);
            u64::from_le_bytes(bytes)
        });
        if old > new {
            return Err(Error::ProofShrinks { old, new });
        }
        let expected = HEAD + 32 * nodes(old, new);
        if bytes.len() != expected {
            return Err(length(expected));
        }
        Ok(Self {
            old,
            new,
            nodes: rest.as_chunks().0.to_vec(),
        })
    }
}
