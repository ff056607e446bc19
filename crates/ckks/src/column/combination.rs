//! Linear combinations of answers. A client that knows the weights can check a whole reply.
//!
//! | symbol | meaning |
//! |---|---|
//! | `y_v` | answer `v`, a residue mod `q`: `(sum_l P_jl b_l)[m]` with `m = v t + t - 1` |
//! | `F_v` | the functional that gives it: `y_v = <F_v, b>`, `L N` residues, known to anyone who has the vectors |
//! | `c_v` | its weight |
//! | `z` | the combination, `sum_v c_v F_v` |
//!
//! ```text
//! z_l = sum_j P_jl(1/X) C_j,      C_j = sum_v c_v X^(v t + t - 1)  over the vectors of block j
//! sum_v c_v y_v = sum_l <z_l, b_l>   mod q
//! ```
//!
//! Suppose that the answer for some `v` differs from the honest answer. Fix the other weights. Then the answers
//! satisfy the second line for at most one value of `c_v`. Both sides are computed from sent and received messages:
//! the check needs neither a secret key nor a score.

use sordino_lattice::aligned::Aligned;
use zeroize::{Zeroize, Zeroizing};

use super::params::Params;
use super::query::Query;
use super::shape::Shape;
use crate::dot::N;
use crate::wire::{HEAD_LEN, Head, Kind};
use crate::{Error, wire};

/// The weighted sum of the functionals of some vectors.
///
/// # Security
/// A party that has the combination and the vectors can compute the weights. If the vectors are few, a party that has
/// the weights can compute the vectors. So the combination is as secret as both. It is erased when dropped.
pub struct Combination {
    params: Params,
    shape: Shape,
    /// `z_l`, one after the other.
    polys: Aligned<u64>,
}

impl std::fmt::Debug for Combination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Combination")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Drop for Combination {
    fn drop(&mut self) {
        self.polys.zeroize();
    }
}

impl Combination {
    /// The combination of an empty list of vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large; [`Error::Whole`] for a set that rounds its answers.
    pub fn empty(params: &Params, dim: usize) -> Result<Self, Error> {
        let shape = params.shape(dim, 0)?;
        if !params.is_whole() {
            return Err(Error::Whole);
        }
        Ok(Self {
            params: *params,
            shape,
            polys: Aligned::new(shape.polys * N),
        })
    }

    /// The polynomials `z_l`.
    pub(super) fn polys_mut(&mut self) -> Vec<&mut [u64]> {
        self.polys.chunks_exact_mut(N).collect()
    }

    /// Adds the combination of other vectors of the same dimension.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if `other` belongs to another set or dimension.
    pub fn add(&mut self, other: &Self) -> Result<(), Error> {
        other.params.check_same(&self.params)?;
        wire::check_same("dimensions", other.shape.dim, self.shape.dim)?;
        let modulus = self.params.plan().modulus();
        for (sum, x) in self.polys.iter_mut().zip(other.polys.iter()) {
            *sum = modulus.add(*sum, *x);
        }
        Ok(())
    }

    /// `sum_l <z_l, b_l>` mod `q`: the weighted sum of the honest answers to this query.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query is for another set or dimension.
    pub fn of(&self, query: &Query) -> Result<u64, Error> {
        let one = Self::all_of(std::slice::from_ref(self), query)?;
        Ok(one.into_iter().sum())
    }

    /// Like [`of`](Self::of), for several combinations. The query is unpacked only once.
    ///
    /// # Errors
    /// The errors of [`of`](Self::of).
    pub fn all_of(all: &[Self], query: &Query) -> Result<Vec<u64>, Error> {
        for combination in all {
            query.params().check_same(&combination.params)?;
            wire::check_same("dimensions", query.dim(), combination.shape.dim)?;
        }
        let modulus = query.params().plan().modulus();
        let (mut sums, mut b) = (vec![0; all.len()], Aligned::new(N));
        for l in 0..query.polys() {
            query.coefficients(l, &mut b);
            for (sum, combination) in sums.iter_mut().zip(all) {
                let products = combination.polys[l * N..][..N].iter().zip(b.iter());
                let products = products.map(|(&z, &b)| u128::from(z) * u128::from(b));
                *sum = modulus.add(*sum, modulus.reduce_wide(products.sum()));
            }
        }
        Ok(sums)
    }

    /// The length in bytes of a message about vectors of `dim` coordinates.
    ///
    /// # Errors
    /// The errors of [`empty`](Self::empty).
    pub fn encoded_len(params: &Params, dim: usize) -> Result<usize, Error> {
        let shape = params.shape(dim, 0)?;
        if !params.is_whole() {
            return Err(Error::Whole);
        }
        Ok(HEAD_LEN + params.residue_width().len(shape.polys * N))
    }

    /// The message. It is as secret as the combination.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let width = self.params.residue_width();
        let len = width.len(self.polys.len());
        let head = Head::new(Kind::Combination, self.params.id(), self.shape.dim, 0);
        let mut message = head.begin(len);
        message.resize(HEAD_LEN + len, 0);
        width.write(&self.polys, &mut message[HEAD_LEN..]);
        Zeroizing::new(message)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, or the set is unknown or rounds answers. The call also fails if the
    /// length does not fit the dimension, or a number is not below `q`.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::Combination, message)?;
        let params = Params::from_id(head.set)?;
        wire::check_same("counts", head.count(), 0)?;
        let expected = Self::encoded_len(&params, head.dim())?;
        wire::check_body(body, expected - HEAD_LEN)?;
        let mut read = Self::empty(&params, head.dim())?;
        params.residue_width().read(body, &mut read.polys);
        match read.polys.iter().position(|&x| x >= params.modulus()) {
            Some(index) => Err(Error::Coefficient { index }),
            None => Ok(read),
        }
    }
}
