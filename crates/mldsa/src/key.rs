//! Public keys, expanded once and used for many signatures.

use core::fmt;
use core::marker::PhantomData;

use crate::backend::Backend;
use crate::error::Error;
use crate::field::{Poly, reduce};
use crate::keccak::{LANES, Lanes};
use crate::params::{Params, Set};
use crate::sponge::{self, Input, RATE_128, RATE_256, Tasks};

/// A public key with everything that depends on it alone: the matrix A, NTT(t1 2^d), and
/// tr = H(pk, 64).
///
/// Expanding is most of the work of a verification (about 80 % for ML-DSA-87), so a key that
/// verifies more than one signature should be expanded once and shared: by reference, or in an
/// `Arc`. It is one allocation of `4 * 256 * k (l + 1)` bytes: 20, 36 or 64 KiB.
pub struct ExpandedKey<P> {
    pub(crate) raw: RawKey,
    set: PhantomData<P>,
}

/// An expanded key without its parameter set in the type.
pub(crate) struct RawKey {
    /// k rows of l + 1 polynomials in column order: the row of A, then -NTT(t1 2^d) of the row,
    /// so that a row times (z, c) is the row of A z - c t1 2^d.
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
    /// [`Error::PublicKeyLength`]; every string of the right length is a key.
    pub fn from_bytes(public_key: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::detect(), public_key)
    }

    /// As [`from_bytes`](Self::from_bytes), on a given backend. The result serves every backend.
    ///
    /// # Errors
    /// [`Error::PublicKeyLength`].
    pub fn from_bytes_on(backend: Backend, public_key: &[u8]) -> Result<Self, Error> {
        check_length::<P>(public_key)?;
        let mut raw = RawKey::zero(&P::SET);
        let mut lanes = Lanes([[0; LANES]; 25]);
        let keys = core::slice::from_mut(&mut raw);
        expand(backend, &P::SET, &mut lanes, &[(public_key, 0)], keys);
        Ok(Self {
            raw,
            set: PhantomData,
        })
    }

    /// tr = H(pk, 64), which every message is hashed with.
    #[must_use]
    pub fn tr(&self) -> &[u8; 64] {
        &self.raw.tr
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

/// Expands each encoded key of `work` into the key of `keys` that is named beside it.
///
/// FIPS 204, Algorithms 23 (`pkDecode`) and 32 (`ExpandA`), and step 2 of 8.
pub(crate) fn expand(
    backend: Backend,
    set: &Set,
    lanes: &mut Lanes,
    work: &[(&[u8], usize)],
    keys: &mut [RawKey],
) {
    let mut tasks = Expansion {
        backend,
        set,
        work,
        keys,
        sampling: [Sampling::NEW; LANES],
    };
    sponge::run(backend, lanes, work.len() * (1 + set.k * set.l), &mut tasks);
    for &(encoded, key) in work {
        let rows = keys[key].matrix.chunks_exact_mut(set.l + 1);
        let (t1, _) = encoded[32..].as_chunks();
        for (row, t1) in rows.zip(t1) {
            let t = &mut row[set.l];
            backend.unpack_t1(t, t1);
            backend.ntt(t);
            for value in &mut t.0 {
                *value = reduce(-*value);
            }
        }
    }
}

/// First tr of every key, which takes longest, then the entries of every A.
struct Expansion<'w, 'a> {
    backend: Backend,
    set: &'w Set,
    work: &'w [(&'a [u8], usize)],
    keys: &'w mut [RawKey],
    sampling: [Sampling; LANES],
}

/// What a lane has of the output that an entry of A is sampled from.
#[derive(Clone, Copy)]
struct Sampling {
    /// The first five blocks, which suffice as good as always.
    blocks: [u8; 5 * RATE_128],
    count: usize,
    /// Coefficients sampled from six blocks and more.
    filled: usize,
}

impl Sampling {
    const NEW: Self = Self {
        blocks: [0; 5 * RATE_128],
        count: 0,
        filled: 0,
    };

