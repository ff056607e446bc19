//! A log of manifests: every version of every index that an owner has published, in that order, in a tree that only
//! grows. Whoever has it, or short proofs from it, knows that what a server shows is what everybody is shown.
//!
//! ```text
//! entry   the digest of a signed manifest: 32 bytes
//! head    number of entries: 8 bytes | root of their tree: 32 bytes | the owner's signature on both
//! file    head of a file | head | entries
//! ```
//!
//! The tree is `sordino_hash::merkle`, of RFC 9162's shape. A reader that remembers a head accepts only logs that begin
//! with its entries; two readers who compare heads, or their short form, see if one was shown another log. An entry says
//! nothing but that there is a version. The owner's signature is on heads under a context of their own.

mod proof;

use sordino_hash::{Hash, merkle};

use crate::Error;
#[cfg(feature = "secret")]
use crate::SignedManifest;
use crate::digest::Digest;
#[cfg(feature = "secret")]
use crate::keys::OwnerKeys;
use crate::public_key::{OwnerPublicKey, SIGNATURE_LEN};
use crate::wire::{LOG, file_head, strip_file_head};

pub use proof::LogProof;

/// Bytes of an entry.
const ENTRY_LEN: usize = 32;

/// Bytes of a head that is signed: length, root, signature.
const HEAD_LEN: usize = 8 + ENTRY_LEN + SIGNATURE_LEN;

/// The length and the root of a log: to be stored where a reader's next run finds it. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Entries.
    pub count: u64,
    /// The root of their tree.
    pub root: Digest,
}

impl Head {
    fn of(entries: &[Digest]) -> Self {
        Self {
            count: entries.len() as u64,
            root: *merkle::root(&hashes(entries)).as_bytes(),
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        [&self.count.to_le_bytes()[..], &self.root].concat()
    }

    /// The error of a log with this head that does not begin with what was seen.
    fn fork(&self, seen: &Self) -> Error {
        Error::LogFork {
            found: self.count,
            seen: seen.count,
        }
    }
}

fn hashes(entries: &[Digest]) -> Vec<Hash> {
    entries.iter().copied().map(Hash::from).collect()
}

/// A head and the owner's signature on it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SignedHead {
    head: Head,
    signature: Vec<u8>,
}

impl SignedHead {
    #[cfg(feature = "secret")]
    fn sign(head: Head, keys: &OwnerKeys) -> Self {
        Self {
            head,
            signature: keys.sign_log(&head.to_bytes()),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        [self.head.to_bytes(), self.signature.clone()].concat()
    }

    /// Reads a head and checks its signature; what follows it.
    fn split<'a>(
        what: &'static str,
        bytes: &'a [u8],
        owner: &OwnerPublicKey,
    ) -> Result<(Self, &'a [u8]), Error> {
        let Some((bytes, rest)) = bytes.split_at_checked(HEAD_LEN) else {
            let why = format!("{} bytes, expected {HEAD_LEN} and more", bytes.len());
            return Err(Error::Malformed { what, why });
        };
        let (signed, signature) = bytes.split_at(8 + ENTRY_LEN);
        owner.verify_log(signed, signature)?;
        let (mut count, mut root) = ([0; 8], [0; ENTRY_LEN]);
        count.copy_from_slice(&signed[..8]);
        root.copy_from_slice(&signed[8..]);
        let count = u64::from_le_bytes(count);
        let head = Self {
            head: Head { count, root },
            signature: signature.to_vec(),
        };
        Ok((head, rest))
    }
}

/// A log with its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    signed: SignedHead,
    entries: Vec<Digest>,
}

impl Log {
    /// A log without entries.
    #[cfg(feature = "secret")]
    #[must_use]
    pub fn new(keys: &OwnerKeys) -> Self {
        Self {
            signed: SignedHead::sign(Head::of(&[]), keys),
            entries: Vec::new(),
        }
    }

