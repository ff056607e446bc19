//! The messages: the hint once, a query up and an answer down.

#![expect(
    clippy::cast_possible_truncation,
    reason = "unpacked words have 12 bits"
)]

use crate::bits::{pack, unpack};
use crate::lwe::round_answer;
use crate::params::{ANSWER_BITS, HEADER_LEN, LOG_Q};
use crate::wire::{self, Kind, check_scheme};
use crate::{Error, Params, Scheme};

/// `H = D A`, `l x n`, each word rounded to [`Params::hint_bits`] bits. The same for every client.
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

/// `b = A s + e + Delta u_j`, `m` words, each rounded to [`Params::query_bits`] bits: without the secret,
/// indistinguishable from uniform ones.
#[derive(Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) params: Params,
    pub(crate) version: u64,
    /// Multiples of `2^(32 - query_bits)`.
    pub(crate) b: Vec<u32>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Query", &self.params, self.version)
    }
}

/// `D b`, `l` words, each rounded to 12 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub(super) params: Params,
    pub(super) version: u64,
    pub(super) words: Vec<u16>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Answer", &self.params, self.version)
    }
}

/// `D b`, `l` whole words: an answer that can be checked before it is rounded.
#[derive(Clone, PartialEq, Eq)]
pub struct RawAnswer {
    pub(crate) params: Params,
    pub(crate) version: u64,
    pub(crate) words: Vec<u32>,
}

impl std::fmt::Debug for RawAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "RawAnswer", &self.params, self.version)
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
        let width = self.params.hint_bits();
        let length = self.params.hint_len() - HEADER_LEN;
        wire::encode(
            Kind::SimpleHint,
            &self.params,
            self.version,
            length,
            |out| {
                pack(self.words.iter().copied(), width, out);
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not a hint for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Simple)?;
        let (count, width) = (params.rows() * params.n(), params.hint_bits());
        let length = params.hint_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::SimpleHint, params, length, bytes)?;
        Ok(Self {
            params: *params,
            version,
            words: unpack(payload, count, width).collect(),
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
            Kind::SimpleQuery,
            &self.params,
            self.version,
            length,
            |out| {
                let width = self.params.query_bits();
                let words = self.b.iter().map(|word| word >> (LOG_Q - width));
                pack(words, width, out);
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not a query for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Simple)?;
        let length = params.query_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::SimpleQuery, params, length, bytes)?;
        let width = params.query_bits();
        let words = unpack(payload, params.columns(), width);
        Ok(Self {
            params: *params,
            version,
            b: words.map(|word| word << (LOG_Q - width)).collect(),
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
            Kind::SimpleAnswer,
            &self.params,
            self.version,
            length,
            |out| {
                pack(
                    self.words.iter().map(|word| u32::from(*word)),
                    ANSWER_BITS,
                    out,
                );
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not an answer for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Simple)?;
        let length = params.answer_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::SimpleAnswer, params, length, bytes)?;
        Ok(Self {
            params: *params,
            version,
            // 12 bits fit.
            words: unpack(payload, params.rows(), ANSWER_BITS)
                .map(|word| word as u16)
                .collect(),
        })
    }
}

impl RawAnswer {
    /// The answer that goes to [`Client::recover`](super::Client::recover).
    #[must_use]
    pub fn round(&self) -> Answer {
        Answer {
            params: self.params,
            version: self.version,
            words: self.words.iter().map(|word| round_answer(*word)).collect(),
        }
    }

    /// The wire form, [`Params::raw_answer_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = self.params.raw_answer_len() - HEADER_LEN;
        wire::encode(
            Kind::SimpleRawAnswer,
            &self.params,
            self.version,
            length,
            |out| {
                out.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
            },
        )
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// If the bytes are not a raw answer for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Simple)?;
        let length = params.raw_answer_len() - HEADER_LEN;
        let (version, payload) = wire::decode_for(Kind::SimpleRawAnswer, params, length, bytes)?;
        let (words, _) = payload.as_chunks();
        Ok(Self {
            params: *params,
            version,
            words: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        })
    }
}
