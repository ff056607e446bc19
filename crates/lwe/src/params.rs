//! The parameter set.

mod noise;

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::ntt::Plan;
use sordino_lattice::switch::Switch;

use crate::Error;
use crate::error::check_same;

/// `N`, the degree of the ring.
pub(crate) const N: usize = 512;
/// `k`, the rank of the module.
pub(crate) const RANK: usize = 3;
/// The largest 40-bit prime that is 1 mod 4096.
const Q: u64 = 1_099_511_590_913;
/// The number of bits of a word of a query.
const WORD_BITS: u32 = 32;
/// `h`, the number of bits of a number of the hint.
pub(crate) const HINT_BITS: u32 = 26;
/// `floor(2^96 / Q)`.
const PER_Q: u128 = (1 << 96) / Q as u128;

/// A named, checked parameter set. Both sets have `n = 3 * 512`, `q` of 40 bits, errors of standard deviation 16, words
/// of 32 bits and hints of 26 bits. Entries have 18 bits in one set, and 8 bits in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    id: u8,
    name: &'static str,
    sigma: u32,
    log_p: u32,
    max_groups: usize,
    max_columns: usize,
}

impl Params {
    /// The largest number of groups of 18-bit entries.
    pub(crate) const MAX_GROUPS: usize = 1 << 10;
    /// The largest number of columns of a group of 18-bit entries. The noise grows with their square root.
    pub const MAX_COLUMNS: usize = 1 << 13;
    /// The largest number of columns of a table of bytes.
    pub const MAX_BYTE_COLUMNS: usize = 1 << 17;
    /// The largest number of columns of bytes that one query can ask for.
    pub const MAX_BYTE_GROUPS: usize = 1 << 6;

    /// Module LWE of rank 3 over degree 512, `q / sigma = 2^36`. Its security is above 130 bits (`MATZOV`), which is the
    /// estimate for plain LWE of 1472 entries at this ratio (`scripts/param_check.py`).
    #[must_use]
    pub const fn module_1536() -> Self {
        Self {
            id: 1,
            name: "module-1536-40-mod18",
            sigma: 16,
            log_p: 18,
            max_groups: Self::MAX_GROUPS,
            max_columns: Self::MAX_COLUMNS,
        }
    }

    /// The parameters for bytes, with the same samples and `P = 2^8`, for a [`ByteTable`](crate::ByteTable). A group
    /// is one column that a query asks for. The group's message is 1 at that column.
    #[must_use]
    pub const fn module_1536_bytes() -> Self {
        Self {
            id: 2,
            name: "module-1536-40-mod8",
            log_p: 8,
            max_groups: Self::MAX_BYTE_GROUPS,
            max_columns: Self::MAX_BYTE_COLUMNS,
            ..Self::module_1536()
        }
    }

    pub(crate) const fn from_id(id: u8) -> Result<Self, Error> {
        let (entries, bytes) = (Self::module_1536(), Self::module_1536_bytes());
        if id == entries.id {
            return Ok(entries);
        }
        if id == bytes.id {
            return Ok(bytes);
        }
        Err(Error::UnknownSet { found: id })
    }

    /// Checks that a set is the table's.
    pub(crate) fn check_same(&self, expected: &Self) -> Result<(), Error> {
        check_same("parameter sets", self.id.into(), expected.id.into())
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

    /// `q`, the modulus.
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
        self.log_p
    }

    /// The largest number of groups of a table.
    #[must_use]
    pub const fn max_groups(&self) -> usize {
        self.max_groups
    }

    /// The largest number of columns of a group.
    #[must_use]
    pub const fn max_columns(&self) -> usize {
        self.max_columns
    }

    /// The number of bits of a number of the hint, which is in `[-2^25, 2^25)`.
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
/// The quotient is within `2^-24` of a word. [`Switch`] would shift the mean of 40 bits by up to `2^-6` of a word. Under
/// equal entries the errors of all columns would add up.
#[expect(clippy::cast_possible_truncation, reason = "a word, mod 2^32")]
pub(crate) const fn to_word(x: u64) -> u32 {
    ((x as u128 * PER_Q + (1 << 63)) >> (96 - WORD_BITS)) as u32
}

/// `round(u q / P)`, the message of `u`. `q` is odd, so no value is halfway between two integers. The direction of ties
/// would matter, because the errors of all columns are multiplied by the entries.
pub(crate) const fn to_message(u: i16, log_p: u32) -> i64 {
    (u as i64 * Q.cast_signed() + (1 << (log_p - 1))) >> log_p
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_the_nearest(x in 0..Q) {
            // 2 x 2^32 and (2 w + 1) q are never equal, because q is odd.
            let w = (u128::from(x) << 33).div_euclid(u128::from(Q)).div_ceil(2);
            prop_assert_eq!(u128::from(to_word(x)), w & 0xffff_ffff);
        }

        #[test]
        fn messages_are_the_nearest(u in -32767..=32767i16) {
            for log_p in [8, 18] {
                let exact = f64::from(u) * Q as f64 / f64::from(1u32 << log_p);
                prop_assert!((to_message(u, log_p) as f64 - exact).abs() <= 0.5);
            }
        }
    }

    #[test]
    fn the_ends_wrap() {
        assert_eq!(
            (to_word(0), to_word(Q - 1), to_word(Q - 129)),
            (0, 0, u32::MAX)
        );
        for log_p in [8, 18] {
            assert_eq!(to_message(0, log_p), 0);
            assert_eq!(to_message(-1, log_p), -to_message(1, log_p));
        }
        // 1 mod 2^8 is 2^10 mod 2^18.
        assert_eq!(to_message(1, 8), to_message(1 << 10, 18));
    }
}
