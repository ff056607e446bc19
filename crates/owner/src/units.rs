//! Vectors as they are stored.

use sordino_index::Error;
use sordino_vectors::Vectors;
use sordino_vectors::metric::Space;
use sordino_vectors::rotation::Rotation;

/// The unit vectors that are stored for `vectors`.
pub(crate) fn units(space: Space, rotation: [u8; 32], vectors: Vectors) -> Result<Vectors, Error> {
    let units = space.stored(vectors)?;
    Ok(Rotation::new(units.dim(), rotation).apply_all(&units))
}
