//! The public keys of a session: as a message, and in the form that a server computes with.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::sample::residue;

use super::params::Set;
use super::ring::{GADGETS, KEY_POLYS, LOG_Q, N, modulus};
use crate::Error;
use crate::bits::{pack, unpack};
use crate::wire::{HEADER_LEN, Kind, decode_numbers, encode_numbers};

/// The name of a session's keys: BLAKE3 of their message.
pub type Digest = [u8; 32];

/// The size in bytes of a seed.
const SEED_LEN: usize = 32;

/// The size in bytes of one polynomial of a key.
const POLY_LEN: usize = N / 8 * LOG_Q as usize;

/// The keys of a session: encryptions of the session's secret for every step of an expansion, and of its square.
/// Public; a server may keep them for all queries of the session.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The seed of the halves `a`.
    seed: [u8; 32],
    /// The halves `b`, in NTT form, key after key.
    b: Aligned<u64>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// The size in bytes of the message.
    pub const LEN: usize = HEADER_LEN + SEED_LEN + KEY_POLYS * POLY_LEN;

    pub(crate) fn zero(seed: [u8; 32]) -> Self {
        Self {
            seed,
            b: Aligned::new(KEY_POLYS * N),
        }
    }

    /// The halves `b`.
    pub(crate) fn polys_mut(&mut self) -> std::slice::ChunksExactMut<'_, u64> {
        self.b.chunks_exact_mut(N)
    }

    /// The message, [`Self::LEN`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let set = Set::N2048Q50.code();
        let length = Self::LEN - HEADER_LEN;
        encode_numbers(Kind::HintlessKeys, set, [0; 4], length, |out| {
            out.extend_from_slice(&self.seed);
            pack(halves(&self.b, LOG_Q), LOG_Q / 2, out);
        })
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Fails if the bytes are not keys of this release's set, or hold a coefficient that is not below `q`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (set, numbers, payload) = decode_numbers(Kind::HintlessKeys, bytes)?;
        if Set::from_code(set).is_none() {
            return Err(Error::Header("keys under an unknown parameter set"));
        }
        if numbers != [0; 4] {
            return Err(Error::Header("keys with numbers"));
        }
        let wrong = Error::Length {
            found: bytes.len(),
            expected: Self::LEN,
        };
        let Some((seed, polys)) = payload.split_first_chunk() else {
            return Err(wrong);
        };
        if polys.len() != KEY_POLYS * POLY_LEN {
            return Err(wrong);
        }
        let mut keys = Self::zero(*seed);
        join(polys, LOG_Q, &mut keys.b);
        match keys.b.iter().position(|x| *x >= modulus().q()) {
            Some(index) => Err(Error::Coefficient { index }),
            None => Ok(keys),
        }
    }

    /// The keys' name.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *blake3::hash(&self.to_bytes()).as_bytes()
    }
}

/// The lower and upper halves of numbers of `width` bits, where `width` is even.
#[expect(clippy::cast_possible_truncation, reason = "halves of 25 bits at most")]
pub(crate) fn halves(numbers: &[u64], width: u32) -> impl Iterator<Item = u32> {
    let half = width / 2;
    let low = (1 << half) - 1;
    let pairs = numbers.iter();
    pairs.flat_map(move |x| [(x & low) as u32, (x >> half) as u32])
}

/// Puts numbers together from their packed halves.
pub(crate) fn join(bytes: &[u8], width: u32, out: &mut [u64]) {
    let mut halves = unpack(bytes, 2 * out.len(), width / 2);
    for x in out {
        let low = halves.next().unwrap_or_default();
        let high = halves.next().unwrap_or_default();
        *x = u64::from(low) | u64::from(high) << (width / 2);
    }
}

/// Keys in the form that a server computes with: both halves, 1.5 MB.
pub struct Evaluation {
    /// For each digit of each key, `b` and `a`, in NTT form.
    pairs: Aligned<u64>,
    digest: Digest,
}

impl std::fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluation")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl From<&Keys> for Evaluation {
    fn from(keys: &Keys) -> Self {
        let mut pairs = Aligned::new(2 * KEY_POLYS * N);
        let halves = pairs.chunks_exact_mut(2 * N).zip(keys.b.chunks_exact(N));
        for (number, (pair, b)) in (0..).zip(halves) {
            let (first, second) = pair.split_at_mut(N);
            first.copy_from_slice(b);
            residue::fill_vartime(&keys.seed, number, modulus(), second);
        }
        Self {
            pairs,
            digest: keys.digest(),
        }
    }
}

impl Evaluation {
    /// The name of the keys.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The pairs of the digits of key `i`.
    pub(crate) fn key(&self, i: usize) -> &[u64] {
        let before: usize = GADGETS[..i].iter().map(|gadget| gadget.digits()).sum();
        &self.pairs[2 * N * before..][..2 * N * GADGETS[i].digits()]
    }
}
