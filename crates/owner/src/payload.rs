//! Writing payloads.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::digest::{self, Coded};
use sordino_index::numbers::Numbers;
use sordino_index::payload::{Class, Fetch, Payloads, Slot, SlotForm};
use sordino_index::purpose::Purpose;
use sordino_pir::{Database, Seed, simple};
use sordino_vectors::u32_of;

use crate::binding::Content;
use crate::plan::Way;
use crate::segment::SegmentWriter;

/// Payloads as they are stored, with their hint and their records' places.
pub(crate) struct WrittenPayloads {
    pub(crate) payloads: Payloads,
    pub(crate) records: Vec<u8>,
    pub(crate) places: Vec<u8>,
    pub(crate) hint: Option<Vec<u8>>,
}

impl SegmentWriter<'_> {
    /// Writes slots of these contents, one for each of `places` and in their order, in the cheapest way to fetch those of
    /// a search of `k` results in so many searches.
    ///
    /// # Errors
    /// [`Error::Payload`] if a payload is longer than the class, or the PIR's own.
    pub(crate) fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        places: &Numbers,
        slots: Vec<Slot>,
        form: SlotForm,
        (k, searches): (usize, u64),
    ) -> Result<WrittenPayloads, Error> {
        assert_eq!(places.len(), slots.len(), "a slot for each record");
        let most = form.class.map_or(0, Class::capacity);
        if let Some(long) = slots.iter().find(|slot| slot.payload.len() > most) {
            return Err(Error::Payload {
                found: long.payload.len(),
                most,
            });
        }
        let words = slots
            .iter()
            .flat_map(|slot| words(&slot.exact).chain(words(&slot.payload)));
        let mut code = Vec::new();
        places.write(&mut code);
        let id = self.id(rng, &Content::Payloads(form), &code, words);
        let reader = self.reader();
        let mut written = Payloads::new(id, self.version(), u32_of(places.len()), form);
        let shape = form.shape();
        let (order, seal) = (written.order(reader), written.seal(reader));
        // Slots may be a megabyte each: they are sealed where they stay, and the contents are let go of before their copy
        // in a database is made.
        let mut records = vec![0; slots.len() * form.sealed_len()];
        let sealed = records.par_chunks_exact_mut(form.sealed_len());
        (0..written.slots)
            .into_par_iter()
            .zip(sealed)
            .for_each(|(slot, sealed)| {
                let Slot { exact, payload } = &slots[order.row(slot) as usize];
                sealed.copy_from_slice(&seal.seal(slot, &shape, &form.fill(exact, payload)));
            });
        drop(slots);
        let sealed_places = self.sealed(Purpose::Ids, &id, code);
        written.records = digest::of(&records);
        written.places = Coded::of(&sealed_places);

        let mut hint = None;
        match Way::cheapest((places.len(), form), k, searches)? {
            Way::Download => {}
            // Drawn behind the records, which are sealed: nobody can fit them to it.
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
}

/// Bytes as words, their number before them.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().copied().chain([last]).map(u32::from_le_bytes);
    std::iter::once(u32_of(bytes.len())).chain(words)
}
