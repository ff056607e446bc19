//! The number of entries of a secret that share a polynomial when the secret is multiplied with a hint
//! under encryption.

use serde::{Deserialize, Serialize};
use sordino_ckks::column;

/// The number of entries of a secret in a polynomial. A larger number means shorter queries and a longer
/// hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SecretPacking {
    /// 64 entries share a polynomial.
    T64,
    /// 128 entries share a polynomial.
    T128,
    /// 16 entries share a polynomial, for tens of millions of vectors.
    T16,
    /// 32 entries share a polynomial, for millions of vectors.
    T32,
}

impl SecretPacking {
    /// All packings, the packings with the longest queries first.
    pub const ALL: [Self; 4] = [Self::T16, Self::T32, Self::T64, Self::T128];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T16 => "t = 16",
            Self::T32 => "t = 32",
            Self::T64 => "t = 64",
            Self::T128 => "t = 128",
        }
    }

    /// The parameter set of the product of hint and secret.
    #[must_use]
    pub fn params(self) -> column::Params {
        match self {
            Self::T16 => column::Params::modular_26_t16(),
            Self::T32 => column::Params::modular_26_t32(),
            Self::T64 => column::Params::modular_26_t64(),
            Self::T128 => column::Params::modular_26_t128(),
        }
    }
}
