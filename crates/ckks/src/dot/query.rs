//! The client's side: encrypts the query, and decrypts the scores.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::{Poly, add_signed};
use sordino_lattice::rounding::shift;
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, residue, ternary};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::params::{DROPPED, N, Params, Q, Shape, plan};
use super::reply::Reply;
use crate::wire::{Head, Kind};
use crate::{Error, wire};

/// The size in bytes of an uploaded coefficient: `q` has 50 bits, and the upload drops two of them.
const COEFFICIENT_LEN: usize = 6;
const _: () = assert!(Q >> DROPPED < 1 << (8 * COEFFICIENT_LEN));

/// The numbers of the streams that one secret seed expands to.
const SECRET: u64 = 0;
const ERRORS: u64 = 1;

/// A query's polynomials in NTT form, part after part.
pub(super) struct Values {
    pub(super) a: Aligned<u64>,
    pub(super) b: Aligned<u64>,
}

/// The secret of one query. Decrypting one reply consumes it. It is erased when dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SecretKey {
    #[zeroize(skip)]
    params: Params,
    #[zeroize(skip)]
    dim: usize,
    /// `s`, with coefficients in `-1..=1`.
    coefficients: Aligned<i8>,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretKey")
            .field("params", &self.params)
            .field("dim", &self.dim)
            .finish_non_exhaustive()
    }
}

/// An encrypted query: the seed of `a`, and `b` without its two lowest bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Query {
    params: Params,
    dim: usize,
    seed: [u8; 32],
    /// `b / 4` rounded, part after part.
    b: Vec<u64>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query")
            .field("params", &self.params)
            .field("dim", &self.dim)
            .finish_non_exhaustive()
    }
}

/// Encrypts `query` under a fresh secret.
///
/// # Errors
/// - [`Error::Dimension`] if the dimension is 0 or too large
/// - [`Error::NotFinite`] if a coordinate is infinite or NaN
/// - [`Error::Norm`] if the query is longer than [`Params::norm_bound`]
///
/// # Security
/// The query message reveals its dimension and nothing else.
///
/// The secret and the errors are fresh for this query. They are drawn from 32 bytes of `rng` hashed together with the
/// query. Different queries share no secret even if `rng` repeats itself. A generator repeats itself in a machine
/// restored from a snapshot, or after a `fork` (`rand`'s `ThreadRng` does not reseed itself then). The same query from
/// the same state gives the same message, which shows only the repetition. Sampling and encryption run in constant
/// time.
pub fn encrypt<R: CryptoRng + ?Sized>(
    rng: &mut R,
    params: &Params,
    query: &[f32],
) -> Result<(SecretKey, Query), Error> {
    let dim = query.len();
    wire::check_dim(dim)?;
    params.check_norms(query, dim)?;
    let shape = Shape::new(dim, 0);
    // The public seed is not taken directly from the generator either. If the generator is weak, an attacker could
    // otherwise compute the secret seed from it.
    let seeds = Hedge::new(rng, "sordino-ckks dot query")
        .field(&[params.id()])
        .words(query, |x| u64::from(x.to_bits()).to_le_bytes())
        .seeds::<2>();
    let (seed, secret_seed) = (seeds[0], &seeds[1]);

    let mut coefficients = Aligned::new(N);
    ternary::fill(&mut Stream::new(secret_seed, SECRET), &mut coefficients);
    let s = Zeroizing::new(Poly::from_signed(&coefficients, plan()).into_ntt(plan()));
    let mut errors = Stream::new(secret_seed, ERRORS);
    let mut e = Zeroizing::new(Aligned::new(N));

    let modulus = plan().modulus();
    let mut a = Aligned::new(N);
    let mut sample = Zeroizing::new(Aligned::new(N));
    let mut b = Vec::with_capacity(shape.parts * N);
    for (part, coordinates) in query.chunks(shape.width).enumerate() {
        residue::fill_vartime(&seed, part as u64, modulus, &mut a);
        plan().inverse_product(&a, &s, &mut sample, 0);
        for (residue, &x) in sample.iter_mut().zip(coordinates) {
            *residue = modulus.add(*residue, modulus.from_signed(params.query_code(x)));
        }
        cbd::fill(&mut errors, &mut e);
        add_signed(modulus, &mut sample, &e);
        // Ties go to even: ties upwards would add half a unit on average, which sums up under equal coordinates.
        b.extend(sample.iter().map(|&x| shift(x, DROPPED)));
    }
    let query = Query {
        params: *params,
        dim,
        seed,
        b,
    };
    let secret = SecretKey {
        params: *params,
        dim,
        coefficients,
    };
    Ok((secret, query))
}

