//! The server's reply: one rounded coefficient per vector.

use super::params::{Params, Shape};
use crate::wire::{Head, Kind};
use crate::{Error, bits, wire};

/// Encrypted scores: `w` bits for every vector of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    params: Params,
    shape: Shape,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn zero(params: Params, shape: Shape) -> Self {
        Self {
            params,
            shape,
            body: vec![0; bits::len(shape.count, params.answer_bits)],
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

    /// Whether there are no scores.
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
        Ok(wire::HEAD_LEN + bits::len(shape.count, params.answer_bits))
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
        let mut message = head.begin(self.body.len());
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
        wire::check_body(body, bits::len(shape.count, params.answer_bits))?;
        Ok(Self {
            params,
            shape,
            body: body.to_vec(),
        })
    }

    /// That the reply is about a database of this set and shape.
    pub(super) fn check(&self, params: &Params, shape: Shape) -> Result<(), Error> {
        self.params.check_same(params)?;
        wire::check_same("dimensions", self.shape.dim, shape.dim)?;
        wire::check_same("counts", self.shape.count, shape.count)
    }

    /// The answers of each block: whole bytes, since a block's `N / t` answers fill them.
    pub(super) fn blocks_mut(&mut self) -> std::slice::ChunksMut<'_, u8> {
        let len = bits::len(self.shape.per, self.params.answer_bits);
        self.body.chunks_mut(len)
    }

    /// The answers of each block.
    pub(super) fn blocks(&self) -> std::slice::Chunks<'_, u8> {
        let len = bits::len(self.shape.per, self.params.answer_bits);
        self.body.chunks(len)
    }
}
