//! The server's reply: one rounded coefficient per vector.

use super::params::Params;
use super::shape::Shape;
use super::state::{STATE_LEN, State};
use crate::wire::{Head, Kind};
use crate::{Error, wire};

/// Encrypted scores: `w` bits for every vector of the database.
#[derive(Clone, PartialEq)]
pub struct Reply {
    params: Params,
    shape: Shape,
    state: State,
    body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Reply {
    pub(super) fn zero(params: Params, shape: Shape, state: State) -> Self {
        Self {
            params,
            shape,
            state,
            body: vec![0; params.answer_width().len(shape.count)],
        }
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The number of scores.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// True if there are no scores.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// The bytes of a message about `count` vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Count`].
    pub fn encoded_len(params: &Params, dim: usize, count: usize) -> Result<usize, Error> {
        let shape = params.shape(dim, count)?;
        Ok(wire::HEAD_LEN + STATE_LEN + params.answer_width().len(shape.count))
    }

    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(
            Kind::ColumnReply,
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
    /// If it is not one of this kind and version, names an unknown set, or has another length than
    /// its count fixes.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::ColumnReply, message)?;
        let params = Params::from_id(head.set)?;
        let shape = params.shape(head.dim(), head.count())?;
        let len = params.answer_width().len(shape.count);
        wire::check_body(body, STATE_LEN + len)?;
        let (state, body) = body.split_first_chunk().ok_or(Error::Kind)?;
        Ok(Self {
            params,
            shape,
            state: State::from_bytes(*state),
            body: body.to_vec(),
        })
    }

    /// The version of the database that was scored.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// Refuses a reply that is not about a database of this set, shape and state.
    pub(super) fn check(&self, params: &Params, shape: Shape, state: State) -> Result<(), Error> {
        self.params.check_same(params)?;
        wire::check_same("dimensions", self.shape.dim, shape.dim)?;
        wire::check_same("counts", self.shape.count, shape.count)?;
        self.state.check(state)
    }

    /// The answers of each block: whole bytes, since a block's `N / t` answers fill them.
    pub(super) fn blocks_mut(&mut self) -> std::slice::ChunksMut<'_, u8> {
        let len = self.params.answer_width().len(self.shape.per);
        self.body.chunks_mut(len)
    }

    /// The answers of each block.
    pub(super) fn blocks(&self) -> std::slice::Chunks<'_, u8> {
        let len = self.params.answer_width().len(self.shape.per);
        self.body.chunks(len)
    }
}
