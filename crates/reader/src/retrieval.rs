//! Private retrieval: fetches always the same number of items, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_ckks::column;
use sordino_index::Error;
use sordino_index::page_scan::PageScan;
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::{Message, fetch};
use sordino_lwe as lwe;
use sordino_pir::hintless::deal::Deal;
use sordino_pir::{Seed, hintless, simple};
use zeroize::Zeroizing;

use crate::download::Download;
use crate::pir_session::{Sessions, Turn};
use crate::round::Round;
use crate::transport::AsyncTransport;
use crate::verdict::{Verdict, Wrong};

/// The ways to fetch items from the server without revealing which items.
pub(crate) enum Retrieval {
    /// One query for each item, with a hint.
    Simple(Box<simple::Client>),
    /// One query for all items, without a hint.
    Hintless(Box<hintless::Client>, Arc<Sessions>),
    /// One query for all items, for which the server scans all pages.
    Scan(Box<PageReader>),
}

/// A client of scanned pages.
pub(crate) struct PageReader {
    scan: PageScan,
    /// The deal of the pages into slots, if they are dealt.
    deal: Option<Deal>,
    words: lwe::Client,
    hint: column::Client,
}

impl PageReader {
    /// A client with this hint.
    ///
    /// # Errors
    /// [`Error`] if the hint belongs to another database.
    pub(crate) fn new(
        scan: PageScan,
        (seed, hint_seed): ([u8; 32], [u8; 32]),
        hint: &[u8],
    ) -> Result<Self, Error> {
        Ok(Self {
            scan,
            deal: scan.deal(seed),
            words: lwe::Client::new(&PageScan::params(), scan.shape(), &Seed(seed)),
            hint: scan.client(hint_seed, hint)?,
        })
    }

    async fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        request: Message,
        pages: &[usize],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        let Some(deal) = &self.deal else {
            return self.ask(round, request, pages).await;
        };
        let assigned = deal.assign(pages);
        let places = assigned.places().iter().map(|place| place.column);
        let columns = Zeroizing::new(places.collect::<Vec<usize>>());
        let slots = self.ask(round, request, &columns).await?;
        // A page that found no slot, which happens in one request of 2^40, counts as wrong.
        Ok(slots.and_then(|slots| assigned.pick(&slots).ok_or(Wrong)))
    }

    /// Asks for one column of each group of the table.
    async fn ask<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        request: Message,
        columns: &[usize],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        let message = self.words.select(columns)?;
        let (secret, words) = self.words.query(round.rng, &message)?;
        let negated = secret.into_negated();
        let (secret, encrypted) = self.hint.encrypt_modular(round.rng, &negated)?;
        let body = fetch::scan(&words, &encrypted);
        round
            .ask(request, &body, self.scan.reply_len()?, |body| {
                let reply = column::Reply::from_bytes(body)?;
                let values = Zeroizing::new(self.hint.decrypt_modular(secret, &reply)?);
                if values.len() != self.scan.words() {
                    return Err(Error::BadReply);
                }
                let bytes = Zeroizing::new(lwe::decode_bytes(&values));
                Ok(self.scan.into_pages(&bytes))
            })
            .await
    }
}

impl Retrieval {
    /// How to fetch the pages of payloads, unless they are downloaded.
    ///
    /// # Errors
    /// [`Error`] if the hint was not downloaded, or belongs to other pages.
    pub(crate) fn new(
        payloads: &Payloads,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let (simple, hintless) = (payloads.pir_params()?, payloads.hintless_params()?);
        Ok(match (&payloads.fetch, simple, hintless) {
            (Fetch::Pir { seed, hint, .. }, Some(params), _) => {
                let hint = simple::Hint::from_bytes(&params, &download.take(hint)?)?;
                let pir = simple::Client::new(&params, &Seed(*seed), &hint)?;
                Some(Self::Simple(Box::new(pir)))
            }
            (Fetch::Hintless { seed }, _, Some(params)) => {
                let pir = hintless::Client::new(&params, &Seed(*seed));
                Some(Self::Hintless(Box::new(pir), Arc::clone(sessions)))
            }
            (
                Fetch::Scan {
                    seed,
                    hint_seed,
                    hint,
                    ..
                },
                ..,
            ) => {
                let scan = payloads.scan()?.ok_or(Error::BadReply)?;
                let hint = download.take(hint)?;
                let pages = PageReader::new(scan, (*seed, *hint_seed), &hint)?;
                Some(Self::Scan(Box::new(pages)))
            }
            _ => None,
        })
    }

    /// The items, in this order, by a request of this kind. The server sees the same message for all items.
    ///
    /// # Errors
    /// The errors of the transport. A reply that does not belong to the request gives [`Wrong`].
    pub(crate) async fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        request: Message,
        items: &[usize],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        match self {
            Self::Scan(pages) => pages.fetch(round, request, items).await,
            Self::Simple(pir) => with_hint(pir, round, request, items).await,
            Self::Hintless(pir, sessions) => {
                let turn = sessions.next(round.rng);
                match without_hint(pir, &turn, round, request, items).await {
                    Err(Error::Session) if turn.keys.is_none() => {
                        let again = sessions.again(round.rng);
                        without_hint(pir, &again, round, request, items)
                            .await
                            .inspect(|_| sessions.learn(again.session.digest()))
                    }
                    reply => reply.inspect(|_| sessions.learn(turn.session.digest())),
                }
            }
        }
    }
}

async fn with_hint<R: CryptoRng + ?Sized>(
    pir: &simple::Client,
    round: &mut Round<'_, R, impl AsyncTransport>,
    request: Message,
    items: &[usize],
) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
    let (secrets, queries) = pir.query_batch(round.rng, items)?;
    let (params, count) = (pir.params(), items.len());
    let len = count * params.answer_len();
    round
        .ask(request, &fetch::queries(&queries), len, |body| {
            let answers = fetch::read_answers(request, params, count, body)?;
            Ok(pir.recover_batch(secrets, &answers)?)
        })
        .await
}

async fn without_hint<R: CryptoRng + ?Sized>(
    pir: &hintless::Client,
    turn: &Turn,
    round: &mut Round<'_, R, impl AsyncTransport>,
    request: Message,
    items: &[usize],
) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
    let (asked, query) = pir.query(round.rng, &turn.session, items)?;
    let body = fetch::query(turn.keys.as_deref(), &query);
    let params = pir.params();
    let items = round.ask(request, &body, params.answer_len(), |body| {
        let answer = hintless::Answer::from_bytes(params, body)?;
        Ok(pir.recover(&turn.session, asked, &answer)?)
    });
    let items = items.await?;
    // An item that found no slot, which happens in one request of 2^40, counts as wrong.
    let items = items.map(|items| items.into_iter().collect::<Option<_>>());
    Ok(items.and_then(|items| items.ok_or(Wrong)))
}