impl SecretKey {
    /// Decrypts the scores of `count` vectors, and consumes the secret.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the reply is for another parameter set, dimension or number of vectors.
    ///
    /// # Security
    /// Runs in constant time. The scores carry an error that depends on the secret. They must stay with the key holder:
    /// never send them to the server or a third party.
    pub fn decrypt(self, count: usize, reply: &Reply) -> Result<Vec<f32>, Error> {
        reply.check(&self.params, self.dim, count)?;
        let shape = Shape::new(self.dim, count);
        // This list is s[N-1], ..., s[0], -s[N-1], ..., -s[1]. Its part from N - 1 - m on, multiplied with c1, gives
        // coefficient m of c1 s.
        let mut reversed = Zeroizing::new(Aligned::new(2 * N));
        for (j, &s) in self.coefficients.iter().enumerate() {
            reversed[N - 1 - j] = s;
            reversed[2 * N - 1 - j] = -s;
        }
        let starts: Vec<usize> = (0..shape.per).map(|v| N - 1 - shape.position(v)).collect();
        let mut masks = Zeroizing::new(Vec::<u64>::with_capacity(shape.per));
        let mut scores = Vec::with_capacity(count);
        for (k, pack) in reply.packs().enumerate() {
            masks.clear();
            pack.mask_dots(&reversed, &starts[..shape.in_pack(k)], &mut masks);
            let coefficients = masks.iter().enumerate();
            scores.extend(
                coefficients.map(|(v, &mask)| self.params.score(pack.score(v).wrapping_sub(mask))),
            );
        }
        Ok(scores)
    }
}

impl Query {
    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The length in bytes of a message about a query of `dim` coordinates.
    #[must_use]
    pub fn encoded_len(dim: usize) -> usize {
        wire::HEAD_LEN + 32 + dim.div_ceil(N) * N * COEFFICIENT_LEN
    }

    /// The message: a head, the seed, and coefficients of 6 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head::new(Kind::DotQuery, self.params.id(), self.dim, 0);
        let mut message = head.begin(32 + self.b.len() * COEFFICIENT_LEN);
        message.extend_from_slice(&self.seed);
        for coefficient in &self.b {
            message.extend_from_slice(&coefficient.to_le_bytes()[..COEFFICIENT_LEN]);
        }
        message
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, or the set is unknown. The call also fails if the length does not fit
    /// the dimension, or a coefficient is not below `q`.
    pub fn from_bytes(message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::DotQuery, message)?;
        let params = Params::from_id(head.set)?;
        if head.count() != 0 {
            return Err(Error::Mismatch {
                what: "counts",
                found: head.count(),
                expected: 0,
            });
        }
        wire::check_body(body, Self::encoded_len(head.dim()) - wire::HEAD_LEN)?;
        let (seed, coefficients) = body.split_first_chunk().ok_or(Error::Kind)?;
        let mut b = Vec::with_capacity(coefficients.len() / COEFFICIENT_LEN);
        for (index, bytes) in coefficients
            .as_chunks::<COEFFICIENT_LEN>()
            .0
            .iter()
            .enumerate()
        {
            let mut word = [0; 8];
            word[..COEFFICIENT_LEN].copy_from_slice(bytes);
            let coefficient = u64::from_le_bytes(word);
            if coefficient << DROPPED >= Q {
                return Err(Error::Coefficient { index });
            }
            b.push(coefficient);
        }
        Ok(Self {
            params,
            dim: head.dim(),
            seed: *seed,
            b,
        })
    }

    /// Checks that a query is meant for vectors of this set and dimension.
    pub(super) fn check(&self, params: &Params, dim: usize) -> Result<(), Error> {
        wire::check_same(
            "parameter sets",
            self.params.id().into(),
            params.id().into(),
        )?;
        wire::check_same("dimensions", self.dim, dim)
    }

    /// Expands `a` and transforms `b`.
    pub(super) fn to_values(&self) -> Values {
        let mut a = Aligned::new(self.b.len());
        let mut b = Aligned::new(self.b.len());
        for (part, poly) in a.chunks_exact_mut(N).enumerate() {
            residue::fill_vartime(&self.seed, part as u64, plan().modulus(), poly);
        }
        for (residue, coefficient) in b.iter_mut().zip(&self.b) {
            *residue = coefficient << DROPPED;
        }
        for poly in b.chunks_exact_mut(N) {
            plan().forward(poly);
        }
        Values { a, b }
    }
}
