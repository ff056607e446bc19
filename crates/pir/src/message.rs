//! The messages of both schemes: the hint once, then a query and an answer for each record.
//!
//! A message is packed words, whose numbers and widths its parameters fix. [`simple`](crate::simple) and
//! [`double`](crate::double) each have their own types, which differ in the [`Protocol`].

#![expect(
    clippy::cast_possible_truncation,
    reason = "unpacked words have 12 bits"
)]

use crate::bits::{pack, packed_len, unpack};
use crate::params::{ANSWER_BITS, HEADER_LEN, LOG_Q};
use crate::wire::{self, Kind};
use crate::{Error, Params, Protocol};

/// The message that a client needs once for each version of the database. It is `H = D A`, `l x n`, for SimplePIR, and
/// `H2 = G A2`, `kappa n x n` for each byte of a record, for DoublePIR. Each word is rounded to [`Params::hint_bits`]
/// bits. All clients get the same hint.
#[derive(Clone, PartialEq, Eq)]
pub struct Hint<P> {
    pub(crate) params: Params<P>,
    pub(crate) version: u64,
    /// Rounded words, row after row.
    pub(crate) words: Vec<u32>,
}

/// The words `b = A s + e + Delta u_j`, `m` of them, for SimplePIR; `q1` and `q2`, `m` and `l` words, for
/// DoublePIR. Each is rounded to [`Params::query_bits`] bits. Without the secrets they are indistinguishable
/// from uniform ones.
#[derive(Clone, PartialEq, Eq)]
pub struct Query<P> {
    pub(crate) params: Params<P>,
    pub(crate) version: u64,
    /// Multiples of `2^(32 - query_bits)`: `b`, or `q1` and `q2`.
    pub(crate) words: Vec<u32>,
}

/// For SimplePIR, the words `D b`, `l` of them, rounded to 12 bits. For DoublePIR, `a2`, `b2` and `h`, whose size
/// depends on the length of a record, not on the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer<P> {
    pub(crate) params: Params<P>,
    pub(crate) version: u64,
    /// `D b`, or `a2` of all bytes and then `b2` of all bytes: 12 bits each.
    pub(crate) words: Vec<u16>,
    /// Empty, or `h`: `kappa` rows of `n` words for each byte, rounded like a hint.
    pub(crate) h: Vec<u32>,
}

impl<P: Protocol> std::fmt::Debug for Hint<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Hint", &self.params, self.version)
    }
}

impl<P: Protocol> std::fmt::Debug for Query<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Query", &self.params, self.version)
    }
}

impl<P: Protocol> std::fmt::Debug for Answer<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Answer", &self.params, self.version)
    }
}

impl<P: Protocol> Hint<P> {
    /// The version of the database that this hint belongs to.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The wire form, [`Params::hint_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = Kind::hint(P::SCHEME);
        let length = self.params.hint_len() - HEADER_LEN;
        wire::encode(kind, &self.params, self.version, length, |out| {
            pack(self.words.iter().copied(), self.params.hint_bits(), out);
        })
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// Fails if the bytes are not a hint for `params`.
    pub fn from_bytes(params: &Params<P>, bytes: &[u8]) -> Result<Self, Error> {
        let (kind, length) = (Kind::hint(P::SCHEME), params.hint_len() - HEADER_LEN);
        let (version, payload) = wire::decode_for(kind, params, length, bytes)?;
        Ok(Self {
            params: *params,
            version,
            words: unpack(payload, params.hint_words(), params.hint_bits()).collect(),
        })
    }
}

impl<P: Protocol> Query<P> {
    /// The version of the database that the client's hint belongs to.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// `b`, or `q1`.
    pub(crate) fn first(&self) -> &[u32] {
        &self.words[..self.params.columns()]
    }

    /// Empty, or `q2`.
    pub(crate) fn second(&self) -> &[u32] {
        &self.words[self.params.columns()..]
    }

    /// The wire form, [`Params::query_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = Kind::query(P::SCHEME);
        let length = self.params.query_len() - HEADER_LEN;
        wire::encode(kind, &self.params, self.version, length, |out| {
            let width = self.params.query_bits();
            let words = self.words.iter().map(|word| word >> (LOG_Q - width));
            pack(words, width, out);
        })
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// Fails if the bytes are not a query for `params`.
    pub fn from_bytes(params: &Params<P>, bytes: &[u8]) -> Result<Self, Error> {
        let (kind, length) = (Kind::query(P::SCHEME), params.query_len() - HEADER_LEN);
        let (version, payload) = wire::decode_for(kind, params, length, bytes)?;
        let width = params.query_bits();
        let words = unpack(payload, params.query_words(), width);
        Ok(Self {
            params: *params,
            version,
            words: words.map(|word| word << (LOG_Q - width)).collect(),
        })
    }
}

impl<P: Protocol> Answer<P> {
    /// The version of the database that the server scanned.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The wire form, [`Params::answer_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = Kind::answer(P::SCHEME);
        let length = self.params.answer_len() - HEADER_LEN;
        wire::encode(kind, &self.params, self.version, length, |out| {
            let words = self.words.iter().map(|word| u32::from(*word));
            pack(words, ANSWER_BITS, out);
            pack(self.h.iter().copied(), self.params.hint_bits(), out);
        })
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// Fails if the bytes are not an answer for `params`.
    pub fn from_bytes(params: &Params<P>, bytes: &[u8]) -> Result<Self, Error> {
        let (kind, length) = (Kind::answer(P::SCHEME), params.answer_len() - HEADER_LEN);
        let (version, payload) = wire::decode_for(kind, params, length, bytes)?;
        let count = params.answer_words();
        let (words, h) = payload.split_at(packed_len(count, ANSWER_BITS));
        let words = unpack(words, count, ANSWER_BITS);
        Ok(Self {
            params: *params,
            version,
            // The words have at most 12 bits, so the cast is exact.
            words: words.map(|word| word as u16).collect(),
            h: unpack(h, params.answer_hint_words(), params.hint_bits()).collect(),
        })
    }
}
