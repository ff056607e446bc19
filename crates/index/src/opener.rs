//! Opening payloads.

use crate::Error;
use crate::keys::ReaderKeys;
use crate::numbers::Numbers;
use crate::order::RowOrder;
use crate::payload::{Payloads, Slot, SlotForm};
use crate::purpose::Purpose;
use crate::seal::Seal;

impl Payloads {
    /// The order of slots: `order.row(slot)` is the rank of its record's place.
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

/// The places, order and cipher that payloads are opened with.
pub struct Opener {
    places: Numbers,
    order: RowOrder,
    seal: Seal,
    form: SlotForm,
    /// The bytes that slots are bound to.
    shape: Vec<u8>,
}

impl Opener {
    /// # Errors
    /// If the places are not what the owner sealed.
    pub fn new(payloads: &Payloads, keys: &ReaderKeys, places: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            places: keys.open_places(payloads, places)?,
            order: payloads.order(keys),
            seal: payloads.seal(keys),
            form: payloads.form,
            shape: payloads.form.shape(),
        })
    }

    /// The slots of the records in these places; `None` for one that is not there.
    #[must_use]
    pub fn slots(&self, places: &[Option<u32>]) -> Vec<Option<u32>> {
        let rank = |place: &Option<u32>| place.and_then(|place| self.places.rank(place.into()));
        let ranks: Vec<Option<u32>> = places.iter().map(rank).collect();
        let known: Vec<u32> = ranks.iter().map(|rank| rank.unwrap_or(0)).collect();
        let slots = self.order.positions(&known);
        ranks
            .iter()
            .zip(slots)
            .map(|(rank, slot)| rank.map(|_| slot))
            .collect()
    }

    /// The content of a slot, if it is what the owner put there.
    #[must_use]
    pub fn open(&self, slot: u32, sealed: &[u8]) -> Option<Slot> {
        let plain = self.seal.open(slot, &self.shape, sealed)?;
        self.form.strip(&plain)
    }

    /// The content of all slots with their records' places, in order.
    ///
    /// # Errors
    /// If one is not what the owner sealed.
    pub fn open_all(&self, records: &[u8]) -> Result<Vec<(u64, Slot)>, Error> {
        let slots = records.chunks_exact(self.form.sealed_len());
        let mut all = Vec::with_capacity(self.places.len());
        for (slot, sealed) in (0..).zip(slots) {
            let content = self.open(slot, sealed).ok_or(Error::Malformed {
                what: "payloads",
                why: "not sealed with this index's key".to_owned(),
            })?;
            all.push((self.places.number(self.order.row(slot)), content));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(all)
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}
