//! Payloads: what a record carries beside its vector, fetched after a search without telling which.
//!
//! All payloads of an index are filled up to one class and sealed, one record to a slot. Slots are in a
//! secret order of the records that are there, and are rewritten with every version that changes
//! them. A client that has ranked its hits asks for exactly the manifest's `k` slots, in
//! one message, by private information retrieval; slots that it needs not are asked for as well.
//! Retrieval needs a hint, which is downloaded once, or keys, which go up with every message: a client
//! that comes once has nothing to download then. Where everything is no more to download than these and a
//! session's queries, it is downloaded once, and nothing is asked.
//!
//! Slots hold the records' exact vectors too where searches have a [second look](crate::look): then a client asks for the
//! slots of all candidates, whose number the manifest names, and ranks them.

use serde::{Deserialize, Serialize};
use sordino_pir::hintless;
use sordino_pir::simple::Params;

use crate::digest::{Coded, Digest};
use crate::look::SecondLook;
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

/// The form of an index's slots: payloads, exact vectors, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotForm {
    /// The size that payloads are filled up to, if records have payloads.
    pub class: Option<Class>,
    /// The second look, if searches have one.
    pub look: Option<SecondLook>,
}

/// The content of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The code of the record's vector; empty without a second look.
    pub exact: Vec<u8>,
    /// Its payload; empty where records have none.
    pub payload: Vec<u8>,
}

impl SlotForm {
    /// Slots of payloads alone.
    #[must_use]
    pub fn of_payloads(class: Class) -> Self {
        Self {
            class: Some(class),
            look: None,
        }
    }

    /// True if slots hold something, payloads of one of the classes.
    #[must_use]
    pub fn exists(&self) -> bool {
        let some = self.class.is_some() || self.look.is_some();
        some && self.class.is_none_or(Class::exists)
    }

    /// Bytes of a sealed slot.
    #[must_use]
    pub fn sealed_len(&self) -> usize {
        let payload = self.class.map_or(0, |class| 1 << class.0);
        self.vector_len() + payload + TAG_LEN
    }

    /// Bytes of an exact vector and of the longest payload.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.vector_len() + self.class.map_or(0, Class::capacity)
    }

    /// Slots that a search of `k` results fetches.
    #[must_use]
    pub fn fetched(&self, k: usize) -> usize {
        self.look.map_or(k, |look| look.candidates as usize)
    }

    /// The bytes that every slot's seal is bound to.
    #[must_use]
    pub fn shape(&self) -> Vec<u8> {
        let mut shape = vec![self.class.map_or(0, Class::log2)];
        shape.extend(self.look.iter().flat_map(|look| look.width.to_le_bytes()));
        shape
    }

    /// A record in its slot's form.
    #[must_use]
    pub fn fill(&self, exact: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut plain = exact.to_vec();
        plain.extend(self.class.iter().flat_map(|class| class.fill(payload)));
        plain
    }

    /// The record in a slot.
    #[must_use]
    pub fn strip(&self, plain: &[u8]) -> Option<Slot> {
        let (exact, rest) = plain.split_at_checked(self.vector_len())?;
        let payload = match self.class {
            Some(class) => class.strip(rest)?,
            None => Vec::new(),
        };
        Some(Slot {
            exact: exact.to_vec(),
            payload,
        })
    }

    fn vector_len(&self) -> usize {
        self.look.map_or(0, SecondLook::vector_len)
    }
}

/// A way for clients to get at payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetch {
    /// All slots are downloaded once.
    Download,
    /// Each slot of a search, by private information retrieval; [`SlotForm::fetched`] has their number.
    Pir {
        /// Slots of a column of the PIR matrix.
        per_column: u32,
        /// The seed of the PIR matrix A.
        seed: [u8; 32],
        /// The digest of the hint.
        hint: Digest,
    },
    /// By private information retrieval without a hint: all slots of a search in one query.
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
    /// The content of a slot.
    pub form: SlotForm,
    /// The way for clients to get at them.
    pub fetch: Fetch,
    /// The digest of all slots, one after the other.
    pub records: Digest,
    /// The places of the records that are there, sealed: they say which slot is whose. A record's place is
    /// its row, after those of all segments before its own.
    pub places: Coded,
    /// The content keys that slots are under, if the index has readers of its own: those of one key follow one another.
    #[serde(skip)]
    pub groups: Vec<SlotGroup>,
}

