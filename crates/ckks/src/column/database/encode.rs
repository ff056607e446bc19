//! Encodes vectors.

use std::sync::Arc;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;
use sordino_lattice::store::Store;
use sordino_lattice::threads;

use super::Database;
use super::sum::{add_product, write_block};
use crate::column::hint::Hint;
use crate::column::mac::{SLACK, store};
use crate::column::params::Params;
use crate::column::shape::Shape;
use crate::column::state::State;
use crate::dot::N;
use crate::{Error, Seed};

impl Database {
    /// Encodes real-valued `vectors`, row after row of `dim` coordinates, for the public polynomials that `seed`
    /// expands to. Draw a seed at random, and use it for one epoch of one database.
    ///
    /// Rounding errors add up for vectors whose coordinates are small multiples of one number, such as raw integer
    /// features over a common norm. Apply one public random rotation to such vectors and to all queries first.
    ///
    /// # Errors
    /// - [`Error::Encoding`] for a modular set
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Count`] if there are too many vectors
    /// - [`Error::Length`] if the coordinates do not fill whole vectors
    /// - [`Error::NotFinite`] if a coordinate is infinite or NaN
    /// - [`Error::Norm`] if a vector is longer than the norm bound of the set
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
    /// - [`Error::Encoding`] for a real-valued set
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Count`] if there are too many vectors
    /// - [`Error::Length`] if the coordinates do not fill whole vectors
    /// - [`Error::Range`] if an integer is not in `[-P/2, P/2)`
    pub fn encode_modular(
        params: &Params,
        seed: impl Into<Seed>,
        vectors: &[i32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        params.check_modular_rows(vectors, dim)?;
        Self::from_codes(params, seed.into(), vectors, dim)
    }

    fn from_codes(
        params: &Params,
        Seed(seed): Seed,
        codes: &[i32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        let a = Arc::new(Self::public(params, params.shape(dim, 0)?, &seed));
        Self::with_public(params, Seed(seed), a, codes, dim)
    }

    /// Encodes codes under existing public polynomials.
    ///
    /// # Errors
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Count`] if there are too many vectors
    /// - [`Error::Range`] if an integer is not in `[-P/2, P/2)`
    pub(in crate::column) fn with_public(
        params: &Params,
        Seed(seed): Seed,
        a: Arc<Aligned<u64>>,
        codes: &[i32],
        dim: usize,
    ) -> Result<(Self, Hint), Error> {
        let shape = params.shape(dim, codes.len() / dim)?;
        let mut database = Self {
            params: *params,
            shape,
            seed,
            version: 0,
            a,
            blocks: Store::zeroed(0),
        };
        database.reserve(shape.blocks);
        let hint = database.fill_with_hint(codes)?;
        Ok((database, hint))
    }

    /// A database without vectors, with memory for `vectors` in whole blocks. Appending up to that number moves
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large; [`Error::Count`] if there are too many vectors.
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
            version: 0,
            a: Arc::new(Self::public(params, shape, &seed)),
            blocks: Store::zeroed(0),
        };
        database.reserve(params.shape(dim, vectors)?.blocks);
        Ok(database)
    }

    pub(in crate::column) fn public(
        params: &Params,
        shape: Shape,
        seed: &[u8; 32],
    ) -> Aligned<u64> {
        let mut a = Aligned::new(shape.polys * N);
        for (l, poly) in (0..).zip(a.chunks_exact_mut(N)) {
            residue::fill_vartime(seed, l, params.plan().modulus(), poly);
        }
        a
    }

    /// Reserves memory for `blocks` blocks. If it must grow, it grows by at least a half.
    pub(super) fn reserve(&mut self, blocks: usize) {
        let needed = blocks * self.block_len() + SLACK;
        let held = self.blocks.bytes();
        if needed > held.len() {
            let grown = held.len() + held.len() / 2;
            self.blocks = Store::copied(held, needed.max(grown));
        }
    }

    /// Encodes whole blocks of codes from block `first` on, in parallel.
    pub(super) fn fill_blocks(&mut self, first: usize, codes: &[i32]) {
        let (params, shape, len) = (self.params, self.shape, self.block_len());
        let blocks = self.blocks.bytes_mut()[first * len..].chunks_exact_mut(len);
        let blocks = blocks.zip(codes.chunks(shape.per * shape.dim));
        threads::for_each(
            blocks.collect(),
            || Aligned::new(N),
            |poly, _, (block, codes)| {
                encode_block(&params, shape, codes, poly, |l, poly| {
                    store(params.coefficient_len(), poly, l, shape.t, block);
                });
            },
        );
    }

    /// Encodes all blocks of codes, and computes their hint. Each polynomial is multiplied right after it is encoded,
    /// so the encoded vectors are not read again.
    fn fill_with_hint(&mut self, codes: &[i32]) -> Result<Hint, Error> {
        let (params, shape, len) = (self.params, self.shape, self.block_len());
        let (a, state) = (Arc::clone(&self.a), self.state());
        let blocks = self.blocks.bytes_mut().chunks_exact_mut(len).collect();
        hinted(
            (params, shape, state),
            &a,
            codes,
            blocks,
            |block, l, poly| {
                store(params.coefficient_len(), poly, l, shape.t, block);
            },
        )
    }

    /// The hint of codes under existing public polynomials, without the database.
    ///
    /// # Errors
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Count`] if there are too many vectors
    /// - [`Error::Range`] if an integer is not in `[-P/2, P/2)`
    pub(in crate::column) fn hint_with_public(
        params: &Params,
        Seed(seed): Seed,
        a: &Aligned<u64>,
        codes: &[i32],
        dim: usize,
    ) -> Result<Hint, Error> {
        let shape = params.shape(dim, codes.len() / dim)?;
        let nowhere = vec![(); shape.blocks];
        let state = State::new(&seed, 0);
        hinted((*params, shape, state), a, codes, nowhere, |(), _, _| ())
    }
}

