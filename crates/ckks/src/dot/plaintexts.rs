//! The server's side: encodes vectors, and scores queries.

mod file;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::store::Store;
use sordino_lattice::threads;

use super::params::{N, Params, Shape, plan};
use super::query::{Query, Values};
use super::reply::Reply;
use crate::file::check_unchanged;
use crate::{Error, planes, wire};

/// Vectors encoded for scoring: `ceil(K / floor(N / d))` packs in NTT form, 8 bytes a coefficient.
pub struct Plaintexts {
    params: Params,
    shape: Shape,
    /// The polynomials as words. Part `l` of pack `k` is polynomial `k parts + l`.
    polys: Store,
}

impl std::fmt::Debug for Plaintexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plaintexts")
            .field("params", &self.params)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Clone for Plaintexts {
    /// A copy in memory, even if the vectors lie in a mapped file.
    fn clone(&self) -> Self {
        let bytes = self.polys.bytes();
        Self {
            params: self.params,
            shape: self.shape,
            polys: Store::copied(bytes, bytes.len()),
        }
    }
}

impl Plaintexts {
    /// Encodes `vectors`, row after row of `dim` coordinates.
    ///
    /// # Errors
    /// - [`Error::Dimension`] if the dimension is 0 or too large
    /// - [`Error::Count`] if there are too many vectors
    /// - [`Error::Length`] if the coordinates do not fill whole vectors
    /// - [`Error::NotFinite`] if a coordinate is infinite or NaN
    /// - [`Error::Norm`] if a vector is longer than [`Params::norm_bound`]
    pub fn encode(params: &Params, vectors: &[f32], dim: usize) -> Result<Self, Error> {
        wire::check_dim(dim)?;
        wire::check_rows(vectors.len(), dim)?;
        let count = vectors.len() / dim;
        wire::check_count(count)?;
        params.check_norms(vectors, dim)?;
        let shape = Shape::new(dim, count);
        let mut polys = Store::zeroed(shape.packs * shape.parts * N * size_of::<u64>());
        let packs = words_mut(&mut polys).chunks_exact_mut(shape.parts * N);
        let packs = packs.zip(vectors.chunks(shape.per * dim));
        threads::for_each(
            packs.collect(),
            || (),
            |(), _, (pack, vectors)| {
                for (v, vector) in vectors.chunks_exact(dim).enumerate() {
                    place(*params, shape, pack, v, vector);
                }
                for poly in pack.chunks_exact_mut(N) {
                    plan().forward(poly);
                }
            },
        );
        Ok(Self {
            params: *params,
            shape,
            polys,
        })
    }

    /// The parameter set.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.shape.dim
    }

    /// The number of vectors `K`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.count
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// Replaces vector `index` by `vector`. Only its pack is encoded again.
    ///
    /// # Errors
    /// - [`Error::Index`] if there is no vector of this number
    /// - [`Error::Length`] if the new vector has another dimension
    /// - [`Error::NotFinite`] if a coordinate is infinite or NaN
    /// - [`Error::Norm`] if the vector is longer than [`Params::norm_bound`]
    pub fn replace(&mut self, index: usize, vector: &[f32]) -> Result<(), Error> {
        let shape = self.shape;
        if index >= shape.count {
            return Err(Error::Index {
                index,
                count: shape.count,
            });
        }
        if vector.len() != shape.dim {
            return Err(Error::Length {
                found: vector.len(),
                expected: shape.dim,
            });
        }
        self.params.check_norms(vector, shape.dim)?;
        let (k, v) = (index / shape.per, index % shape.per);
        let pack = &mut words_mut(&mut self.polys)[k * shape.parts * N..][..shape.parts * N];
        for poly in pack.chunks_exact_mut(N) {
            plan().inverse(poly);
        }
        place(self.params, shape, pack, v, vector);
        for poly in pack.chunks_exact_mut(N) {
            plan().forward(poly);
        }
        Ok(())
    }

    /// Computes the encrypted dot products of one query with every vector.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the query was made for another parameter set or dimension. [`Error::Changed`] and
    /// [`Error::Io`] if a mapped file has changed.
    pub fn score(&self, query: &Query) -> Result<Reply, Error> {
        let mut reply = Reply::zero(self.params, self.shape);
        self.fill(
            std::slice::from_ref(query),
            std::slice::from_mut(&mut reply),
        )?;
        Ok(reply)
    }

    /// Computes the encrypted dot products of several queries with every vector, in one pass over the encoded
    /// vectors. With the feature `rayon`, the threads of its current pool share the packs.
    ///
    /// # Errors
    /// The errors of [`score`](Self::score).
    pub fn score_batch(&self, queries: &[Query]) -> Result<Vec<Reply>, Error> {
        let mut replies = vec![Reply::zero(self.params, self.shape); queries.len()];
        self.fill(queries, &mut replies)?;
        Ok(replies)
    }

    /// Writes the reply to each query.
    fn fill(&self, queries: &[Query], replies: &mut [Reply]) -> Result<(), Error> {
        check_unchanged(&self.polys)?;
        for query in queries {
            query.check(&self.params, self.shape.dim)?;
        }
        let shape = self.shape;
        let values: Vec<_> = queries.iter().map(|query| query.to_values()).collect();
        let mut packs: Vec<Pack> = words(&self.polys)
            .chunks_exact(shape.parts * N)
            .map(|pack| (Vec::with_capacity(queries.len()), pack))
            .collect();
        for reply in replies {
            for ((bodies, _), body) in packs.iter_mut().zip(reply.packs_mut()) {
                bodies.push(body);
            }
        }
        let score_pack = |scratch: &mut Scratch, k: usize, (bodies, pack): Pack| {
            for (body, values) in bodies.into_iter().zip(&values) {
                scratch.score(self.params, shape, (values, k), pack, body);
            }
        };
        if shape.packs * queries.len() < PARALLEL_FROM || threads::count() == 1 {
            let mut scratch = Scratch::new();
            let packs = packs.into_iter().enumerate();
            packs.for_each(|(k, pack)| score_pack(&mut scratch, k, pack));
        } else {
            threads::for_each(packs, Scratch::new, score_pack);
        }
        Ok(())
    }
}

