//! Writing payloads.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::digest::{self, Coded};
use sordino_index::payload::{Class, Fetch, Payloads, Slot, SlotForm, SlotGroup};
use sordino_pir::{Database, Seed, simple};
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::joined;
use sordino_vault::numbers::Numbers;
use sordino_vault::purpose::Purpose;
use sordino_vectors::u32_of;

use crate::binding::Content;
use crate::plan::Way;
use crate::segment::{SegmentWriter, bound};

/// Payloads as they are stored, with their hint and their records' places.
pub(crate) struct WrittenPayloads {
    pub(crate) payloads: Payloads,
    pub(crate) records: Vec<u8>,
    pub(crate) places: Vec<u8>,
    pub(crate) hint: Option<Vec<u8>>,
}

/// Slots under one content key: one for each of `places`, and in their order.
pub(crate) struct Slots {
    pub(crate) number: u32,
    pub(crate) key: ContentKey,
    pub(crate) places: Numbers,
    pub(crate) slots: Vec<Slot>,
}

impl SegmentWriter<'_> {
    /// Writes slots by content key, in the way that is cheapest to fetch for a client that makes `searches` searches of `k`
    /// results. `own` is true of an index with readers of its own.
    ///
    /// # Errors
    /// [`Error::Payload`] if a payload is longer than the class, or the PIR's own.
    pub(crate) fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        mut groups: Vec<Slots>,
        own: bool,
        form: SlotForm,
        k: usize,
        searches: u64,
    ) -> Result<WrittenPayloads, Error> {
        let most = form.class.map_or(0, Class::capacity);
        let mut all = groups.iter().flat_map(|group| &group.slots);
        if let Some(long) = all.find(|slot| slot.payload.len() > most) {
            return Err(Error::Payload {
                found: long.payload.len(),
                most,
            });
        }
        let slots: usize = groups.iter().map(|group| group.slots.len()).sum();
        let (mut written, codes) = self.named(rng, &groups, own, form);
        let shape = form.shape();
        // Slots may be a megabyte each: they are sealed where they stay, and contents are let go of before their copy in a
        // database is made.
        let len = form.sealed_len();
        let mut records = vec![0; slots * len];
        let (mut rest, mut first) = (&mut records[..], 0);
        for group in &mut groups {
            let n = u32_of(group.slots.len());
            assert_eq!(group.places.len(), n as usize, "a slot for each record");
            let key = &group.key;
            let (order, seal) = (key.payload_order(&written, n), key.payload_seal(&written));
            let (own, after) = rest.split_at_mut(group.slots.len() * len);
            (0..n)
                .into_par_iter()
                .zip(own.par_chunks_exact_mut(len))
                .for_each(|(slot, sealed)| {
                    let Slot { exact, payload } = &group.slots[order.row(slot) as usize];
                    let plain = form.fill(exact, payload);
                    sealed.copy_from_slice(&seal.seal(first + slot, &shape, &plain));
                });
            drop(std::mem::take(&mut group.slots));
            (rest, first) = (after, first + n);
        }
        let sealed = groups.iter().zip(codes).map(|(group, code)| {
            let writer = self.under(group.number, group.key.clone());
            writer.sealed(Purpose::Ids, &written.id, code)
        });
        let sealed_places = joined(sealed.collect(), own);
        written.records = digest::of(&records);
        written.places = Coded::of(&sealed_places);

        let mut hint = None;
        match Way::cheapest(slots, form, k, searches)? {
            Way::Download => {}
            // Drawn after the records are sealed: no one can fit them to it.
            Way::Hintless(_) => {
                let seed = Seed::random(rng).0;
                written.fetch = Fetch::Hintless { seed };
            }
            Way::Simple(params) => {
                let seed = Seed::random(rng);
                let database = Database::from_slice(&params, &records)?;
                let (_, made) = simple::Server::setup(database, &params, &seed)?;
                let made = made.to_bytes();
                written.fetch = Fetch::Pir {
                    per_column: u32_of(params.per_column()),
                    seed: seed.0,
                    hint: digest::of(&made),
                };
                hint = Some(made);
            }
        }
        Ok(WrittenPayloads {
            payloads: written,
            records,
            places: sealed_places,
            hint,
        })
    }

    /// Payloads by an id that is bound to all of their content, and the codes of places.
    fn named<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        groups: &[Slots],
        own: bool,
        form: SlotForm,
    ) -> (Payloads, Vec<Vec<u8>>) {
        let codes = groups.iter().map(|group| {
            let mut code = Vec::new();
            group.places.write(&mut code);
            code
        });
        let codes: Vec<Vec<u8>> = codes.collect();
        let slots = groups.iter().flat_map(|group| &group.slots);
        let words = slots.flat_map(|slot| words(&slot.exact).chain(words(&slot.payload)));
        let numbers = groups.iter().map(|group| group.number);
        let bound = bound(numbers.zip(&codes), own);
        let id = self.id(rng, &Content::Payloads(form), &bound, words);
        let slots: usize = groups.iter().map(|group| group.slots.len()).sum();
        let mut payloads = Payloads::new(id, self.version(), u32_of(slots), form);
        if own {
            let groups = groups.iter().map(|group| SlotGroup {
                key: group.number,
                slots: u32_of(group.slots.len()),
            });
            payloads.groups = groups.collect();
        }
        (payloads, codes)
    }
}

/// Bytes as words, their number before them.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().copied().chain([last]).map(u32::from_le_bytes);
    std::iter::once(u32_of(bytes.len())).chain(words)
}
