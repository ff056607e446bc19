//! Items that clients fetch privately: buckets of sealed mode, and payloads.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_index::Error;
use sordino_index::wire::{Message, fetch};
use sordino_pir::hintless::{self, Evaluation, Keys, Query};
use sordino_pir::simple;

use super::encodings::Shelf;
use super::page_table::PageTable;
use super::pass::{self, Pass};

/// Sessions whose keys are held: 1.5 MB each.
const SESSIONS: usize = 128;

/// The keys of clients that fetch without a hint, for all that a server gives out and for its next versions.
#[derive(Clone, Debug)]
pub(super) struct Sessions(Arc<Mutex<hintless::Sessions>>);

impl Default for Sessions {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(hintless::Sessions::new(SESSIONS))))
    }
}

impl Sessions {
    /// The keys that a query names: the keys that came with it, or the keys that are held.
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

/// The server of items that clients fetch, always the same number at a time.
#[derive(Debug)]
pub(super) struct Retrieval {
    pub(super) way: Way,
    /// Items of a request.
    pub(super) count: usize,
    /// The messages of a request and a reply.
    pub(super) kinds: [Message; 2],
}

#[derive(Debug)]
pub(super) enum Way {
    /// By a query for each, for clients that have a hint.
    Simple(simple::Server),
    /// The same, of the rows that a shard holds.
    Share(simple::Share),
    /// By one query for all, under keys that came with it or before.
    Hintless(Box<hintless::Server>),
    /// By one query for all, and a scan.
    Scan(Box<PageTable>),
}

impl Retrieval {
    /// Bytes of a request at most.
    pub(super) fn request_len(&self) -> usize {
        match &self.way {
            Way::Simple(pir) => self.count * pir.params().query_len(),
            Way::Share(share) => self.count * share.params().query_len(),
            Way::Hintless(pir) => Keys::LEN + pir.database().params().query_len(),
            Way::Scan(table) => table.request_len(),
        }
    }

    /// Keeps the files of what was encoded for another version that has the same items.
    ///
    /// # Errors
    /// None for items that are served.
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
            // A pass of its own for each: what clients would share is a small part of the work.
            Way::Hintless(pir) => {
                let requests = requests.holders.iter().zip(&requests.bodies);
                let answers =
                    requests.map(|(&holder, body)| self.answer(pir, sessions, holder, body));
                answers.collect()
            }
        }
    }

    /// Answers a query without a hint, before which the keys of its session may stand.
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
