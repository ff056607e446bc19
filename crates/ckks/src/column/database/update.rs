//! Changes of single vectors: the server encodes only their blocks again, and clients follow by deltas.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::threads;

use super::Database;
use super::encode::place;
use crate::Error;
use crate::column::hint::{Hint, HintDelta};
use crate::column::mac::{store, take};
use crate::column::params::Params;
use crate::column::state::State;
use crate::dot::N;

impl Database {
    /// Replaces vector `index` by a real-valued `vector`.
    ///
    /// # Errors
    /// [`Error::Index`] if there is no vector of this number, and the errors of [`encode`](Self::encode).
    pub fn replace(&mut self, index: usize, vector: &[f32]) -> Result<HintDelta, Error> {
        let codes = self.params.real_codes(vector, self.shape.dim)?;
        self.replace_codes(index, &codes)
    }

    /// Replaces vector `index` by a `vector` of integers.
    ///
    /// # Errors
    /// [`Error::Index`] if there is no vector of this number, and the errors of
    /// [`encode_modular`](Self::encode_modular).
    pub fn replace_modular(&mut self, index: usize, vector: &[i32]) -> Result<HintDelta, Error> {
        self.params.check_modular(vector, self.shape.dim)?;
        self.replace_codes(index, vector)
    }

    /// Overwrites vector `index` with zeros. Other vectors keep their indices, and the score of this one is 0.
    ///
    /// # Errors
    /// [`Error::Index`] if there is no vector of this number.
    pub fn delete(&mut self, index: usize) -> Result<HintDelta, Error> {
        self.replace_codes(index, &vec![0; self.shape.dim])
    }

    fn replace_codes(&mut self, index: usize, vector: &[i32]) -> Result<HintDelta, Error> {
        let shape = self.shape;
        if index >= shape.count {
            return Err(Error::Index {
                index,
                count: shape.count,
            });
        }
        if vector.len() != shape.dim {
            return Err(Error::Length {
                found: vector.len(),
                expected: shape.dim,
            });
        }
        let (j, v) = (index / shape.per, index % shape.per);
        self.edit_block(j, |poly, l, params| {
            place(params, shape, poly, l, v, vector);
        });
        Ok(self.hint_delta(j))
    }

    /// Appends real-valued `vectors`, and returns the deltas of the changed blocks in order.
    ///
    /// # Errors
    /// The errors of [`encode`](Self::encode).
    pub fn append(&mut self, vectors: &[f32]) -> Result<Vec<HintDelta>, Error> {
        let codes = self.params.real_codes(vectors, self.shape.dim)?;
        self.append_codes(&codes)
    }

    /// Appends `vectors` of integers, and returns the deltas of the changed blocks in order.
    ///
    /// # Errors
    /// The errors of [`encode_modular`](Self::encode_modular).
    pub fn append_modular(&mut self, vectors: &[i32]) -> Result<Vec<HintDelta>, Error> {
        self.params.check_modular(vectors, self.shape.dim)?;
        self.append_codes(vectors)
    }

    /// Appends real-valued `vectors` from a new block on. The rest of the last block stays zero. The returned hint
    /// covers these vectors alone, and is the same as if they had been encoded by themselves.
    ///
    /// The version does not count segments. A client cannot distinguish replies with equal numbers of vectors from
    /// different segments. So a program that puts segments together must tell clients which segments it used.
    ///
    /// # Errors
    /// The errors of [`encode`](Self::encode).
    pub fn append_segment(&mut self, vectors: &[f32]) -> Result<Hint, Error> {
        let codes = self.params.real_codes(vectors, self.shape.dim)?;
        self.append_segment_codes(&codes)
    }

    /// Appends `vectors` of integers from a new block on, like [`append_segment`](Self::append_segment).
    ///
    /// # Errors
    /// The errors of [`encode_modular`](Self::encode_modular).
    pub fn append_segment_modular(&mut self, vectors: &[i32]) -> Result<Hint, Error> {
        self.params.check_modular(vectors, self.shape.dim)?;
        self.append_segment_codes(vectors)
    }

    fn append_segment_codes(&mut self, codes: &[i32]) -> Result<Hint, Error> {
        let (old, params) = (self.shape, self.params);
        let own = params.shape(old.dim, codes.len() / old.dim)?;
        let new = params.shape(old.dim, old.blocks * old.per + own.count)?;
        self.reserve(new.blocks);
        self.shape = new;
        self.fill_blocks(old.blocks, codes);
        let mut hint = Hint::zero(params, own, State::new(&self.seed, 0));
        threads::for_each(
            hint.blocks_mut(),
            || Aligned::new(2 * N),
            |room, j, block| self.hint_block(old.blocks + j, room, block),
        );
        Ok(hint)
    }

    fn append_codes(&mut self, codes: &[i32]) -> Result<Vec<HintDelta>, Error> {
        let old = self.shape;
        let new = self
            .params
            .shape(old.dim, old.count + codes.len() / old.dim)?;
        // The first vectors fill the last block, and the others whole blocks.
        let first = (old.blocks * old.per - old.count) * old.dim;
        let (rest, whole) = codes.split_at(first.min(codes.len()));
        self.reserve(new.blocks);
        self.shape = new;
        if !rest.is_empty() {
            self.edit_block(old.blocks - 1, |poly, l, params| {
                for (v, vector) in (old.count % old.per..).zip(rest.chunks_exact(old.dim)) {
                    place(params, new, poly, l, v, vector);
                }
            });
        }
        self.fill_blocks(old.blocks, whole);
        let changed = if rest.is_empty() {
            old.blocks
        } else {
            old.blocks - 1
        };
        Ok((changed..new.blocks).map(|j| self.hint_delta(j)).collect())
    }

    /// Changes the coefficients of every polynomial of block `j`.
    fn edit_block(&mut self, j: usize, edit: impl Fn(&mut [u64], usize, &Params)) {
        let (params, shape, len) = (self.params, self.shape, self.block_len());
        let block = &mut self.blocks.bytes_mut()[j * len..][..len];
        let mut poly = Aligned::new(N);
        for l in 0..shape.polys {
            take(params.coefficient_len(), block, l, shape.t, &mut poly);
            params.plan().inverse(&mut poly);
            edit(&mut poly, l, &params);
            params.plan().forward(&mut poly);
            store(params.coefficient_len(), &poly, l, shape.t, block);
        }
    }

    /// Counts one change, and returns the delta of block `j`.
    fn hint_delta(&mut self, j: usize) -> HintDelta {
        self.version = self.version.wrapping_add(1);
        let mut delta = HintDelta::zero(self.params, self.shape, self.state(), j);
        self.hint_block(j, &mut Aligned::new(2 * N), delta.block_mut());
        delta
    }
}
