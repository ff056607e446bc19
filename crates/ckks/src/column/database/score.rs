//! Scoring: one pass over all blocks for a batch of queries.

use std::ops::Range;

use sordino_lattice::Modulus;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::threads;

use super::Database;
use crate::Error;
use crate::column::mac::{self, Group, Pass, SLACK};
use crate::column::params::Params;
use crate::column::query::Query;
use crate::column::reply::Reply;
use crate::column::shape::Shape;
use crate::dot::N;
use crate::file::check_unchanged;
use crate::wire::check_same;

/// The largest number of blocks that are scored together. The part of the queries that these blocks need stays in the
/// cache from block to block. Scoring one block after the other would load the queries from a slower cache for each,
/// which takes longer than the products.
const TOGETHER: usize = 24;

impl Database {
    /// Computes the encrypted dot products of one query with every vector.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another parameter set or dimension, and [`Error::Epoch`] if it was
    /// made for another seed. [`Error::MessageLength`] and [`Error::Io`] if a mapped file has changed.
    pub fn score(&self, query: &Query) -> Result<Reply, Error> {
        let mut reply = Reply::zero(self.params, self.shape, self.state());
        self.fill(
            std::slice::from_ref(query),
            std::slice::from_mut(&mut reply),
        )?;
        Ok(reply)
    }

    /// Computes the encrypted dot products of several queries with every vector. Each block is read from memory once,
    /// and scored for all queries while it is in the cache.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a query was made for another parameter set or dimension.
    pub fn score_batch(&self, queries: &[Query]) -> Result<Vec<Reply>, Error> {
        let mut replies = vec![Reply::zero(self.params, self.shape, self.state()); queries.len()];
        self.fill(queries, &mut replies)?;
        Ok(replies)
    }

    /// Like [`score_batch`](Self::score_batch), with a public number added to every score. `onto[k][v]`, in units of `P
    /// / 2^32`, is added to the score of query `k` and vector `v`. It is added before the answer is rounded, so that
    /// the sum is rounded once.
    ///
    /// # Errors
    /// The errors of [`score_batch`](Self::score_batch), and [`Error::Encoding`] for a real-valued set.
    /// [`Error::Mismatch`] if there is not one list for each query, or not one number for each vector.
    pub fn score_onto(&self, queries: &[Query], onto: &[&[u32]]) -> Result<Vec<Reply>, Error> {
        check_onto(&self.params, self.shape, queries, onto)?;
        let mut replies = vec![Reply::zero(self.params, self.shape, self.state()); queries.len()];
        fill(self.shape, &[self], queries, onto, &mut replies)?;
        Ok(replies)
    }

    /// Writes the reply to each query.
    fn fill(&self, queries: &[Query], replies: &mut [Reply]) -> Result<(), Error> {
        fill(self.shape, &[self], queries, &[], replies)
    }

    /// Writes the answers of these blocks into the replies. The first block is number `first` of `shape` and number 0
    /// of this database. All [`threads`] share the blocks.
    fn answer(
        &self,
        (shape, first): (Shape, usize),
        groups: &[Group],
        onto: &[&[u32]],
        blocks: &mut [Vec<&mut [u8]>],
    ) {
        let count = blocks.first().map_or(0, Vec::len);
        let plan = self.params.plan();
        let switch = self.params.answer_switch();
        // If there are few blocks, each thread gets a share.
        let together = blocks.len() / (4 * threads::count());
        let together = together.clamp(1, TOGETHER);
        threads::for_each(
            blocks.chunks_mut(together).collect(),
            || Aligned::new(together * count * shape.per),
            |sums, g, blocks| {
                let range = g * together..g * together + blocks.len();
                let sums = &mut sums[..blocks.len() * count * shape.per];
                self.pass(range.clone(), groups).run(sums);
                let sums = sums.chunks_exact_mut(count * shape.per);
                for (j, (sums, answers)) in range.zip(sums.zip(blocks)) {
                    let vectors = shape.in_block(first + j);
                    let sums = sums.chunks_exact_mut(shape.per).zip(answers);
                    for (k, (sum, answer)) in sums.enumerate() {
                        plan.inverse_folded(sum);
                        let picked = &mut sum[..vectors];
                        if let Some(onto) = onto.get(k) {
                            add_parts(plan.modulus(), picked, &onto[(first + j) * shape.per..]);
                        }
                        if !self.params.is_whole() {
                            switch.apply(picked);
                        }
                        self.params.answer_width().write(picked, answer);
                    }
                }
            },
        );
    }

    /// The products of a range of blocks with the polynomials of the queries in `groups`.
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

    /// The polynomials of a few queries in NTT form, each multiplied by `X^-(t - 1)`. So the score of vector `v`,
    /// coefficient `v t + t - 1` of a product, moves to coefficient `v t`.
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
}

/// Checks that these numbers can be added to the scores of these queries.
pub(in crate::column) fn check_onto(
    params: &Params,
    shape: Shape,
    queries: &[Query],
    onto: &[&[u32]],
) -> Result<(), Error> {
    if params.log_p().is_none() {
        return Err(Error::Encoding { modular: false });
    }
    check_same("lists of numbers", onto.len(), queries.len())?;
    onto.iter()
        .try_for_each(|onto| check_same("numbers", onto.len(), shape.count))
}

/// Adds `onto[i] q / 2^32`, rounded, to residue `i`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a part of q is at most q less q / 2^32, which rounding does not reach"
)]
fn add_parts(modulus: Modulus, residues: &mut [u64], onto: &[u32]) {
    for (residue, &onto) in residues.iter_mut().zip(onto) {
        let part = (u128::from(onto) * u128::from(modulus.q()) + (1 << 31)) >> 32;
        *residue = modulus.add(*residue, part as u64);
    }
}

/// Writes the reply to each query, and adds `onto` to the scores if it is given. The blocks of `databases` follow one
/// another in `shape`. All of them have the same seed, and their shapes differ only in their counts.
pub(in crate::column) fn fill(
    shape: Shape,
    databases: &[&Database],
    queries: &[Query],
    onto: &[&[u32]],
    replies: &mut [Reply],
) -> Result<(), Error> {
    for database in databases {
        check_unchanged(&database.blocks)?;
        for query in queries {
            query.check(&database.params, shape.dim, database.state().epoch())?;
        }
    }
    let (Some(first), false) = (databases.first(), queries.is_empty()) else {
        return Ok(());
    };
    let groups = threads::map(
        queries.chunks(mac::GROUP).collect(),
        || (),
        |(), _, queries| first.group(queries),
    );
    let mut blocks: Vec<Vec<&mut [u8]>> = (0..shape.blocks)
        .map(|_| Vec::with_capacity(queries.len()))
        .collect();
    for reply in replies {
        for (answers, answer) in blocks.iter_mut().zip(reply.blocks_mut()) {
            answers.push(answer);
        }
    }
    let mut done = 0;
    for database in databases {
        let own = &mut blocks[done..][..database.shape.blocks];
        database.answer((shape, done), &groups, onto, own);
        done += database.shape.blocks;
    }
    Ok(())
}
