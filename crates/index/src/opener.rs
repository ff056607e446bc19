//! Opening payloads.

use crate::Error;
use crate::ids::IdSet;
use crate::keys::ReaderKeys;
use crate::order::RowOrder;
use crate::payload::{Class, Payloads};
use crate::purpose::Purpose;
use crate::seal::Seal;

impl Payloads {
    /// The place of each record: `order.row(slot)` is its rank among the ids.
    #[must_use]
    pub fn order(&self, keys: &ReaderKeys) -> RowOrder {
        keys.slot_order(&self.id, self.slots)
    }

    /// The cipher of the slots.
    #[must_use]
    pub fn seal(&self, keys: &ReaderKeys) -> Seal {
        keys.seal(Purpose::Payload, &self.id, self.version)
    }
}

/// The ids, order and cipher that payloads are opened with.
pub struct Opener {
    ids: IdSet,
    order: RowOrder,
    seal: Seal,
    class: Class,
}

impl Opener {
    /// # Errors
    /// If the ids are not what the owner sealed.
    pub fn new(payloads: &Payloads, keys: &ReaderKeys, ids: &[u8]) -> Result<Self, Error> {
        let (id, version) = (&payloads.id, payloads.version);
        Ok(Self {
            ids: keys.open_id_set(id, version, payloads.slots, ids)?,
            order: payloads.order(keys),
            seal: payloads.seal(keys),
            class: payloads.class,
        })
    }

    /// The slots of these records; `None` for one that is not there.
    #[must_use]
    pub fn slots(&self, ids: &[u32]) -> Vec<Option<u32>> {
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
    #[must_use]
    pub fn open(&self, slot: u32, sealed: &[u8]) -> Option<Vec<u8>> {
        let plain = self.seal.open(slot, &[self.class.log2()], sealed)?;
        self.class.strip(&plain)
    }

    /// All payloads with their records' ids, in the order of ids.
    ///
    /// # Errors
    /// If one is not what the owner sealed.
    pub fn open_all(&self, records: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, Error> {
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

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}
