//! Public keys, expanded once and used for many signatures.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::Backend;
use crate::error::Error;
use crate::field::Poly;
use crate::keccak::{LANES, Lanes};
use crate::kernels::Kernels;
use crate::params::{Params, Set};
use crate::sponge::{self, Input, Output, RATE_128, RATE_256, Tasks};

/// A public key with everything that depends only on it: the matrix A, NTT(t1 2^d), and tr = H(pk, 64).
///
/// Expanding is most of the work of a verification (about 80 % for ML-DSA-87). So if a key verifies more than one
/// signature, expand it once, and share it by reference or in an `Arc`. It takes `4 * 256 * k (l + 1)` bytes, 20, 36
/// or 64 KiB, in one allocation. Its encoding takes a second allocation.
///
/// Two keys are equal if their encodings are.
///
/// RustCrypto's traits: with the feature `signature` (default), `Verifier` and `MultipartVerifier` for messages with
/// an empty context. With `digest` also `DigestVerifier<Shake256, _>`, and with `spki` `EncodePublicKey` and
/// `DecodePublicKey`.
pub struct ExpandedKey<P> {
    pub(crate) raw: RawKey,
    encoded: Box<[u8]>,
    set: PhantomData<P>,
}

/// An expanded key without its parameter set in the type.
#[derive(Clone)]
pub(crate) struct RawKey {
    /// k rows of l + 1 polynomials in column order: the row of A, then -NTT(t1 2^d) of the row. So a row times (z, c)
    /// is the row of A z - c t1 2^d.
    pub(crate) matrix: Box<[Poly]>,
    pub(crate) tr: [u8; 64],
}

impl RawKey {
    pub(crate) fn zero(set: &Set) -> Self {
        Self {
            matrix: vec![Poly::ZERO; set.k * (set.l + 1)].into(),
            tr: [0; 64],
        }
    }
}

impl<P: Params> ExpandedKey<P> {
    /// Expands an encoded public key.
    ///
    /// # Errors
    /// [`Error::PublicKeyLength`] if the length is wrong. Every byte string of the right length is a key.
    pub fn from_bytes(public_key: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::detect(), public_key)
    }

    /// Like [`from_bytes`](Self::from_bytes), on a given backend. The result works on every backend.
    ///
    /// # Errors
    /// [`Error::PublicKeyLength`] if the length is wrong.
    pub fn from_bytes_on(backend: Backend, public_key: &[u8]) -> Result<Self, Error> {
        check_length::<P>(public_key)?;
        let mut raw = RawKey::zero(&P::SET);
        let mut lanes = Lanes([[0; LANES]; 25]);
        let keys = core::slice::from_mut(&mut raw);
        let work = [(public_key, 0)];
        expand(Kernels::of(backend), &P::SET, &mut lanes, &work, keys);
        Ok(Self {
            raw,
            encoded: public_key.into(),
            set: PhantomData,
        })
    }

    /// The encoded key, in the form that [`from_bytes`](Self::from_bytes) reads.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.encoded
    }

    /// The encoded key, in the form that [`from_bytes`](Self::from_bytes) reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encoded.to_vec()
    }

    /// tr = H(pk, 64), which begins the hash of every message.
    #[must_use]
    pub fn tr(&self) -> &[u8; 64] {
        &self.raw.tr
    }
}

impl<P: Params> Clone for ExpandedKey<P> {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            encoded: self.encoded.clone(),
            set: PhantomData,
        }
    }
}

impl<P: Params> PartialEq for ExpandedKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }
}

impl<P: Params> Eq for ExpandedKey<P> {}

impl<P: Params> TryFrom<&[u8]> for ExpandedKey<P> {
    type Error = Error;

    fn try_from(public_key: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(public_key)
    }
}

impl<P: Params> AsRef<[u8]> for ExpandedKey<P> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<P: Params> fmt::Debug for ExpandedKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpandedKey")
            .field("set", &P::NAME)
            .finish_non_exhaustive()
    }
}

pub(crate) fn check_length<P: Params>(public_key: &[u8]) -> Result<(), Error> {
    let (expected, found) = (P::PUBLIC_KEY_LEN, public_key.len());
    if found == expected {
        Ok(())
    } else {
        Err(Error::PublicKeyLength { expected, found })
    }
}

/// Expands each encoded key of `work` into the entry of `keys` that is named with it.
///
/// FIPS 204, Algorithms 23 (`pkDecode`) and 32 (`ExpandA`), and step 2 of 8.
pub(crate) fn expand(
    kernels: Kernels,
    set: &Set,
    lanes: &mut Lanes,
    work: &[(&[u8], usize)],
    keys: &mut [RawKey],
) {
    let mut tasks = Expansion {
        kernels,
        set,
        work,
        keys,
        lanes: [Lane::default(); LANES],
    };
    sponge::run(kernels, lanes, work.len() * (1 + set.k * set.l), &mut tasks);
    for &(encoded, key) in work {
        let rows = keys[key].matrix.chunks_exact_mut(set.l + 1);
        let (t1, _) = encoded[32..].as_chunks();
        for (row, t1) in rows.zip(t1) {
            kernels.unpack_t1(&mut row[set.l], t1);
            kernels.ntt(&mut row[set.l]);
        }
    }
}

/// First computes tr of every key, which takes longest, then the entries of every A.
struct Expansion<'w, 'a> {
    kernels: Kernels,
    set: &'w Set,
    work: &'w [(&'a [u8], usize)],
    keys: &'w mut [RawKey],
    lanes: [Lane; LANES],
}

/// The entry of A that a lane samples.
#[derive(Clone, Copy, Default)]
struct Lane {
    key: usize,
    /// Index in the key's matrix.
    entry: usize,
    /// The number of coefficients sampled so far.
    filled: usize,
}

impl<'a> Tasks<'a> for Expansion<'_, 'a> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows and columns are at most 8"
    )]
    fn input(&mut self, job: usize, lane: usize) -> Option<Input<'a>> {
        let Some(entry) = job.checked_sub(self.work.len()) else {
            return Some(Input::shake256(self.work[job].0));
        };
        let Set { k, l, .. } = *self.set;
        let (encoded, key) = self.work[entry / (k * l)];
        let (row, column) = (entry / l % k, entry % l);
        self.lanes[lane] = Lane {
            key,
            entry: row * (l + 1) + column,
            filled: 0,
        };
        // Algorithm 32: rho || column || row
        let mut seed = [0; 34];
        seed[..32].copy_from_slice(&encoded[..32]);
        seed[32] = column as u8;
        seed[33] = row as u8;
        Some(Input {
            rate: RATE_128,
            own: (seed, 34),
            ..Input::shake256(&[])
        })
    }

    fn output(&mut self, job: usize, lane: usize, block: &[u8]) -> Output {
        if let Some((_, key)) = self.work.get(job) {
            debug_assert_eq!(block.len(), usize::from(RATE_256));
            self.keys[*key].tr.copy_from_slice(&block[..64]);
            return Output::Done;
        }
        let lane = &mut self.lanes[lane];
        let poly = &mut self.keys[lane.key].matrix[lane.entry];
        let block = block
            .try_into()
            .expect("SHAKE128 gives blocks of 168 bytes");
        lane.filled = self.kernels.rej_ntt_poly(poly, lane.filled, block);
        if lane.filled < 256 {
            return Output::More;
        }
        self.kernels.transpose(poly);
        Output::Done
    }
}
