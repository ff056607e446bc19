//! Checks on vectors and queries before they are rounded.

use crate::Error;

/// Checks that coordinates are finite and that the norm of each vector is at most `bound`. Only the
/// outcome depends on the values. Not inlined, so that the constant-time check can name it.
#[inline(never)]
pub(crate) fn check_norms(vectors: &[f32], dim: usize, bound: f64) -> Result<(), Error> {
    for (index, vector) in vectors.chunks_exact(dim).enumerate() {
        let square: f64 = vector.iter().map(|&x| f64::from(x).powi(2)).sum();
        if let (false, Some(within)) = (
            square.is_finite(),
            vector.iter().position(|x| !x.is_finite()),
        ) {
            return Err(Error::NotFinite {
                index: index * dim + within,
            });
        }
        if square > bound * bound {
            return Err(Error::Norm { index });
        }
    }
    Ok(())
}
