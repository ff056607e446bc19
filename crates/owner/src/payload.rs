//! Writing payloads.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::digest::{self, Coded};
use sordino_index::numbers::Numbers;
use sordino_index::payload::{Class, Fetch, Payloads};
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
    /// Writes payloads, one for each of `places` and in their order, in the cheapest way to fetch `k` at a
    /// time in so many searches.
    ///
    /// # Errors
    /// [`Error::Payload`] if one is longer than the class, or the PIR's own.
    pub(crate) fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        places: &Numbers,
        payloads: &[&[u8]],
        class: Class,
        (k, searches): (usize, u64),
    ) -> Result<WrittenPayloads, Error> {
        assert_eq!(places.len(), payloads.len(), "a payload for each record");
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
            std::iter::once(u32_of(payload.len())).chain(words)
        });
        let mut code = Vec::new();
        places.write(&mut code);
        let id = self.id(rng, &Content::Payloads(class), &code, words);
        let reader = self.reader();
        let mut written = Payloads::new(id, self.version(), u32_of(places.len()), class);
        let (order, seal) = (written.order(reader), written.seal(reader));
        let records: Vec<u8> = (0..written.slots)
            .into_par_iter()
            .flat_map_iter(|slot| {
                let plain = class.fill(payloads[order.row(slot) as usize]);
                seal.seal(slot, &[class.log2()], &plain)
            })
            .collect();
        let sealed_places = self.sealed(Purpose::Ids, &id, code);
        written.records = digest::of(&records);
        written.places = Coded::of(&sealed_places);

        let mut hint = None;
        match Way::cheapest(places.len(), class, k, searches)? {
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
