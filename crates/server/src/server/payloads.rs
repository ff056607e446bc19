//! Payloads that are fetched.

use sordino_index::Error;
use sordino_index::manifest::{Manifest, PartKind};
use sordino_index::payload::{Fetch, Payloads};
use sordino_index::wire::Message;
use sordino_pir::hintless::{self, Keys, Query};
use sordino_pir::{Seed, simple};

use super::open::Read;
use super::pass;

/// Payloads that clients fetch.
#[derive(Debug)]
pub(super) enum Served {
    /// By queries for a hint that they have.
    Simple(simple::Server),
    /// By queries that come with keys.
    Hintless(Box<hintless::Server>),
}

impl Served {
    /// Bytes of a request for `k` of them.
    pub(super) fn request_len(&self, k: usize) -> usize {
        match self {
            Self::Simple(pir) => k * pir.params().query_len(),
            Self::Hintless(pir) => Keys::LEN + pir.database().params().query_len(),
        }
    }

    /// Answers requests for `k` of them each.
    pub(super) fn fetch(&self, k: usize, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        match self {
            Self::Simple(pir) => {
                let kinds = [Message::FetchPayloads, Message::Payloads];
                pass::fetch_all(pir, k, kinds, bodies)
            }
            // A pass of its own for each: what clients would share is a small part of the work.
            Self::Hintless(pir) => bodies.iter().map(|body| answer(pir, body)).collect(),
        }
    }
}

/// Answers a query without a hint: the keys of its session, and the query.
fn answer(pir: &hintless::Server, body: &[u8]) -> Result<Vec<u8>, Error> {
    let params = pir.database().params();
    let expected = Keys::LEN + params.query_len();
    pass::check_len(Message::FetchPayloads, body, expected)?;
    let (keys, query) = body.split_at(Keys::LEN);
    let query = Query::from_bytes(params, query)?;
    let keys = hintless::Evaluation::from(&Keys::from_bytes(keys)?);
    let answer = pir.answer(&keys, &query)?;
    Ok(Message::Payloads.with(&answer.to_bytes()))
}

/// The PIR server of payloads, if those are not downloaded.
pub(super) fn server(
    manifest: &Manifest,
    payloads: &Payloads,
    read: &mut Read<'_>,
) -> Result<Option<Served>, Error> {
    let mut records = || read(&manifest.part(PartKind::Payloads, None)?, Vec::new());
    let len = payloads.class.sealed_len();
    let (simple, hintless) = (
        payloads.pir_params()?,
        payloads.hintless_params(manifest.k as usize)?,
    );
    Ok(match (&payloads.fetch, simple, hintless) {
        (Fetch::Pir { seed, .. }, Some(params), _) => {
            let records = records()?;
            let slots = records.chunks_exact(len);
            let database = sordino_pir::Database::from_records(&params, slots)?;
            let server = simple::Server::new(database, &params, &Seed(*seed))?;
            Some(Served::Simple(server))
        }
        (Fetch::Hintless { seed }, _, Some(params)) => {
            let records = records()?;
            let slots = records.chunks_exact(len);
            let database = hintless::Database::from_records(&params, &Seed(*seed), slots)?;
            Some(Served::Hintless(Box::new(database.into())))
        }
        _ => None,
    })
}