    /// Appends versions that the log has not, in this order, and signs the new head. The number of them.
    #[cfg(feature = "secret")]
    pub fn append<'a>(
        &mut self,
        versions: impl IntoIterator<Item = &'a SignedManifest>,
        keys: &OwnerKeys,
    ) -> usize {
        let before = self.entries.len();
        for version in versions {
            let entry = version.digest();
            if !self.contains(&entry) {
                self.entries.push(entry);
            }
        }
        self.signed = SignedHead::sign(Head::of(&self.entries), keys);
        self.entries.len() - before
    }

    /// The head: what a reader remembers.
    #[must_use]
    pub fn head(&self) -> Head {
        self.signed.head
    }

    /// True if a manifest of this digest is in it.
    #[must_use]
    pub fn contains(&self, manifest: &Digest) -> bool {
        self.entries.contains(manifest)
    }

    /// Refuses a log that does not begin with the entries of a head that was seen before.
    ///
    /// # Errors
    /// [`Error::LogFork`].
    pub fn follows(&self, seen: &Head) -> Result<(), Error> {
        let count = usize::try_from(seen.count).unwrap_or(usize::MAX);
        match self.entries.get(..count) {
            Some(entries) if Head::of(entries) == *seen => Ok(()),
            _ => Err(self.head().fork(seen)),
        }
    }

    /// The proof that a manifest is in the log, and that the log begins with its first `seen` entries; `None` if the
    /// manifest is not in it, or it has fewer entries.
    #[must_use]
    pub fn prove(&self, manifest: &Digest, seen: u64) -> Option<LogProof> {
        let index = self.entries.iter().position(|entry| entry == manifest)?;
        let tree = merkle::Tree::new(&hashes(&self.entries));
        Some(LogProof {
            signed: self.signed.clone(),
            inclusion: tree.prove(index)?,
            extension: tree.prove_extension(usize::try_from(seen).ok()?)?,
        })
    }

    /// The log as a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = file_head(LOG);
        bytes.extend(self.signed.to_bytes());
        bytes.extend_from_slice(self.entries.as_flattened());
        bytes
    }

    /// Reads a log, and checks its signature and its root.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::FormatVersion`]; [`Error::LogSignature`] if the head is not signed by `owner`;
    /// [`Error::Digest`] if the entries are not those of the head.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let body = strip_file_head(LOG, bytes)?;
        let (signed, rest) = SignedHead::split("log", body, owner)?;
        let (entries, over) = rest.as_chunks();
        if !over.is_empty() || entries.len() as u64 != signed.head.count {
            let why = format!(
                "{} bytes of entries, expected {} entries of {ENTRY_LEN}",
                rest.len(),
                signed.head.count
            );
            return Err(Error::Malformed { what: "log", why });
        }
        if Head::of(entries) != signed.head {
            return Err(Error::Digest { what: "log" });
        }
        let entries = entries.to_vec();
        Ok(Self { signed, entries })
    }
}

