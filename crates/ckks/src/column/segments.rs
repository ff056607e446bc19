//! Segments that are scored together, and that several collections may share.

use std::sync::Arc;

use sordino_lattice::aligned::Aligned;

use super::database::{Database, check_onto, fill};
use super::hint::Hint;
use super::params::Params;
use super::query::Query;
use super::reply::Reply;
use super::shape::Shape;
use super::state::State;
use crate::{Error, Seed};

/// Segments under one seed, each a [`Database`] of its own that begins a new block.
///
/// It scores like a database to which the segments were [appended](Database::append_segment), and gives the same
/// replies. When a collection changes, its old and new states share the unchanged segments in memory.
#[derive(Clone)]
pub struct Segments {
    params: Params,
    seed: [u8; 32],
    /// The public polynomials `a_l` in NTT form, one after the other.
    a: Arc<Aligned<u64>>,
    shape: Shape,
    databases: Vec<Arc<Database>>,
}

impl std::fmt::Debug for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segments")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .field("segments", &self.databases.len())
            .finish_non_exhaustive()
    }
}

impl Segments {
    /// An empty list of segments of vectors of `dim` coordinates, for the public polynomials that `seed` expands to.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large.
    pub fn new(params: &Params, seed: impl Into<Seed>, dim: usize) -> Result<Self, Error> {
        let Seed(seed) = seed.into();
        let shape = params.shape(dim, 0)?;
        Ok(Self {
            params: *params,
            seed,
            a: Arc::new(Database::public(params, shape, &seed)),
            shape,
            databases: Vec::new(),
        })
    }

    /// Encodes a segment of real-valued `vectors`, row after row, and computes its hint. The segment is scored only
    /// after it is [pushed](Self::push).
    ///
    /// # Errors
    /// The errors of [`Database::encode`].
    pub fn encode(&self, vectors: &[f32]) -> Result<(Database, Hint), Error> {
        let codes = self.params.real_codes(vectors, self.shape.dim)?;
        self.encoded(&codes)
    }

    /// Like [`encode`](Self::encode), for a segment of `vectors` of integers.
    ///
    /// # Errors
    /// The errors of [`Database::encode_modular`].
    pub fn encode_modular(&self, vectors: &[i32]) -> Result<(Database, Hint), Error> {
        self.params.check_modular_rows(vectors, self.shape.dim)?;
        self.encoded(vectors)
    }

    /// Computes only the hint of a segment, without memory for the encoded vectors.
    ///
    /// # Errors
    /// The errors of [`encode`](Self::encode).
    pub fn hint(&self, vectors: &[f32]) -> Result<Hint, Error> {
        let codes = self.params.real_codes(vectors, self.shape.dim)?;
        Database::hint_with_public(
            &self.params,
            Seed(self.seed),
            &self.a,
            &codes,
            self.shape.dim,
        )
    }

    /// Computes only the hint of a segment of integers.
    ///
    /// # Errors
    /// The errors of [`encode_modular`](Self::encode_modular).
    pub fn hint_modular(&self, vectors: &[i32]) -> Result<Hint, Error> {
        self.params.check_modular_rows(vectors, self.shape.dim)?;
        Database::hint_with_public(
            &self.params,
            Seed(self.seed),
            &self.a,
            vectors,
            self.shape.dim,
        )
    }

    fn encoded(&self, codes: &[i32]) -> Result<(Database, Hint), Error> {
        let a = Arc::clone(&self.a);
        Database::with_public(&self.params, Seed(self.seed), a, codes, self.shape.dim)
    }

    /// Appends a segment, from a new block on.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the segment was encoded with another parameter set or dimension. [`Error::Epoch`] for
    /// another seed. [`Error::Count`] if there are too many vectors.
    pub fn push(&mut self, segment: Arc<Database>) -> Result<(), Error> {
        segment.params().check_same(&self.params)?;
        crate::wire::check_same("dimensions", segment.dim(), self.shape.dim)?;
        State::new(segment.seed(), segment.version()).check(self.state())?;
        let before = self.shape.blocks * self.shape.per;
        self.shape = self.params.shape(self.shape.dim, before + segment.len())?;
        self.databases.push(segment);
        Ok(())
    }

    /// Counts the unused positions of the last block as used, so that all blocks are whole. Then the blocks of
    /// another part of the collection may follow.
    ///
    /// # Errors
    /// [`Error::Count`] if there are too many vectors then.
    pub fn complete(&mut self) -> Result<(), Error> {
        let positions = self.shape.blocks * self.shape.per;
        self.shape = self.params.shape(self.shape.dim, positions)?;
        Ok(())
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

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The segments.
    pub fn databases(&self) -> impl Iterator<Item = &Database> {
        self.databases.iter().map(|segment| &**segment)
    }

    /// The number of positions: vectors, and unused positions between segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// Checks that a query was made for these segments. A server that answers several clients in one pass calls this
    /// first. So one bad query does not spoil the pass for the others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another parameter set or dimension. [`Error::Epoch`] if it was
    /// made for another seed.
    pub fn check(&self, query: &Query) -> Result<(), Error> {
        query.check(&self.params, self.shape.dim, self.state().epoch())
    }

    /// Computes the encrypted dot products of several queries with every vector, in one pass.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a query was made for another parameter set or dimension. [`Error::Epoch`] if it was
    /// made for another seed.
    pub fn score_batch(&self, queries: &[Query]) -> Result<Vec<Reply>, Error> {
        self.replies(queries, &[])
    }

    /// Like [`score_batch`](Self::score_batch), with a public number added to every score, as in
    /// [`Database::score_onto`]. `onto` has numbers for unused positions, too.
    ///
    /// # Errors
    /// The errors of [`Database::score_onto`].
    pub fn score_onto(&self, queries: &[Query], onto: &[&[u32]]) -> Result<Vec<Reply>, Error> {
        check_onto(&self.params, self.shape, queries, onto)?;
        self.replies(queries, onto)
    }

    fn replies(&self, queries: &[Query], onto: &[&[u32]]) -> Result<Vec<Reply>, Error> {
        let mut replies = vec![Reply::zero(self.params, self.shape, self.state()); queries.len()];
        let databases: Vec<&Database> = self.databases().collect();
        fill(self.shape, &databases, queries, onto, &mut replies)?;
        Ok(replies)
    }

    fn state(&self) -> State {
        State::new(&self.seed, 0)
    }
}
