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

    /// The length in bytes of a message about `count` vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Dimension`] if the dimension is 0 or too large; [`Error::Count`] if there are too many vectors.
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
    /// [`Error`] if the kind or version is wrong, the set is unknown, or the length does not fit the count. For whole
    /// answers, also [`Error`] if one of them is not below `q`.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (params, shape, state, body) = split(message)?;
        let reply = Self {
            params,
            shape,
            state,
            body: body.to_vec(),
        };
        if params.is_whole() {
            reply.check_residues()?;
        }
        Ok(reply)
    }

    fn check_residues(&self) -> Result<(), Error> {
        let (q, per) = (self.params.modulus(), self.shape.per);
        let mut residues = vec![0; per];
        for (j, block) in self.blocks().enumerate() {
            let residues = &mut residues[..self.shape.in_block(j)];
            self.params.answer_width().read(block, residues);
            if let Some(i) = residues.iter().position(|&x| x >= q) {
                let index = j * per + i;
                return Err(Error::Coefficient { index });
            }
        }
        Ok(())
    }

    /// The weighted sums of the answers from number `first` on, mod `q`, one for each list of weights. The client
    /// compares each with a [`Combination`](super::Combination) with the same weights.
    ///
    /// # Errors
    /// [`Error::Whole`] if answers are rounded. [`Error::Mismatch`] if `first` does not begin a block, the lists have
    /// different lengths, or there are fewer answers than weights.
    ///
    /// # Security
    /// Does the same steps for all answers and weights.
    pub fn weighted(&self, first: usize, weights: &[&[u64]]) -> Result<Vec<u64>, Error> {
        if !self.params.is_whole() {
            return Err(Error::Whole);
        }
        let (per, modulus) = (self.shape.per, self.params.plan().modulus());
        wire::check_same("positions before a block", first % per, 0)?;
        let count = weights.first().map_or(0, |weights| weights.len());
        for weights in weights {
            wire::check_same("weights", weights.len(), count)?;
        }
        let most = self.shape.count.saturating_sub(first);
        wire::check_same("answers", most.min(count), count)?;
        let mut residues = vec![0; per];
        let mut sums = vec![0; weights.len()];
        for (j, block) in self.blocks().skip(first / per).enumerate() {
            let range = (j * per).min(count)..((j + 1) * per).min(count);
            if range.is_empty() {
                break;
            }
            let residues = &mut residues[..range.len()];
            self.params.answer_width().read(block, residues);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                let products = weights[range.clone()].iter().zip(&*residues);
                let products = products.map(|(&w, &x)| u128::from(w) * u128::from(x));
                *sum = modulus.add(*sum, modulus.reduce_wide(products.sum()));
            }
        }
        Ok(sums)
    }

    /// Checks, without a copy, that a message is about `count` vectors of `dim` coordinates.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes), and [`Error::Mismatch`] if the set, the dimension or the count
    /// differs.
    pub fn check_bytes(
        message: &[u8],
        params: &Params,
        dim: usize,
        count: usize,
    ) -> Result<(), Error> {
        let (found, shape, ..) = split(message)?;
        found.check_same(params)?;
        wire::check_same("dimensions", shape.dim, dim)?;
        wire::check_same("counts", shape.count, count)
    }

    /// Appends the message about a whole collection to `whole`, made from the messages about its parts. `runs` lists, in
    /// the order of the collection, a part's number and how many of its next blocks follow.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes). [`Error::Mismatch`] if sets or dimensions differ, or if a part has
    /// other blocks than the runs name. The same error if a part before the last does not end with a whole block.
    /// [`Error::Epoch`] or [`Error::Version`] if states differ. [`Error::Count`] if there are too many vectors.
    pub fn join(
        parts: &[&[u8]],
        runs: impl IntoIterator<Item = (usize, usize)>,
        whole: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let missing = |at: usize| Error::Mismatch {
            what: "parts",
            found: parts.len(),
            expected: at + 1,
        };
        let first = parts.first().ok_or_else(|| missing(0))?;
        let (params, shape, state, _) = split(first)?;
        let (mut count, mut rest) = (0, Vec::with_capacity(parts.len()));
        for part in parts {
            let (other, part, its, body) = split(part)?;
            other.check_same(&params)?;
            wire::check_same("dimensions", part.dim, shape.dim)?;
            its.check(state)?;
            count += part.count;
            rest.push(body);
        }
        let shape = params.shape(shape.dim, count)?;
        let width = params.answer_width();
        let (block, len) = (width.len(shape.per), width.len(count));
        let head = Head::new(Kind::ColumnReply, params.id(), shape.dim, count);
        whole.extend(head.begin(STATE_LEN));
        whole.extend(state.to_bytes());
        let begin = whole.len();
        whole.reserve(len);
        for (at, blocks) in runs {
            let part = rest.get_mut(at).ok_or_else(|| missing(at))?;
            // Only the last block of all may be incomplete.
            wire::check_same("bytes after whole blocks", (whole.len() - begin) % block, 0)?;
            let (run, after) = part.split_at(part.len().min(blocks.saturating_mul(block)));
            wire::check_same("blocks of a part", run.len().div_ceil(block), blocks)?;
            whole.extend_from_slice(run);
            *part = after;
        }
        wire::check_same("bytes of answers", whole.len() - begin, len)
    }

    /// The version of the database that the server scored.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// Checks that a reply is about a database of this set, shape and state.
    pub(super) fn check(&self, params: &Params, shape: Shape, state: State) -> Result<(), Error> {
        self.params.check_same(params)?;
        wire::check_same("dimensions", self.shape.dim, shape.dim)?;
        wire::check_same("counts", self.shape.count, shape.count)?;
        self.state.check(state)
    }

    /// The answers of each block. They are whole bytes, since a block's `N / t` answers fill bytes.
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

/// Splits a message into its checked head and its answers.
fn split(message: &[u8]) -> Result<(Params, Shape, State, &[u8]), Error> {
    let (head, body) = Head::split(Kind::ColumnReply, message)?;
    let params = Params::from_id(head.set)?;
    let shape = params.shape(head.dim(), head.count())?;
    wire::check_body(body, STATE_LEN + params.answer_width().len(shape.count))?;
    let (state, body) = body.split_first_chunk().ok_or(Error::Kind)?;
    Ok((params, shape, State::from_bytes(*state), body))
}
