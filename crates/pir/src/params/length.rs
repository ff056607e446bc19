//! The length of every message.

use super::{ANSWER_BITS, KAPPA, Params, Protocol, Scheme};
use crate::bits::packed_len;

/// The size in bytes of a message's header.
pub(crate) const HEADER_LEN: usize = 48;

impl<P: Protocol> Params<P> {
    /// The number of words of a hint: `l n`, or `kappa n^2` for every byte of a record.
    pub(crate) const fn hint_words(&self) -> usize {
        match P::SCHEME {
            Scheme::Simple => self.rows() * self.n(),
            Scheme::Double => self.record_len * KAPPA * self.n() * self.n(),
        }
    }

    /// The number of words of a query: `m`, or `m + l / record_len`.
    pub(crate) const fn query_words(&self) -> usize {
        match P::SCHEME {
            Scheme::Simple => self.columns(),
            Scheme::Double => self.columns() + self.per_column,
        }
    }

    /// The words of an answer that are rounded to 12 bits: `l`, or `kappa (n + 1)` for every byte of a
    /// record.
    pub(crate) const fn answer_words(&self) -> usize {
        match P::SCHEME {
            Scheme::Simple => self.rows(),
            Scheme::Double => self.record_len * KAPPA * (self.n() + 1),
        }
    }

    /// The words of an answer that are rounded like a hint's words: none, or `kappa n` for every byte
    /// of a record.
    pub(crate) const fn answer_hint_words(&self) -> usize {
        match P::SCHEME {
            Scheme::Simple => 0,
            Scheme::Double => self.record_len * KAPPA * self.n(),
        }
    }

    /// The size in bytes of a hint on the wire.
    #[must_use]
    pub const fn hint_len(&self) -> usize {
        HEADER_LEN + packed_len(self.hint_words(), self.hint_bits)
    }

    /// The size in bytes of a query on the wire.
    #[must_use]
    pub const fn query_len(&self) -> usize {
        HEADER_LEN + packed_len(self.query_words(), self.query_bits)
    }

    /// The size in bytes of an answer on the wire.
    #[must_use]
    pub const fn answer_len(&self) -> usize {
        HEADER_LEN
            + packed_len(self.answer_words(), ANSWER_BITS)
            + packed_len(self.answer_hint_words(), self.hint_bits)
    }

    /// The size in bytes of a [`RawAnswer`](crate::simple::RawAnswer) on the wire.
    #[must_use]
    pub const fn raw_answer_len(&self) -> usize {
        HEADER_LEN + 4 * self.rows()
    }

    /// The size in bytes of the database's records.
    #[must_use]
    pub const fn database_bytes(&self) -> usize {
        self.records * self.record_len
    }
}
