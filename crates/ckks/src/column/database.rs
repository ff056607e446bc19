//! The server's side: the encoded database, its hint, scoring.

mod file;
mod update;

use std::ops::Range;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;
use sordino_lattice::threads;

use super::hint::Hint;
use super::mac::{self, Group, Pass, SLACK, store, take};
use super::params::{Params, Shape};
use super::query::Query;
use super::reply::Reply;
use super::stamp::Stamp;
use crate::dot::N;
use crate::store::Store;
use crate::{Error, Seed};

/// The most blocks that are scored together: the part of the queries that meets them stays in cache from
/// block to block. With one block after the other, the queries would come from a farther cache for every
/// block, which takes longer than the products.
const TOGETHER: usize = 24;

/// A database encoded for scoring: `K d / N` polynomials in NTT form at 5 or 7 bytes a coefficient.
pub struct Database {
    params: Params,
    shape: Shape,
    seed: [u8; 32],
    /// Changes since the database was encoded.
    revision: u64,
    /// The public polynomials `a_l` in NTT form, one after the other.
    a: Aligned<u64>,
    /// Block after block in tiles (`mac`), and [`SLACK`] bytes more; blocks beyond `shape.blocks` are spare.
    blocks: Store,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Encodes real-valued `vectors`, row after row of `dim` coordinates, for the public polynomials
    /// that `seed` expands to. A seed serves one epoch of one database; draw it at random.
    ///
    /// Vectors whose coordinates are small multiples of one number (raw integer features over a common
    /// norm) have rounding errors that add up: rotate such vectors and all queries by one public random
    /// rotation first.
    ///
    /// # Errors
    /// [`Error::Form`] for a modular set, [`Error::Dimension`], [`Error::Count`], [`Error::Length`],
    /// [`Error::NotFinite`], [`Error::Norm`].
    pub fn encode(
        params: &Params,
        seed: impl Into<Seed>,
        vectors: &[f32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        let codes = params.real_codes(vectors, dim)?;
        Self::from_codes(params, seed.into(), &codes, dim)
    }

    /// Encodes `vectors` of integers in `[-P/2, P/2)`, row after row of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Form`] for a real-valued set, [`Error::Dimension`], [`Error::Count`], [`Error::Length`],
    /// [`Error::Range`].
    pub fn encode_modular(
        params: &Params,
        seed: impl Into<Seed>,
        vectors: &[i32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        params.check_modular(vectors, dim)?;
        Self::from_codes(params, seed.into(), vectors, dim)
    }

    fn from_codes(
        params: &Params,
        Seed(seed): Seed,
        codes: &[i32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        let shape = params.shape(dim, codes.len() / dim)?;
        let mut database = Self {
            params: *params,
            shape,
            seed,
            revision: 0,
            a: Self::public(params, shape, &seed),
            blocks: Store::zeroed(0),
        };
        database.reserve(shape.blocks);
        database.fill_blocks(0, codes);
        let hint = database.hint();
        Ok((database, hint))
    }

    /// A database without vectors, with room for `vectors` in whole blocks: what is appended up to there
    /// moves nothing.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Count`].
    pub fn empty(
        params: &Params,
        seed: impl Into<Seed>,
        dim: usize,
        vectors: usize,
    ) -> Result<Self, Error> {
        let Seed(seed) = seed.into();
        let shape = params.shape(dim, 0)?;
        let mut database = Self {
            params: *params,
            shape,
            seed,
            revision: 0,
            a: Self::public(params, shape, &seed),
            blocks: Store::zeroed(0),
        };
        database.reserve(params.shape(dim, vectors)?.blocks);
        Ok(database)
    }

    fn public(params: &Params, shape: Shape, seed: &[u8; 32]) -> Aligned<u64> {
        let mut a = Aligned::new(shape.polys * N);
        for (l, poly) in (0..).zip(a.chunks_exact_mut(N)) {
            residue::fill_vartime(seed, l, params.plan().modulus(), poly);
        }
        a
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The seed of the public polynomials.
    #[must_use]
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The changes that the database has seen since it was encoded. Every delta is one change.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Continues the count of changes of a database that was encoded anew from the same vectors and
    /// seed, so that clients of that state keep their hints.
    pub fn set_revision(&mut self, revision: u64) {
        self.revision = revision;
    }

    fn stamp(&self) -> Stamp {
        Stamp::new(&self.seed, self.revision)
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The number of vectors `K`, deleted ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// Whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// The bytes that one pass reads.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.shape.blocks * self.block_len()
    }

    /// The encrypted dot products of one query with every vector.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another parameter set or dimension,
    /// [`Error::Epoch`] if for another seed; [`Error::MessageLength`] and [`Error::Io`] if a mapped file has
    /// changed.
    pub fn score(&self, query: &Query) -> Result<Reply, Error> {
        let mut reply = Reply::zero(self.params, self.shape, self.stamp());
        self.fill(
            std::slice::from_ref(query),
            std::slice::from_mut(&mut reply),
        )?;
        Ok(reply)
    }

    /// The encrypted dot products of several queries with every vector. Each block is read from memory
    /// once and scored for all queries while it is in cache.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a query was made for another parameter set or dimension.
    pub fn score_batch(&self, queries: &[Query]) -> Result<Vec<Reply>, Error> {
        let mut replies = vec![Reply::zero(self.params, self.shape, self.stamp()); queries.len()];
        self.fill(queries, &mut replies)?;
        Ok(replies)
    }

    /// Fills in the reply to each query, blocks shared between [`threads`].
    fn fill(&self, queries: &[Query], replies: &mut [Reply]) -> Result<(), Error> {
        self.blocks.check()?;
        for query in queries {
            query.check(&self.params, self.shape.dim, self.stamp().epoch())?;
        }
        let shape = self.shape;
        let count = queries.len();
        if count == 0 {
            return Ok(());
        }
        let groups = threads::map(
            queries.chunks(mac::GROUP).collect(),
            || (),
            |(), _, queries| self.group(queries),
        );
        let mut blocks: Vec<Vec<&mut [u8]>> = (0..shape.blocks)
            .map(|_| Vec::with_capacity(count))
            .collect();
        for reply in replies {
            for (answers, answer) in blocks.iter_mut().zip(reply.blocks_mut()) {
                answers.push(answer);
            }
        }
        let plan = self.params.plan();
        let switch = self.params.answer_switch();
        // A share of work for every thread, if there are few blocks.
        let together = shape.blocks / (4 * threads::count());
        let together = together.clamp(1, TOGETHER);
        threads::for_each(
            blocks.chunks_mut(together).collect(),
            || Aligned::new(together * count * shape.per),
            |sums, g, blocks| {
                let range = g * together..g * together + blocks.len();
                let sums = &mut sums[..blocks.len() * count * shape.per];
                self.pass(range.clone(), &groups).run(sums);
                let sums = sums.chunks_exact_mut(count * shape.per);
                for (j, (sums, answers)) in range.zip(sums.zip(blocks)) {
                    let vectors = shape.in_block(j);
                    for (sum, answer) in sums.chunks_exact_mut(shape.per).zip(answers) {
                        plan.inverse_folded(sum);
                        let picked = &mut sum[..vectors];
                        switch.apply(picked);
                        self.params.answer_width().write(picked, answer);
                    }
                }
            },
        );
        Ok(())
    }

    fn block_len(&self) -> usize {
        self.shape.polys * N * self.params.coefficient_len()
    }

    /// Makes room for `blocks` blocks, a half more than before if room has to be made at all.
    fn reserve(&mut self, blocks: usize) {
        let needed = blocks * self.block_len() + SLACK;
        let held = self.blocks.bytes();
        if needed > held.len() {
            let grown = held.len() + held.len() / 2;
            self.blocks = Store::copied(held, needed.max(grown));
        }
    }

    /// Encodes whole blocks of codes from block `first` on, in parallel.
    fn fill_blocks(&mut self, first: usize, codes: &[i32]) {
        let (params, shape, len) = (self.params, self.shape, self.block_len());
        let blocks = self.blocks.bytes_mut()[first * len..].chunks_exact_mut(len);
        let blocks = blocks.zip(codes.chunks(shape.per * shape.dim));
        threads::for_each(
            blocks.collect(),
            || Aligned::new(N),
            |poly, _, (block, codes)| {
                for l in 0..shape.polys {
                    poly.fill(0);
                    for (v, vector) in codes.chunks_exact(shape.dim).enumerate() {
                        place(&params, shape, poly, l, v, vector);
                    }
                    params.plan().forward(poly);
                    store(params.coefficient_len(), poly, l, shape.t, block);
                }
            },
        );
    }

    /// The products of a range of blocks with the polynomials of queries.
    fn pass<'a>(&'a self, blocks: Range<usize>, groups: &'a [Group]) -> Pass<'a> {
        let Shape { polys, t, per, .. } = self.shape;
        let bytes = &self.blocks.bytes()[blocks.start * self.block_len()..];
        Pass::new(
            self.params.plan().modulus(),
            self.params.coefficient_len(),
            (polys * t, per),
            &bytes[..blocks.len() * self.block_len() + SLACK],
            groups,
        )
    }

    /// The polynomials of a few queries in NTT form, turned so that coefficient `v t` of a product is what
    /// was coefficient `v t + t - 1`, the score of vector `v`.
    fn group(&self, queries: &[Query]) -> Group {
        let (Shape { polys, t, .. }, plan) = (self.shape, self.params.plan());
        let mut group = Group::new(queries.len(), polys * N);
        let mut poly = Aligned::new(N);
        for (k, query) in queries.iter().enumerate() {
            for l in 0..polys {
                query.coefficients(l, &mut poly);
                // X^-1 is -X^(N - 1).
                poly.rotate_left(t - 1);
                for x in &mut poly[N - (t - 1)..] {
                    *x = plan.modulus().sub(0, *x);
                }
                plan.forward(&mut poly);
                group.store(&poly, l, t, k);
            }
        }
        group
    }

    /// The hint that clients download, computed from the encoded vectors.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let mut hint = Hint::zero(self.params, self.shape, self.stamp());
        threads::for_each(
            hint.blocks_mut(),
            || Aligned::new(2 * N),
            |room, j, block| self.hint_block(j, room, block),
        );
        hint
    }

    /// `sum_l P_jl a_l`, all coefficients of it, with room for two polynomials.
    fn hint_block(&self, j: usize, room: &mut [u64], hint: &mut [u8]) {
        let width = self.params.hint_width;
        let most = width.most();
        let (wide, narrow) = (self.params.switch(most), self.params.switch(most - 1));
        let (plan, len) = (self.params.plan(), self.params.coefficient_len());
        let block = &self.blocks.bytes()[j * self.block_len()..][..self.block_len()];
        let (sum, poly) = room.split_at_mut(N);
        sum.fill(0);
        for (l, a) in self.a.chunks_exact(N).enumerate() {
            take(len, block, l, self.shape.t, poly);
            plan.multiply(poly, a);
            for (sum, product) in sum.iter_mut().zip(&*poly) {
                *sum = plan.modulus().add(*sum, *product);
            }
        }
        plan.inverse(sum);
        for (i, c) in sum.iter_mut().enumerate() {
            *c = if width.of(i) == most {
                wide.switch(*c)
            } else {
                narrow.switch(*c)
            };
        }
        width.write(sum, hint);
    }
}

/// Writes coordinates `l t..` of vector `v` of a block into its polynomial `l`, reversed.
fn place(params: &Params, shape: Shape, poly: &mut [u64], l: usize, v: usize, vector: &[i32]) {
    let modulus = params.plan().modulus();
    let last = v * shape.t + shape.t - 1;
    for (u, &code) in vector[l * shape.t..].iter().take(shape.t).enumerate() {
        poly[last - u] = modulus.from_signed(i64::from(code));
    }
}
