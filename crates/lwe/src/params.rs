//! The parameter set.

mod noise;

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::ntt::Plan;
use sordino_lattice::switch::Switch;

use crate::Error;

/// `N`, the degree of the ring.
pub(crate) const N: usize = 512;
/// `k`, the rank of the module.
pub(crate) const RANK: usize = 3;
/// The largest 40-bit prime that is 1 mod 4096.
const Q: u64 = 1_099_511_590_913;
/// `log2 P`, bits of an entry.
const LOG_P: u32 = 18;
/// Bits of a word of a query.
const WORD_BITS: u32 = 32;
/// `h`, bits of a number of the hint.
const HINT_BITS: u32 = 26;
/// `floor(2^96 / Q)`.
const PER_Q: u128 = (1 << 96) / Q as u128;

/// A named, checked parameter set. There is one: `n = 3 * 512`, `q` of 40 bits, errors of standard deviation 16,
/// entries of 18 bits, words of 32 bits, hints of 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    id: u8,
    name: &'static str,
    sigma: u32,
}

impl Params {
    /// The most columns of a group: the noise grows with their root.
    pub const MAX_COLUMNS: usize = 1 << 13;

    /// Module LWE of rank 3 over degree 512, `q / sigma = 2^36`: above 130 bits (`MATZOV`), as plain LWE of 1472
    /// entries at this ratio has them (`scripts/param_check.py`).
    #[must_use]
    pub const fn module_1536() -> Self {
        Self {
            id: 1,
            name: "module-1536-40-mod18",
            sigma: 16,
        }
    }

    pub(crate) const fn from_id(id: u8) -> Result<Self, Error> {
        let set = Self::module_1536();
        if id == set.id {
            return Ok(set);
        }
        Err(Error::UnknownSet { found: id })
    }

    pub(crate) const fn id(&self) -> u8 {
        self.id
    }

    /// The set's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// `n`, the entries of a secret.
    #[must_use]
    pub const fn n(&self) -> usize {
        RANK * N
    }

    /// `q`.
    #[must_use]
    pub const fn modulus(&self) -> u64 {
        Q
    }

    /// The standard deviation of an error.
    #[must_use]
    pub const fn sigma(&self) -> u32 {
        self.sigma
    }

    /// `log2 P`: entries and messages are integers mod `P`.
    #[must_use]
    pub const fn log_p(&self) -> u32 {
        LOG_P
    }

    /// Bits of a number of the hint: it is in `[-2^25, 2^25)`.
    #[must_use]
    pub const fn hint_bits(&self) -> u32 {
        HINT_BITS
    }
}

/// Transforms of length [`N`] mod `q`.
pub(crate) fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let modulus = Modulus::new(Q).expect("a 40-bit prime");
        Plan::new(N, modulus).expect("the prime is 1 mod 2N")
    })
}

/// The switch of residues to numbers of the hint.
pub(crate) fn hint_switch() -> Switch {
    Switch::new(plan().modulus(), HINT_BITS)
}

/// `round(x 2^32 / q) mod 2^32`, for `x` below `q`, in constant time.
///
/// The quotient is within `2^-24` of a word. [`Switch`] would shift the mean of 40 bits by up to `2^-6` of a word,
/// and under equal entries the errors of all columns add up.
#[expect(clippy::cast_possible_truncation, reason = "a word, mod 2^32")]
pub(crate) const fn to_word(x: u64) -> u32 {
    ((x as u128 * PER_Q + (1 << 63)) >> (96 - WORD_BITS)) as u32
}

/// `round(u q / P)`, the message of `u`. The errors of all columns meet the entries, so the sign of one that is halfway
/// would matter; `q` is odd, so none is.
pub(crate) const fn to_message(u: i16) -> i64 {
    (u as i64 * Q.cast_signed() + (1 << (LOG_P - 1))) >> LOG_P
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_the_nearest(x in 0..Q) {
            // 2 x 2^32 and (2 w + 1) q never are equal: q is odd.
            let w = (u128::from(x) << 33).div_euclid(u128::from(Q)).div_ceil(2);
            prop_assert_eq!(u128::from(to_word(x)), w & 0xffff_ffff);
        }

        #[test]
        fn messages_are_the_nearest(u in -32767..=32767i16) {
            let exact = f64::from(u) * Q as f64 / f64::from(1u32 << LOG_P);
            prop_assert!((to_message(u) as f64 - exact).abs() <= 0.5);
        }
    }

    #[test]
    fn the_ends_wrap() {
        assert_eq!(
            (to_word(0), to_word(Q - 1), to_word(Q - 129)),
            (0, 0, u32::MAX)
        );
        assert_eq!(to_message(0), 0);
        assert_eq!(to_message(-1), -to_message(1));
    }
}
