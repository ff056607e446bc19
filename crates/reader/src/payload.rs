//! Payloads of what a search found: always as many slots, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::keys::ReaderKeys;
use sordino_index::manifest::Manifest;
use sordino_index::opener::Opener;
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::Message;
use sordino_pir::{Seed, hintless, simple};
use sordino_vectors::recall::Scored;

use crate::checked::{Checked, Wrong};
use crate::download::Download;
use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::session::Sessions;
use crate::transport::Transport;

/// The payloads of one version, or the way to them.
pub(crate) struct Client {
    opener: Opener,
    source: Source,
}

enum Source {
    /// All sealed slots.
    Here { records: Vec<u8>, slot_len: usize },
    /// The server.
    There(Retrieval),
}

impl Client {
    /// A client of the manifest's payloads, if it has any.
    pub(crate) fn new(
        manifest: &Manifest,
        keys: &ReaderKeys,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let places = download.take(&payloads.places.digest)?;
        let opener = Opener::new(payloads, keys, &places)?;
        let source = Source::new(payloads, manifest.k as usize, sessions, download)?;
        Ok(Some(Self { opener, source }))
    }

    /// The payloads of `hits`, in their order. The server sees `k` queries whatever was found, also
    /// where nothing was because an earlier reply was wrong.
    ///
    /// # Errors
    /// The transport's. A payload that is not the owner's is [`Wrong`].
    pub(crate) fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        hits: &[Scored],
        k: usize,
    ) -> Result<Checked<Vec<Vec<u8>>>, Error> {
        let places: Vec<Option<u32>> = hits.iter().map(|hit| Some(hit.id)).collect();
        let read = self.read(round, &places, k)?;
        Ok(read.and_then(|read| {
            let found = read.into_iter().map(|payload| payload.ok_or(Wrong));
            found.collect()
        }))
    }

    /// The payloads of the records in at most `k` places, `None` where there is none. The server sees what a search for `k` sends.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn read<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
        k: usize,
    ) -> Result<Checked<Vec<Option<Vec<u8>>>>, Error> {
        let slots = self.opener.slots(places);
        // A slot is asked for in the place of every one that is not needed.
        let asked = slots.iter().map(|slot| slot.unwrap_or(0) as usize);
        let mut asked: Vec<usize> = asked.collect();
        asked.resize(k, 0);
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
        Ok(sealed.and_then(|sealed: Vec<Vec<u8>>| {
            let opened = slots.iter().zip(&sealed).map(|(slot, sealed)| {
                let open = |slot| self.opener.open(slot, sealed).ok_or(Wrong);
                slot.map(open).transpose()
            });
            opened.collect()
        }))
    }
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
                slot_len: payloads.class.sealed_len(),
            },
        })
    }
}
