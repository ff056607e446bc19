//! A log of manifests: every version of every index that an owner has published, in that order, in a tree that only
//! grows. With the log, or short proofs from it, a program can check that a server shows it the same versions as
//! everyone else.
//!
//! ```text
//! entry   index: 16 bytes | version: 8 | digest of the signed manifest before: 32 | digest of the signed manifest: 32
//! head    number of entries: 8 bytes | root of their tree: 32 bytes | the owner's signature on both
//! file    head of a file | head | entries
//! ```
//!
//! The tree is `sordino_hash::merkle`, of RFC 9162's shape. Its leaves are digests of the entries, under their own
//! context. The owner signs heads under a different context.
//!
//! The entries of one index are a chain: each has a higher version than the one before, and names its manifest. The
//! first may be of any version. After the first no version is left out, since the next entry would name a missing one.
//! A log with an entry outside its chain can be neither made nor read. So no log that a reader has read as a whole has
//! two manifests of one version. A reader that remembers a head accepts only logs that begin with its entries. Two
//! readers can compare heads, or their short form, and see if a server showed them different logs.

mod entry;
mod head;
mod proof;

use sordino_hash::merkle;

use crate::SignedManifest;
use crate::pin::Pin;
use crate::public_key::{OwnerPublicKey, OwnerSigner};
use crate::wire::{LOG, LOG_PROOF, file_head, strip_file_head};
use crate::{Error, LogFault};

pub use entry::Entry;
use entry::{ENTRY_LEN, Lines, leaves};
pub use head::Head;
use head::SignedHead;
pub use proof::LogProof;

/// A log with its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    signed: SignedHead,
    entries: Vec<Entry>,
}

impl Log {
    /// A log without entries.
    #[must_use]
    pub fn new(owner: &impl OwnerSigner) -> Self {
        Self {
            signed: SignedHead::sign(Head::of(&[]), owner),
            entries: Vec::new(),
        }
    }

