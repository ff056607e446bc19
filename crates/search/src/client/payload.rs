//! Payloads of what a search found: always as many slots, in one message.

use rand_core::CryptoRng;
use sordino_pir::{Seed, simple};

use super::download::Download;
use crate::Error;
use crate::keys::ReaderKeys;
use crate::manifest::Manifest;
use crate::payload::{Fetch, Opener, Payloads};
use crate::recall::Scored;
use crate::transport::Transport;
use crate::wire::{Edition, Message, message_len};

/// The payloads of one version, or the way to them.
pub(super) struct Client {
    opener: Opener,
    source: Source,
}

enum Source {
    /// All sealed slots.
    Here { records: Vec<u8>, slot_len: usize },
    /// The server.
    Pir(Box<simple::Client>),
}

impl Client {
    /// A client of the manifest's payloads, if it has any.
    pub(super) fn new(
        manifest: &Manifest,
        keys: &ReaderKeys,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let ids = download.take(&payloads.ids.digest)?;
        let opener = Opener::new(payloads, keys, &ids)?;
        let source = Source::new(payloads, download)?;
        Ok(Some(Self { opener, source }))
    }

    /// The payloads of `hits`, in their order. The server sees `k` queries whatever was found, also
    /// where nothing was because an earlier reply was wrong.
    ///
    /// # Errors
    /// The transport's at once. [`Error::Search`] if a payload is not the owner's, after the message.
    pub(super) fn fetch<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        hits: &[Scored],
        k: usize,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let ids: Vec<u32> = hits.iter().map(|hit| hit.id).collect();
        let slots = self.opener.slots(&ids);
        // A slot is asked for in the place of every one that is not needed.
        let mut asked: Vec<u32> = slots.iter().map(|slot| slot.unwrap_or(0)).collect();
        asked.resize(k, 0);
        let sealed = match &self.source {
            Source::Here { records, slot_len } => {
                let slots = asked.iter().map(|&slot| {
                    let sealed = records.chunks_exact(*slot_len).nth(slot as usize);
                    sealed.unwrap_or_default().to_vec()
                });
                slots.collect()
            }
            Source::Pir(pir) => fetched(pir, rng, transport, edition, &asked)?,
        };
        let opened = slots.iter().zip(&sealed).map(|(slot, sealed)| {
            let payload = slot.and_then(|slot| self.opener.open(slot, sealed));
            payload.ok_or(Error::Search)
        });
        opened.collect()
    }
}

impl Source {
    fn new(payloads: &Payloads, download: &mut Download) -> Result<Self, Error> {
        let params = payloads.pir_params()?;
        let (Fetch::Pir { seed, hint, .. }, Some(params)) = (&payloads.fetch, params) else {
            return Ok(Self::Here {
                records: download.take(&payloads.records)?,
                slot_len: payloads.class.sealed_len(),
            });
        };
        let hint = simple::Hint::from_bytes(&params, &download.take(hint)?)?;
        let pir = simple::Client::new(&params, &Seed(*seed), &hint)?;
        Ok(Self::Pir(Box::new(pir)))
    }
}

/// The sealed slots, by one query each.
fn fetched<R: CryptoRng + ?Sized>(
    pir: &simple::Client,
    rng: &mut R,
    transport: &mut impl Transport,
    edition: Edition,
    slots: &[u32],
) -> Result<Vec<Vec<u8>>, Error> {
    let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
    let (secrets, queries) = pir.query_batch(rng, &slots)?;
    let queries: Vec<_> = queries.iter().map(simple::Query::to_bytes).collect();
    let body = queries.concat();
    let params = pir.params();
    let len = slots.len() * params.answer_len();
    let request = Message::FetchPayloads.about(edition, &body);
    let reply = transport.call(&request, message_len(len))?;
    // The last message: what is wrong with this one may end the search.
    let answers = Message::Payloads
        .expect(&reply, Some(len))
        .and_then(|body| {
            let answers = body.chunks_exact(params.answer_len());
            let answers: Result<Vec<_>, _> = answers
                .map(|bytes| simple::Answer::from_bytes(params, bytes))
                .collect();
            Ok(pir.recover_batch(secrets, &answers?)?)
        });
    answers.map_err(|_| Error::Search)
}
