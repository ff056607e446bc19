//! Items that clients fetch privately: buckets of sealed mode, and payloads.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_index::Error;
use sordino_index::wire::{Message, fetch};
use sordino_pir::hintless::{self, Evaluation, Keys, Query};
use sordino_pir::simple;

use super::encodings::Shelf;
use super::page_table::PageTable;
use super::pass::{self, Pass};

/// The number of sessions whose keys are held. Each takes 1.5 MB.
const SESSIONS: usize = 128;

/// The keys of clients that fetch without a hint. All items of a server and its next versions share them.
#[derive(Clone, Debug)]
pub(super) struct Sessions(Arc<Mutex<hintless::Sessions>>);

impl Default for Sessions {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(hintless::Sessions::new(SESSIONS))))
    }
}

impl Sessions {
    /// The keys that a query names: those that came with it, or held ones.
    fn of(
        &self,
        holder: u128,
        query: &Query,
        keys: Option<&[u8]>,
    ) -> Result<Arc<Evaluation>, Error> {
        let keys = keys.map(Keys::from_bytes).transpose()?;
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match keys {
            Some(keys) if keys.digest() != *query.session() => {
                Err(sordino_pir::Error::SessionMismatch.into())
            }
            Some(keys) => Ok(held.insert_of(holder, &keys)),
            None => held.get(query.session()).map_err(|_| Error::Session),
        }
    }
}

/// Serves items that clients fetch, always the same number in one request.
#[derive(Debug)]
pub(super) struct Retrieval {
    pub(super) way: Way,
    /// The number of items of a request.
    pub(super) count: usize,
    /// The kinds of the request and of its reply.
    pub(super) kinds: [Message; 2],
}

#[derive(Debug)]
pub(super) enum Way {
    /// One query for each item, for clients that have a hint.
    Simple(simple::Server),
    /// Retrieval for the rows of a shard.
    Share(simple::Share),
    /// One query for all items, under keys that came with it or earlier.
    Hintless(Box<hintless::Server>),
    /// One query for all items, answered by a scan.
    Scan(Box<PageTable>),
}

impl Retrieval {
    /// The largest number of bytes of a request.
    pub(super) fn request_len(&self) -> usize {
        match &self.way {
            Way::Simple(pir) => self.count * pir.params().query_len(),
            Way::Share(share) => self.count * share.params().query_len(),
            Way::Hintless(pir) => Keys::LEN + pir.database().params().query_len(),
            Way::Scan(table) => table.request_len(),
        }
    }

    /// Marks the files of the encoding as in use, for another version with the same items.
    ///
    /// # Errors
    /// No error for items that are served.
    pub(super) fn keep(&self, shelf: &mut Shelf<'_>) -> Result<(), Error> {
        match &self.way {
            Way::Scan(table) => table.keep(shelf),
            Way::Simple(_) | Way::Share(_) | Way::Hintless(_) => Ok(()),
        }
    }

    /// Answers requests.
    pub(super) fn fetch(
        &self,
        sessions: &Sessions,
        requests: &Pass<'_>,
    ) -> Vec<Result<Vec<u8>, Error>> {
        match &self.way {
            Way::Simple(pir) => {
                let answer = |queries: &[simple::Query]| {
                    let answers = pir.answer_batch(queries)?;
                    Ok(answers.iter().map(simple::Answer::to_bytes).collect())
                };
                let (params, version) = (pir.params(), pir.version());
                pass::fetch_all(
                    params,
                    version,
                    self.count,
                    self.kinds,
                    &requests.bodies,
                    answer,
                )
            }
            Way::Share(share) => {
                let answer = |queries: &[simple::Query]| Ok(share.answer_batch(queries)?);
                pass::fetch_all(
                    share.params(),
                    0,
                    self.count,
                    self.kinds,
                    &requests.bodies,
                    answer,
                )
            }
            Way::Scan(table) => table.fetch(self.kinds, &requests.bodies),
            // Each query has a separate pass, because clients could share only a small part of the work.
            Way::Hintless(pir) => {
                let requests = requests.holders.iter().zip(&requests.bodies);
                let answers =
                    requests.map(|(&holder, body)| self.answer(pir, sessions, holder, body));
                answers.collect()
            }
        }
    }

    /// Answers a query without a hint. The keys of its session may come before it.
    fn answer(
        &self,
        pir: &hintless::Server,
        sessions: &Sessions,
        holder: u128,
        body: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let [request, reply] = self.kinds;
        let params = pir.database().params();
        let (keys, query) = fetch::split_query(request, params.query_len(), body)?;
        let query = Query::from_bytes(params, query)?;
        let keys = sessions.of(holder, &query, keys)?;
        Ok(reply.with(&pir.answer(&keys, &query)?.to_bytes()))
    }
}
