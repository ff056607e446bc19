//! The tree's root and proofs, against a second, recursive definition; hostile proofs.

use proptest::prelude::*;
use sordino_hash::merkle::{self, Extension, Proof, Tree};
use sordino_hash::{Error, Hash, derive_key, hash};

fn digests(n: usize) -> Vec<Hash> {
    (0..n as u64).map(|i| hash(&i.to_le_bytes())).collect()
}

/// The tree of the module's documentation, top down: the left part is the largest power of two.
fn top(leaves: &[Hash]) -> [u8; 32] {
    match leaves {
        [] => [0; 32],
        [leaf] => derive_key("sordino-hash v1 tree: leaf", leaf.as_bytes()),
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            derive_key(
                "sordino-hash v1 tree: node",
                [top(left), top(right)].as_flattened(),
            )
        }
    }
}

fn root(leaves: &[Hash]) -> Hash {
    let mut message = (leaves.len() as u64).to_le_bytes().to_vec();
    message.extend_from_slice(&top(leaves));
    derive_key("sordino-hash v1 tree: root", &message).into()
}

#[test]
fn roots_equal_the_recursive_definition() {
    for n in (0..=70).chain([127, 128, 129, 1000]) {
        let digests = digests(n);
        assert_eq!(merkle::root(&digests), root(&digests), "{n} digests");
        assert_eq!(Tree::new(&digests).root(), root(&digests), "{n} digests");
    }
}

/// Fixed for good: manifests hold these roots.
#[test]
fn golden_roots() {
    let golden = [0, 1, 2, 3, 1000].map(|n| merkle::root(&digests(n)).to_hex().to_string());
    assert_eq!(golden, GOLDEN);
}
const GOLDEN: [&str; 5] = [
    "520a4d174d40a9176a3b416f1bc9deff38aec38ecb66cdbc9b342b9550da83ef",
    "25ea3836237f4a02b089bab3bf8934cc480c97031d17062c3272eb609b44b1dd",
    "9f512e137ba3dabf7a1be4a0e57f8670cf191e05bc4e5270f5cc856c5851def8",
    "9230ac372936f9b118cbc4d6e0fbffa0af74e0deb56a2f329af921e2df0dbd21",
    "dbcc2a5d5f78b1fa31704cf0fd46b60df964f5fa06779e40ccdc9b593e1a6e77",
];

#[test]
fn every_proof_of_small_lists_verifies_and_no_other() {
    for n in 1..=33 {
        let digests = digests(n);
        let tree = Tree::new(&digests);
        assert_eq!((tree.len(), tree.is_empty()), (n, false));
        assert!(tree.prove(n).is_none());
        for i in 0..n {
            let proof = tree.prove(i).unwrap();
            assert_eq!((proof.index(), proof.count()), (i as u64, n as u64));
            proof.verify(&tree.root(), &digests[i]).unwrap();
            for (j, other) in digests.iter().enumerate() {
                assert_eq!(proof.verify(&tree.root(), other).is_ok(), i == j);
            }
            assert!(matches!(
                proof.verify(&hash(b""), &digests[i]),
                Err(Error::ProofMismatch)
            ));
        }
    }
    assert!(Tree::new(&[]).is_empty() && Tree::new(&[]).prove(0).is_none());
}

#[test]
fn an_inner_node_is_not_a_digest_of_a_shorter_list() {
    let digests = digests(4);
    let pairs = [&digests[..2], &digests[2..]].map(|pair| Hash::from(top(pair)));
    assert_ne!(merkle::root(&pairs), merkle::root(&digests));
}

#[test]
fn no_bit_of_a_proof_can_change() {
    let digests = digests(100);
    let tree = Tree::new(&digests);
    for index in [0, 57, 96, 99] {
        let bytes = tree.prove(index).unwrap().to_bytes();
        for bit in 0..8 * bytes.len() {
            let mut bent = bytes.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            let verdict = Proof::from_bytes(&bent)
                .and_then(|proof| proof.verify(&tree.root(), &digests[index]));
            assert!(verdict.is_err(), "bit {bit} of the proof of {index}");
        }
        for len in 0..bytes.len() {
            assert!(Proof::from_bytes(&bytes[..len]).is_err());
        }
        let longer = [bytes.as_slice(), &[0; 32]].concat();
        assert!(matches!(
            Proof::from_bytes(&longer),
            Err(Error::ProofLength { .. })
        ));
    }
}

#[test]
fn errors_carry_the_numbers() {
    let bytes = Tree::new(&digests(9)).prove(8).unwrap().to_bytes();
    let error = |bytes: &[u8]| Proof::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(error(&bytes[..3]), "proof of 3 bytes, expected 24");
    assert_eq!(error(&bytes[..55]), "proof of 55 bytes, expected 56");
    let with = |at: usize, byte| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(error(&with(7, 9)), "proof of version 9, expected 1");
    assert_eq!(
        error(&with(8, 9)),
        "inclusion proof for index 9 of a list of 9"
    );
    assert!(error(&with(0, 0)).contains("magic"));
}

#[cfg(feature = "serde")]
#[test]
fn serde_reads_only_proofs() {
    let proof = Tree::new(&digests(9)).prove(3).unwrap();
    let written = serde_json::to_string(&proof).unwrap();
    assert_eq!(serde_json::from_str::<Proof>(&written).unwrap(), proof);
    let mut bytes = proof.to_bytes();
    bytes.pop();
    let short = serde_json::to_string(&bytes).unwrap();
    let refused = serde_json::from_str::<Proof>(&short)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("expected 152"), "{refused}");
}