/// The encoded values.
fn words(polys: &Store) -> &[u64] {
    bytemuck::cast_slice(polys.bytes())
}

fn words_mut(polys: &mut Store) -> &mut [u64] {
    bytemuck::cast_slice_mut(polys.bytes_mut())
}

/// One pack of every reply, and the pack of vectors from which it is computed.
type Pack<'a> = (Vec<&'a mut [u8]>, &'a [u64]);

/// The number of packs from which waking threads is worth its cost: about 100 us of work.
const PARALLEL_FROM: usize = 32;

/// Working memory of one thread.
struct Scratch {
    sum: Aligned<u64>,
    term: Aligned<u64>,
    picked: Vec<u64>,
}

impl Scratch {
    fn new() -> Self {
        Self {
            sum: Aligned::new(N),
            term: Aligned::new(N),
            picked: Vec::new(),
        }
    }

    /// Writes one pack of a reply: `c0` at the scores' coefficients, then `c1`.
    fn score(
        &mut self,
        params: Params,
        shape: Shape,
        (query, k): (&Values, usize),
        pack: &[u64],
        body: &mut [u8],
    ) {
        let switch = params.switch();
        let (c0, c1) = body.split_at_mut(body.len() - planes::len(N, params.reply_bits()));

        // The scores lie at coefficients -1 mod the largest power of two that divides the width. Only these
        // coefficients are computed, and every k-th of them is a score, for an odd k.
        let stride = shape.width.trailing_zeros();
        self.inverse_of_products(&query.b, pack, stride);
        self.picked.clear();
        self.picked.extend(
            (0..shape.in_pack(k)).map(|v| switch.switch(self.sum[shape.position(v) >> stride])),
        );
        planes::write(&self.picked, params.reply_bits(), c0);

        self.inverse_of_products(&query.a, pack, 0);
        switch.apply(&mut self.sum);
        planes::write(&self.sum, params.reply_bits(), c1);
    }

    /// Every `2^k`-th coefficient of the sum of the products of a query's parts and a pack's.
    fn inverse_of_products(&mut self, query: &[u64], pack: &[u64], k: u32) {
        if pack.len() == N {
            return plan().inverse_product(query, pack, &mut self.sum, k);
        }
        let modulus = plan().modulus();
        self.sum.fill(0);
        for (x, p) in query.chunks_exact(N).zip(pack.chunks_exact(N)) {
            self.term.copy_from_slice(x);
            plan().multiply(&mut self.term, p);
            for (sum, &term) in self.sum.iter_mut().zip(self.term.iter()) {
                *sum = modulus.add(*sum, term);
            }
        }
        plan().inverse_strided(&mut self.sum, k);
    }
}

/// Writes the coefficients of vector `v` of a pack, reversed within each part.
fn place(params: Params, shape: Shape, pack: &mut [u64], v: usize, vector: &[f32]) {
    let modulus = plan().modulus();
    for (poly, part) in pack.chunks_exact_mut(N).zip(vector.chunks(shape.width)) {
        let last = shape.position(v);
        for (j, &x) in part.iter().enumerate() {
            poly[last - j] = modulus.from_signed(params.vector_code(x));
        }
    }
}