    /// Appends versions that the log lacks, in this order, and signs the new head. Returns their number. After an error
    /// the log is unchanged.
    ///
    /// # Errors
    /// [`LogFault::Line`] if a version does not follow from the last logged one of its index. It may differ from a
    /// logged manifest of the same version, belong to another branch, or leave out versions.
    pub fn append<'a>(
        &mut self,
        versions: impl IntoIterator<Item = &'a SignedManifest>,
        owner: &impl OwnerSigner,
    ) -> Result<usize, Error> {
        let mut lines = Lines::of(&self.entries)?;
        let mut entries = self.entries.clone();
        let mut known: std::collections::HashSet<Entry> = entries.iter().copied().collect();
        for version in versions {
            let entry = Entry::of(version);
            if known.insert(entry) {
                lines.add(entry)?;
                entries.push(entry);
            }
        }
        let appended = entries.len() - self.entries.len();
        self.signed = SignedHead::sign(Head::of(&entries), owner);
        self.entries = entries;
        Ok(appended)
    }

    /// The head, which a reader remembers.
    #[must_use]
    pub fn head(&self) -> Head {
        self.signed.head
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Refuses a version that is not in the log, or that is not the log's newest of its index.
    ///
    /// # Errors
    /// [`LogFault::NotLogged`] if the version is not in the log; [`LogFault::Behind`] if the log has a newer one of its
    /// index.
    pub fn check(&self, version: &Pin) -> Result<(), Error> {
        if !self.entries.iter().any(|entry| entry.is(version)) {
            return Err(Error::Log(LogFault::NotLogged));
        }
        let mut line = self.entries.iter().rev();
        match line.find(|entry| entry.index == version.index) {
            Some(newest) if newest.version > version.version => Err(Error::Log(LogFault::Behind {
                found: version.version,
                logged: newest.version,
            })),
            _ => Ok(()),
        }
    }

    /// Refuses a log that does not begin with the entries of an earlier head.
    ///
    /// # Errors
    /// [`LogFault::Rollback`] if the log is shorter. [`LogFault::Fork`] if one of these entries differs.
    pub fn follows(&self, seen: &Head) -> Result<(), Error> {
        let head = self.head();
        let count = usize::try_from(seen.count).unwrap_or(usize::MAX);
        match self.entries.get(..count) {
            Some(entries) if Head::of(entries) == *seen => Ok(()),
            Some(_) => Err(head.fork(seen)),
            None => Err(head.rollback(seen)),
        }
    }

    /// The proof that a version is in the log, and that the log begins with its first `seen` entries. `None` if the
    /// version is not in the log, or the log has fewer entries.
    #[must_use]
    pub fn prove(&self, version: &Pin, seen: u64) -> Option<LogProof> {
        let index = self.entries.iter().position(|entry| entry.is(version))?;
        let tree = merkle::Tree::new(&leaves(&self.entries));
        Some(LogProof {
            signed: self.signed.clone(),
            entry: self.entries[index],
            inclusion: tree.prove(index)?,
            extension: tree.prove_extension(usize::try_from(seen).ok()?)?,
        })
    }

    /// The log as a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = file_head(LOG);
        bytes.extend(self.signed.to_bytes());
        bytes.extend(self.entries.iter().flat_map(|entry| entry.to_bytes()));
        bytes
    }

    /// Reads a log, and checks its signature, its root and the chain of each index.
    ///
    /// # Errors
    /// - [`Error::Malformed`] if the form is wrong
    /// - [`Error::FormatVersion`] if the format's version is not supported
    /// - [`LogFault::Signature`] if the head is not signed by `owner`
    /// - [`Error::Digest`] if the entries are not the head's
    /// - [`LogFault::Line`] if the owner signed two histories of an index
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let body = strip_file_head(LOG, bytes)?;
        let (signed, rest) = SignedHead::split("log", body, owner)?;
        let (entries, over) = rest.as_chunks::<ENTRY_LEN>();
        if !over.is_empty() || entries.len() as u64 != signed.head.count {
            let why = format!(
                "{} bytes of entries, expected {} entries of {ENTRY_LEN}",
                rest.len(),
                signed.head.count
            );
            return Err(Error::Malformed { what: "log", why });
        }
        let entries: Vec<Entry> = entries.iter().map(Entry::from_bytes).collect();
        if Head::of(&entries) != signed.head {
            return Err(Error::Digest { what: "log" });
        }
        Lines::of(&entries)?;
        Ok(Self { signed, entries })
    }
}

/// A file for readers: a whole log, or a proof from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFile {
    /// The whole log.
    Log(Log),
    /// A proof.
    Proof(LogProof),
}

