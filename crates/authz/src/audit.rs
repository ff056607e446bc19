//! A log of decisions that shows whether it was changed: a chain of hashes, a tree over them, and signed heads.
//!
//! An entry holds the principal, the action, the resource, the verdict, and the policies that decided. It does not hold the
//! request's context, so nothing that a caller puts there about a query is logged. The caller stores the entries as bytes where
//! it likes. The log itself keeps 32 bytes of each entry.
//!
//! # Definition
//!
//! | symbol | meaning |
//! |---|---|
//! | `e_i` | entry `i`, from 0: its number, the digest before, and its content |
//! | `d_i` | `derive_key("sordino-authz v1 audit: entry", e_i)`; `d_-1` is 32 zeros |
//! | root | [`sordino_hash::merkle::root`] of `d_0, .., d_(n-1)` |
//! | head | `n`, `d_(n-1)`, the root and a time, signed with ML-DSA-65 |
//!
//! Each entry is stored with its digest behind it, so an error names the entry that a fault in storage has changed. An
//! attacker who changes an entry and computes all digests again contradicts the signed head. The error then says that
//! the entries are not the head's.
//!
//! # Security
//! A head vouches for the entries that were there when it was signed. So sign heads so often that you can bear the loss
//! of the entries after the last one. Keep heads where the log's keeper cannot change them, since a keeper may show an
//! older head with fewer entries. The signing key can rewrite everything; keep it apart from the log's storage.

mod bytes;
mod entry;
mod head;

use sordino_hash::{Hash, derive_key, merkle};

use crate::Error;
use crate::decision::Decision;
use crate::request::Request;
use bytes::Reader;

pub use entry::Entry;
pub use head::{AuditKey, Head};

/// The context of an entry's digest.
const ENTRY: &str = "sordino-authz v1 audit: entry";
/// The largest number of bytes of an entry.
const MOST: usize = 1 << 20;

/// The writing end of a log.
///
/// # Examples
/// ```
/// use sordino_authz::{AuditKey, AuditLog, Authorizer, Engine, Request, Uid};
///
/// let engine = Engine::without_schema("permit(principal, action, resource);", "[]")?;
/// let request = Request::new(Uid::new("Reader", "ann"), Uid::new("Action", "search"), Uid::new("Index", "mail"));
/// let mut log = AuditLog::new();
/// let mut stored = log.append(1_700_000_000_000, &request, &engine.check(&request))?;
/// let key = AuditKey::from_seed(&[7; 32]);
/// let head = log.sign(1_700_000_000_001, &key);
///
/// let entries = head.verify(&stored, &key.public_key())?;
/// assert_eq!(entries[0].principal.id(), "ann");
/// stored[30] ^= 1;
/// assert!(head.verify(&stored, &key.public_key()).is_err());
/// # Ok::<(), sordino_authz::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    digests: Vec<Hash>,
}

impl AuditLog {
    /// An empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the log whose entries are in `stored`, so that it can be continued.
    ///
    /// # Errors
    /// The errors of [`Head::verify`] about entries: they must agree among themselves. Only a head can show that they are all there.
    pub fn open(stored: &[u8]) -> Result<Self, Error> {
        let digests = read(stored)?
            .into_iter()
            .map(|(_, digest)| digest)
            .collect();
        Ok(Self { digests })
    }

    /// Appends an entry, and returns it as bytes, which the caller stores behind the earlier ones. `time` is in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the request's names and the decision are longer than a MiB; the log then stays unchanged.
    pub fn append(
        &mut self,
        time: u64,
        request: &Request<'_>,
        decision: &Decision,
    ) -> Result<Vec<u8>, Error> {
        let entry = Entry::new(time, request, decision);
        let mut bytes = entry.write(self.digests.len() as u64, &self.last());
        crate::error::at_most("bytes of an audit entry", bytes.len(), MOST)?;
        let digest = digest(&bytes[4..]);
        bytes.extend_from_slice(digest.as_bytes());
        self.digests.push(digest);
        Ok(bytes)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// True if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Signs a head for the entries so far. This hashes all their digests: about 20 ms for a million.
    #[must_use]
    pub fn sign(&self, time: u64, key: &AuditKey) -> Head {
        let root = merkle::root(&self.digests);
        Head::sign(self.digests.len() as u64, self.last(), root, time, key)
    }

    /// The proof that the log's next head covers entry `index`. `None` if the log has no such entry.
    #[must_use]
    pub fn prove(&self, index: usize) -> Option<merkle::Proof> {
        merkle::Tree::new(&self.digests).prove(index)
    }

    fn last(&self) -> [u8; 32] {
        self.digests
            .last()
            .map_or([0; 32], |digest| *digest.as_bytes())
    }
}

fn digest(entry: &[u8]) -> Hash {
    // The length that precedes the entry is not hashed: the entry's own parts fix it.
    derive_key(ENTRY, entry).into()
}

/// Reads stored entries, and checks that each is whole, in its place, and linked to the one before.
fn read(stored: &[u8]) -> Result<Vec<(Entry, Hash)>, Error> {
    let mut entries: Vec<(Entry, Hash)> = Vec::new();
    let mut rest = stored;
    while !rest.is_empty() {
        let expected = entries.len() as u64;
        let (body, stored_digest, tail) = split(rest).ok_or(Error::AuditCut { entry: expected })?;
        let found = digest(body);
        let altered = Error::AuditAltered { entry: expected };
        if *found.as_bytes() != *stored_digest {
            return Err(altered);
        }
        let (entry, number, before) = Entry::read(&mut Reader::new(body))?;
        let link = entries
            .last()
            .map_or([0; 32], |(_, digest)| *digest.as_bytes());
        match number.cmp(&expected) {
            core::cmp::Ordering::Less => {
                return Err(Error::AuditReordered {
                    entry: number,
                    place: expected,
                });
            }
            core::cmp::Ordering::Greater => return Err(missing(expected, tail)),
            core::cmp::Ordering::Equal if link != before => return Err(altered),
            core::cmp::Ordering::Equal => entries.push((entry, found)),
        }
        rest = tail;
    }
    Ok(entries)
}

/// The error for an entry that is not in its place: the entry is stored later, or is missing.
fn missing(entry: u64, tail: &[u8]) -> Error {
    let (mut rest, mut place) = (tail, entry);
    while let Some((body, _, tail)) = split(rest) {
        place += 1;
        let number = Reader::new(body).number();
        if number == Ok(entry) {
            return Error::AuditReordered { entry, place };
        }
        rest = tail;
    }
    Error::AuditRemoved { entry }
}

/// Splits `stored` into its first entry, the entry's digest, and the remaining bytes.
fn split(stored: &[u8]) -> Option<(&[u8], &[u8; 32], &[u8])> {
    let (len, rest) = stored.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let (body, rest) = rest.split_at_checked(len).filter(|_| len <= MOST)?;
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    Some((body, digest, rest))
}

/// The Merkle root of the digests of all entries.
fn root(entries: &[(Entry, Hash)]) -> Hash {
    let digests: Vec<Hash> = entries.iter().map(|(_, digest)| *digest).collect();
    merkle::root(&digests)
}