/// Slots under one content key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotGroup {
    /// The number of the key.
    pub key: u32,
    /// Slots: those after the groups before.
    pub slots: u32,
}

impl Payloads {
    /// Payloads that are downloaded: the digests are zeros, to be filled in.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, slots: u32, form: SlotForm) -> Self {
        Self {
            id,
            version,
            slots,
            form,
            fetch: Fetch::Download,
            records: [0; 32],
            places: Coded::default(),
            groups: Vec::new(),
        }
    }

    /// The keys that slots are under: one key, or those of an index with readers of its own.
    #[must_use]
    pub fn groups(&self) -> Vec<SlotGroup> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        let (key, slots) = (crate::SHARED, self.slots);
        vec![SlotGroup { key, slots }]
    }

    /// Bytes of all slots.
    #[must_use]
    pub(crate) fn records_len(&self) -> usize {
        self.slots as usize * self.form.sealed_len()
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

    /// The layout of retrieval without a hint, of all slots of a search of `k` results at once, if they are fetched so.
    ///
    /// # Errors
    /// If no layout serves slots of this number or length.
    pub fn hintless_params(&self, k: usize) -> Result<Option<hintless::Params>, Error> {
        let Fetch::Hintless { .. } = self.fetch else {
            return Ok(None);
        };
        let (slots, len) = (self.slots as usize, self.form.sealed_len());
        let fetched = self.form.fetched(k);
        Ok(Some(hintless::Params::new(slots, len, fetched)?))
    }

    /// The PIR parameters, if slots are fetched with a hint.
    ///
    /// # Errors
    /// If no parameter set serves slots of this number or length in this layout.
    pub fn pir_params(&self) -> Result<Option<Params>, Error> {
        let Fetch::Pir { per_column, .. } = self.fetch else {
            return Ok(None);
        };
        let (slots, len) = (self.slots as usize, self.form.sealed_len());
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
            assert_eq!(
                plain.len() + TAG_LEN,
                SlotForm::of_payloads(class).sealed_len()
            );
            assert_eq!(class.strip(&plain).unwrap(), payload);
        }
        let error = Class::of(Class::MAX.capacity() + 1).unwrap_err();
        assert!(matches!(error, Error::Payload { .. }));
        // A length that its slot has no room for.
        assert_eq!(Class::MIN.strip(&[13, 0, 0, 0].repeat(4)), None);
        assert_eq!(Class::MIN.strip(&[1, 0]), None);
    }

    #[test]
    fn a_slot_holds_a_vector_a_payload_or_both() {
        let look = SecondLook {
            candidates: 32,
            width: 3,
        };
        let (exact, payload) = ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], *b"bytes");
        let classes = [None, Some(Class::MIN), Some(Class::of(100).unwrap())];
        let mut shapes = std::collections::BTreeSet::new();
        for class in classes {
            for look in [None, Some(look), Some(SecondLook { width: 4, ..look })] {
                let form = SlotForm { class, look };
                assert!(shapes.insert(form.shape()));
                assert_eq!(form.exists(), class.is_some() || look.is_some());
                if look.is_some_and(|look| look.width == 4) {
                    continue;
                }
                let exact = if look.is_some() { &exact[..] } else { &[] };
                let payload = if class.is_some() { &payload[..] } else { &[] };
                let plain = form.fill(exact, payload);
                assert_eq!(plain.len() + TAG_LEN, form.sealed_len());
                let slot = form.strip(&plain).unwrap();
                assert_eq!((&slot.exact[..], &slot.payload[..]), (exact, payload));
                assert_eq!(form.fetched(10), if look.is_some() { 32 } else { 10 });
                if look.is_some() {
                    assert_eq!(form.strip(&plain[..5]), None);
                }
            }
        }
    }
}
