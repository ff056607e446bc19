//! Signed heads of a log.

use sordino_hash::{Hash, merkle};
use sordino_mldsa::ml_dsa::{self, SigningKey, signature::Keypair};
use sordino_mldsa::{ExpandedKey, Message, MlDsa65, Params};

use super::{Entry, digest, read, root, split};
use crate::Error;

/// The first bytes of a head, including its format version.
const MAGIC: &[u8; 8] = b"SRDAUH\0\x01";
/// The number of signed bytes: magic, number, last digest, root, time.
const SIGNED: usize = 8 + 8 + 32 + 32 + 8;
/// The context of the signature (FIPS 204, 5.2).
const CONTEXT: &[u8] = b"sordino audit 1";

/// The ML-DSA-65 key that signs heads.
pub struct AuditKey(SigningKey<ml_dsa::MlDsa65>);

impl AuditKey {
    /// Makes the key from a secret seed, which a cryptographic generator must have made. The caller erases its copy of the seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let mut array = (*seed).into();
        let key = SigningKey::from_seed(&array);
        zeroize::Zeroize::zeroize(&mut array);
        Self(key)
    }

    /// The public key: 1,952 bytes.
    #[must_use]
    pub fn public_key(&self) -> Vec<u8> {
        self.0.verifying_key().encode().to_vec()
    }
}

impl core::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AuditKey").finish_non_exhaustive()
    }
}

/// A signed statement about all entries of a log up to a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    count: u64,
    last: [u8; 32],
    root: Hash,
    time: u64,
    signature: Vec<u8>,
}

impl Head {
    pub(super) fn sign(count: u64, last: [u8; 32], root: Hash, time: u64, key: &AuditKey) -> Self {
        let signature = Vec::new();
        let mut head = Self {
            count,
            last,
            root,
            time,
            signature,
        };
        let signed = key
            .0
            .expanded_key()
            .sign_deterministic(&head.statement(), CONTEXT);
        head.signature = signed
            .expect("a context of less than 256 bytes")
            .encode()
            .to_vec();
        head
    }

    /// The number of entries that the head covers.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time in the head, in milliseconds since 1970.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The head as 3,397 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.statement();
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    /// Reads a head. [`Self::verify`] and [`Self::verify_one`] check its signature.
    ///
    /// # Errors
    /// [`Error::AuditForm`] if its length is not a head's, or it does not begin as one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let length = Error::AuditForm {
            what: "length of a head",
        };
        let (statement, signature) = bytes.split_first_chunk::<SIGNED>().ok_or(length.clone())?;
        if signature.len() != MlDsa65::SIGNATURE_LEN {
            return Err(length);
        }
        let mut reader = super::Reader::new(statement);
        if reader.take()? != MAGIC {
            return Err(Error::AuditForm {
                what: "magic bytes",
            });
        }
        Ok(Self {
            count: reader.number()?,
            last: *reader.take()?,
            root: Hash::from_bytes(*reader.take()?),
            time: reader.number()?,
            signature: signature.to_vec(),
        })
    }

    /// Returns the entries in `stored`, if this head was signed for exactly these entries.
    ///
    /// # Errors
    /// [`Error::AuditSignature`] for a head that `public_key` did not sign. [`Error::AuditAltered`] if an entry was changed,
    /// [`Error::AuditRemoved`] if one is missing, and [`Error::AuditReordered`] if one is not in its place.
    /// [`Error::AuditCut`] if the bytes end within an entry. [`Error::AuditTruncated`] or [`Error::AuditUnsigned`] if there
    /// are fewer or more entries than the head covers. [`Error::AuditForm`] if the bytes are not entries.
    /// [`Error::AuditHead`] if the entries agree among themselves but not with the head.
    pub fn verify(&self, stored: &[u8], public_key: &[u8]) -> Result<Vec<Entry>, Error> {
        self.verify_signature(public_key)?;
        let entries = read(stored)?;
        let (found, signed) = (entries.len() as u64, self.count);
        match found.cmp(&signed) {
            core::cmp::Ordering::Less => return Err(Error::AuditTruncated { found, signed }),
            core::cmp::Ordering::Greater => return Err(Error::AuditUnsigned { found, signed }),
            core::cmp::Ordering::Equal => {}
        }
        let last = entries
            .last()
            .map_or([0; 32], |(_, digest)| *digest.as_bytes());
        if last != self.last || root(&entries) != self.root {
            return Err(Error::AuditHead);
        }
        Ok(entries.into_iter().map(|(entry, _)| entry).collect())
    }

    /// Returns one entry, as [`AuditLog::append`](super::AuditLog::append) gave it, if the proof shows that this head covers the
    /// entry at that number.
    ///
    /// # Errors
    /// - [`Error::AuditSignature`] if `public_key` did not sign the head
    /// - [`Error::AuditForm`] if `stored` is not one entry
    /// - [`Error::AuditAltered`] if the entry was changed
    /// - [`Error::AuditProof`] if the proof is not of this entry, its number and this head
    pub fn verify_one(
        &self,
        stored: &[u8],
        proof: &merkle::Proof,
        public_key: &[u8],
    ) -> Result<Entry, Error> {
        self.verify_signature(public_key)?;
        let corrupt = Error::AuditForm { what: "entry" };
        let (body, stored_digest, rest) = split(stored).ok_or(corrupt.clone())?;
        if !rest.is_empty() {
            return Err(corrupt);
        }
        let (entry, number, _) = Entry::read(&mut super::Reader::new(body))?;
        let found = digest(body);
        if found.as_bytes() != stored_digest {
            return Err(Error::AuditAltered { entry: number });
        }
        let fits = proof.index() == number && proof.count() == self.count;
        if !fits || proof.verify(&self.root, &found).is_err() {
            return Err(Error::AuditProof { entry: number });
        }
        Ok(entry)
    }

    fn statement(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&self.last);
        bytes.extend_from_slice(self.root.as_bytes());
        bytes.extend_from_slice(&self.time.to_le_bytes());
        bytes
    }

    fn verify_signature(&self, public_key: &[u8]) -> Result<(), Error> {
        let key =
            ExpandedKey::<MlDsa65>::from_bytes(public_key).map_err(|_| Error::AuditSignature)?;
        let message = self.statement();
        let (message, context) = (message.as_slice(), CONTEXT);
        let message = Message::Pure { message, context };
        key.verify(message, &self.signature)
            .map_err(|_| Error::AuditSignature)
    }
}