impl LogFile {
    /// Reads a log or a proof, depending on the file's head.
    ///
    /// # Errors
    /// The errors of [`LogProof::from_bytes`] for a file of that kind, and of [`Log::from_bytes`] for all others.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let (kind, _) = LOG_PROOF;
        if bytes.get(6..8) == Some(&kind.to_le_bytes()[..]) {
            LogProof::from_bytes(bytes, owner).map(Self::Proof)
        } else {
            Log::from_bytes(bytes, owner).map(Self::Log)
        }
    }

    /// The head, which a reader remembers after the checks.
    #[must_use]
    pub fn head(&self) -> Head {
        match self {
            Self::Log(log) => log.head(),
            Self::Proof(proof) => proof.head(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{Coded, Digest};
    use crate::manifest::{FramePart, Local, Manifest, Mode};
    use crate::metric::Metric;
    use crate::public_key::TestOwner;
    use proptest::prelude::*;

    fn keys() -> TestOwner {
        TestOwner([3; 32])
    }

    /// A signed log of these entries, even if no log may have them.
    fn log(entries: &[Entry]) -> Log {
        Log {
            signed: SignedHead::sign(Head::of(entries), &keys()),
            entries: entries.to_vec(),
        }
    }

    /// Consecutive versions of an index, from version `first` on.
    fn line(index: u8, first: u64, n: u8) -> Vec<Entry> {
        let digest =
            |at: u8| -> Digest { std::array::from_fn(|byte| if byte == 0 { index } else { at }) };
        let entry = |at: u8| Entry {
            index: [index; 16],
            version: first + u64::from(at),
            previous: digest(at),
            manifest: digest(at + 1),
        };
        (0..n).map(entry).collect()
    }

    fn pin(entry: &Entry) -> Pin {
        Pin {
            index: entry.index,
            version: entry.version,
            manifest: entry.manifest,
        }
    }

    #[test]
    fn logs_follow_what_they_begin_with_and_nothing_else() {
        let entries = line(1, 1, 20);
        for seen in 0..=20 {
            let head = Head::of(&entries[..seen]);
            for count in 0..=20 {
                let log = log(&entries[..count]);
                assert_eq!(log.follows(&head).is_ok(), count >= seen, "{seen}, {count}");
                for entry in &entries[..count] {
                    let proof = log.prove(&pin(entry), seen as u64);
                    assert_eq!(proof.is_some(), count >= seen);
                    let Some(proof) = proof else { continue };
                    proof.check(&pin(entry), None).unwrap();
                    proof.check(&pin(entry), Some(&head)).unwrap();
                    assert_eq!((proof.seen(), proof.head()), (seen as u64, log.head()));
                    assert_eq!(proof.entry(), entry);
                }
                assert!(log.prove(&pin(&line(2, 1, 1)[0]), 0).is_none());
            }
        }
    }

    #[test]
    fn a_fork_of_the_log_is_refused_by_all_of_it_and_by_proofs() {
        let own = line(1, 1, 12);
        let last = pin(&own[11]);
        for parted in 0..9 {
            let mut other = own.clone();
            other[parted].manifest = [77; 32];
            let seen = Head::of(&own[..9]);
            let fork = log(&other);
            let refused = fork.follows(&seen);
            assert!(
                matches!(
                    refused,
                    Err(Error::Log(LogFault::Fork { found: 12, seen: 9 }))
                ),
                "{refused:?}"
            );
            let proof = fork.prove(&last, 9).unwrap();
            proof.check(&last, None).unwrap();
            let refused = proof.check(&last, Some(&seen));
            assert!(
                matches!(refused, Err(Error::Log(LogFault::Fork { .. }))),
                "{refused:?}"
            );
            // Two heads of the same length need no proof: their roots show the fork.
            let proof = fork.prove(&last, 4).unwrap();
            let refused = proof.check(&last, Some(&Head::of(&own)));
            assert!(
                matches!(
                    refused,
                    Err(Error::Log(LogFault::Fork {
                        found: 12,
                        seen: 12
                    }))
                ),
                "{refused:?}"
            );
            // A proof from one log is refused with the head of the other.
            let mixed = LogProof {
                signed: log(&own).signed,
                ..proof
            };
            let refused = mixed.check(&last, Some(&seen));
            assert!(
                matches!(refused, Err(Error::Log(LogFault::NotLogged))),
                "{refused:?}"
            );
        }
        // A reader who has seen a longer log refuses a shorter one.
        let (seen, short) = (Head::of(&own[..9]), log(&own[..8]));
        let older = |refused| {
            matches!(
                refused,
                Err(Error::Log(LogFault::Rollback { found: 8, seen: 9 }))
            )
        };
        assert!(older(short.follows(&seen)));
        let first = pin(&own[0]);
        assert!(older(
            short.prove(&first, 8).unwrap().check(&first, Some(&seen))
        ));
        let proof = log(&own).prove(&first, 8).unwrap();
        assert!(matches!(
            proof.check(&pin(&own[1]), None),
            Err(Error::Log(LogFault::NotLogged))
        ));
    }

    /// A proof is refused if it was made for a reader who has seen a different length.
    #[test]
    fn an_honest_proof_from_another_length_is_no_fork() {
        let entries = line(1, 1, 12);
        let (log, version) = (log(&entries), pin(&entries[3]));
        for from in (0..=12).filter(|&from| from != 9) {
            let proof = log.prove(&version, from).unwrap();
            let refused = proof.check(&version, Some(&Head::of(&entries[..9])));
            match refused {
                Err(Error::Log(LogFault::ProofFrom {
                    from: found,
                    seen: 9,
                })) => assert_eq!(found, from),
                other => panic!("{other:?}"),
            }
            // A reader who has seen this head needs no proof of extension.
            proof.check(&version, Some(&log.head())).unwrap();
        }
    }

    /// All fields of a version are bound: the log does not have it under another number, index or manifest.
    #[test]
    fn a_version_is_logged_as_all_that_it_is() {
        let entries = line(1, 5, 4);
        let (log, entry) = (log(&entries), entries[2]);
        let version = pin(&entry);
        let proof = log.prove(&version, 0).unwrap();
        let others = [
            Pin {
                index: [2; 16],
                ..version
            },
            Pin {
                version: 6,
                ..version
            },
            Pin {
                manifest: entry.previous,
                ..version
            },
        ];
        for other in others {
            assert!(log.prove(&other, 0).is_none());
            assert!(matches!(
                log.check(&other),
                Err(Error::Log(LogFault::NotLogged))
            ));
            assert!(matches!(
                proof.check(&other, None),
                Err(Error::Log(LogFault::NotLogged))
            ));
            // A proof that claims such an entry is refused, too.
            let (index, number) = (other.index, other.version);
            let claimed = Entry {
                index,
                version: number,
                manifest: other.manifest,
                ..entry
            };
            let claimed = LogProof {
                entry: claimed,
                ..proof.clone()
            };
            assert!(matches!(
                claimed.check(&other, None),
                Err(Error::Log(LogFault::NotLogged))
            ));
        }
        let claimed = Entry {
            previous: [0; 32],
            ..entry
        };
        let claimed = LogProof {
            entry: claimed,
            ..proof
        };
        assert!(claimed.check(&version, None).is_err());
    }

    /// The owner can sign such a log, but no reader of the whole log accepts it.
    #[test]
    fn one_head_does_not_cover_two_histories() {
        let public = keys().public();
        let read = |entries: &[Entry]| Log::from_bytes(&log(entries).to_bytes(), &public);
        let (own, other) = (line(1, 3, 5), line(2, 1, 4));
        let mut both = own.clone();
        both.splice(2..2, other.iter().copied());
        assert_eq!(read(&both).unwrap().entries(), both);
        let last = own[4];
        let wrong = [
            // A second manifest of a version, with the right predecessor and with a wrong one.
            Entry {
                manifest: [7; 32],
                ..last
            },
            Entry {
                manifest: [7; 32],
                previous: last.manifest,
                ..last
            },
            Entry {
                manifest: [7; 32],
                ..own[1]
            },
            // The same entry a second time.
            last,
            // A newer version that does not follow.
            Entry { version: 8, ..last },
            Entry {
                version: 8,
                previous: own[3].manifest,
                manifest: [7; 32],
                ..last
            },
            Entry {
                version: 9,
                previous: [0; 32],
                manifest: [7; 32],
                ..last
            },
        ];
        for entry in wrong {
            let refused = read(&[&both[..], &[entry]].concat());
            assert!(
                matches!(refused, Err(Error::Log(LogFault::Line { logged: 7, version, .. })) if version == entry.version),
                "{entry:?}: {refused:?}"
            );
        }
        let gap = read(&[&own[..2], &own[3..]].concat());
        assert!(
            matches!(
                gap,
                Err(Error::Log(LogFault::Line {
                    version: 6,
                    logged: 4,
                    ..
                }))
            ),
            "{gap:?}"
        );
    }

    fn manifest(version: u64, previous: Digest, dim: u32) -> SignedManifest {
        let frame = FramePart::new([0; 16], 1, crate::SHARED, Coded::default());
        let mode = Mode::Local(Local::new(crate::code::Codec::Int8));
        let mut manifest = Manifest::new(
            dim,
            10,
            crate::IdKind::Number,
            Metric::Cosine,
            [0; 32],
            frame,
            mode,
        );
        (manifest.index, manifest.version, manifest.previous) = ([9; 16], version, previous);
        SignedManifest::sign(manifest, &keys())
    }

    #[test]
    fn what_is_appended_follows_from_what_is_logged() {
        let first = manifest(1, [0; 32], 16);
        let second = manifest(2, first.digest(), 16);
        // A number may be left out if no version has it. A version may not be left out.
        let fourth = manifest(4, second.digest(), 16);
        let mut log = Log::new(&keys());
        assert_eq!(log.append([&first, &second], &keys()).unwrap(), 2);
        let before = log.clone();
        let other = manifest(2, first.digest(), 17);
        let branch = manifest(3, other.digest(), 16);
        for wrong in [
            &other,
            &branch,
            &manifest(3, first.digest(), 16),
            &manifest(2, second.digest(), 16),
        ] {
            let refused = log.append([&first, &second, &fourth, wrong], &keys());
            assert!(
                matches!(refused, Err(Error::Log(LogFault::Line { logged: 4, .. }))),
                "{refused:?}"
            );
            assert!(matches!(
                log.append([wrong], &keys()),
                Err(Error::Log(LogFault::Line { logged: 2, .. }))
            ));
            assert_eq!(log, before);
        }
        assert_eq!(
            log.append([&first, &second, &fourth, &fourth], &keys())
                .unwrap(),
            1
        );
        assert_eq!(log.append([&fourth, &second], &keys()).unwrap(), 0);
        assert_eq!(
            Log::from_bytes(&log.to_bytes(), &keys().public()).unwrap(),
            log
        );
        log.check(&Pin::of(&fourth)).unwrap();
        let behind = log.check(&Pin::of(&second));
        assert!(
            matches!(
                behind,
                Err(Error::Log(LogFault::Behind {
                    found: 2,
                    logged: 4
                }))
            ),
            "{behind:?}"
        );
        // A log may begin with any version.
        let mut later = Log::new(&keys());
        assert_eq!(later.append([&second, &fourth], &keys()).unwrap(), 2);
        assert!(later.append([&first], &keys()).is_err());
    }

    #[test]
    fn no_byte_of_a_log_or_of_a_proof_can_change() {
        let (entries, public) = (line(1, 1, 7), keys().public());
        let (log, seen) = (log(&entries), Head::of(&entries[..3]));
        let bytes = log.to_bytes();
        assert_eq!(Log::from_bytes(&bytes, &public).unwrap(), log);
        let version = pin(&entries[5]);
        let proof = log.prove(&version, 3).unwrap().to_bytes();
        assert!(proof.len() < 9000);
        let proved = |bytes: &[u8]| match LogFile::from_bytes(bytes, &public)? {
            LogFile::Proof(proof) => proof.check(&version, Some(&seen)),
            LogFile::Log(_) => panic!("all of a log"),
        };
        proved(&proof).unwrap();
        let whole = LogFile::from_bytes(&bytes, &public).unwrap();
        assert_eq!(
            (whole.head(), whole),
            (log.head(), LogFile::Log(log.clone()))
        );
        let other = TestOwner([4; 32]).public();
        let refused = Log::from_bytes(&bytes, &other);
        assert!(
            matches!(refused, Err(Error::Log(LogFault::Signature))),
            "{refused:?}"
        );
        // Checking signatures is slow, so the test takes a stride that still reaches every field.
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
        // A wrong proof is not accepted as a log.
        let longer = LogFile::from_bytes(&[&proof[..], &[0; 32]].concat(), &public);
        assert!(
            matches!(
                longer,
                Err(Error::Malformed {
                    what: "log proof",
                    ..
                })
            ),
            "{longer:?}"
        );
        let longer = Log::from_bytes(&[&bytes[..], &[0; 88]].concat(), &public);
        assert!(matches!(longer, Err(Error::Malformed { what: "log", .. })));
        // A signature on a head is not valid for a manifest or for a step of a change.
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
            let (entries, public) = (line(1, 1, 3), keys().public());
            let log = log(&entries);
            let whole = log.to_bytes();
            let head = &whole[..whole.len() - 3 * ENTRY_LEN];
            prop_assert!(Log::from_bytes(&[head, &tail].concat(), &public).is_err());
            let version = pin(&entries[1]);
            let proof = log.prove(&version, 2).unwrap().to_bytes();
            let proof = LogProof::from_bytes(&[&proof[..8 + head::HEAD_LEN], &tail].concat(), &public);
            prop_assert!(proof.and_then(|proof| proof.check(&version, None)).is_err());
        }
    }
}
