//! A share of a database's rows: several servers hold all rows together, and each answers with its own words.
//!
//! An answer is `D b`, a word for each row of `D`. So servers that hold consecutive rows give consecutive words. If each
//! record has a column of its own, each row holds one byte of all records.

use std::ops::Range;

use sordino_lattice::matrix::{Backend, scan};

use super::{Params, Query};
use crate::Error;
use crate::bits::{pack, packed_len};
use crate::database::Matrix;
use crate::lwe::round_answer;
use crate::params::{ANSWER_BITS, HEADER_LEN};
use crate::wire::{self, Kind, check_params, check_version};

/// The rows that stay together, so that their words fill whole bytes.
const TOGETHER: usize = 2;

/// Some rows of a database with one record to a column, and everything else that answering queries needs. Nothing in it is
/// secret.
pub struct Share {
    params: Params,
    rows: Range<usize>,
    backend: Backend,
    matrix: Matrix,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share")
            .field("params", &self.params)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Share {
    /// The rows of server `at` of `of` servers, counted from 0. The numbers of rows of two servers differ by two at most.
    /// If there are more servers than pairs of rows, some get none.
    #[must_use]
    pub fn range(params: &Params, at: u16, of: u16) -> Range<usize> {
        let (rows, of) = (params.rows(), usize::from(of.max(1)));
        // Rows are below 2^32.
        let first = |at: u16| rows.div_ceil(TOGETHER) * usize::from(at) / of * TOGETHER;
        first(at).min(rows)..first(at.saturating_add(1)).min(rows)
    }

    /// A server of these rows. `records` yields the bytes of these rows for every record, in order.
    ///
    /// # Errors
    /// [`Error::Length`] for a layout with more than one record to a column, or for records of another length. The same
    /// error for rows that the layout lacks, or that are not a [`range`](Self::range). [`Error::RecordCount`] if the
    /// number of records differs from the layout's.
    pub fn new<'a>(
        params: &Params,
        rows: Range<usize>,
        records: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, Error> {
        let whole = |row: usize| row.is_multiple_of(TOGETHER) || row == params.rows();
        let cut = rows.start <= rows.end && rows.end <= params.rows();
        if params.per_column() != 1 || !cut || !whole(rows.start) || !whole(rows.end) {
            return Err(Error::Length {
                found: rows.end,
                expected: params.rows(),
            });
        }
        let matrix = Matrix::of_records(rows.len(), params.records(), records)?;
        Ok(Self {
            params: *params,
            rows,
            backend: Backend::detect_with_tiles(),
            matrix,
        })
    }

    /// The layout of the whole database. Queries are made for it.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The number of bytes that the words of some rows take.
    #[must_use]
    pub const fn words_len(rows: &Range<usize>) -> usize {
        packed_len(rows.end - rows.start, ANSWER_BITS)
    }

    /// Answers queries of several clients in one pass over the rows. Returns the words for each query.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] for the first query that belongs to another database or
    /// version. No query is answered then.
    pub fn answer_batch(&self, queries: &[Query]) -> Result<Vec<Vec<u8>>, Error> {
        for query in queries {
            check_params(&query.params, &self.params)?;
            check_version(query.version, 0)?;
        }
        if self.rows.is_empty() {
            return Ok(vec![Vec::new(); queries.len()]);
        }
        let columns: Vec<_> = queries.iter().map(|query| query.first()).collect();
        let words = scan::product(self.backend, self.matrix.digits(), &columns);
        let answers = scan::columns(&words, queries.len()).into_iter();
        let packed = answers.map(|words| {
            let mut out = Vec::with_capacity(Self::words_len(&self.rows));
            let words = words.into_iter().map(|word| u32::from(round_answer(word)));
            pack(words, ANSWER_BITS, &mut out);
            out
        });
        Ok(packed.collect())
    }

    /// Joins the words of all servers, in their order. The result is byte for byte the answer of a server that holds the
    /// whole database.
    ///
    /// # Errors
    /// [`Error::Length`] if the words together do not have the length of an answer.
    pub fn join(params: &Params, words: &[&[u8]]) -> Result<Vec<u8>, Error> {
        let found: usize = words.iter().map(|words| words.len()).sum();
        let length = params.answer_len() - HEADER_LEN;
        if found != length {
            return Err(Error::Length {
                found: found + HEADER_LEN,
                expected: params.answer_len(),
            });
        }
        Ok(wire::encode(Kind::SimpleAnswer, params, 0, length, |out| {
            words.iter().for_each(|words| out.extend_from_slice(words));
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simple::{Answer, Client, Server};
    use crate::{Database, Seed};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn servers_of_some_rows_are_one_server_byte_for_byte() {
        let rng = &mut StdRng::seed_from_u64(1);
        for (records, len) in [(70, 33), (5, 1), (200, 96)] {
            let params = Params::for_columns(records, len).unwrap();
            let bytes: Vec<u8> = (0..records * len)
                .map(|at| (at * 31 + at / 7).to_le_bytes()[0])
                .collect();
            let database = Database::from_slice(&params, &bytes).unwrap();
            let seed = Seed([3; 32]);
            let (server, hint) = Server::setup(database, &params, &seed).unwrap();
            let client = Client::new(&params, &seed, &hint).unwrap();
            let (secrets, queries): (Vec<_>, Vec<_>) = [0, records - 1]
                .map(|record| client.query(rng, record).unwrap())
                .into_iter()
                .unzip();
            let whole = server.answer_batch(&queries).unwrap();
            for of in [1, 2, 3, 7, 60] {
                let mut parts = vec![Vec::new(); queries.len()];
                let mut next = 0;
                for at in 0..of {
                    let rows = Share::range(&params, at, of);
                    assert_eq!(rows.start, next);
                    next = rows.end;
                    let own = bytes.chunks_exact(len).map(|record| &record[rows.clone()]);
                    let share = Share::new(&params, rows.clone(), own).unwrap();
                    let answers = share.answer_batch(&queries).unwrap();
                    for (parts, words) in parts.iter_mut().zip(answers) {
                        assert_eq!(words.len(), Share::words_len(&rows));
                        parts.push(words);
                    }
                }
                assert_eq!(next, params.rows());
                for (parts, whole) in parts.iter().zip(&whole) {
                    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                    let joined = Share::join(&params, &parts).unwrap();
                    assert!(joined == whole.to_bytes());
                    assert!(
                        parts.len() < 2
                            || Share::join(&params, &parts[1..]).is_err()
                            || parts[0].is_empty()
                    );
                }
            }
            let answer = Answer::from_bytes(&params, &whole[1].to_bytes()).unwrap();
            let secret = secrets.into_iter().nth(1).unwrap();
            let found = client.recover(secret, &answer).unwrap();
            assert_eq!(&found[..], &bytes[(records - 1) * len..]);
        }
    }

    #[test]
    fn rows_that_are_no_share_are_refused() {
        let params = Params::for_columns(9, 8).unwrap();
        let records = [[0u8; 8]; 9];
        let new = |rows: Range<usize>, len: usize| {
            Share::new(&params, rows, records.iter().map(|record| &record[..len]))
        };
        new(2..6, 4).unwrap();
        let reversed = Range { start: 6, end: 2 };
        for (rows, len) in [(1..5, 4), (2..5, 3), (2..10, 8), (reversed, 0), (2..6, 3)] {
            assert!(new(rows.clone(), len).is_err(), "{rows:?}");
        }
        let few = Share::new(&params, 0..8, records[1..].iter().map(|record| &record[..]));
        assert!(few.is_err());
        let square = Params::for_database(64, 1).unwrap();
        assert!(Share::new(&square, 0..8, records.iter().map(|r| &r[..])).is_err());
    }
}
