//! The hint and its deltas. They are public, and all clients get the same ones.

use super::params::Params;
use super::shape::Shape;
use super::state::{STATE_LEN, State};
use crate::dot::N;
use crate::wire::{Head, Kind};
use crate::{Error, wire};

/// `H_j = sum_l P_jl a_l` of every block, rounded to about `h` bits: `t h / 8` bytes per vector. A client
/// downloads it once per epoch.
#[derive(Clone, PartialEq)]
pub struct Hint {
    params: Params,
    shape: Shape,
    state: State,
    body: Vec<u8>,
}

impl std::fmt::Debug for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hint")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The new hint of one block, after one of its vectors was replaced, appended or deleted.
#[derive(Clone, PartialEq)]
pub struct HintDelta {
    params: Params,
    shape: Shape,
    /// The state after the change.
    state: State,
    block: usize,
    body: Vec<u8>,
}

impl std::fmt::Debug for HintDelta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HintDelta")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The size in bytes of a block's number on the wire.
const BLOCK_LEN: usize = 4;

impl Hint {
    pub(super) fn zero(params: Params, shape: Shape, state: State) -> Self {
        Self {
            params,
            shape,
            state,
            body: vec![0; shape.blocks * block_len(params)],
        }
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

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// The length in bytes of a message about `count` vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large; [`Error::Count`] if there are too many vectors.
    pub fn encoded_len(params: &Params, dim: usize, count: usize) -> Result<usize, Error> {
        let shape = params.shape(dim, count)?;
        Ok(wire::HEAD_LEN + STATE_LEN + shape.blocks * block_len(*params))
    }

    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(
            Kind::Hint,
            self.params.id(),
            self.shape.dim,
            self.shape.count,
        );
        let mut message = head.begin(STATE_LEN + self.body.len());
        message.extend_from_slice(&self.state.to_bytes());
        message.extend_from_slice(&self.body);
        message
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, the set is unknown, or the length does not fit dimension and count.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        Self::from_vec(message.to_vec())
    }

    /// Reads a message, and keeps its memory for the hint.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes).
    pub fn from_vec(mut message: Vec<u8>) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::Hint, &message)?;
        let params = Params::from_id(head.set)?;
        let shape = params.shape(head.dim(), head.count())?;
        wire::check_body(body, STATE_LEN + shape.blocks * block_len(params))?;
        let (state, _) = body.split_first_chunk().ok_or(Error::Kind)?;
        let state = State::from_bytes(*state);
        message.drain(..wire::HEAD_LEN + STATE_LEN);
        Ok(Self {
            params,
            shape,
            state,
            body: message,
        })
    }

    /// Joins the hints of the parts of a collection, in order, into the hint of the whole.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the list is empty, if sets or dimensions differ, or if a part before the last does not
    /// end with a whole block. [`Error::Epoch`] or [`Error::Version`] if states differ. [`Error::Count`] if there are
    /// too many vectors.
    pub fn join(parts: &[Self]) -> Result<Self, Error> {
        let Some((first, others)) = parts.split_first() else {
            return Err(Error::Mismatch {
                what: "parts",
                found: 0,
                expected: 1,
            });
        };
        let (params, state) = (first.params, first.state);
        let mut whole = first.clone();
        for part in others {
            part.params.check_same(&params)?;
            wire::check_same("dimensions", part.shape.dim, first.shape.dim)?;
            part.state.check(state)?;
            let count = whole.shape.count;
            wire::check_same("vectors after whole blocks", count % whole.shape.per, 0)?;
            whole.shape = params.shape(first.shape.dim, count + part.shape.count)?;
            whole.body.extend_from_slice(&part.body);
        }
        Ok(whole)
    }

    /// The version of the database that the hint belongs to.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn blocks(&self) -> std::slice::ChunksExact<'_, u8> {
        self.body.chunks_exact(block_len(self.params))
    }

    pub(super) fn blocks_mut(&mut self) -> Vec<&mut [u8]> {
        let len = block_len(self.params);
        self.body.chunks_exact_mut(len).collect()
    }

    /// Brings the hint up to date with one change of the database. Apply deltas in the order in which the database
    /// returned them.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the delta is for another parameter set or dimension, and [`Error::Epoch`] if it is for
    /// another seed. [`Error::Version`] if it is not the change that follows the hint's version. [`Error::Index`] if
    /// its block is neither one of the hint's blocks nor the next one.
    pub fn apply(&mut self, delta: &HintDelta) -> Result<(), Error> {
        delta.check(&self.params, self.shape, self.state)?;
        let len = block_len(self.params);
        let end = (delta.block + 1) * len;
        self.body.resize(self.body.len().max(end), 0);
        self.body[end - len..end].copy_from_slice(&delta.body);
        self.shape = delta.shape_after(self.shape);
        self.state = delta.state;
        Ok(())
    }
}

impl HintDelta {
    pub(super) fn zero(params: Params, shape: Shape, state: State, block: usize) -> Self {
        Self {
            params,
            shape,
            state,
            block,
            body: vec![0; block_len(params)],
        }
    }

    /// The version of the database after the change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// The number of vectors of the database after the change.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape.count
    }

    /// The message that [`from_bytes`](Self::from_bytes) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(
            Kind::HintDelta,
            self.params.id(),
            self.shape.dim,
            self.shape.count,
        );
        let mut message = head.begin(STATE_LEN + BLOCK_LEN + self.body.len());
        message.extend_from_slice(&self.state.to_bytes());
        message.extend_from_slice(&self.block.to_le_bytes()[..BLOCK_LEN]);
        message.extend_from_slice(&self.body);
        message
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, or the set is unknown. The call also fails if the count is too small
    /// for the block, or the length does not fit the set.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::HintDelta, message)?;
        let params = Params::from_id(head.set)?;
        let shape = params.shape(head.dim(), head.count())?;
        wire::check_body(body, STATE_LEN + BLOCK_LEN + block_len(params))?;
        let (state, body) = body.split_first_chunk().ok_or(Error::Kind)?;
        let (block, body) = body.split_first_chunk::<BLOCK_LEN>().ok_or(Error::Kind)?;
        let block = u32::from_le_bytes(*block) as usize;
        if block >= shape.blocks {
            return Err(Error::Index {
                index: block,
                count: shape.blocks,
            });
        }
        Ok(Self {
            params,
            shape,
            state: State::from_bytes(*state),
            block,
            body: body.to_vec(),
        })
    }

    /// Checks that a delta is the next change of a hint of this set, shape and state.
    pub(super) fn check(&self, params: &Params, shape: Shape, state: State) -> Result<(), Error> {
        self.params.check_same(params)?;
        wire::check_same("dimensions", self.shape.dim, shape.dim)?;
        self.state.check(state.next())?;
        // A database never loses vectors, and a delta adds at most one block.
        if self.shape.count < shape.count {
            return Err(Error::Mismatch {
                what: "counts",
                found: self.shape.count,
                expected: shape.count,
            });
        }
        if self.block > shape.blocks {
            return Err(Error::Index {
                index: self.block,
                count: shape.blocks,
            });
        }
        Ok(())
    }

    /// The shape of a hint after this delta. If one append gave several deltas, each adds its own block.
    pub(super) fn shape_after(&self, shape: Shape) -> Shape {
        let blocks = shape.blocks.max(self.block + 1);
        Shape {
            blocks,
            count: self.shape.count.min(blocks * shape.per),
            ..shape
        }
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn block(&self) -> usize {
        self.block
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(super) fn block_mut(&mut self) -> &mut [u8] {
        &mut self.body
    }
}

fn block_len(params: Params) -> usize {
    params.hint_width.len(N)
}
