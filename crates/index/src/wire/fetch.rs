//! The bodies of [`Fetch`](Message::Fetch) and [`FetchPayloads`](Message::FetchPayloads), and of their replies.
//!
//! ```text
//! with a hint:    request: a query for each item               reply: an answer for each
//! without a hint: request: keys of a session | one query       reply: one answer for all
//! by a scan:      request: words | their encrypted secret      reply: one answer for all
//! ```
//!
//! Keys come only before a query whose session the server may not know.

use sordino_ckks::column;
use sordino_lwe as lwe;
use sordino_pir::hintless::{self, Keys};
use sordino_pir::simple::{self, Params};

use super::Message;
use crate::Error;
use crate::page_scan::PageScan;

/// The body of a request by queries with a hint.
#[must_use]
pub fn queries(queries: &[simple::Query]) -> Vec<u8> {
    let queries: Vec<_> = queries.iter().map(simple::Query::to_bytes).collect();
    queries.concat()
}

/// Reads `count` queries of a `request` with a hint.
///
/// # Errors
/// [`Error::Malformed`] for a wrong length; [`Error::Pir`] if a query inside is malformed.
pub fn read_queries(
    request: Message,
    params: &Params,
    count: usize,
    body: &[u8],
) -> Result<Vec<simple::Query>, Error> {
    request.check_len(body, count * params.query_len())?;
    let queries = body.chunks_exact(params.query_len());
    queries
        .map(|query| Ok(simple::Query::from_bytes(params, query)?))
        .collect()
}

/// Reads the `count` answers of the reply to `request`. A server writes its answers already encoded, one after
/// the other.
///
/// # Errors
/// The errors of [`read_queries`].
pub fn read_answers(
    request: Message,
    params: &Params,
    count: usize,
    body: &[u8],
) -> Result<Vec<simple::Answer>, Error> {
    request
        .reply()
        .check_len(body, count * params.answer_len())?;
    let answers = body.chunks_exact(params.answer_len());
    answers
        .map(|answer| Ok(simple::Answer::from_bytes(params, answer)?))
        .collect()
}

/// The body of a request without a hint. The keys are already encoded, since a session sends the same keys several
/// times.
#[must_use]
pub fn query(keys: Option<&[u8]>, query: &hintless::Query) -> Vec<u8> {
    [keys.unwrap_or_default(), &query.to_bytes()].concat()
}

/// The keys of a `request` without a hint, if it has them, and its query of `query_len` bytes.
///
/// # Errors
/// [`Error::Malformed`] for another length.
pub fn split_query(
    request: Message,
    query_len: usize,
    body: &[u8],
) -> Result<(Option<&[u8]>, &[u8]), Error> {
    match body.len().checked_sub(query_len) {
        Some(0) => Ok((None, body)),
        Some(Keys::LEN) => {
            let (keys, query) = body.split_at(Keys::LEN);
            Ok((Some(keys), query))
        }
        _ => {
            let (found, both) = (body.len(), query_len + Keys::LEN);
            let why =
                format!("{request:?} of {found} bytes, expected {query_len}, or {both} with keys");
            Err(Error::Malformed {
                what: "message",
                why,
            })
        }
    }
}

/// The body of a request for scanned pages.
#[must_use]
pub fn scan(words: &lwe::Query, secret: &column::Query) -> Vec<u8> {
    [words.to_bytes(), secret.to_bytes()].concat()
}

/// Reads the words and the encrypted secret of a `request` for scanned pages.
///
/// # Errors
/// - [`Error::Malformed`] for a wrong length
/// - [`Error::Lwe`] if the words are malformed
/// - [`Error::Ckks`] if the secret is malformed
pub fn read_scan(
    request: Message,
    scan: &PageScan,
    body: &[u8],
) -> Result<(lwe::Query, column::Query), Error> {
    request.check_len(body, scan.query_len()?)?;
    let (words, secret) = body.split_at(scan.words_len());
    Ok((
        lwe::Query::from_bytes(words)?,
        column::Query::from_bytes(secret)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_pir::{Database, Seed};

    #[test]
    fn queries_and_answers_read_back_and_no_other_length_does() {
        let (rng, request) = (&mut StdRng::seed_from_u64(1), Message::FetchPayloads);
        let params = Params::for_database(50, 3).unwrap();
        let database = Database::from_records(&params, (0..50).map(|at| [at; 3])).unwrap();
        let (server, hint) = simple::Server::setup(database, &params, &Seed([1; 32])).unwrap();
        let client = simple::Client::new(&params, &Seed([1; 32]), &hint).unwrap();
        let (_, sent) = client.query_batch(rng, &[4, 9]).unwrap();
        let body = queries(&sent);
        assert_eq!(read_queries(request, &params, 2, &body).unwrap(), sent);
        let answers = server.answer_batch(&sent).unwrap();
        let reply: Vec<_> = answers.iter().flat_map(simple::Answer::to_bytes).collect();
        assert_eq!(read_answers(request, &params, 2, &reply).unwrap(), answers);
        for len in [0, 1, params.query_len(), body.len() - 1, body.len() + 1] {
            let wrong: Vec<u8> = body.iter().copied().cycle().take(len).collect();
            assert!(read_queries(request, &params, 2, &wrong).is_err(), "{len}");
        }
        for len in [0, 1, params.answer_len(), reply.len() - 1, reply.len() + 1] {
            let wrong: Vec<u8> = reply.iter().copied().cycle().take(len).collect();
            assert!(read_answers(request, &params, 2, &wrong).is_err(), "{len}");
        }
    }

    #[test]
    fn a_query_is_split_from_the_keys_before_it() {
        let (rng, request) = (&mut StdRng::seed_from_u64(1), Message::Fetch);
        let params = hintless::Params::new(50, 3, 2).unwrap();
        let client = hintless::Client::new(&params, &Seed([1; 32]));
        let (session, keys) = hintless::Session::new(rng);
        let (_, sent) = client.query(rng, &session, &[4, 9]).unwrap();
        let (keys, sent_bytes) = (keys.to_bytes(), sent.to_bytes());
        let len = params.query_len();
        for keys in [None, Some(&keys[..])] {
            let body = query(keys, &sent);
            let split = split_query(request, len, &body).unwrap();
            assert_eq!(split, (keys, &sent_bytes[..]));
            for wrong in [0, 1, body.len() - 1, body.len() + 1, Keys::LEN] {
                let wrong: Vec<u8> = body.iter().copied().cycle().take(wrong).collect();
                assert!(
                    split_query(request, len, &wrong).is_err(),
                    "{}",
                    wrong.len()
                );
            }
        }
    }
}
