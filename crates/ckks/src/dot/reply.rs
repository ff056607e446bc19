//! The server's reply: rounded coefficients of every pack.

use super::params::{N, Params, Shape};
use crate::wire::{Head, Kind};
use crate::{Error, planes, wire};

/// Encrypted scores. For each pack they are `c0` at the coefficients that hold scores, then all of `c1`. Both are
/// rounded to `r` bits and laid out in planes.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    params: Params,
    shape: Shape,
    body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

/// One pack of a reply.
pub(super) struct Pack<'a> {
    c0: &'a [u8],
    c1: &'a [u8],
    scores: usize,
    bits: u32,
}

impl Reply {
    pub(super) fn zero(params: Params, shape: Shape) -> Self {
        Self {
            params,
            shape,
            body: vec![0; body_len(params, shape)],
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

    /// The length in bytes of a message about `count` vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large; [`Error::Count`] if there are too many vectors.
    pub fn encoded_len(params: &Params, dim: usize, count: usize) -> Result<usize, Error> {
        wire::check_dim(dim)?;
        wire::check_count(count)?;
        Ok(wire::HEAD_LEN + body_len(*params, Shape::new(dim, count)))
    }

    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(
            Kind::DotReply,
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
    /// [`Error`] if the kind or version is wrong, the set is unknown, or the length does not fit dimension and
    /// count.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::DotReply, message)?;
        let params = Params::from_id(head.set)?;
        let shape = Shape::new(head.dim(), head.count());
        wire::check_body(body, body_len(params, shape))?;
        Ok(Self {
            params,
            shape,
            body: body.to_vec(),
        })
    }

    /// Checks that a reply is about `count` vectors of this set and dimension.
    pub(super) fn check(&self, params: &Params, dim: usize, count: usize) -> Result<(), Error> {
        wire::check_same(
            "parameter sets",
            self.params.id().into(),
            params.id().into(),
        )?;
        wire::check_same("dimensions", self.shape.dim, dim)?;
        wire::check_same("counts", self.shape.count, count)
    }

    pub(super) fn packs_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let len = pack_len(self.params, self.shape.per);
        self.body.chunks_mut(len)
    }

    pub(super) fn packs(&self) -> impl Iterator<Item = Pack<'_>> {
        let bits = self.params.reply_bits();
        let len = pack_len(self.params, self.shape.per);
        self.body.chunks(len).enumerate().map(move |(k, pack)| {
            let (c0, c1) = pack.split_at(pack.len() - planes::len(N, bits));
            Pack {
                c0,
                c1,
                scores: self.shape.in_pack(k),
                bits,
            }
        })
    }
}

impl Pack<'_> {
    /// `c0` of vector `v` of the pack.
    pub(super) fn score(&self, v: usize) -> u64 {
        planes::get(self.c0, self.scores, self.bits, v)
    }

    /// The dot products of `c1` with the windows of `secret` that begin at `starts`, mod `2^64`.
    pub(super) fn mask_dots(&self, secret: &[i8], starts: &[usize], dots: &mut Vec<u64>) {
        planes::dots(self.c1, N, self.bits, secret, starts, dots);
    }
}

fn pack_len(params: Params, scores: usize) -> usize {
    planes::len(scores, params.reply_bits()) + planes::len(N, params.reply_bits())
}

fn body_len(params: Params, shape: Shape) -> usize {
    let Some(full) = shape.packs.checked_sub(1) else {
        return 0;
    };
    full * pack_len(params, shape.per) + pack_len(params, shape.in_pack(full))
}
