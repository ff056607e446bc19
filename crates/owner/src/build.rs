//! Builds an index in memory: a [`Store`] whose files exist only there.

use rand_core::CryptoRng;
use sordino_index::manifest::Packing;
use sordino_index::{Error, Index, Memory};
use sordino_vault::OwnerKeys;
use sordino_vectors::Vectors;

use crate::measurement::Measurement;
use crate::plan::{self, Plan, Wish};
use crate::spec::{Batch, Form, Spec};
use crate::step::Step;
use crate::store::Store;

/// A built index, and the measurements of its build.
#[derive(Debug)]
pub struct Built {
    /// The index, for the server.
    pub index: Index,
    /// The measurements.
    pub measured: Measurement,
}

/// Builds an index from a stream of records, like [`Store::create`], without a store. `progress` is called for each
/// step of each segment.
///
/// # Errors
/// The errors of [`Store::create`], without the errors about directories.
pub fn in_memory<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    spec: &Spec,
    batches: impl IntoIterator<Item = Result<Batch, Error>>,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    let (index, _) = measured(rng, keys, spec, batches, progress)?;
    Ok(index)
}

/// Builds a sealed index as planned, for the cosine. `progress` is called as each step begins.
///
/// # Errors
/// [`Error`] if the plan was made for other vectors, or one of them is zero.
pub fn sealed<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    plan: &Plan,
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    plan.check(vectors)?;
    let wish = plan.wish();
    let form = Form::Sealed {
        recall: wish.recall,
        queries: wish.queries,
        routing: wish.routing,
    };
    built(rng, keys, &spec(form, wish.k), vectors, progress)
}

/// Builds a routed index, for the cosine. The server holds clusters of vectors under pads. It learns nothing of the
/// vectors and the queries, nor which clusters a search scores.
///
/// # Errors
/// [`Error`] if `k` is 0 or above the number of vectors, or the recall is not between 0 and 1. The call also fails if
/// there are too many vectors, or one of them is zero.
pub fn routed<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    wish: Wish,
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    plan::check(vectors.len(), vectors.dim(), wish.k)?;
    let form = Form::Routed {
        recall: wish.recall,
        queries: wish.queries,
    };
    let spec = Spec {
        second_look: wish.second_look,
        ..spec(form, wish.k)
    };
    built(rng, keys, &spec, vectors, progress)
}

fn built<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    spec: &Spec,
    vectors: &Vectors,
    progress: &mut dyn FnMut(Step),
) -> Result<Built, Error> {
    let batches = [Ok(vectors.clone().into())];
    let (index, measured) = measured(rng, keys, spec, batches, progress)?;
    let measured =
        measured.expect("a store that has just built buckets or clusters has measured them");
    Ok(Built { index, measured })
}

/// Builds a local index for the cosine: sealed chunks that clients download.
///
/// # Errors
/// [`Error`] if `k` is 0 or above the number of vectors, there are too many, or one of them is zero.
pub fn local<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    whole(rng, keys, vectors, &spec(Form::Local, k), progress)
}

/// Builds an open index: the server holds the vectors, and learns nothing of the queries. The metric is the cosine.
///
/// # Errors
/// [`Error`] if `k` is 0 or above the number of vectors, there are too many, or one of them is zero.
pub fn open<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    packing: Packing,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    whole(rng, keys, vectors, &spec(Form::Open(packing), k), progress)
}

/// Builds a masked index: the server holds every vector under a pad, and learns nothing of the
/// vectors or the queries. The metric is the cosine.
///
/// # Errors
/// [`Error`] if `k` is 0 or above the number of vectors, there are too many vectors, or one of them is zero.
pub fn masked<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    k: usize,
    packing: Packing,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    whole(
        rng,
        keys,
        vectors,
        &spec(Form::Masked(packing), k),
        progress,
    )
}

/// A spec for the cosine.
fn spec(form: Form, k: usize) -> Spec {
    Spec {
        form,
        k,
        ..Spec::default()
    }
}

fn whole<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    vectors: &Vectors,
    spec: &Spec,
    progress: &mut dyn FnMut(Step),
) -> Result<Index, Error> {
    plan::check(vectors.len(), vectors.dim(), spec.k)?;
    in_memory(rng, keys, spec, [Ok(vectors.clone().into())], progress)
}

fn measured<R: CryptoRng + ?Sized>(
    rng: &mut R,
    keys: &OwnerKeys,
    spec: &Spec,
    batches: impl IntoIterator<Item = Result<Batch, Error>>,
    progress: &mut dyn FnMut(Step),
) -> Result<(Index, Option<Measurement>), Error> {
    let disk = Memory::default();
    let store = Store::create_on(disk.clone(), "", rng, keys, spec, batches, progress)?;
    Ok((Index::open_on(disk, "", &keys.public())?, store.measured()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::manifest::PartKind;
    use sordino_vault::residue;
    use sordino_vectors::rotation::Rotation;
    use sordino_vectors::synthetic;
    use sordino_vectors::u32_of;

    const N: usize = 300;
    const DIM: usize = 24;
    /// The number of rows of one group including its check rows.
    const STORED: usize = N + 40;

    /// The pads that a build added, by position. A pad is the stored number minus the code.
    fn pads(seed: u64, vectors: &Vectors, packing: Packing) -> Vec<Vec<i32>> {
        let keys = OwnerKeys::from_master([2; 32]);
        let rng = &mut StdRng::seed_from_u64(seed);
        let index = masked(rng, &keys, vectors, 3, packing, &mut |_| ()).expect("an index");
        let (manifest, parts) = index.into_parts();
        let data = Rotation::new(DIM, manifest.rotation).apply_all(vectors);
        let segment = manifest.segments()[0];
        let order = keys.shared().row_order(&segment.id, u32_of(N));
        let codes: Vec<Vec<i32>> = (0..u32_of(N))
            .map(|position| residue::codes(data.row(order.row(position) as usize)).collect())
            .collect();
        let checks = keys.shared().checks(&segment.id, DIM);
        let checks = checks.rows(N, DIM, |position| &codes[position]);
        let codes = codes.iter().map(Vec::as_slice).chain(checks.chunks(DIM));
        let rows = parts.iter().find(|(part, _)| part.kind == PartKind::Rows);
        let (_, rows) = rows.expect("a segment has rows");
        let stored = rows.as_chunks().0.chunks_exact(DIM);
        assert_eq!(stored.len(), STORED);
        let pads = codes.zip(stored).map(|(codes, stored)| {
            let stored = stored.iter().copied().map(i32::from_le_bytes);
            stored
                .zip(codes)
                .map(|(w, code)| residue::centred(w - code))
                .collect()
        });
        pads.collect()
    }

    /// Under one key, each pair (row, version) has only one pad. Every build has its own key.
    #[test]
    fn no_pad_serves_two_contents() {
        let vectors = synthetic::uniform(N, DIM, 1);
        let mut changed = vectors.as_slice().to_vec();
        changed[0] = -changed[0];
        let changed = Vectors::new(DIM, changed).expect("a matrix");
        let mut all = Vec::new();
        for seed in [1, 2] {
            // Builds again with the same randomness, as from a restored snapshot, for other vectors.
            for vectors in [&vectors, &changed] {
                all.extend(pads(seed, vectors, Packing::T4));
            }
        }
        // Builds again for the same vectors in another form.
        all.extend(pads(1, &vectors, Packing::T8));
        assert_eq!(all.len(), 5 * STORED);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 5 * STORED);
        // The same pads for the same content reveal nothing new.
        let again = || pads(1, &vectors, Packing::T4);
        assert_eq!(again(), again());
    }
}
