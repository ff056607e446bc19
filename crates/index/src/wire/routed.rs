//! The bodies of [`Score`](Message::Score) and of its reply in routed mode.
//!
//! ```text
//! request: words of the clusters' query | their encrypted secret | a query for the segments after them
//! reply:   scores of the clusters | scores of the segments
//! ```
//!
//! If there are no added segments, the last piece of each body is empty.

use sordino_ckks::column;
use sordino_lwe as lwe;

use super::Message;
use crate::Error;

/// The bytes of each piece of a request. They follow from the manifest, and are the same for every shard.
#[derive(Clone, Copy, Debug)]
pub struct Lens {
    /// The bytes of the words of the query for clusters.
    pub words: usize,
    /// The bytes of their encrypted secret.
    pub secret: usize,
    /// The bytes of the query for the added segments, or 0 without any.
    pub tail: usize,
}

impl Lens {
    /// The size in bytes of the whole body.
    #[must_use]
    pub fn all(self) -> usize {
        self.words + self.secret + self.tail
    }
}

/// A query for the clusters, and one for the segments that were added later, if there are any.
#[derive(Debug)]
pub struct Query {
    /// The query for the clusters.
    pub words: lwe::Query,
    /// Its secret, encrypted for the product with the hint.
    pub secret: column::Query,
    /// The query for the added segments.
    pub tail: Option<column::Query>,
}

impl Query {
    /// The body of the request.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let tail = self.tail.as_ref().map(column::Query::to_bytes);
        let (words, secret) = (self.words.to_bytes(), self.secret.to_bytes());
        [words, secret, tail.unwrap_or_default()].concat()
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a wrong length; [`Error::Lwe`] or [`Error::Ckks`] if a query inside is malformed.
    pub fn from_bytes(lens: Lens, body: &[u8]) -> Result<Self, Error> {
        Message::Score.check_len(body, lens.all())?;
        let (words, rest) = body.split_at(lens.words);
        let (secret, tail) = rest.split_at(lens.secret);
        let query = |tail| column::Query::from_bytes(tail);
        Ok(Self {
            words: lwe::Query::from_bytes(words)?,
            secret: column::Query::from_bytes(secret)?,
            tail: some(tail).map(query).transpose()?,
        })
    }
}

/// The encrypted scores of the chosen clusters, and of the segments that were added later, if there are any.
#[derive(Debug)]
pub struct Reply {
    /// The scores of the clusters.
    pub clusters: column::Reply,
    /// The scores of the added segments.
    pub tail: Option<column::Reply>,
}

impl Reply {
    /// The body of the reply.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let tail = self.tail.as_ref().map(column::Reply::to_bytes);
        [self.clusters.to_bytes(), tail.unwrap_or_default()].concat()
    }

    /// Reads the body of a reply. The scores of clusters take `clusters` bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a shorter body; [`Error::Ckks`] if a reply inside is malformed.
    pub fn from_bytes(clusters: usize, body: &[u8]) -> Result<Self, Error> {
        let pieces = body.split_at_checked(clusters);
        let (own, tail) = pieces.ok_or_else(|| Message::Scored.wrong_len(body, clusters))?;
        Ok(Self {
            clusters: column::Reply::from_bytes(own)?,
            tail: some(tail).map(column::Reply::from_bytes).transpose()?,
        })
    }
}

fn some(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Grid, Packing};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_vectors::synthetic;

    const DIM: usize = 16;

    #[test]
    fn bodies_read_back_and_no_other_length_does() {
        let rng = &mut StdRng::seed_from_u64(1);
        let params = Packing::T8.open();
        let mut segments = column::Segments::new(&params, [1; 32], DIM).unwrap();
        let rows = synthetic::uniform(20, DIM, 1);
        let (database, hint) = segments.encode(rows.as_slice()).unwrap();
        segments.push(database.into()).unwrap();
        let client = column::Client::new(&params, [1; 32], DIM, 20, &hint).unwrap();
        let shape = lwe::Shape::new(2, 3, 5).unwrap();
        let words = lwe::Client::new(&Grid::params(), shape, &lwe::Seed([1; 32]));
        for grown in [false, true] {
            let mut query = || client.encrypt(rng, rows.row(0)).unwrap().1;
            let (secret, tail) = (query(), grown.then(&mut query));
            let (_, words) = words.query(rng, &[1; 10]).unwrap();
            let lens = Lens {
                words: words.to_bytes().len(),
                secret: secret.to_bytes().len(),
                tail: tail.as_ref().map_or(0, |tail| tail.to_bytes().len()),
            };
            let query = Query {
                words,
                secret,
                tail,
            };
            let body = query.to_bytes();
            assert_eq!(body.len(), lens.all());
            let read = Query::from_bytes(lens, &body).unwrap();
            assert_eq!(read.tail.is_some(), grown);
            assert_eq!(read.to_bytes(), body);
            let longer = [&body[..], &[0]].concat();
            let cuts = [
                0,
                1,
                lens.words,
                lens.words + lens.secret - 1,
                body.len() - 1,
            ];
            for wrong in cuts.map(|len| &body[..len]).iter().chain([&&longer[..]]) {
                assert!(Query::from_bytes(lens, wrong).is_err(), "{}", wrong.len());
            }

            let scored = segments.score_batch(&[query.secret]).unwrap();
            let reply = Reply {
                clusters: scored[0].clone(),
                tail: grown.then(|| scored[0].clone()),
            };
            let (own, body) = (scored[0].to_bytes().len(), reply.to_bytes());
            let read = Reply::from_bytes(own, &body).unwrap();
            assert_eq!(read.tail.is_some(), grown);
            assert_eq!(read.to_bytes(), body);
            for len in [0, 1, own - 1, own + 1, 2 * own - 1] {
                let wrong: Vec<u8> = body.iter().copied().cycle().take(len).collect();
                assert!(Reply::from_bytes(own, &wrong).is_err(), "{len}");
            }
        }
    }
}
