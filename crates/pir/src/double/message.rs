//! The messages: the hint once, a query up and an answer down.

#![expect(
    clippy::cast_possible_truncation,
    reason = "unpacked words have 12 bits"
)]

use crate::bits::{pack, packed_len, unpack};
use crate::params::{ANSWER_BITS, HEADER_LEN, LOG_Q};
use crate::wire::{self, Kind, check_scheme};
use crate::{Error, Params, Scheme};

/// `H2 = G A2`, `kappa n x n` for each byte of a record, rounded to [`Params::hint_bits`] bits. The
/// same for every client.
#[derive(Clone, PartialEq, Eq)]
pub struct Hint {
    pub(super) params: Params,
    pub(super) version: u64,
    /// Rounded words, row after row.
    pub(super) words: Vec<u32>,
}

impl std::fmt::Debug for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Hint", &self.params, self.version)
    }
}

/// `q1` and `q2`, `m` and `l` words, each rounded to [`Params::query_bits`] bits: without the secrets,
/// indistinguishable from uniform ones.
#[derive(Clone, PartialEq, Eq)]
pub struct Query {
    pub(super) params: Params,
    pub(super) version: u64,
    pub(super) first: Vec<u32>,
    pub(super) second: Vec<u32>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Query", &self.params, self.version)
    }
}

/// `a2`, `b2` and `h`: its size depends on the length of a record, not on the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub(super) params: Params,
    pub(super) version: u64,
    /// `a2` of all bytes, then `b2` of all bytes: 12 bits each.
    pub(super) words: Vec<u16>,
    /// `h`, `kappa` rows of `n` words for each byte, rounded like a hint.
    pub(super) h: Vec<u32>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Answer", &self.params, self.version)
    }
}

impl Hint {
    /// The version of the database that this hint is of.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The wire form, [`Params::hint_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.params.hint_len() - HEADER_LEN;
        wire::encode(
            Kind::DoubleHint,
            &self.params,
            self.version,
            length,
            |out| {
                pack(self.words.iter().copied(), self.params.hint_bits(), out);
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not a hint for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Double)?;
        let length = params.hint_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::DoubleHint, params, length, bytes)?;
        Ok(Self {
            params: *params,
            version,
            words: unpack(payload, params.hint_words(), params.hint_bits()).collect(),
        })
    }
}

impl Query {
    /// The version of the database that the client's hint is of.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The wire form, [`Params::query_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.params.query_len() - HEADER_LEN;
        wire::encode(
            Kind::DoubleQuery,
            &self.params,
            self.version,
            length,
            |out| {
                let width = self.params.query_bits();
                let words = self.first.iter().chain(&self.second);
                pack(words.map(|word| word >> (LOG_Q - width)), width, out);
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not a query for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Double)?;
        let length = params.query_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::DoubleQuery, params, length, bytes)?;
        let width = params.query_bits();
        let mut words =
            unpack(payload, params.query_words(), width).map(|word| word << (LOG_Q - width));
        Ok(Self {
            params: *params,
            version,
            first: words.by_ref().take(params.columns()).collect(),
            second: words.collect(),
        })
    }
}

impl Answer {
    /// The version of the database that was scanned.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The wire form, [`Params::answer_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.params.answer_len() - HEADER_LEN;
        wire::encode(
            Kind::DoubleAnswer,
            &self.params,
            self.version,
            length,
            |out| {
                pack(
                    self.words.iter().map(|word| u32::from(*word)),
                    ANSWER_BITS,
                    out,
                );
                pack(self.h.iter().copied(), self.params.hint_bits(), out);
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not an answer for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Double)?;
        let length = params.answer_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::DoubleAnswer, params, length, bytes)?;
        let count = params.answer_words();
        let (words, h) = payload.split_at(packed_len(count, ANSWER_BITS));
        Ok(Self {
            params: *params,
            version,
            // 12 bits fit.
            words: unpack(words, count, ANSWER_BITS)
                .map(|word| word as u16)
                .collect(),
            h: unpack(h, params.answer_hint_words(), params.hint_bits()).collect(),
        })
    }
}
