//! The client's side: the public polynomials and the hint. The module `encrypt` encrypts queries, and
//! `decrypt` decrypts scores.

mod decrypt;
mod encrypt;
mod lifted;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;

use self::lifted::{Lifted, hint_plan};
use super::hint::{Hint, HintDelta};
use super::params::Params;
use super::shape::Shape;
use super::state::{State, check_epoch};
use crate::dot::N;
use crate::{Error, Seed, wire};

/// A client of one epoch of a database: the public polynomials and the hint, both in NTT form.
pub struct Client {
    params: Params,
    shape: Shape,
    /// The state of the database that the hint belongs to.
    state: State,
    /// The seed that `a` expands from. The epoch of `state` is only its beginning.
    seed: [u8; 32],
    /// `a_l`, one after the other.
    a: Aligned<u64>,
    hint: Lifted,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the database of `count` vectors in `dim` dimensions, encoded for `seed`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the hint is for another parameter set, dimension or count. [`Error::Epoch`]
    /// if it is for another seed.
    pub fn new(
        params: &Params,
        seed: impl Into<Seed>,
        dim: usize,
        count: usize,
        hint: &Hint,
    ) -> Result<Self, Error> {
        wire::check_same("counts", hint.shape().count, count)?;
        let mut client = Self::empty(params, seed, dim)?;
        client.add(hint)?;
        client.state = hint.state();
        Ok(client)
    }

    /// A client of a database without vectors: [`extend`](Self::extend) adds them.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large.
    pub fn empty(params: &Params, seed: impl Into<Seed>, dim: usize) -> Result<Self, Error> {
        let Seed(seed) = seed.into();
        let shape = params.shape(dim, 0)?;
        let mut a = Aligned::new(shape.polys * N);
        for (l, poly) in a.chunks_exact_mut(N).enumerate() {
            residue::fill_vartime(&seed, l as u64, params.plan().modulus(), poly);
        }
        Ok(Self {
            params: *params,
            shape,
            state: State::new(&seed, 0),
            seed,
            a,
            hint: Lifted::empty(),
        })
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The number of vectors `K`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// The version of the database whose replies the client can decrypt.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// Brings the client up to date with one change of the database. Apply deltas in the order in which the
    /// database returned them.
    ///
    /// # Errors
    /// The errors of [`Hint::apply`].
    pub fn apply(&mut self, delta: &HintDelta) -> Result<(), Error> {
        delta.check(&self.params, self.shape, self.state)?;
        self.hint.replace(self.params, delta.block(), delta.body());
        self.shape = delta.shape_after(self.shape);
        self.state = delta.state();
        Ok(())
    }

    /// Adds a segment that the database appended. `hint` covers only the vectors of the segment. They begin
    /// a new block.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the hint is for another parameter set or dimension. [`Error::Epoch`] if it is
    /// for another seed. [`Error::Version`] if its vectors were changed after encoding. [`Error::Count`] if
    /// there are too many vectors.
    pub fn extend(&mut self, hint: &Hint) -> Result<(), Error> {
        unchanged(hint)?;
        self.add(hint)
    }

    /// Replaces the last segments. It keeps the first `kept` vectors, and then [adds](Self::extend) the
    /// segments of these hints. After an error the client is unchanged.
    ///
    /// # Errors
    /// The errors of [`truncate`](Self::truncate) and [`extend`](Self::extend).
    pub fn replace_after(&mut self, kept: usize, hints: &[Hint]) -> Result<(), Error> {
        let mut shape = self.truncated(kept)?;
        for hint in hints {
            unchanged(hint)?;
            shape = self.extended(shape, hint)?;
        }
        self.truncate(kept)?;
        hints.iter().try_for_each(|hint| self.extend(hint))
    }

    fn add(&mut self, hint: &Hint) -> Result<(), Error> {
        self.shape = self.extended(self.shape, hint)?;
        self.hint.extend(self.params, hint.blocks());
        Ok(())
    }

    /// The shape of this client's database after the hint's vectors are added in new blocks.
    fn extended(&self, shape: Shape, hint: &Hint) -> Result<Shape, Error> {
        hint.params().check_same(&self.params)?;
        wire::check_same("dimensions", hint.shape().dim, shape.dim)?;
        check_epoch(hint.state().epoch(), self.state.epoch())?;
        let count = shape.blocks * shape.per + hint.shape().count;
        self.params.shape(shape.dim, count)
    }

    /// Removes all vectors from number `count` on.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the client has fewer vectors.
    pub fn truncate(&mut self, count: usize) -> Result<(), Error> {
        self.shape = self.truncated(count)?;
        self.hint.truncate(self.shape.blocks);
        Ok(())
    }

    fn truncated(&self, count: usize) -> Result<Shape, Error> {
        if count > self.shape.count {
            return Err(Error::Mismatch {
                what: "counts",
                found: self.shape.count,
                expected: count,
            });
        }
        self.params.shape(self.shape.dim, count)
    }
}

/// Checks that the hint's segment was not changed after it was encoded.
fn unchanged(hint: &Hint) -> Result<(), Error> {
    match hint.version() {
        0 => Ok(()),
        found => Err(Error::Version { found, expected: 0 }),
    }
}

/// The representative of `x` mod `2^bits` in `[-2^(bits-1), 2^(bits-1))`.
#[inline]
const fn centre(x: i64, bits: u32) -> i64 {
    let unused = u64::BITS - bits;
    (x << unused) >> unused
}
