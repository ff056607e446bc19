//! The messages: a client sends a query, and a server returns an answer.

use super::keys::{Digest, halves, join};
use super::params::Params;
use super::ring::{DROPPED, N};
use crate::Error;
use crate::bits::{pack, unpack};
use crate::wire::{HEADER_LEN, Kind, check_version, decode_numbers, encode_numbers};

/// Encrypted selectors of a request, and the name of the keys that expand them. Its length is always
/// [`Params::query_len`].
#[derive(Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) params: Params,
    /// The first bytes of the database's seed.
    pub(crate) epoch: u64,
    pub(crate) session: Digest,
    /// The seed of the halves `a`.
    pub(crate) seed: [u8; 32],
    /// The halves `b`, as coefficients without their lowest bits.
    pub(crate) b: Vec<u64>,
}

/// The ciphertexts of all slots' units, rounded. Its length is [`Params::answer_len`].
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    pub(crate) params: Params,
    pub(crate) epoch: u64,
    /// `A_0` and `A_1` of unit after unit, in `k0` and `k1` bits.
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query")
            .field("params", &self.params)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl Query {
    /// The name of the keys that the query needs.
    #[must_use]
    pub const fn session(&self) -> &Digest {
        &self.session
    }

    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(Kind::HintlessQuery, &self.params, self.epoch, |out| {
            out.extend_from_slice(&self.session);
            out.extend_from_slice(&self.seed);
            let width = self.params.query_bits();
            pack(halves(&self.b, width), width / 2, out);
        })
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Fails if the bytes are not a query for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        let (epoch, payload) = decode(Kind::HintlessQuery, params, bytes)?;
        let wrong = Error::Length {
            found: bytes.len(),
            expected: params.query_len(),
        };
        let Some((session, rest)) = payload.split_first_chunk() else {
            return Err(wrong);
        };
        let Some((seed, polys)) = rest.split_first_chunk() else {
            return Err(wrong);
        };
        // `decode` has compared the length.
        let mut b = vec![0; params.ciphertexts() * N];
        join(polys, params.query_bits(), &mut b);
        Ok(Self {
            params: *params,
            epoch,
            session: *session,
            seed: *seed,
            b,
        })
    }

    /// `b` of ciphertext `v`, with zeros for the bits that the client dropped. The values are below `q`: the largest
    /// is `2^50 - 2^14`.
    pub(crate) fn coefficients(&self, v: usize, out: &mut [u64]) {
        for (out, b) in out.iter_mut().zip(&self.b[v * N..]) {
            *out = b << DROPPED;
        }
    }
}

impl Answer {
    /// The message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(Kind::HintlessAnswer, &self.params, self.epoch, |out| {
            out.extend_from_slice(&self.body);
        })
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Fails if the bytes are not an answer for `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        let (epoch, payload) = decode(Kind::HintlessAnswer, params, bytes)?;
        Ok(Self {
            params: *params,
            epoch,
            body: payload.to_vec(),
        })
    }

    /// `A_0` and `A_1` of ciphertext `i`.
    pub(crate) fn ciphertext(&self, i: usize) -> [impl Iterator<Item = u32>; 2] {
        let len = self.params.reply_len();
        let [k0, k1] = self.params.answer_bits;
        let (first, second) = self.body[i * len..][..len].split_at(N / 8 * k0 as usize);
        [unpack(first, N, k0), unpack(second, N, k1)]
    }
}

/// The size in bytes of a message of this kind.
fn len(kind: Kind, params: &Params) -> usize {
    match kind {
        Kind::HintlessAnswer => params.answer_len(),
        _ => params.query_len(),
    }
}

fn encode(kind: Kind, params: &Params, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let [records, record_len, batch] = params.fields();
    let numbers = [records, record_len, batch, epoch];
    let length = len(kind, params) - HEADER_LEN;
    encode_numbers(kind, params.set().code(), numbers, length, write)
}

/// The epoch and the payload, of the length that `params` fix.
fn decode<'a>(kind: Kind, params: &Params, bytes: &'a [u8]) -> Result<(u64, &'a [u8]), Error> {
    let (set, [records, record_len, batch, epoch], payload) = decode_numbers(kind, bytes)?;
    if set != params.set().code() {
        return Err(Error::Header("unknown parameter set"));
    }
    check_layout([records, record_len, batch], params.fields())?;
    let expected = len(kind, params);
    if bytes.len() != expected {
        return Err(Error::Length {
            found: bytes.len(),
            expected,
        });
    }
    Ok((epoch, payload))
}

fn check_layout(found: [u64; 3], expected: [u64; 3]) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::LayoutMismatch { found, expected })
}

/// Checks that a message belongs to this layout, and to a database of this epoch.
pub(crate) fn check(found: (&Params, u64), expected: (&Params, u64)) -> Result<(), Error> {
    check_layout(found.0.fields(), expected.0.fields())?;
    check_version(found.1, expected.1)
}

/// The epoch of a database, derived from its seed.
pub(crate) fn epoch(seed: &crate::Seed) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = seed.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
