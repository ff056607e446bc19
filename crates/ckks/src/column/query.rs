//! Queries, and the secrets that decrypt their replies.

use sordino_lattice::aligned::Aligned;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::params::Params;
use super::shape::Shape;
use super::state::check_epoch;
use crate::dot::N;
use crate::wire::{Head, Kind};
use crate::{Error, planes, wire};

/// The secret of one query. Decrypting one reply consumes it. It is erased when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretKey {
    #[zeroize(skip)]
    pub(super) params: Params,
    /// `s`, with coefficients in `-1..=1`.
    pub(super) coefficients: Aligned<i8>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretKey")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// An encrypted query: `b_l` without its `r` lowest bits, in planes.
#[derive(Clone, PartialEq)]
pub struct Query {
    params: Params,
    shape: Shape,
    epoch: u64,
    body: Vec<u8>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// The size in bytes of an epoch on the wire.
const EPOCH_LEN: usize = 8;

impl Query {
    /// A query of `dim` coordinates whose coefficients are still zero. `dim` was checked before.
    pub(super) fn zero(params: Params, shape: Shape, epoch: u64) -> Self {
        Self {
            params,
            shape,
            epoch,
            body: vec![0; shape.polys * poly_len(params)],
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

    /// The length in bytes of a message about a query of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large.
    pub fn encoded_len(params: &Params, dim: usize) -> Result<usize, Error> {
        Ok(wire::HEAD_LEN + EPOCH_LEN + params.shape(dim, 0)?.polys * poly_len(*params))
    }

    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(Kind::ColumnQuery, self.params.id(), self.shape.dim, 0);
        let mut message = head.begin(EPOCH_LEN + self.body.len());
        message.extend_from_slice(&self.epoch.to_le_bytes());
        message.extend_from_slice(&self.body);
        message
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, or the set is unknown. The call also fails if the length does not fit
    /// the dimension, or a coefficient is not below `q`.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::ColumnQuery, message)?;
        let params = Params::from_id(head.set)?;
        wire::check_same("counts", head.count(), 0)?;
        let shape = params.shape(head.dim(), 0)?;
        wire::check_body(body, EPOCH_LEN + shape.polys * poly_len(params))?;
        let (epoch, body) = body.split_first_chunk().ok_or(Error::Kind)?;
        let query = Self {
            params,
            shape,
            epoch: u64::from_le_bytes(*epoch),
            body: body.to_vec(),
        };
        let mut poly = vec![0; N];
        for l in 0..shape.polys {
            query.coefficients(l, &mut poly);
            if let Some(i) = poly.iter().position(|&x| x >= params.modulus()) {
                return Err(Error::Coefficient { index: l * N + i });
            }
        }
        Ok(query)
    }

    /// `L`, the number of polynomials.
    pub(super) fn polys(&self) -> usize {
        self.shape.polys
    }

    /// `b_l`, with zeros for the bits that the client dropped.
    pub(super) fn coefficients(&self, l: usize, out: &mut [u64]) {
        let len = poly_len(self.params);
        planes::read(&self.body[l * len..][..len], self.params.upload_bits(), out);
        for x in out {
            *x <<= self.params.dropped;
        }
    }

    /// Writes `b_l`, cut to its upper bits.
    pub(super) fn set(&mut self, l: usize, upper: &[u64]) {
        let len = poly_len(self.params);
        planes::write(
            upper,
            self.params.upload_bits(),
            &mut self.body[l * len..][..len],
        );
    }

    /// Checks that a query is meant for a database of this set, dimension and epoch.
    pub(super) fn check(&self, params: &Params, dim: usize, epoch: u64) -> Result<(), Error> {
        self.params.check_same(params)?;
        wire::check_same("dimensions", self.shape.dim, dim)?;
        check_epoch(self.epoch, epoch)
    }
}

fn poly_len(params: Params) -> usize {
    planes::len(N, params.upload_bits())
}
