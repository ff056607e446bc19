//! Opening payloads.

use crate::content_key::ContentKey;
use crate::contents::{ContentKeys, split};
use crate::numbers::Numbers;
use crate::order::RowOrder;
use crate::purpose::Purpose;
use crate::seal::Seal;
use sordino_index::Error;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Payloads, Slot, SlotForm};

impl ContentKey {
    /// The order of `slots` slots of payloads: `order.row(slot)` is the rank of its record's place.
    #[must_use]
    pub fn payload_order(&self, payloads: &Payloads, slots: u32) -> RowOrder {
        self.slot_order(&payloads.id, slots)
    }

    /// The cipher of the slots of payloads.
    #[must_use]
    pub fn payload_seal(&self, payloads: &Payloads) -> Seal {
        self.seal(Purpose::Payload, &payloads.id, payloads.version)
    }
}

/// The places, orders and ciphers that payloads are opened with: of all slots that somebody has keys of.
pub struct Opener {
    groups: Vec<Group>,
    form: SlotForm,
    /// The bytes that slots are bound to.
    shape: Vec<u8>,
}

/// Slots under one key.
struct Group {
    /// The first slot.
    first: u32,
    places: Numbers,
    order: RowOrder,
    seal: Seal,
}

impl Group {
    fn has(&self, slot: u32) -> bool {
        let at = slot.checked_sub(self.first);
        at.is_some_and(|at| (at as usize) < self.places.len())
    }

    /// The slots of the records in these places; every place takes as much work as any.
    fn slots(&self, places: &[Option<u32>]) -> Vec<Option<u32>> {
        // For one that is not there the first is looked up.
        let first = self.places.number(0);
        let ranks = places.iter().map(|place| {
            let rank = self.places.rank(place.map_or(first, u64::from));
            place.and(rank)
        });
        let ranks: Vec<Option<u32>> = ranks.collect();
        let known: Vec<u32> = ranks.iter().map(|rank| rank.unwrap_or(0)).collect();
        let slots = self.order.positions(&known);
        let slots = ranks.iter().zip(slots);
        slots
            .map(|(rank, slot)| rank.map(|_| self.first + slot))
            .collect()
    }
}

impl Opener {
    /// An opener of a version's payloads with these keys, by the part that says which slot is whose.
    ///
    /// # Errors
    /// If the places are not what the owner sealed.
    pub fn new(
        manifest: &Manifest,
        payloads: &Payloads,
        keys: &ContentKeys,
        places: &[u8],
    ) -> Result<Self, Error> {
        let all = payloads.groups();
        let mut first = 0;
        let mut groups = Vec::new();
        for (group, places) in all
            .iter()
            .zip(split(places, all.len(), manifest.readers.is_some())?)
        {
            if let Some(key) = keys.get(group.key) {
                groups.push(Group {
                    first,
                    places: key.open_places(payloads, group.slots, places)?,
                    order: key.payload_order(payloads, group.slots),
                    seal: key.payload_seal(payloads),
                });
            }
            first += group.slots;
        }
        Ok(Self {
            groups,
            form: payloads.form,
            shape: payloads.form.shape(),
        })
    }

    /// The slots of the records in these places; `None` for one that is not there, which takes as much work as any.
    #[must_use]
    pub fn slots(&self, places: &[Option<u32>]) -> Vec<Option<u32>> {
        let mut slots = vec![None; places.len()];
        for group in &self.groups {
            for (slot, own) in slots.iter_mut().zip(group.slots(places)) {
                *slot = slot.or(own);
            }
        }
        slots
    }

    /// A slot that can be opened, to be fetched where none is wanted; none if there is no key of any.
    #[must_use]
    pub fn filler(&self) -> Option<u32> {
        self.groups.first().map(|group| group.first)
    }

    /// The content of a slot, if it is what the owner put there and there is a key of it.
    ///
    /// # Security
    /// Does as much for a slot that was changed, but for what a payload is shorter than the longest.
    #[must_use]
    pub fn open(&self, slot: u32, sealed: &[u8]) -> Option<Slot> {
        let group = self.groups.iter().find(|group| group.has(slot))?;
        let Some(plain) = group.seal.open(slot, &self.shape, sealed) else {
            std::hint::black_box(sealed.to_vec());
            return None;
        };
        self.form.strip(&plain)
    }

    /// The content of all slots that there are keys of with their records' places, in order.
    ///
    /// # Errors
    /// If one is not what the owner sealed.
    pub fn open_all(&self, records: &[u8]) -> Result<Vec<(u64, Slot)>, Error> {
        let len = self.form.sealed_len();
        let mut all = Vec::new();
        for group in &self.groups {
            let own = records.chunks_exact(len).skip(group.first as usize);
            for (at, sealed) in (0..).zip(own.take(group.places.len())) {
                let content = self.open(group.first + at, sealed);
                let content = content.ok_or(Error::Malformed {
                    what: "payloads",
                    why: "not sealed with this index's key".to_owned(),
                })?;
                all.push((group.places.number(group.order.row(at)), content));
            }
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
