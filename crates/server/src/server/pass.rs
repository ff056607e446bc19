//! Passes over the index. One pass answers the queries of any number of requests.

use rayon::prelude::*;
use sordino_ckks::{column, dot};
use sordino_index::Error;
use sordino_index::wire::{Message, fetch, score};
use sordino_pir::simple::{self, Params};

use super::malformed;

/// Requests of one kind, and their positions in a batch.
#[derive(Default)]
pub(super) struct Pass<'a> {
    pub(super) places: Vec<usize>,
    pub(super) bodies: Vec<&'a [u8]>,
    /// The holders that sent them.
    pub(super) holders: Vec<u128>,
}

impl<'a> Pass<'a> {
    pub(super) fn push(&mut self, place: usize, holder: u128, body: &'a [u8]) {
        self.places.push(place);
        self.holders.push(holder);
        self.bodies.push(body);
    }
}

/// Scores all vectors under encryption.
pub(super) fn score_all(
    segments: &column::Segments,
    bodies: &[&[u8]],
) -> Vec<Result<Vec<u8>, Error>> {
    let read = |body: &[u8]| {
        let query = score::read(segments.params(), segments.dim(), body)?;
        check_packing(segments.check(&query).is_ok())?;
        Ok(query)
    };
    in_one_pass(bodies, read, |queries| {
        let replies = segments.score_batch(queries)?;
        let replies = replies.iter().map(column::Reply::to_bytes);
        Ok(replies.map(|body| Message::Scored.with(&body)).collect())
    })
}

/// Scores all centroids under encryption.
pub(super) fn score_centroids(
    centroids: &dot::Plaintexts,
    bodies: &[&[u8]],
) -> Vec<Result<Vec<u8>, Error>> {
    let read = |body: &[u8]| {
        let (params, dim) = (centroids.params(), centroids.dim());
        let query = score::read_for_centroids(dim, body)?;
        check_packing((query.params(), query.dim()) == (params, dim))?;
        Ok(query)
    };
    in_one_pass(bodies, read, |queries| {
        let replies = centroids.score_batch(queries)?;
        let replies = replies.iter().map(dot::Reply::to_bytes);
        Ok(replies.map(|body| Message::Scored.with(&body)).collect())
    })
}

/// Answers exactly `count` PIR queries of each request, one after the other.
pub(super) fn fetch_all(
    params: &Params,
    version: u64,
    count: usize,
    [request, reply]: [Message; 2],
    bodies: &[&[u8]],
    answer: impl Fn(&[simple::Query]) -> Result<Vec<Vec<u8>>, Error>,
) -> Vec<Result<Vec<u8>, Error>> {
    let read = |body: &[u8]| {
        let queries = fetch::read_queries(request, params, count, body)?;
        check_packing(queries.iter().all(|query| query.version() == version))?;
        Ok(queries)
    };
    in_one_pass(bodies, read, |queries| {
        let answers = answer(&queries.concat())?;
        let answers = answers.chunks_exact(count);
        Ok(answers
            .map(|answers| reply.with(&answers.concat()))
            .collect())
    })
}

/// Reads every query, and answers the well-formed ones together.
pub(super) fn in_one_pass<Q: Send>(
    bodies: &[&[u8]],
    read: impl Fn(&[u8]) -> Result<Q, Error> + Sync,
    answer: impl Fn(&[Q]) -> Result<Vec<Vec<u8>>, Error>,
) -> Vec<Result<Vec<u8>, Error>> {
    let read: Vec<Result<Q, Error>> = bodies.par_iter().map(|body| read(body)).collect();
    let mut queries = Vec::with_capacity(bodies.len());
    let mut replies = Vec::with_capacity(bodies.len());
    for query in read {
        replies.push(query.map(|query| {
            queries.push(query);
            Vec::new()
        }));
    }
    if queries.is_empty() {
        return replies;
    }
    let places = replies.iter_mut().filter(|reply| reply.is_ok());
    match answer(&queries) {
        Ok(answers) => {
            for (place, answer) in places.zip(answers) {
                *place = Ok(answer);
            }
        }
        // A query that was read fits, so none should fail. If one does, the others still get answers.
        Err(_) => {
            for (place, query) in places.zip(&queries) {
                *place = answer(std::slice::from_ref(query)).map(|answers| answers.concat());
            }
        }
    }
    replies
}

/// Checks that a query was made for this form of the index.
pub(super) fn check_packing(same: bool) -> Result<(), Error> {
    let why = || malformed("a query for another packing or version of the index".to_owned());
    same.then_some(()).ok_or_else(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::manifest::Packing;
    use sordino_vectors::synthetic;
    use std::sync::Arc;

    #[test]
    fn a_query_for_another_seed_has_no_part_in_the_pass() {
        let (params, dim) = (Packing::T8.open(), 16);
        let mut segments = column::Segments::new(&params, [1; 32], dim).unwrap();
        let rows = synthetic::uniform(20, dim, 1);
        let (database, hint) = segments.encode(rows.as_slice()).unwrap();
        segments.push(Arc::new(database)).unwrap();
        let query = |seed: [u8; 32], hint: &column::Hint| {
            let client = column::Client::new(&params, seed, dim, 20, hint).unwrap();
            let rng = &mut StdRng::seed_from_u64(3);
            client.encrypt(rng, rows.row(0)).unwrap().1.to_bytes()
        };
        let other = column::Segments::new(&params, [2; 32], dim).unwrap();
        let (_, foreign) = other.encode(rows.as_slice()).unwrap();
        let (good, bad) = (query([1; 32], &hint), query([2; 32], &foreign));
        assert_eq!(good.len(), bad.len());
        let replies = score_all(&segments, &[&good, &bad, &good]);
        let refused = format!("{}", replies[1].as_ref().unwrap_err());
        // The query is refused while it is read. The pass itself would report another epoch.
        assert!(refused.contains("another packing or version"), "{refused}");
        assert!(replies[0].is_ok() && replies[2].is_ok());
    }

    /// A query that the pass cannot answer costs the other senders nothing but time.
    #[test]
    fn who_asks_beside_a_query_that_fails_gets_an_answer() {
        let read = |body: &[u8]| {
            body.first()
                .copied()
                .ok_or_else(|| malformed("empty".to_owned()))
        };
        let answer = |queries: &[u8]| {
            let fails = queries.contains(&9);
            let answers = queries.iter().map(|&query| vec![query; 2]).collect();
            if fails {
                Err(malformed("nine".to_owned()))
            } else {
                Ok(answers)
            }
        };
        let replies = in_one_pass(&[&[1], &[], &[9], &[2]], read, answer);
        let found: Vec<Option<Vec<u8>>> = replies.into_iter().map(Result::ok).collect();
        assert_eq!(found, [Some(vec![1, 1]), None, None, Some(vec![2, 2])]);
    }
}