/// RFC 9162, 2.1.4.1: SUBPROOF(m, D_n, false).
fn subproof(m: usize, leaves: &[Hash]) -> Vec<[u8; 32]> {
    if m == leaves.len() {
        return vec![top(leaves)];
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let (mut proof, beside) = match m.checked_sub(left.len()) {
        Some(m @ 1..) => (subproof(m, right), left),
        _ => (subproof(m, left), right),
    };
    proof.push(top(beside));
    proof
}

#[test]
fn extensions_are_those_of_the_recursive_definition() {
    let digests = digests(40);
    for n in 0..=40 {
        let tree = Tree::new(&digests[..n]);
        assert!(tree.prove_extension(n + 1).is_none());
        for m in 0..=n {
            let proof = tree.prove_extension(m).unwrap();
            assert_eq!((proof.old(), proof.new_len()), (m as u64, n as u64));
            // The standard has none for equal lengths; here it is of the same kind as the others.
            if (1..n).contains(&m) {
                let nodes = subproof(m, &digests[..n]);
                assert_eq!(&proof.to_bytes()[24..], nodes.as_flattened(), "{m} of {n}");
            }
            proof
                .verify(&root(&digests[..m]), &root(&digests[..n]))
                .unwrap();
        }
    }
}

/// If two lists differ before the old one's end, a proof of one is no proof of the other.
#[test]
fn a_fork_is_no_extension() {
    let own = digests(20);
    for parted in 0..12 {
        let mut other = own.clone();
        other[parted] = hash(b"another");
        let old = root(&own[..12]);
        for n in 12..=20 {
            for tree in [&own, &other].map(|digests| Tree::new(&digests[..n])) {
                let proof = tree.prove_extension(12).unwrap();
                let refused = proof.verify(&old, &root(&other[..n]));
                assert!(refused.is_err(), "{parted}, {n}");
            }
        }
        // Anything may be appended.
        other[parted] = own[parted];
        other[12] = hash(b"another");
        let proof = Tree::new(&other).prove_extension(12).unwrap();
        proof.verify(&old, &root(&other)).unwrap();
    }
    let empty = Tree::new(&own).prove_extension(0).unwrap();
    assert!(empty.verify(&root(&own[..1]), &root(&own)).is_err());
}

#[test]
fn no_bit_of_an_extension_can_change() {
    let digests = digests(100);
    let tree = Tree::new(&digests);
    for old in [1, 57, 64, 96, 99, 100] {
        let (before, bytes) = (
            root(&digests[..old]),
            tree.prove_extension(old).unwrap().to_bytes(),
        );
        for bit in 0..8 * bytes.len() {
            let mut bent = bytes.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            let verdict =
                Extension::from_bytes(&bent).and_then(|proof| proof.verify(&before, &tree.root()));
            assert!(verdict.is_err(), "bit {bit} of the proof from {old}");
        }
        for len in 0..bytes.len() {
            assert!(Extension::from_bytes(&bytes[..len]).is_err());
        }
        let longer = [bytes.as_slice(), &[0; 32]].concat();
        let longer = Extension::from_bytes(&longer);
        assert!(matches!(longer, Err(Error::ProofLength { .. })));
    }
    let mut shrinks = tree.prove_extension(100).unwrap().to_bytes();
    shrinks[8] = 101;
    let shrinks = Extension::from_bytes(&shrinks).unwrap_err().to_string();
    assert_eq!(
        shrinks,
        "extension proof from a list of 101 to one of 100, which is shorter"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn extensions_survive_the_wire(n in 1..2000_usize, at: prop::sample::Index) {
        let digests = digests(n);
        let old = at.index(n);
        let proof = Tree::new(&digests).prove_extension(old).unwrap();
        let read = Extension::from_bytes(&proof.to_bytes()).unwrap();
        prop_assert_eq!(&read, &proof);
        read.verify(&merkle::root(&digests[..old]), &merkle::root(&digests)).unwrap();
    }

    #[test]
    fn hostile_extensions_never_panic(
        tail in prop::collection::vec(any::<u8>(), 0..200),
        old: u64,
        new: u64,
        head: bool,
    ) {
        let mut bytes = Vec::new();
        if head {
            bytes.extend_from_slice(b"SRDEXT\0\x01");
            bytes.extend_from_slice(&old.min(new).to_le_bytes());
            bytes.extend_from_slice(&new.max(old).to_le_bytes());
        }
        bytes.extend_from_slice(&tail);
        if let Ok(proof) = Extension::from_bytes(&bytes) {
            prop_assert_eq!(proof.to_bytes(), bytes);
            prop_assert!(proof.verify(&hash(b"a"), &hash(b"b")).is_err());
        }
    }

    #[test]
    fn proofs_survive_the_wire(n in 1..2000_usize, at: prop::sample::Index) {
        let digests = digests(n);
        let index = at.index(n);
        let tree = Tree::new(&digests);
        let proof = tree.prove(index).unwrap();
        let read = Proof::from_bytes(&proof.to_bytes()).unwrap();
        prop_assert_eq!(&read, &proof);
        read.verify(&merkle::root(&digests), &digests[index]).unwrap();
    }

    #[test]
    fn hostile_bytes_never_panic(
        tail in prop::collection::vec(any::<u8>(), 0..200),
        index: u64,
        count: u64,
        head: bool,
    ) {
        let mut bytes = Vec::new();
        if head {
            bytes.extend_from_slice(b"SRDPRF\0\x01");
            bytes.extend_from_slice(&index.to_le_bytes());
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes.extend_from_slice(&tail);
        if let Ok(proof) = Proof::from_bytes(&bytes) {
            prop_assert_eq!(proof.to_bytes(), bytes);
            prop_assert!(proof.verify(&hash(b"a"), &hash(b"b")).is_err());
        }
    }
}
