//! Checks that the memory for a build is available before it is needed. A build that does not fit ends with an error, instead of
//! being killed.

use sordino_index::{Error, room};

/// The number of bytes for each coordinate of a segment while it is written: the residuals, their codes, and the rows or the
/// residuals over their scales.
pub(crate) const SEGMENT: usize = 3 * size_of::<f32>();

/// The number of additional bytes, for threads and their working memory.
const THREADS: u64 = 32 << 20;

/// Refuses work that needs `each` bytes for each of some coordinates, if they are not available. On systems other than
/// Linux, the function only tries to allocate these bytes.
///
/// # Errors
/// [`Error::Memory`] if these bytes are not available.
pub(crate) fn check(coordinates: usize, each: usize) -> Result<(), Error> {
    check_bytes(coordinates.saturating_mul(each) as u64)
}

/// Refuses work that needs these bytes, if they are not available.
///
/// # Errors
/// [`Error::Memory`] if these bytes are not available.
pub(crate) fn check_bytes(needed: u64) -> Result<(), Error> {
    let needed = needed.saturating_add(THREADS);
    // Each thread allocates a stack and an arena when it first works. These must not come out of the memory that is checked here.
    rayon::broadcast(|_| drop(std::hint::black_box(Box::new([0u8; 1024]))));
    room::check(needed)
}

/// Checks that a vector can grow.
pub(crate) fn grow(data: &mut Vec<f32>, by: usize) -> Result<(), Error> {
    if data.capacity() - data.len() >= by {
        return Ok(());
    }
    // The memory grows by a quarter. Doubling it would need additional memory for a whole segment.
    let more = by.max(data.len() / 4);
    check(more, size_of::<f32>())?;
    data.try_reserve_exact(more).map_err(|_| Error::Memory {
        needed: (more * size_of::<f32>()) as u64,
        found: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        check(1 << 10, 8).unwrap();
        for coordinates in [usize::MAX / 64, usize::MAX] {
            let error = check(coordinates, 8).unwrap_err();
            assert!(matches!(error, Error::Memory { .. }), "{error}");
        }
        let mut data = vec![1.0; 100];
        grow(&mut data, 10).unwrap();
        assert!(data.capacity() >= 110);
        assert!(grow(&mut data, usize::MAX / 8).is_err());
    }
}
