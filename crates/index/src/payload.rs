//! Payloads: what a record carries beside its vector, fetched after a search without telling which.
//!
//! All payloads of an index are filled up to one class and sealed, one record to a slot. Slots are in a
//! secret order of the records that are there, and are written anew with every version that changes
//! them. A client that has ranked its hits asks for exactly as many slots as the manifest's `k`, in
//! one message, by private information retrieval; slots that it needs not are asked for as well.
//! Retrieval needs a hint, which is downloaded once, or keys, which go up with every message: a client
//! that comes once has nothing to download then. Where everything is no more to download than these and a
//! session's queries, it is downloaded once, and nothing is asked.

use serde::{Deserialize, Serialize};
use sordino_pir::{Params, hintless};

use crate::digest::{Coded, Digest};
use crate::{Error, TAG_LEN};
use sordino_vectors::u32_of;

/// Bytes of a payload's length, which stands before it.
const LEN_LEN: usize = 4;

/// The size that all payloads of an index are filled up to: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Class(u8);

impl Class {
    /// The smallest class.
    pub const MIN: Self = Self(4);

    /// The largest class.
    pub const MAX: Self = Self(20);

    /// The smallest class that holds payloads of `len` bytes.
    ///
    /// # Errors
    /// [`Error::Payload`] if none does.
    pub fn of(len: usize) -> Result<Self, Error> {
        let all = Self::MIN.0..=Self::MAX.0;
        let class = all.map(Self).find(|class| len <= class.capacity());
        class.ok_or(Error::Payload {
            found: len,
            most: Self::MAX.capacity(),
        })
    }

    /// The logarithm of a slot's bytes to base 2.
    #[must_use]
    pub fn log2(self) -> u8 {
        self.0
    }

    /// Bytes of the longest payload.
    #[must_use]
    pub fn capacity(self) -> usize {
        (1 << self.0) - LEN_LEN
    }

    /// Bytes of a sealed slot.
    #[must_use]
    pub fn sealed_len(self) -> usize {
        (1 << self.0) + TAG_LEN
    }

    /// True if it is one of the classes.
    #[must_use]
    pub fn exists(self) -> bool {
        (Self::MIN..=Self::MAX).contains(&self)
    }

    /// The class of slots of `2^log2` bytes, whether or not there is such a class.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn from_log2(log2: u8) -> Self {
        Self(log2)
    }

    /// A payload in its slot's form.
    #[must_use]
    pub fn fill(self, payload: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(1 << self.0);
        plain.extend(u32_of(payload.len()).to_le_bytes());
        plain.extend_from_slice(payload);
        plain.resize(1 << self.0, 0);
        plain
    }

    /// The payload in a slot.
    #[must_use]
    pub fn strip(self, plain: &[u8]) -> Option<Vec<u8>> {
        let (len, rest) = plain.split_first_chunk::<LEN_LEN>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        rest.get(..len).map(<[u8]>::to_vec)
    }
}

/// A way for clients to get at payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetch {
    /// All slots are downloaded once.
    Download,
    /// One slot for each result of a search, by private information retrieval.
    Pir {
        /// Slots of a column of the PIR matrix.
        per_column: u32,
        /// The seed of the PIR matrix A.
        seed: [u8; 32],
        /// The digest of the hint.
        hint: Digest,
    },
    /// By private information retrieval without a hint: as many slots as a search has results, in one query.
    Hintless {
        /// The seed of the pads and of the slots of requests.
        seed: [u8; 32],
    },
}

/// The payloads of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Payloads {
    /// Random and bound to the content, as a segment's id is: the keys are derived from it.
    pub id: [u8; 16],
    /// The version of the index that they were written for.
    pub version: u64,
    /// Slots: one for each record that is there.
    pub slots: u32,
    /// The size of a slot.
    pub class: Class,
    /// The way for clients to get at them.
    pub fetch: Fetch,
    /// The digest of all slots, one after the other.
    pub records: Digest,
    /// The places of the records that are there, sealed: they say which slot is whose. A record's place is
    /// its row, after those of all segments before its own.
    pub places: Coded,
}

impl Payloads {
    /// Payloads that are downloaded: the digests are zeros, to be filled in.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, slots: u32, class: Class) -> Self {
        Self {
            id,
            version,
            slots,
            class,
            fetch: Fetch::Download,
            records: [0; 32],
            places: Coded::default(),
        }
    }

    /// Bytes of all slots.
    #[must_use]
    pub(crate) fn records_len(&self) -> usize {
        self.slots as usize * self.class.sealed_len()
    }

    /// True of the digests of these payloads' parts.
    #[must_use]
    pub fn has(&self, part: &Digest) -> bool {
        let hint = match &self.fetch {
            Fetch::Pir { hint, .. } => Some(hint),
            Fetch::Download | Fetch::Hintless { .. } => None,
        };
        let all = [Some(&self.records), Some(&self.places.digest), hint];
        all.contains(&Some(part))
    }

    /// The layout of retrieval without a hint, `k` slots at once, if they are fetched so.
    ///
    /// # Errors
    /// If no layout serves so many or so long slots.
    pub fn hintless_params(&self, k: usize) -> Result<Option<hintless::Params>, Error> {
        let Fetch::Hintless { .. } = self.fetch else {
            return Ok(None);
        };
        let (slots, len) = (self.slots as usize, self.class.sealed_len());
        Ok(Some(hintless::Params::new(slots, len, k)?))
    }

    /// The PIR parameters, if slots are fetched with a hint.
    ///
    /// # Errors
    /// If no parameter set serves so many or so long slots in this layout.
    pub fn pir_params(&self) -> Result<Option<Params>, Error> {
        let Fetch::Pir { per_column, .. } = self.fetch else {
            return Ok(None);
        };
        let (slots, len) = (self.slots as usize, self.class.sealed_len());
        let security = sordino_pir::Security::default();
        let params = Params::with_layout(slots, len, per_column as usize, security)?;
        Ok(Some(params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_it_says_and_gives_it_back() {
        for len in [0, 1, 12, 13, 28, 29, 1000, Class::MAX.capacity()] {
            let class = Class::of(len).unwrap();
            assert!(len <= class.capacity() && class.exists());
            assert!(class == Class::MIN || len > Class(class.0 - 1).capacity());
            let payload: Vec<u8> = (0..len).map(|at| at.to_le_bytes()[0]).collect();
            let plain = class.fill(&payload);
            assert_eq!(plain.len() + TAG_LEN, class.sealed_len());
            assert_eq!(class.strip(&plain).unwrap(), payload);
        }
        let error = Class::of(Class::MAX.capacity() + 1).unwrap_err();
        assert!(matches!(error, Error::Payload { .. }));
        // A length that its slot has no room for.
        assert_eq!(Class::MIN.strip(&[13, 0, 0, 0].repeat(4)), None);
        assert_eq!(Class::MIN.strip(&[1, 0]), None);
    }
}
