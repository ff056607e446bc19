//! Named sets, and what they are worth.

use sordino_lattice::sample::gaussian::Sampler;

/// What a set must be worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Security {
    /// At least 128 bits: the minimum over usvp, bdd, dual and dual-hybrid attacks by the lattice
    /// estimator (commit 27a581b) under the MATZOV cost model.
    #[default]
    Classical128,
    /// At least 128 bits when only the `2^(0.292 beta)` of sieving in one block is counted.
    CoreSvp128,
    /// The published SimplePIR set, which is worth **121.5 bits** by the same estimate: for
    /// comparisons like for like, and for nothing else.
    Published121,
}

/// A named set of LWE parameters over `q = 2^32`, secret and error from the same Gaussian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Set {
    /// `n = 1024, sigma = 32`: 144.0 bits (core-SVP 118.8).
    N1024S32,
    /// `n = 1024, sigma = 16`: 133.6 bits (core-SVP 107.8).
    N1024S16,
    /// `n = 1280, sigma = 16`: 169.4 bits (core-SVP 145.4).
    N1280S16,
    /// `n = 1024, sigma = 6.4`, as published: **121.5 bits** (core-SVP 95.2).
    Published121,
}

impl Set {
    /// Every set, in the order in which they are tried.
    pub const ALL: [Self; 4] = [
        Self::N1024S32,
        Self::N1024S16,
        Self::N1280S16,
        Self::Published121,
    ];

    /// `n`, the dimension of the secret.
    #[must_use]
    pub const fn n(self) -> usize {
        match self {
            Self::N1024S32 | Self::N1024S16 | Self::Published121 => 1024,
            Self::N1280S16 => 1280,
        }
    }

    /// `sigma` as a fraction.
    const fn sigma_fraction(self) -> (u32, u32) {
        match self {
            Self::N1024S32 => (32, 1),
            Self::N1024S16 | Self::N1280S16 => (16, 1),
            Self::Published121 => (32, 5),
        }
    }

    /// `sigma`, the standard deviation of secret and error.
    #[must_use]
    pub fn sigma(self) -> f64 {
        let (numerator, denominator) = self.sigma_fraction();
        f64::from(numerator) / f64::from(denominator)
    }

    /// The sampler of secrets and errors.
    pub(crate) fn sampler(self) -> Sampler {
        let (numerator, denominator) = self.sigma_fraction();
        Sampler::new(numerator, denominator)
    }

    /// Bits of security: under MATZOV, and core-SVP.
    #[must_use]
    pub const fn bits(self) -> (f64, f64) {
        match self {
            Self::N1024S32 => (143.99, 118.84),
            Self::N1024S16 => (133.57, 107.75),
            Self::N1280S16 => (169.36, 145.42),
            Self::Published121 => (121.53, 95.19),
        }
    }

    /// The set with this number in messages.
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.code() == code)
    }

    /// The set's number in messages.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::N1024S32 => 1,
            Self::N1024S16 => 2,
            Self::N1280S16 => 3,
            Self::Published121 => 4,
        }
    }

    pub(super) const fn serves(self, security: Security) -> bool {
        match security {
            Security::Classical128 => matches!(self, Self::N1024S32 | Self::N1024S16),
            Security::CoreSvp128 => matches!(self, Self::N1280S16),
            Security::Published121 => matches!(self, Self::Published121),
        }
    }
}
