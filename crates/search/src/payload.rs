//! Payloads: what a record carries beside its vector, fetched after a search without telling which.
//!
//! All payloads of an index are padded to one class and sealed, one record to a slot. Slots are in a
//! secret order of the records that are there, and are written anew with every version that changes
//! them. A client that has ranked its hits asks for exactly as many slots as the manifest's `k`, in
//! one message, by private information retrieval; slots that it needs not are asked for as well.
//! Where everything is no more to download than a hint and a session's queries, it is downloaded
//! once, and nothing is asked.

use rand_core::CryptoRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sordino_pir::plan::Candidate;
use sordino_pir::{Database, Params, Seed, simple};

use crate::Error;
use crate::ids::IdSet;
use crate::index::digest;
use crate::keys::ReaderKeys;
use crate::manifest::{Coded, Digest, Part};
use crate::order::RowOrder;
use crate::recall::number;
use crate::seal::{Seal, TAG_LEN};
use crate::segment::Scribe;

/// Bytes of a payload's length, which stands before it.
const LEN_LEN: usize = 4;

/// Searches of a client in one version, where the owner says nothing else.
const QUERIES: u64 = 100;

/// The size that all payloads of an index are padded to: a power of two.
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

    /// Whether it is one of the classes.
    pub(crate) fn exists(self) -> bool {
        (Self::MIN..=Self::MAX).contains(&self)
    }

    /// The class of slots of `2^log2` bytes, whether or not there is such a class.
    #[cfg(test)]
    pub(crate) fn from_log2(log2: u8) -> Self {
        Self(log2)
    }

    /// A payload in its slot's form.
    fn pad(self, payload: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(1 << self.0);
        plain.extend(number(payload.len()).to_le_bytes());
        plain.extend_from_slice(payload);
        plain.resize(1 << self.0, 0);
        plain
    }

    /// The payload in a slot.
    fn strip(self, plain: &[u8]) -> Option<Vec<u8>> {
        let (len, rest) = plain.split_first_chunk::<LEN_LEN>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        rest.get(..len).map(<[u8]>::to_vec)
    }
}

/// How clients get at payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetch {
    /// All slots are downloaded once.
    Download,
    /// As many slots as a search has results, by private information retrieval.
    Pir {
        /// Slots of a column of the PIR matrix.
        per_column: u32,
        /// The seed of the PIR matrix A.
        seed: [u8; 32],
        /// The digest of the hint.
        hint: Digest,
    },
}

/// The payloads of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payloads {
    /// Random and bound to the content, as a segment's id is: the keys are derived from it.
    pub id: [u8; 16],
    /// The version of the index that they were written for.
    pub version: u64,
    /// Slots: one for each record that is there.
    pub slots: u32,
    /// The size of a slot.
    pub class: Class,
    /// How clients get at them.
    pub fetch: Fetch,
    /// The digest of all slots, one after the other.
    pub records: Digest,
    /// The ids of the records that are there, sealed: they say which slot is whose.
    pub ids: Coded,
}

impl Payloads {
    /// Bytes of all slots.
    pub(crate) fn records_len(&self) -> usize {
        self.slots as usize * self.class.sealed_len()
    }

    /// Whether it is one of the parts of these payloads.
    pub(crate) fn has(&self, part: &Part) -> bool {
        let hint = match &self.fetch {
            Fetch::Pir { hint, .. } => Some(hint),
            Fetch::Download => None,
        };
        let all = [Some(&self.records), Some(&self.ids.digest), hint];
        all.contains(&Some(&part.digest))
    }

    /// The PIR parameters, if slots are fetched.
    pub(crate) fn pir_params(&self) -> Result<Option<Params>, Error> {
        let Fetch::Pir { per_column, .. } = self.fetch else {
            return Ok(None);
        };
        let (slots, len) = (self.slots as usize, self.class.sealed_len());
        let security = sordino_pir::Security::default();
        let params = Params::with_layout(slots, len, per_column as usize, security)?;
        Ok(Some(params))
    }

    /// The place of each record: `order.row(slot)` is its rank among the ids.
    pub(crate) fn order(&self, keys: &ReaderKeys) -> RowOrder {
        keys.slot_order(&self.id, self.slots)
    }

    fn seal(&self, keys: &ReaderKeys) -> Seal {
        keys.seal("payload", &self.id, self.version)
    }
}

/// Payloads as they are stored, with their hint and the record ids.
pub(crate) struct Written {
    pub(crate) payloads: Payloads,
    pub(crate) records: Vec<u8>,
    pub(crate) ids: Vec<u8>,
    pub(crate) hint: Option<Vec<u8>>,
}