/// Computes the hint of codes. `each` receives every polynomial in NTT form, with the index of its block.
fn hinted<P: Send>(
    (params, shape, state): (Params, Shape, State),
    a: &Aligned<u64>,
    codes: &[i32],
    places: Vec<P>,
    each: impl Fn(&mut P, usize, &[u64]) + Send + Sync,
) -> Result<Hint, Error> {
    let mut hint = Hint::zero(params, shape, state);
    let blocks = places.into_iter().zip(codes.chunks(shape.per * shape.dim));
    let checked = threads::map(
        blocks.zip(hint.blocks_mut()).collect(),
        || Aligned::new(2 * N),
        |room, j, ((mut place, codes), hint)| {
            // Reading the codes in order brings them into the cache. For a polynomial, encoding takes a few
            // coordinates of each vector. Reading memory in steps of a whole vector is slow.
            params.check_codes(codes, j * shape.per * shape.dim)?;
            let (sum, poly) = room.split_at_mut(N);
            sum.fill(0);
            encode_block(&params, shape, codes, poly, |l, poly| {
                each(&mut place, l, poly);
                add_product(&params, sum, poly, &a[l * N..][..N]);
            });
            write_block(&params, sum, hint);
            Ok(())
        },
    );
    checked.into_iter().collect::<Result<(), Error>>()?;
    Ok(hint)
}

/// Encodes a block of codes. `poly` is working memory for a polynomial. `each` receives every polynomial in NTT form.
fn encode_block(
    params: &Params,
    shape: Shape,
    codes: &[i32],
    poly: &mut [u64],
    mut each: impl FnMut(usize, &mut [u64]),
) {
    for l in 0..shape.polys {
        poly.fill(0);
        for (v, vector) in codes.chunks_exact(shape.dim).enumerate() {
            place(params, shape, poly, l, v, vector);
        }
        params.plan().forward(poly);
        each(l, poly);
    }
}

/// Writes the coordinates of vector `v` of a block from `l t` on into the block's polynomial `l`, in reverse order.
pub(super) fn place(
    params: &Params,
    shape: Shape,
    poly: &mut [u64],
    l: usize,
    v: usize,
    vector: &[i32],
) {
    let modulus = params.plan().modulus();
    let (_, from) = vector.split_at(l * shape.t);
    let from = &from[..from.len().min(shape.t)];
    let end = (v + 1) * shape.t;
    let to = &mut poly[end - from.len()..end];
    for (residue, &code) in to.iter_mut().rev().zip(from) {
        *residue = modulus.from_signed(i64::from(code));
    }
}
