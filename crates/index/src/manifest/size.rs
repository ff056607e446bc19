//! Computes lengths and parameters from a manifest.

use super::{Routing, Sealed};
use crate::code::SCALES_HEAD_LEN;
use crate::metric::Metric;
use crate::{Error, TAG_LEN};

/// The largest number of bases of a frame.
pub const MAX_BASES: usize = 256;

/// The size in bytes of a frame before its centre: a bound, a recall, the number of bases.
pub const FRAME_HEAD_LEN: usize = 2 + 4 + 2;

/// The length of a frame of this number of bases before it is sealed.
#[must_use]
pub fn frame_len(dim: usize, width: usize, bases: usize) -> usize {
    FRAME_HEAD_LEN + size_of::<f32>() * (dim + bases * width)
}

/// The length of the bases and scales of `n` rows before they are sealed.
#[must_use]
pub fn scales_len(metric: Metric, n: usize) -> usize {
    let constant = match metric {
        Metric::Euclidean => size_of::<f32>(),
        Metric::Cosine | Metric::InnerProduct => 0,
    };
    SCALES_HEAD_LEN + n * (2 + constant)
}

/// The PIR parameters of an index: a column for each bucket.
///
/// # Errors
/// [`Error`] if no parameter set serves buckets of this number or length.
pub fn pir_params(mode: &Sealed) -> Result<sordino_pir::simple::Params, Error> {
    let (columns, len) = (mode.clusters as usize, mode.layout.sealed_len());
    Ok(sordino_pir::Params::for_columns(columns, len)?)
}

/// The layout of an index whose buckets are fetched without a hint.
///
/// # Errors
/// [`Error`] if no layout serves buckets of this number or length, or requests for this number of
/// buckets.
pub fn hintless_params(mode: &Sealed) -> Result<sordino_pir::hintless::Params, Error> {
    let (buckets, len) = (mode.clusters as usize, mode.layout.sealed_len());
    let probes = mode.probes as usize;
    Ok(sordino_pir::hintless::Params::new(buckets, len, probes)?)
}

/// The length of what clients download in order to find buckets.
#[must_use]
pub fn route_len(routing: Routing, clusters: usize, width: usize) -> usize {
    match routing {
        Routing::Downloaded => clusters * width + TAG_LEN,
        Routing::Encrypted => 0,
    }
}

/// The size in bytes of a coordinate of a row.
pub const COORDINATE_LEN: usize = 4;

/// The length of the rows of `n` vectors.
#[must_use]
pub(crate) fn rows_len(n: usize, width: usize) -> usize {
    n * width * COORDINATE_LEN
}