/// The cheapest way to fetch `k` of so many slots at a time: a layout of the PIR, or `None` to
/// download them all.
pub(crate) fn cheapest(slots: usize, class: Class, k: usize) -> Result<Option<Params>, Error> {
    let fetched = QUERIES * k as u64;
    let plan = sordino_pir::plan::Plan::new(slots, class.sealed_len(), fetched)?;
    let costs = plan.costs().iter();
    let single = costs.filter(|cost| !matches!(cost.candidate, Candidate::Double(_)));
    let cheapest = single.min_by_key(|cost| cost.total);
    Ok(match cheapest.map(|cost| cost.candidate) {
        Some(Candidate::Simple(params)) => Some(params),
        _ => None,
    })
}

impl Scribe<'_> {
    /// Writes payloads, one for each of `ids` and in their order, in the cheapest way to fetch `k` at a
    /// time.
    ///
    /// # Errors
    /// [`Error::Payload`] if one is longer than the class, or the PIR's own.
    pub(crate) fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        ids: &IdSet,
        payloads: &[&[u8]],
        class: Class,
        k: usize,
    ) -> Result<Written, Error> {
        assert_eq!(ids.len(), payloads.len(), "a payload for each record");
        let most = class.capacity();
        if let Some(long) = payloads.iter().find(|payload| payload.len() > most) {
            return Err(Error::Payload {
                found: long.len(),
                most,
            });
        }
        let words = payloads.iter().flat_map(|payload| {
            let (words, rest) = payload.as_chunks();
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            let words = words.iter().copied().chain([last]).map(u32::from_le_bytes);
            std::iter::once(number(payload.len())).chain(words)
        });
        let id = self.id(rng, &format!("payloads {class:?}"), ids, words);
        let reader = self.reader();
        let mut written = Payloads {
            id,
            version: self.version(),
            slots: number(ids.len()),
            class,
            fetch: Fetch::Download,
            records: [0; 32],
            ids: Coded::default(),
        };
        let (order, seal) = (written.order(reader), written.seal(reader));
        let records: Vec<u8> = (0..written.slots)
            .into_par_iter()
            .flat_map_iter(|slot| {
                let plain = class.pad(payloads[order.row(slot) as usize]);
                seal.seal(slot, &[class.0], &plain)
            })
            .collect();
        let sealed_ids = self.sealed_ids(&id, ids);
        written.records = digest(&records);
        written.ids = Coded::of(&sealed_ids);

        let mut hint = None;
        if let Some(params) = cheapest(ids.len(), class, k)? {
            let seed = Seed::random(rng);
            let database = Database::from_slice(&params, &records)?;
            let (_, made) = simple::Server::setup(database, &params, &seed)?;
            let made = made.to_bytes();
            written.fetch = Fetch::Pir {
                per_column: number(params.per_column()),
                seed: seed.0,
                hint: digest(&made),
            };
            hint = Some(made);
        }
        Ok(Written {
            payloads: written,
            records,
            ids: sealed_ids,
            hint,
        })
    }
}

/// What opens payloads.
pub(crate) struct Opener {
    ids: IdSet,
    order: RowOrder,
    seal: Seal,
    class: Class,
}

impl Opener {
    /// # Errors
    /// If the ids are not what the owner sealed.
    pub(crate) fn new(payloads: &Payloads, keys: &ReaderKeys, ids: &[u8]) -> Result<Self, Error> {
        let (id, version) = (&payloads.id, payloads.version);
        Ok(Self {
            ids: keys.open_id_set(id, version, payloads.slots, ids)?,
            order: payloads.order(keys),
            seal: payloads.seal(keys),
            class: payloads.class,
        })
    }

    /// The slots of these records; `None` for one that is not there.
    pub(crate) fn slots(&self, ids: &[u32]) -> Vec<Option<u32>> {
        let ranks: Vec<Option<u32>> = ids.iter().map(|&id| self.ids.rank(id)).collect();
        let known: Vec<u32> = ranks.iter().map(|rank| rank.unwrap_or(0)).collect();
        let slots = self.order.positions(&known);
        ranks
            .iter()
            .zip(slots)
            .map(|(rank, slot)| rank.map(|_| slot))
            .collect()
    }

    /// The payload in a slot, if it is the one that the owner put there.
    pub(crate) fn open(&self, slot: u32, sealed: &[u8]) -> Option<Vec<u8>> {
        let plain = self.seal.open(slot, &[self.class.0], sealed)?;
        self.class.strip(&plain)
    }

    /// All payloads with their records' ids, in the order of ids.
    ///
    /// # Errors
    /// If one is not what the owner sealed.
    pub(crate) fn open_all(&self, records: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, Error> {
        let slots = records.chunks_exact(self.class.sealed_len());
        let mut all = Vec::with_capacity(self.ids.len());
        for (slot, sealed) in (0..).zip(slots) {
            let payload = self.open(slot, sealed).ok_or(Error::Malformed {
                what: "payloads",
                why: "not sealed with this index's key".to_owned(),
            })?;
            all.push((self.ids.id(self.order.row(slot)), payload));
        }
        all.sort_by_key(|(id, _)| *id);
        Ok(all)
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
            let plain = class.pad(&payload);
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
