//! A Merkle tree over a list of digests: its root, and two kinds of proof. One shows that a digest is at a certain position of
//! the list. The other shows that a list begins with a shorter one.
//!
//! This tree is specific to this crate. It is not BLAKE3's own tree, which covers one message, and its proofs are not Bao's.
//!
//! # Definition
//!
//! | symbol | meaning |
//! |---|---|
//! | `n` | number of digests, 0 or more |
//! | leaf | `derive_key("sordino-hash v1 tree: leaf", digest)` |
//! | node | `derive_key("sordino-hash v1 tree: node", left \|\| right)` |
//! | root | `derive_key("sordino-hash v1 tree: root", n as 8 little-endian bytes \|\| top)`, `top` being 32 zeros for `n` = 0 |
//!
//! The tree joins neighbours level by level; a node without a neighbour moves up unchanged. The contexts separate leaves, nodes
//! and roots from each other and from every other use of BLAKE3. The root fixes `n`, so a list, its prefix and a list of inner
//! nodes all have different roots.
//!
//! # A proof as bytes
//!
//! [`Proof::to_bytes`] writes, and [`Proof::from_bytes`] reads, the following. Numbers are little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 6 | the magic bytes `SRDPRF\0` |
//! | 7 | the version, 1 |
//! | 8 to 15 | the index of the digest, below `n` |
//! | 16 to 23 | `n` |
//! | from 24 | the siblings on the way from the leaf to the top, 32 bytes each; a level where the node has no sibling has no entry |
//!
//! The index and `n` fix the number of siblings, at most 64, so other lengths are refused.
//!
//! # Lists that grow
//! The tree has the shape of RFC 9162's (2.1): the left part of a list is the largest power of two below its length. So a list
//! that only grows keeps its inner nodes. [`Extension`] proves, with at most 65 nodes, that the list of one root begins with the
//! list of a second root. It is RFC 9162's consistency proof with one change. The first node is always included, since the root
//! here also hashes the length.

mod extension;
mod proof;

use alloc::vec;
use alloc::vec::Vec;

use blake3::Hash;

use crate::Backend;
use crate::list;
use crate::mode::Mode;

pub use extension::Extension;
pub use proof::Proof;

const LEAF: &str = "sordino-hash v1 tree: leaf";
const NODE: &str = "sordino-hash v1 tree: node";
const ROOT: &str = "sordino-hash v1 tree: root";

/// The root of a list of digests. It fixes every digest, their order and their number.
///
/// It equals the root of [`Tree::new`], and needs less memory.
///
/// # Examples
/// ```
/// use sordino_hash::{hash, merkle};
///
/// let digests = [hash(b"first bucket"), hash(b"second bucket")];
/// assert_ne!(merkle::root(&digests), merkle::root(&digests[..1]));
/// ```
#[must_use]
pub fn root(digests: &[Hash]) -> Hash {
    let joins = Joins::new();
    let mut level = joins.leaves(digests);
    while level.len() > 1 {
        level = joins.parents(&level);
    }
    joins.root(digests.len() as u64, level.first())
}

/// The whole tree of a list, for inclusion proofs. It takes 64 bytes a digest.
///
/// # Examples
/// ```
/// use sordino_hash::hash;
/// use sordino_hash::merkle::Tree;
///
/// let digests: Vec<_> = (0..1000_u32).map(|i| hash(&i.to_le_bytes())).collect();
/// let tree = Tree::new(&digests);
/// let proof = tree.prove(123).expect("there are 1000");
/// proof.verify(&tree.root(), &digests[123])?;
/// # Ok::<(), sordino_hash::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree {
    /// The levels from the leaves to the top. Every level has half the digests of the level before, rounded up.
    levels: Vec<Vec<[u8; 32]>>,
    root: Hash,
}

impl Tree {
    /// Hashes the whole tree.
    #[must_use]
    pub fn new(digests: &[Hash]) -> Self {
        let joins = Joins::new();
        let mut levels = vec![joins.leaves(digests)];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            let parents = joins.parents(level);
            levels.push(parents);
        }
        let top = levels.last().and_then(|level| level.first());
        let root = joins.root(digests.len() as u64, top);
        Self { levels, root }
    }

    /// The root. It equals [`root`] of the digests.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.root
    }

    /// The number of digests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.levels[0].len()
    }

    /// True if there are no digests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The proof that digest `index` is at that position of the list, or `None` if the list is shorter.
    #[must_use]
    pub fn prove(&self, index: usize) -> Option<Proof> {
        if index >= self.len() {
            return None;
        }
        let siblings = self.levels.iter().enumerate();
        let siblings = siblings.filter_map(|(height, level)| level.get(index >> height ^ 1));
        let siblings = siblings.copied().collect();
        Some(Proof::new(index as u64, self.len() as u64, siblings))
    }

    /// The proof that this list begins with its first `old` digests, or `None` if it is shorter.
    #[must_use]
    pub fn prove_extension(&self, old: usize) -> Option<Extension> {
        if old > self.len() {
            return None;
        }
        let mut nodes = Vec::new();
        if old > 0 {
            // The last whole subtree of the old list, and the siblings on the path from it to the top.
            let height = old.trailing_zeros() as usize;
            let last = (old >> height) - 1;
            nodes.push(self.levels[height][last]);
            let above = self.levels[height..].iter().enumerate();
            nodes.extend(above.filter_map(|(up, level)| level.get(last >> up ^ 1)));
        }
        Some(Extension::new(old as u64, self.len() as u64, nodes))
    }
}

/// The three hashers of the tree, with their contexts already hashed.
pub(crate) struct Joins {
    backend: Backend,
    leaf: Mode,
    node: Mode,
    root: Mode,
}

impl Joins {
    pub(crate) fn new() -> Self {
        Self {
            backend: Backend::detect(),
            leaf: Mode::derive_key(LEAF),
            node: Mode::derive_key(NODE),
            root: Mode::derive_key(ROOT),
        }
    }

    fn leaves(&self, digests: &[Hash]) -> Vec<[u8; 32]> {
        let messages: Vec<[u8; 32]> = digests.iter().map(|digest| *digest.as_bytes()).collect();
        let mut leaves = vec![[0; 32]; messages.len()];
        list::hash(self.backend, &self.leaf, &messages, &mut leaves, false);
        leaves
    }

    fn parents(&self, level: &[[u8; 32]]) -> Vec<[u8; 32]> {
        let (pairs, single) = level.as_flattened().as_chunks::<64>();
        let mut parents = vec![[0; 32]; pairs.len()];
        list::hash(self.backend, &self.node, pairs, &mut parents, false);
        parents.extend_from_slice(single.as_chunks().0);
        parents
    }

    /// The leaf of one digest.
    pub(crate) fn leaf(&self, digest: &Hash) -> [u8; 32] {
        self.leaf.official(digest.as_bytes(), false)
    }

    /// The node above two.
    pub(crate) fn node(&self, children: &[[u8; 32]; 2]) -> [u8; 32] {
        self.node.official(children.as_flattened(), false)
    }

    /// The root of `count` digests under the top node.
    pub(crate) fn root(&self, count: u64, top: Option<&[u8; 32]>) -> Hash {
        let mut message = [0; 40];
        message[..8].copy_from_slice(&count.to_le_bytes());
        if let Some(top) = top {
            message[8..].copy_from_slice(top);
        }
        self.root.official(&message, false).into()
    }
}
