//! Payloads of what a search found: always as many slots, in one message.

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
use crate::round::Round;
use crate::transport::Transport;

/// The payload of a record that was asked for.
pub(crate) enum Payload {
    Here(Vec<u8>),
    /// There is no such record.
    Nowhere,
    /// There was no room for it in its request.
    LeftOut,
}

/// The payloads of one version, or the way to them.
pub(crate) struct Client {
    opener: Opener,
    source: Source,
}

enum Source {
    /// All sealed slots.
    Here { records: Vec<u8>, slot_len: usize },
    /// The server, by queries for a hint.
    Pir(Box<simple::Client>),
    /// The server, by a query without one.
    Hintless(Box<hintless::Client>),
}

impl Client {
    /// A client of the manifest's payloads, if it has any.
    pub(crate) fn new(
        manifest: &Manifest,
        keys: &ReaderKeys,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let places = download.take(&payloads.places.digest)?;
        let opener = Opener::new(payloads, keys, &places)?;
        let source = Source::new(payloads, manifest.k as usize, download)?;
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
    ) -> Result<Checked<Vec<Option<Vec<u8>>>>, Error> {
        let places: Vec<Option<u32>> = hits.iter().map(|hit| Some(hit.id)).collect();
        let read = self.read(round, &places, k)?;
        Ok(read.and_then(|read| {
            let found = read.into_iter().map(|payload| match payload {
                Payload::Here(payload) => Ok(Some(payload)),
                Payload::Nowhere => Err(Wrong),
                Payload::LeftOut => Ok(None),
            });
            found.collect()
        }))
    }

    /// The payloads of the records in at most `k` places. The server sees what a search for `k` sends.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn read<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
        k: usize,
    ) -> Result<Checked<Vec<Payload>>, Error> {
        let slots = self.opener.slots(places);
        // A slot is asked for in the place of every one that is not needed.
        let mut asked: Vec<u32> = slots.iter().map(|slot| slot.unwrap_or(0)).collect();
        asked.resize(k, 0);
        let sealed = match &self.source {
            Source::Here { records, slot_len } => {
                let slots = asked.iter().map(|&slot| {
                    let sealed = records.chunks_exact(*slot_len).nth(slot as usize);
                    Some(sealed.unwrap_or_default().to_vec())
                });
                Ok(slots.collect())
            }
            Source::Pir(pir) => fetched(pir, round, &asked)?,
            Source::Hintless(pir) => without_hint(pir, round, &asked)?,
        };
        Ok(sealed.and_then(|sealed: Vec<Option<Vec<u8>>>| {
            let opened = slots.iter().zip(&sealed).map(|(slot, sealed)| {
                Ok(match (slot, sealed) {
                    (None, _) => Payload::Nowhere,
                    (Some(_), None) => Payload::LeftOut,
                    (Some(slot), Some(sealed)) => {
                        Payload::Here(self.opener.open(*slot, sealed).ok_or(Wrong)?)
                    }
                })
            });
            opened.collect()
        }))
    }
}

impl Source {
    fn new(payloads: &Payloads, k: usize, download: &mut Download) -> Result<Self, Error> {
        if let (Fetch::Hintless { seed }, Some(params)) =
            (&payloads.fetch, payloads.hintless_params(k)?)
        {
            let pir = hintless::Client::new(&params, &Seed(*seed));
            return Ok(Self::Hintless(Box::new(pir)));
        }
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
    round: &mut Round<'_, R, impl Transport>,
    slots: &[u32],
) -> Result<Checked<Vec<Option<Vec<u8>>>>, Error> {
    let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
    let (secrets, queries) = pir.query_batch(round.rng, &slots)?;
    let queries: Vec<_> = queries.iter().map(simple::Query::to_bytes).collect();
    let params = pir.params();
    let len = slots.len() * params.answer_len();
    round.ask(Message::FetchPayloads, &queries.concat(), len, |body| {
        let answers = body.chunks_exact(params.answer_len());
        let answers: Result<Vec<_>, _> = answers
            .map(|bytes| simple::Answer::from_bytes(params, bytes))
            .collect();
        let records = pir.recover_batch(secrets, &answers?)?;
        Ok(records.into_iter().map(Some).collect())
    })
}

/// The sealed slots by one query, but for those that found no room in it. Each has a session of its own: two requests
/// name nothing in common.
fn without_hint<R: CryptoRng + ?Sized>(
    pir: &hintless::Client,
    round: &mut Round<'_, R, impl Transport>,
    slots: &[u32],
) -> Result<Checked<Vec<Option<Vec<u8>>>>, Error> {
    let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
    let (session, keys) = hintless::Session::new(round.rng);
    let (asked, query) = pir.query(round.rng, &session, &slots)?;
    let body = [keys.to_bytes(), query.to_bytes()].concat();
    let params = pir.params();
    round.ask(Message::FetchPayloads, &body, params.answer_len(), |body| {
        let answer = hintless::Answer::from_bytes(params, body)?;
        Ok(pir.recover(&session, asked, &answer)?)
    })
}
