//! Numbers for entities, so that compiled policies compare numbers.

use core::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::value::{EntityUid, Uid};

/// The number of an entity that exists, or that a parent or a policy names.
pub(crate) type Node = u32;

/// Reserved words, which no part of a type's name may be.
const RESERVED: [&str; 10] = [
    "true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar",
];

/// True if this is a type's name in Cedar's notation: identifiers with `::` between them.
pub(crate) fn is_type(name: &str) -> bool {
    let mut parts = name.split("::");
    parts.all(|part| is_identifier(part) && !RESERVED.contains(&part))
}

/// True for letters, digits and underscores that do not begin with a digit.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// Entities by number, and numbers by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    first: Node,
    uids: Vec<EntityUid>,
    numbers: HashTable<Node>,
    seed: RandomState,
}

impl Names {
    /// An empty set of names, whose numbers will begin with `first`.
    pub(crate) fn from(first: Node) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// The number of an entity, if it has one.
    #[inline]
    pub(crate) fn find(&self, uid: Uid<'_>) -> Option<Node> {
        let equal = |&node: &Node| self.uid(node) == uid;
        self.numbers.find(hash(&self.seed, uid), equal).copied()
    }

    /// The number of an entity, which gets a new number if it has none yet.
    pub(crate) fn number(&mut self, uid: Uid<'_>) -> Node {
        if let Some(node) = self.find(uid) {
            return node;
        }
        let node = self.end();
        self.uids.push(uid.owned());
        let (seed, uids, first) = (&self.seed, &self.uids, self.first);
        let rehash = |&node: &Node| hash(seed, uids[(node - first) as usize].borrowed());
        self.numbers.insert_unique(hash(seed, uid), node, rehash);
        node
    }

    /// The entity with this number.
    pub(crate) fn uid(&self, node: Node) -> Uid<'_> {
        self.uids[(node - self.first) as usize].borrowed()
    }

    /// The next free number.
    pub(crate) fn end(&self) -> Node {
        self.first + Node::try_from(self.uids.len()).expect("texts are bounded far below")
    }
}

fn hash(seed: &RandomState, uid: Uid<'_>) -> u64 {
    let mut hasher = seed.build_hasher();
    hasher.write(uid.type_name.as_bytes());
    hasher.write_usize(uid.type_name.len());
    hasher.write(uid.id.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    #[test]
    fn names_of_types_are_cedars() {
        let parts = [
            "A", "a", "_", "0", "::", "::", ":", " ", "\n", "é", "if", "in", "has", "true",
            "__cedar", "is", "then", "Ab", "",
        ];
        let mut rng = StdRng::seed_from_u64(7);
        let (mut good, mut bad) = (0, 0);
        for _ in 0..20_000 {
            let name: String = (0..rng.random_range(0..6))
                .map(|_| parts[rng.random_range(0..parts.len())])
                .collect();
            let cedar = name.parse::<cedar_policy::EntityTypeName>();
            let cedar = cedar.is_ok_and(|parsed| parsed.to_string() == name);
            assert_eq!(is_type(&name), cedar, "{name:?}");
            *(if cedar { &mut good } else { &mut bad }) += 1;
        }
        assert!(good > 1_000 && bad > 1_000, "{good} names, {bad} others");
    }
}
