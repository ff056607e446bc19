//! Choices that no branch and no address depends on.

use std::hint::black_box;

/// All ones if `chosen`, else zero.
///
/// The black box hides from the compiler that there are only two cases, because compilers turn these
/// into branches.
#[inline(always)]
#[must_use]
pub fn mask(chosen: bool) -> u32 {
    u32::from(black_box(chosen)).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn all_bits_or_none() {
        assert_eq!((mask(true), mask(false)), (u32::MAX, 0));
    }
}
