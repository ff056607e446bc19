//! Named parameter sets and their security.

use super::{LOG_Q, Scheme};

/// The security level that a set must reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Security {
    /// At least 128 bits: the minimum over usvp, bdd, dual and dual-hybrid attacks by the lattice estimator (commit
    /// 27a581b) under the MATZOV cost model. A set of [`Self::Statistical128`] is used where one serves the layout.
    #[default]
    Classical128,
    /// At least 128 bits if an attacker only pays the `2^(0.292 beta)` of sieving in one block. A set of
    /// [`Self::Statistical128`] is used where one serves the layout.
    CoreSvp128,
    /// Each query is within `2^-128` of uniform words, if secrets, errors and `A` are uniform. These sets serve at most
    /// 541 to 733 columns, depending on the length of a record ([`Set::log2_distance`]).
    Statistical128,
    /// The published SimplePIR set, which has **121.5 bits** by the same estimate. Use it only for comparisons with
    /// published measurements.
    Published121,
}

/// The number of bits of the uniform errors of the sets with uniform secrets.
pub(crate) const ERROR_BITS: u32 = 10;
/// `-log2` of the largest statistical distance between a query of these sets and uniform words.
const DISTANCE_BITS: usize = 128;

/// A named set of LWE parameters over `q = 2^32`.
///
/// Sets with `S` in their name take secret and error from one Gaussian. They are as hard as the lattice estimator says
/// for any number of columns.
///
/// Sets with `U` take uniform secrets and errors that are uniform over 10 bits. They serve so few columns that a query
/// is hidden **statistically**, and its security rests on no lattice problem. `(s, e) -> A s + e` is a universal hash,
/// and its `32 n + 10 m` random bits exceed the `32 m` bits of its value by 254. By the leftover hash lemma `(A, A s +
/// e)` is within `2^-128` of uniform. [`Self::log2_distance`] counts the collisions of differences that are multiples
/// of powers of two, too. The distance is for one query, and adds up over queries. Keyed BLAKE3 makes the seeds of
/// secrets and errors, and AES-256 in counter mode expands these seeds and the seed of `A`. So each query adds an
/// attacker's advantages against BLAKE3 and AES-256, and at most `2^-113.4` because blocks of AES are distinct. The
/// hints of these sets cannot be rounded, since secrets are large. They are smaller all the same, because a row has a
/// quarter to a half of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Set {
    /// `n = 64`, uniform secrets: up to 81 columns.
    N64U,
    /// `n = 128`, uniform secrets: up to 174 columns.
    N128U,
    /// `n = 256`, uniform secrets: up to 360 columns.
    N256U,
    /// `n = 384`, uniform secrets: up to 547 columns.
    N384U,
    /// `n = 512`, uniform secrets: up to 733 columns. For longer records the failure bound sets a lower limit: 691 for
    /// 12 bytes, 564 for 13 KB, 541 for 64 KB.
    N512U,
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
    pub const ALL: [Self; 9] = [
        Self::N64U,
        Self::N128U,
        Self::N256U,
        Self::N384U,
        Self::N512U,
        Self::N1024S32,
        Self::N1024S16,
        Self::N1280S16,
        Self::Published121,
    ];

    /// `n`, the dimension of the secret.
    #[must_use]
    pub const fn n(self) -> usize {
        match self {
            Self::N64U => 64,
            Self::N128U => 128,
            Self::N256U => 256,
            Self::N384U => 384,
            Self::N512U => 512,
            Self::N1024S32 | Self::N1024S16 | Self::Published121 => 1024,
            Self::N1280S16 => 1280,
        }
    }

    /// `sigma` of a Gaussian as a fraction, or `None` for uniform secrets.
    pub(crate) const fn gaussian(self) -> Option<(u32, u32)> {
        match self {
            Self::N64U | Self::N128U | Self::N256U | Self::N384U | Self::N512U => None,
            Self::N1024S32 => Some((32, 1)),
            Self::N1024S16 | Self::N1280S16 => Some((16, 1)),
            Self::Published121 => Some((32, 5)),
        }
    }

    /// True if secrets are uniform mod `q`. Hints are not rounded then, and the number of columns has a limit.
    #[must_use]
    pub const fn has_uniform_secrets(self) -> bool {
        self.gaussian().is_none()
    }

    /// `sigma`, the standard deviation of the error.
    #[must_use]
    pub fn sigma(self) -> f64 {
        match self.gaussian() {
            Some((numerator, denominator)) => f64::from(numerator) / f64::from(denominator),
            // The standard deviation of 2^10 consecutive integers.
            None => ((f64::from(2 * ERROR_BITS).exp2() - 1.0) / 12.0).sqrt(),
        }
    }

    /// The largest number of columns for which the set hides a query, if there is a limit. In DoublePIR it limits the
    /// slots of a column, too.
    #[must_use]
    pub const fn max_columns(self) -> Option<usize> {
        if !self.has_uniform_secrets() {
            return None;
        }
        let spare = LOG_Q as usize * self.n() - 2 * (DISTANCE_BITS - 1);
        Some(spare / (LOG_Q - ERROR_BITS) as usize)
    }

    /// `log2` of a bound on the statistical distance between uniform words and a query over `columns` columns, given
    /// its `A`. `None` for sets that rest on a hard problem.
    ///
    /// By the leftover hash lemma it is half the root of `q^m C - 1`, with `C` the probability that two independent `A
    /// s + e` collide. Let `s - s'` be a multiple of `2^k` and of no higher power, which has a probability of at most
    /// `2^-kn`. Then `A (s - s')` is uniform over the multiples of `2^k`. It meets `e' - e` with probability `2^-32m`
    /// up to `k = 10`, and with probability `2^-(42 - k)m` above.
    #[must_use]
    pub fn log2_distance(self, columns: usize) -> Option<f64> {
        self.max_columns()?;
        let (n, m) = (self.n() as f64, columns as f64);
        let excess = (ERROR_BITS + 1..=LOG_Q)
            .map(|k| (f64::from(k - ERROR_BITS) * m - f64::from(k) * n).exp2())
            .sum::<f64>();
        Some(excess.log2() / 2.0 - 1.0)
    }

    /// Bits of security: under the MATZOV cost model, and under core-SVP. For uniform secrets, both numbers are the
    /// bits of the statistical distance of one query. If secrets, errors and `A` are truly uniform, no amount of
    /// computation helps an attacker. In practice keyed BLAKE3 and AES-256 generate them, so a caller must add the
    /// attacker's advantages against both. A further advantage of at most `2^-113.4` comes from the blocks of AES,
    /// which are distinct. See [`Set`].
    #[must_use]
    pub const fn bits(self) -> (f64, f64) {
        match self {
            Self::N64U | Self::N128U | Self::N256U | Self::N384U | Self::N512U => {
                (DISTANCE_BITS as f64, DISTANCE_BITS as f64)
            }
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
            Self::N64U => 5,
            Self::N128U => 6,
            Self::N256U => 7,
            Self::N384U => 8,
            Self::N512U => 9,
        }
    }

    pub(crate) const fn serves(self, security: Security) -> bool {
        match (security, self) {
            (Security::Published121, set) => matches!(set, Self::Published121),
            (_, set) if set.has_uniform_secrets() => true,
            (Security::Classical128, set) => matches!(set, Self::N1024S32 | Self::N1024S16),
            (Security::CoreSvp128, set) => matches!(set, Self::N1280S16),
            (Security::Statistical128, _) => false,
        }
    }

    /// True if queries of `columns` words, and of `slots` more in DoublePIR, are hidden.
    pub(super) fn hides(self, scheme: Scheme, columns: usize, slots: usize) -> bool {
        let longest = match scheme {
            Scheme::Simple => columns,
            Scheme::Double => columns.max(slots),
        };
        self.max_columns().is_none_or(|most| longest <= most)
    }
}
