//! The slots of what a search found, with payloads and exact vectors: always the same number, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::look;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Fetch, Payloads, Slot, SlotForm};
use sordino_index::wire::Message;
use sordino_pir::{Seed, hintless, simple};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::opener::Opener;
use sordino_vectors::recall::Scored;

use crate::download::Download;
use crate::pir_session::Sessions;
use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::transport::Transport;
use crate::verdict::{Verdict, Wrong};

/// The slots of one version, or the way to them.
pub(crate) struct Client {
    opener: Opener,
    form: SlotForm,
    /// Slots of a request.
    pub(crate) fetched: usize,
    source: Source,
}

enum Source {
    /// All sealed slots.
    Here { records: Vec<u8>, slot_len: usize },
    /// The server.
    There(Retrieval),
}

impl Client {
    /// A client of the manifest's slots, if it has any.
    pub(crate) fn new(
        manifest: &Manifest,
        keys: &ContentKeys,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let places = download.take(&payloads.places.digest)?;
        let opener = Opener::new(manifest, payloads, keys, &places)?;
        let k = manifest.k as usize;
        Ok(Some(Self {
            opener,
            form: payloads.form,
            fetched: payloads.form.fetched(k),
            source: Source::new(payloads, k, sessions, download)?,
        }))
    }

    /// Candidates of a search, if it takes a second look at them.
    pub(crate) fn candidates(&self) -> Option<usize> {
        self.form.look.map(|_| self.fetched)
    }

    /// True if records have payloads.
    pub(crate) fn has_payloads(&self) -> bool {
        self.form.class.is_some()
    }

    /// The slots of `hits`, in their order. The server sees the same number of queries whatever was found, also
    /// where nothing was because an earlier reply was wrong.
    ///
    /// # Errors
    /// The transport's. A slot that is not the owner's is [`Wrong`].
    pub(crate) fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        hits: &[Scored],
    ) -> Result<Verdict<Vec<Slot>>, Error> {
        let places: Vec<Option<u32>> = hits.iter().map(|hit| Some(hit.id)).collect();
        let read = self.read(round, &places)?;
        Ok(read.and_then(|read| {
            let found = read.into_iter().map(|slot| slot.ok_or(Wrong));
            found.collect()
        }))
    }

    /// The second look at candidates: they get the keys of their exact vectors.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn look<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        frame: &Frame,
        asked: &FrameQuery,
        candidates: &[Scored],
    ) -> Result<Verdict<Vec<(Scored, Slot)>>, Error> {
        let slots = self.fetch(round, candidates)?;
        Ok(slots.and_then(|slots| {
            let exact = candidates.iter().zip(slots).map(|(candidate, slot)| {
                let (base, residual) = look::residual(&slot.exact).ok_or(Wrong)?;
                let score = frame.exact_key(asked, base, &residual);
                let id = candidate.id;
                Ok((Scored { id, score }, slot))
            });
            exact.collect()
        }))
    }

    /// The slots of the records in these places, no more than a search fetches; `None` where there is none. The server
    /// sees what a search sends.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn read<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
    ) -> Result<Verdict<Vec<Option<Slot>>>, Error> {
        // A slot is looked up and asked for in the place of every one that is not needed: before the request nothing takes
        // longer where there are more places.
        let slots = self.opener.slots(&padded(places, self.fetched));
        let filler = self.opener.filler();
        let fetched = |slot: Option<u32>| slot.or(filler).unwrap_or(0);
        let asked = slots.iter().map(|slot| fetched(*slot) as usize);
        let asked: Vec<usize> = asked.collect();
        let sealed = match &self.source {
            Source::Here { records, slot_len } => {
                let slots = asked.iter().map(|&slot| {
                    let sealed = records.chunks_exact(*slot_len).nth(slot);
                    sealed.unwrap_or_default().to_vec()
                });
                Ok(slots.collect())
            }
            Source::There(retrieval) => retrieval.fetch(round, Message::FetchPayloads, &asked)?,
        };
        // All are opened, also where none was wanted: a message that follows does not tell by its time how many were.
        Ok(sealed.and_then(|sealed: Vec<Vec<u8>>| {
            let opened = slots.iter().zip(&sealed).map(|(slot, sealed)| {
                let content = self.opener.open(fetched(*slot), sealed);
                // A reader without a key of any slot opens none.
                if filler.is_none() {
                    return Ok(None);
                }
                let content = content.ok_or(Wrong)?;
                Ok(slot.map(|_| content))
            });
            // All are opened before any error is looked at.
            let opened: Vec<Verdict<_>> = opened.collect();
            let mut opened = opened.into_iter().collect::<Verdict<Vec<_>>>()?;
            opened.truncate(places.len());
            Ok(opened)
        }))
    }
}

/// Places filled up to `count`.
fn padded(places: &[Option<u32>], count: usize) -> Vec<Option<u32>> {
    let rest = std::iter::repeat(None);
    places.iter().copied().chain(rest).take(count).collect()
}

impl Source {
    fn new(
        payloads: &Payloads,
        k: usize,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let (simple, hintless) = (payloads.pir_params()?, payloads.hintless_params(k)?);
        Ok(match (&payloads.fetch, simple, hintless) {
            (Fetch::Pir { seed, hint, .. }, Some(params), _) => {
                let hint = simple::Hint::from_bytes(&params, &download.take(hint)?)?;
                let pir = simple::Client::new(&params, &Seed(*seed), &hint)?;
                Self::There(Retrieval::Simple(Box::new(pir)))
            }
            (Fetch::Hintless { seed }, _, Some(params)) => {
                let pir = hintless::Client::new(&params, &Seed(*seed));
                Self::There(Retrieval::Hintless(Box::new(pir), Arc::clone(sessions)))
            }
            _ => Self::Here {
                records: download.take(&payloads.records)?,
                slot_len: payloads.form.sealed_len(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_lookups_does_not_depend_on_what_was_found() {
        for found in 0..=8 {
            let places: Vec<Option<u32>> = (0..found).map(Some).collect();
            let padded = padded(&places, 8);
            assert_eq!(padded.len(), 8);
            assert!(padded.starts_with(&places));
            assert!(padded[places.len()..].iter().all(Option::is_none));
        }
    }
}