#[cfg(all(test, feature = "secret"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys() -> OwnerKeys {
        OwnerKeys::from_master([3; 32])
    }

    /// A log of these entries, signed.
    fn log(entries: &[Digest]) -> Log {
        Log {
            signed: SignedHead::sign(Head::of(entries), &keys()),
            entries: entries.to_vec(),
        }
    }

    fn entries(n: u8) -> Vec<Digest> {
        (0..n).map(|at| [at; 32]).collect()
    }

    #[test]
    fn logs_follow_what_they_begin_with_and_nothing_else() {
        let entries = entries(20);
        for seen in 0..=20 {
            let head = Head::of(&entries[..seen]);
            for count in 0..=20 {
                let log = log(&entries[..count]);
                assert_eq!(log.follows(&head).is_ok(), count >= seen, "{seen}, {count}");
                for entry in &entries[..count] {
                    let proof = log.prove(entry, seen as u64);
                    assert_eq!(proof.is_some(), count >= seen);
                    let Some(proof) = proof else { continue };
                    proof.check(entry, None).unwrap();
                    proof.check(entry, Some(&head)).unwrap();
                    assert_eq!((proof.seen(), proof.head()), (seen as u64, log.head()));
                }
                assert!(log.prove(&[99; 32], 0).is_none());
            }
        }
    }

    #[test]
    fn a_fork_of_the_log_is_refused_by_all_of_it_and_by_proofs() {
        let own = entries(12);
        for parted in 0..9 {
            let mut other = own.clone();
            other[parted] = [77; 32];
            let seen = Head::of(&own[..9]);
            let fork = log(&other);
            let refused = fork.follows(&seen);
            assert!(
                matches!(refused, Err(Error::LogFork { found: 12, seen: 9 })),
                "{refused:?}"
            );
            let proof = fork.prove(&other[11], 9).unwrap();
            proof.check(&other[11], None).unwrap();
            let refused = proof.check(&other[11], Some(&seen));
            assert!(matches!(refused, Err(Error::LogFork { .. })), "{refused:?}");
            // Proofs of the one with the head of the other.
            let mixed = LogProof {
                signed: log(&own).signed,
                ..proof
            };
            let refused = mixed.check(&other[11], Some(&seen));
            assert!(matches!(refused, Err(Error::NotLogged)), "{refused:?}");
        }
        // From another length than was seen, from a longer log to a shorter one.
        let proof = log(&own).prove(&own[0], 8).unwrap();
        let seen = Head::of(&own[..9]);
        assert!(matches!(
            proof.check(&own[0], Some(&seen)),
            Err(Error::LogFork { .. })
        ));
        assert!(log(&own[..8]).follows(&seen).is_err());
        assert!(matches!(proof.check(&own[1], None), Err(Error::NotLogged)));
    }

    #[test]
    fn no_byte_of_a_log_or_of_a_proof_can_change() {
        let (entries, public) = (entries(7), keys().public());
        let (log, seen) = (log(&entries), Head::of(&entries[..3]));
        let bytes = log.to_bytes();
        assert_eq!(Log::from_bytes(&bytes, &public).unwrap(), log);
        let proof = log.prove(&entries[5], 3).unwrap().to_bytes();
        assert!(proof.len() < 9000);
        let proved = |bytes: &[u8]| {
            let proof = LogProof::from_bytes(bytes, &public)?;
            proof.check(&entries[5], Some(&seen))
        };
        proved(&proof).unwrap();
        let other = OwnerKeys::from_master([4; 32]).public();
        let refused = Log::from_bytes(&bytes, &other);
        assert!(matches!(refused, Err(Error::LogSignature)), "{refused:?}");
        // Signatures take a while to check: a stride that reaches every field.
        let places = |len: usize| (0..60).chain((60..len).step_by(61)).chain(len - 300..len);
        for at in places(bytes.len()) {
            let mut bent = bytes.clone();
            bent[at] ^= 1 << (at % 8);
            assert!(Log::from_bytes(&bent, &public).is_err(), "byte {at}");
            assert!(Log::from_bytes(&bytes[..at], &public).is_err());
        }
        for at in places(proof.len()) {
            let mut bent = proof.clone();
            bent[at] ^= 1 << (at % 8);
            assert!(proved(&bent).is_err(), "byte {at}");
            assert!(proved(&proof[..at]).is_err());
        }
        let longer = [&bytes[..], &[0; 32]].concat();
        assert!(matches!(
            Log::from_bytes(&longer, &public),
            Err(Error::Malformed { what: "log", .. })
        ));
        // A signature on a head is none on a manifest or on a step of a change.
        let head = log.head().to_bytes();
        let signature = keys().sign_log(&head);
        assert!(public.verify_log(&head, &signature).is_ok());
        assert!(public.verify(&head, &signature).is_err());
        assert!(public.verify_change(&head, &signature).is_err());
        assert!(public.verify_log(&head, &keys().sign(&head)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_bytes_behind_a_good_head_are_refused_or_read(tail in prop::collection::vec(any::<u8>(), 0..300)) {
            let (log, public) = (log(&entries(3)), keys().public());
            let whole = log.to_bytes();
            let head = &whole[..whole.len() - 3 * ENTRY_LEN];
            prop_assert!(Log::from_bytes(&[head, &tail].concat(), &public).is_err());
            let proof = log.prove(&[1; 32], 2).unwrap().to_bytes();
            let proof = LogProof::from_bytes(&[&proof[..8 + HEAD_LEN], &tail].concat(), &public);
            prop_assert!(proof.and_then(|proof| proof.check(&[1; 32], None)).is_err());
        }
    }
}
