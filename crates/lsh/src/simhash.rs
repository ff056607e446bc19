//! SimHash: the signs of random projections (Charikar 2002). Two vectors at angle `theta` differ in
//! each bit with probability `theta / pi`.

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::dense::Dense;
use crate::error::{check_floats, check_vectors, check_words};
use crate::kernels::Kernels;
use crate::rotation::Rotation;
use crate::transform::{BLOCK, signs};
use crate::wire::{Reader, Writer};
use crate::{Backend, Codes, Error, Seed};

/// The largest number of dimensions of a vector: 8192, plus two that a metric may add.
pub(crate) const MAX_DIM: usize = 8194;

/// The values whose signs are the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Coordinates after a structured random rotation. It is fast, and the directions of one rotation are orthogonal,
    /// so the number of equal bits says more about the angle.
    Rotation,
    /// Projections onto independent Gaussian directions, as in the textbook definition.
    Hyperplanes,
}

/// A SimHash function. It maps vectors of `dim` floats to codes of `bits` bits.
///
/// # Security
/// A code reveals its vector's direction approximately, and equal or near vectors have equal or near codes. Never
/// give codes of private vectors or queries to a party that may not see these vectors, even if a session key masks
/// the codes.
///
/// # Examples
/// ```
/// use sordino_lsh::{Kind, Seed, SimHash};
///
/// let hash = SimHash::new(3, 64, Kind::Rotation, Seed([7; 32]))?;
/// let (a, b) = (hash.hash(&[1.0, 2.0, 3.0])?, hash.hash(&[-1.0, -2.0, -3.0])?);
/// assert_eq!(a[0], !b[0]);
/// # Ok::<(), sordino_lsh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimHash {
    dim: usize,
    bits: usize,
    kind: Kind,
    seed: Seed,
    map: Map,
}

#[derive(Clone, Debug)]
enum Map {
    Rotation(Rotation),
    Dense(Dense),
}

/// Memory for intermediate values, which later calls reuse.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) values: Vec<f32>,
}

