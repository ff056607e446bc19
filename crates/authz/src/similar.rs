//! Finds policies of similar meaning, by vectors that the caller computes from their texts.

use std::sync::Arc;

use sordino_lsh::{Codes, Kind, Nearest, Scratch, Seed, SimHash};

use crate::Error;
use crate::error::at_most;

/// The largest number of floats of a vector.
const DIMS: usize = 4096;
/// The largest number of policies.
const POLICIES: usize = 1 << 20;
/// Up to this number of floats, all vectors are compared, which takes about 20 us.
const EXACT: usize = 1 << 17;
/// The bits of a vector's code. On clustered vectors of 128 floats, the 400 nearest codes of 256 bits include over 0.99
/// of the ten nearest vectors.
const BITS: usize = 256;
/// The number of vectors compared with a query after their codes: at least this number, and [`PER_RESULT`] for each
/// requested result.
const CANDIDATES: usize = 200;
const PER_RESULT: usize = 20;
/// The public seed of the functions that compute codes.
const SEED: Seed = Seed(*b"sordino-authz v1 similar/code/01");

/// Vectors of policies, searched by cosine.
///
/// If there are few vectors, each is compared with a query. If there are many, their 256-bit codes are compared, and
/// then the vectors of the nearest codes. If vectors have clusters, as embeddings of texts do, on average at least 9.5
/// of ten results are among the true ten.
///
/// # Examples
/// ```
/// use sordino_authz::Similar;
///
/// let similar = Similar::new(3, [("readers", vec![1.0, 0.1, 0.0]), ("owners", vec![0.0, 0.2, 1.0])])?;
/// let found = similar.find(&[0.9, 0.0, 0.1], 1)?;
/// assert_eq!(&*found[0].policy, "readers");
/// # Ok::<(), sordino_authz::Error>(())
/// ```
#[derive(Debug)]
pub struct Similar {
    dim: usize,
    policies: Vec<Arc<str>>,
    /// All vectors, scaled to length 1, one after the other.
    vectors: Vec<f32>,
    codes: Option<(SimHash, Codes)>,
}

/// A policy, and its nearness to the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The policy's id.
    pub policy: Arc<str>,
    /// The cosine of the angle between its vector and the query, from -1 to 1.
    pub cosine: f32,
}

impl Similar {
    /// Takes vectors of `dim` floats with the ids of their policies.
    ///
    /// # Errors
    /// [`Error::Vector`] if a vector has another length, is all zeros, or has an infinite or NaN float.
    /// [`Error::TooLarge`] if a vector has more than 4,096 floats, or there are more than a million policies.
    pub fn new<I: Into<Arc<str>>>(
        dim: usize,
        policies: impl IntoIterator<Item = (I, Vec<f32>)>,
    ) -> Result<Self, Error> {
        at_most("floats of a vector", dim, DIMS)?;
        let (mut ids, mut vectors) = (Vec::new(), Vec::new());
        for (id, vector) in policies {
            at_most("policies with vectors", ids.len() + 1, POLICIES)?;
            ids.push(id.into());
            vectors.extend(unit(dim, &vector)?);
        }
        let codes = (vectors.len() > EXACT).then(|| {
            let hash = SimHash::new(dim, BITS, Kind::Rotation, SEED).ok()?;
            let codes = hash.hash_batch(&vectors).ok()?;
            Some((hash, codes))
        });
        Ok(Self {
            dim,
            policies: ids,
            vectors,
            codes: codes.flatten(),
        })
    }

    /// The `k` policies nearest to `query`, nearest first.
    ///
    /// # Errors
    /// [`Error::Vector`] if the query has another length, is all zeros, or has a float that is infinite or NaN.
    pub fn find(&self, query: &[f32], k: usize) -> Result<Vec<Match>, Error> {
        let query = unit(self.dim, query)?;
        let near = self
            .codes
            .as_ref()
            .and_then(|codes| self.near(codes, &query, k));
        let mut scored: Vec<(f32, usize)> = match near {
            Some(near) => near
                .map(|place| (self.score(place, &query), place))
                .collect(),
            None => (0..self.policies.len())
                .map(|place| (self.score(place, &query), place))
                .collect(),
        };
        let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if k < scored.len() {
            scored.select_nth_unstable_by(k, order);
            scored.truncate(k);
        }
        scored.sort_unstable_by(order);
        let matches = scored.into_iter().map(|(cosine, place)| Match {
            policy: self.policies[place].clone(),
            cosine,
        });
        Ok(matches.collect())
    }

    /// The positions of the nearest codes.
    fn near(
        &self,
        (hash, codes): &(SimHash, Codes),
        query: &[f32],
        k: usize,
    ) -> Option<impl Iterator<Item = usize> + use<>> {
        let (mut code, mut scratch, mut nearest) =
            ([0; BITS / 64], Scratch::default(), Nearest::default());
        hash.hash_into(query, &mut scratch, &mut code).ok()?;
        let count = CANDIDATES
            .max(k.saturating_mul(PER_RESULT))
            .min(codes.len());
        let near = codes.nearest(&code, count, &mut nearest).ok()?;
        let places: Vec<usize> = near.iter().map(|near| near.index as usize).collect();
        Some(places.into_iter())
    }

    fn score(&self, place: usize, query: &[f32]) -> f32 {
        dot(&self.vectors[self.dim * place..][..self.dim], query)
    }
}

/// Eight sums next to each other, which the compiler keeps in vectors.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The vector scaled to length 1.
fn unit(dim: usize, vector: &[f32]) -> Result<Vec<f32>, Error> {
    let (found, expected) = (vector.len(), dim);
    let longest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if found != expected || vector.iter().any(|x| !x.is_finite()) || longest == 0.0 {
        return Err(Error::Vector { found, expected });
    }
    // The largest coordinate scales the vector first, so that no square overflows or vanishes.
    let scaled = vector.iter().map(|x| x / longest);
    let norm = scaled
        .clone()
        .map(|x| f64::from(x) * f64::from(x))
        .sum::<f64>()
        .sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "from 1 to 64")]
    let norm = norm as f32;
    Ok(scaled.map(|x| x / norm).collect())
}
