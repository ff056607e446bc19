//! Answers before they are rounded.

use super::{Answer, Params};
use crate::Error;
use crate::lwe::round_answer;
use crate::params::HEADER_LEN;
use crate::wire::{self, Kind};

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

impl RawAnswer {
    /// The rounded answer, for [`Client::recover`](super::Client::recover).
    #[must_use]
    pub fn round(&self) -> Answer {
        Answer {
            params: self.params,
            version: self.version,
            words: self.words.iter().map(|word| round_answer(*word)).collect(),
            h: Vec::new(),
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
    /// Fails if the bytes are not a raw answer for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
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