impl SimHash {
    /// A function drawn from a seed. `dim` is from 1 to 8194. `bits` is a multiple of 64, from 64 to 1024.
    ///
    /// # Errors
    /// [`Error::Dim`] if `dim` is not from 1 to 8194. [`Error::Bits`] if `bits` is not a multiple of 64 from 64 to
    /// 1024.
    pub fn new(dim: usize, bits: usize, kind: Kind, seed: Seed) -> Result<Self, Error> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(Error::Dim {
                found: dim,
                most: MAX_DIM,
            });
        }
        if !bits.is_multiple_of(BLOCK) || !(BLOCK..=1024).contains(&bits) {
            return Err(Error::Bits { found: bits });
        }
        let map = match kind {
            Kind::Rotation => {
                let copies = bits.div_ceil(Rotation::size(dim));
                Map::Rotation(Rotation::new(seed, dim, copies))
            }
            Kind::Hyperplanes => Map::Dense(Dense::new(seed, dim, bits)),
        };
        Ok(Self {
            dim,
            bits,
            kind,
            seed,
            map,
        })
    }

    /// The number of floats of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of bits of a code.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The code of a vector, `bits / 64` words; bit `i` is bit `i % 64` of word `i / 64`.
    ///
    /// Any floats are accepted. A hash has no meaning if the vector has a NaN or values beyond about 10^30.
    ///
    /// # Errors
    /// [`Error::Floats`] if `x` does not have `dim` floats.
    pub fn hash(&self, x: &[f32]) -> Result<Vec<u64>, Error> {
        let mut code = vec![0; self.bits / 64];
        self.hash_into(x, &mut Scratch::default(), &mut code)?;
        Ok(code)
    }

    /// Like [`SimHash::hash`], without allocation if `scratch` was used before.
    ///
    /// # Errors
    /// [`Error::Floats`] if `x` does not have `dim` floats. [`Error::Words`] if `code` does not have `bits / 64`
    /// words.
    pub fn hash_into(
        &self,
        x: &[f32],
        scratch: &mut Scratch,
        code: &mut [u64],
    ) -> Result<(), Error> {
        self.hash_into_on(Backend::detect(), x, scratch, code)
    }

    /// Like [`SimHash::hash_into`], on a backend that the caller chooses, for tests and benchmarks.
    ///
    /// # Errors
    /// The errors of [`SimHash::hash_into`].
    pub fn hash_into_on(
        &self,
        backend: Backend,
        x: &[f32],
        scratch: &mut Scratch,
        code: &mut [u64],
    ) -> Result<(), Error> {
        check_floats(x, self.dim)?;
        check_words(code, self.bits / 64)?;
        self.code(Kernels::of(backend), x, scratch, code);
        Ok(())
    }

    /// The code of `x`. The lengths were checked before.
    fn code(&self, kernels: Kernels, x: &[f32], scratch: &mut Scratch, code: &mut [u64]) {
        self.values(kernels, x, &mut scratch.values);
        signs(kernels, scratch.values.as_chunks().0, code);
    }

    /// The values whose signs are the bits. There are at least `bits` of them.
    pub(crate) fn values(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        debug_assert_eq!(x.len(), self.dim, "callers check");
        match &self.map {
            Map::Rotation(rotation) => rotation.apply(kernels, x, values),
            Map::Dense(dense) => dense.apply(kernels, x, values),
        }
    }

    /// The codes of vectors that lie one after the other.
    ///
    /// # Errors
    /// [`Error::Vectors`] if `vectors` is not a whole number of vectors. [`Error::Items`] if there are 2^32 vectors
    /// or more.
    pub fn hash_batch(&self, vectors: &[f32]) -> Result<Codes, Error> {
        check_vectors(vectors, self.dim)?;
        Codes::from_words(self.bits, &self.words(vectors))
    }

    /// Like [`SimHash::hash_batch`], on all threads of the current rayon pool.
    ///
    /// # Errors
    /// The errors of [`SimHash::hash_batch`].
    #[cfg(feature = "rayon")]
    pub fn par_hash_batch(&self, vectors: &[f32]) -> Result<Codes, Error> {
        check_vectors(vectors, self.dim)?;
        let part = 256 * self.dim;
        let words: Vec<u64> = vectors
            .par_chunks(part)
            .flat_map_iter(|part| self.words(part))
            .collect();
        Codes::from_words(self.bits, &words)
    }

    fn words(&self, vectors: &[f32]) -> Vec<u64> {
        let (kernels, mut scratch) = (Kernels::detect(), Scratch::default());
        let mut words = vec![0; vectors.len() / self.dim * (self.bits / 64)];
        let codes = words.chunks_exact_mut(self.bits / 64);
        for (x, code) in vectors.chunks_exact(self.dim).zip(codes) {
            self.code(kernels, x, &mut scratch, code);
        }
        words
    }

    /// The parameters as bytes, from which [`SimHash::from_bytes`] makes the same function.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(b"SIMH");
        self.write(&mut writer);
        writer.finish()
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// [`Error`] if [`SimHash::to_bytes`] does not write exactly these bytes. The function allocates at most 16 MiB,
    /// whatever the bytes are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, b"SIMH")?;
        let hash = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(hash)
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.number(self.dim);
        writer.number(self.bits);
        writer.number(match self.kind {
            Kind::Rotation => 0,
            Kind::Hyperplanes => 1,
        });
        writer.seed(self.seed);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (dim, bits) = (reader.number()?, reader.number()?);
        let kind = match reader.number()? {
            0 => Kind::Rotation,
            1 => Kind::Hyperplanes,
            _ => return Err(Error::Corrupt { what: "kind" }),
        };
        Self::new(dim, bits, kind, reader.seed()?)
    }
}
