//! Makes the weights and combinations of exact checks with their keys, and checks replies by them.

use rayon::prelude::*;
use sordino_aes::stream::Stream;
use sordino_ckks::column::{Combination, Database, Params, Query, Reply};
use zeroize::Zeroizing;

use sordino_index::Error;
use sordino_index::checks::exact::{BITS, copies};

/// The number of rows whose weights come from one stream: whole blocks of any packing.
const CHUNK: usize = 4096;

/// The size in bytes of all weights of a row together.
const LEN: usize = BITS / 8;

/// The weights of one segment's rows.
pub struct Weights {
    key: Zeroizing<[u8; 32]>,
}

impl Weights {
    /// The weights under a separate key.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self { key }
    }

    /// The weights of `count` rows of chunk `at`, for each copy. A chunk has [`CHUNK`] rows. The chunk's number is the
    /// nonce of a keystream of AES-256 in counter mode. Row `v` of the chunk takes its bytes `12 v` to `12 v + 11`, as
    /// one little-endian integer for each copy.
    fn chunk(&self, at: usize, count: usize, copies: usize) -> Vec<Zeroizing<Vec<u64>>> {
        let mut stream = Stream::new(&self.key, at as u64);
        let lists = (0..copies).map(|_| Zeroizing::new(Vec::with_capacity(count)));
        let mut lists: Vec<_> = lists.collect();
        // The weights of 256 rows fill whole blocks, and one call of the stream can give all of them.
        for first in (0..count).step_by(256) {
            let rows = &stream.chunk(256 * LEN)[..LEN * (count - first).min(256)];
            match copies {
                2 => split::<2>(rows, &mut lists),
                _ => split::<3>(rows, &mut lists),
            }
        }
        lists
    }

    /// The weights of `n` rows for each copy.
    fn all(&self, n: usize, copies: usize) -> Vec<Zeroizing<Vec<u64>>> {
        let chunks = (0..n.div_ceil(CHUNK)).into_par_iter();
        let chunks: Vec<_> = chunks
            .map(|at| self.chunk(at, CHUNK.min(n - at * CHUNK), copies))
            .collect();
        let list = |copy: usize| {
            let parts = chunks.iter().flat_map(|lists| lists[copy].iter());
            Zeroizing::new(parts.copied().collect())
        };
        (0..copies).map(list).collect()
    }

    /// The combinations of a segment's rows. The owner computes them.
    ///
    /// # Errors
    /// [`Error::Ckks`] if answers to its queries are rounded.
    pub fn combinations(&self, rows: &Database) -> Result<Vec<Combination>, Error> {
        let weights = self.all(rows.len(), copies(rows.params()));
        let combinations = weights.iter().map(|weights| Ok(rows.combination(weights)?));
        combinations.collect()
    }

    /// The weighted sums of a segment's answers, one for each copy, for `n` rows from position `first` on.
    fn weighted(
        &self,
        reply: &Reply,
        first: usize,
        n: usize,
        copies: usize,
    ) -> Result<Vec<u64>, Error> {
        let q = reply.params().modulus();
        let chunks = (0..n.div_ceil(CHUNK)).into_par_iter();
        let sums = chunks.map(|at| {
            let weights = self.chunk(at, CHUNK.min(n - at * CHUNK), copies);
            let lists: Vec<&[u64]> = weights.iter().map(|list| &list[..]).collect();
            Ok(reply.weighted(first + at * CHUNK, &lists)?)
        });
        sums.try_reduce(|| vec![0; copies], |a, b| Ok(add(q, &a, &b)))
    }
}

/// Appends the weights of `rows` to the lists of `K` copies.
fn split<const K: usize>(rows: &[u8], lists: &mut [Zeroizing<Vec<u64>>]) {
    for (copy, list) in lists.iter_mut().take(K).enumerate() {
        let weights = rows.as_chunks::<LEN>().0.iter().map(|row| {
            let mut bits = [0; 16];
            bits[..LEN].copy_from_slice(row);
            let weight = u128::from_le_bytes(bits) >> (copy * BITS / K);
            low(weight) & ((1 << (BITS / K)) - 1)
        });
        list.extend(weights);
    }
}

/// The lower half of the bits.
#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
const fn low(bits: u128) -> u64 {
    bits as u64
}

/// Adds lists of numbers mod `q`.
fn add(q: u64, a: &[u64], b: &[u64]) -> Vec<u64> {
    let add = |(a, b): (&u64, &u64)| {
        // No branch may depend on these sums, since they contain secret weights.
        let less = (a + b).wrapping_sub(q);
        less.wrapping_add(q & 0u64.wrapping_sub(less >> 63))
    };
    a.iter().zip(b).map(add).collect()
}

/// The exact check of an index's replies, in the form that a reader holds.
pub struct Exact {
    combinations: Vec<Combination>,
}

impl Exact {
    /// The check that these combinations of all rows make.
    #[must_use]
    pub fn new(combinations: Vec<Combination>) -> Self {
        Self { combinations }
    }

    /// The check of an index without rows.
    ///
    /// # Errors
    /// [`Error`] if rows of this width cannot exist, or answers are rounded.
    pub fn empty(params: &Params, width: usize) -> Result<Self, Error> {
        let empty = (0..copies(params)).map(|_| Ok(Combination::empty(params, width)?));
        Ok(Self::new(empty.collect::<Result<_, Error>>()?))
    }

    /// True if a reply has the answers of an honest server to this query, for the rows of all segments. Each segment is
    /// given by its weights, its first position and its number of rows. For a wrong reply the result is true with
    /// probability `2^-96`.
    ///
    /// # Errors
    /// [`Error::Ckks`] if the query or the reply belongs to another parameter set, or the reply has too few answers.
    ///
    /// # Security
    /// The check uses neither a secret key nor a score, so its outcome reveals nothing about the query.
    pub fn holds<'a>(
        &self,
        query: &Query,
        reply: &Reply,
        segments: impl IntoIterator<Item = (&'a Weights, usize, usize)>,
    ) -> Result<bool, Error> {
        // This function does not check the reply's head. Decryption checks the reply's state and length.
        let expected = Combination::all_of(&self.combinations, query)?;
        if query.params() != reply.params() {
            return Ok(false);
        }
        let (copies, q) = (self.combinations.len(), query.params().modulus());
        let mut sums = vec![0; copies];
        for (weights, first, n) in segments {
            sums = add(q, &sums, &weights.weighted(reply, first, n, copies)?);
        }
        let apart = sums
            .iter()
            .zip(&expected)
            .fold(0, |apart, (a, b)| apart | (a ^ b));
        Ok(apart == 0)
    }
}

impl std::fmt::Debug for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weights").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exact").finish_non_exhaustive()
    }
}