    /// Takes one block; true if another is needed. In the end `poly` is in column order.
    fn block(&mut self, backend: Backend, poly: &mut Poly, block: &[u8; RATE_128]) -> bool {
        if let Some(place) = self.blocks.as_chunks_mut().0.get_mut(self.count) {
            *place = *block;
            self.count += 1;
            if self.count < 5 {
                return true;
            }
            if !backend.rej_ntt_poly_in_columns(poly, &self.blocks) {
                let first = self.blocks.as_chunks().0;
                self.filled = first
                    .iter()
                    .fold(0, |filled, block| backend.rej_ntt_poly(poly, filled, block));
                return true;
            }
        } else {
            self.filled = backend.rej_ntt_poly(poly, self.filled, block);
            if self.filled < 256 {
                return true;
            }
            backend.transpose(poly);
        }
        self.count = 0;
        false
    }
}

impl Expansion<'_, '_> {
    /// Key (as an index of `work`), row and column of a job that is an entry of A.
    #[expect(clippy::integer_division_remainder_used, reason = "indices are public")]
    fn entry(&self, job: usize) -> Option<(usize, usize, usize)> {
        let entry = job.checked_sub(self.work.len())?;
        let (key, entry) = (
            entry / (self.set.k * self.set.l),
            entry % (self.set.k * self.set.l),
        );
        Some((key, entry / self.set.l, entry % self.set.l))
    }
}

impl<'a> Tasks<'a> for Expansion<'_, 'a> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows and columns are at most 8"
    )]
    fn input(&self, job: usize) -> Option<Input<'a>> {
        let Some((key, row, column)) = self.entry(job) else {
            return Some(Input::shake256(self.work[job].0));
        };
        // Algorithm 32: rho || column || row
        let mut seed = [0; 34];
        seed[..32].copy_from_slice(&self.work[key].0[..32]);
        seed[32] = column as u8;
        seed[33] = row as u8;
        Some(Input {
            rate: RATE_128,
            own: (seed, 34),
            ..Input::shake256(&[])
        })
    }

    fn output(&mut self, job: usize, lane: usize, block: &[u8]) -> bool {
        let Some((key, row, column)) = self.entry(job) else {
            debug_assert_eq!(block.len(), RATE_256);
            self.keys[self.work[job].1].tr.copy_from_slice(&block[..64]);
            return false;
        };
        let poly = &mut self.keys[self.work[key].1].matrix[row * (self.set.l + 1) + column];
        let block = block
            .try_into()
            .expect("SHAKE128 gives blocks of 168 bytes");
        self.sampling[lane].block(self.backend, poly, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::portable;
    use crate::ntt::portable::transpose;

    /// Sampling block by block, as the standard has it.
    #[test]
    fn samples_from_any_number_of_blocks() {
        for backend in Backend::available() {
            let mut sampling = Sampling::NEW;
            // so many values in 64 are refused
            for refused in [0, 1, 5, 6, 7, 16, 32, 60] {
                let (mut poly, mut expected, mut filled) = (Poly::ZERO, Poly::ZERO, 0);
                for number in 0_u32.. {
                    let mut block = [0; RATE_128];
                    for (i, bytes) in (0_u32..).zip(block.as_chunks_mut::<3>().0) {
                        let value = (number * 56 + i).wrapping_mul(2_654_435_761) >> 8;
                        let value = if value & 63 < refused {
                            0x7F_E001
                        } else {
                            value & 0x3F_FFFF
                        };
                        bytes.copy_from_slice(&value.to_le_bytes()[..3]);
                    }
                    filled = portable::rej_ntt_poly(&mut expected, filled, &block);
                    let more = sampling.block(backend, &mut poly, &block);
                    assert_eq!(more, filled < 256 || number < 4, "{refused}");
                    if !more {
                        break;
                    }
                }
                transpose(&mut expected);
                assert!(poly == expected, "{} with {refused}", backend.name());
            }
        }
    }
}
