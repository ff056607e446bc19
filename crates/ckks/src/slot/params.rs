//! The parameters of slot mode: a checked modulus chain.

use std::sync::{Arc, OnceLock};

use sordino_lattice::Modulus;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ntt::Plan;

use crate::Error;

/// Primes of 50 bits that are 1 mod 2^15: `q_0` and `P` of the named sets.
const BASE: u64 = 1_125_899_904_679_937;
const SPECIAL: u64 = 1_125_899_903_991_809;

/// Primes next to `2^40` that are 1 mod 2^15. Each serves one rescaling.
const STEPS: [u64; 3] = [1_099_511_922_689, 1_099_510_054_913, 1_099_512_938_497];

/// The largest `log2 QP` with 128 bits of security for ternary secrets, by `log2 N` from 10 on (lattice
/// estimator, MATZOV; equal to the 2024 guidelines).
const MAX_LOG_QP: [u32; 5] = [26, 53, 106, 214, 430];

/// A checked parameter set. Cloning it is cheap.
#[derive(Clone)]
pub struct Params(Arc<Chain>);

struct Chain {
    name: &'static str,
    n: usize,
    /// `q_0, ..., q_L, P`.
    plans: Vec<Plan>,
    scale: f64,
    /// `1 / P` mod each `q_j`, as the values of a constant polynomial.
    per_special: Vec<Aligned<u64>>,
    /// `1 / q_l` mod each `q_j`, `j < l`, at `l - 1`.
    per_step: Vec<Vec<Aligned<u64>>>,
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Params")
            .field("name", &self.0.name)
            .field("n", &self.0.n)
            .field("scale", &self.0.scale)
            .finish_non_exhaustive()
    }
}

impl Params {
    /// `N = 4096`, `log QP = 100`: one product with a plaintext, and no level for rescaling it. Scale `2^22`.
    ///
    /// The worst errors measured for slots in [-1, 1] were 2e-4 for a fresh ciphertext, 3e-4 for a sum, 7e-3 after a
    /// rotation, and 2e-4 for a product with a plaintext.
    #[must_use]
    pub fn slots_2048() -> Self {
        static SET: OnceLock<Params> = OnceLock::new();
        Self::named(&SET, "slots-2048", 4096, 0, 2f64.powi(22))
    }

    /// `N = 8192`, `log QP = 140`: one product and its rescaling. Scale `2^40`.
    ///
    /// The worst errors measured for slots in [-1, 1] were 1.2e-9 for a fresh ciphertext, 1.6e-9 for a sum, 6e-8 after
    /// a rotation, and 1.2e-8 for a rescaled product with a plaintext.
    #[must_use]
    pub fn slots_4096() -> Self {
        static SET: OnceLock<Params> = OnceLock::new();
        Self::named(&SET, "slots-4096", 8192, 1, 2f64.powi(40))
    }

    /// `N = 16384`, `log QP = 220`: three products. Scale `2^40`.
    ///
    /// The worst errors measured for slots in [-1, 1] were 1.6e-9 for a fresh ciphertext, 2.3e-9 for a sum, 1.1e-7
    /// after a rotation, and 4e-8 for a rescaled product with a plaintext.
    #[must_use]
    pub fn slots_8192() -> Self {
        static SET: OnceLock<Params> = OnceLock::new();
        Self::named(&SET, "slots-8192", 16384, 3, 2f64.powi(40))
    }

    fn named(set: &OnceLock<Self>, name: &'static str, n: usize, steps: usize, scale: f64) -> Self {
        set.get_or_init(|| {
            let mut primes = vec![BASE];
            primes.extend(&STEPS[..steps]);
            Self::build(name, n, &primes, SPECIAL, scale).expect("a checked set")
        })
        .clone()
    }

    /// A custom set: degree `n`, primes `q_0, ..., q_L`, special prime `p`, and scale.
    ///
    /// # Errors
    /// [`Error::Security`] if `log2 QP` is above the limit of `n`, or `n` has none. [`Error::Modulus`] if a prime does
    /// not suit the ring or occurs twice. [`Error::Scale`] if the scale is not in `1..q_0 / 4`, or the special prime is
    /// smaller than another.
    pub fn new(n: usize, q: &[u64], p: u64, scale: f64) -> Result<Self, Error> {
        Self::build("custom", n, q, p, scale)
    }

    fn build(name: &'static str, n: usize, q: &[u64], p: u64, scale: f64) -> Result<Self, Error> {
        let primes = || q.iter().copied().chain([p]);
        let found: f64 = primes().map(|prime| (prime as f64).log2()).sum();
        let cap = n
            .is_power_of_two()
            .then(|| (n.ilog2() as usize).checked_sub(10))
            .flatten()
            .and_then(|i| MAX_LOG_QP.get(i).copied())
            .unwrap_or(0);
        if found > f64::from(cap) {
            return Err(Error::Security {
                n,
                found: ceiling(found),
                most: cap,
            });
        }
        let mut plans = Vec::new();
        for prime in primes() {
            let refuse = Error::Modulus { found: prime };
            let modulus = Modulus::new(prime).map_err(|_| refuse)?;
            if plans.iter().any(|plan: &Plan| plan.modulus() == modulus) {
                return Err(refuse);
            }
            plans.push(Plan::new(n, modulus).map_err(|_| refuse)?);
        }
        let base = *q.first().ok_or(Error::Level { found: 0, most: 0 })?;
        // The special prime bounds the error that a digit adds.
        if !(1.0..base as f64 / 4.0).contains(&scale) || q.iter().any(|&q| q >> 1 >= p) {
            return Err(Error::Scale);
        }
        let inverse = |of: u64, plan: &Plan| {
            let modulus = plan.modulus();
            let value = modulus.inverse_vartime(modulus.reduce(of));
            let mut values = Aligned::new(n);
            values.fill(value);
            values
        };
        let per_special = plans[..q.len()]
            .iter()
            .map(|plan| inverse(p, plan))
            .collect();
        let per_step = (1..q.len())
            .map(|l| plans[..l].iter().map(|plan| inverse(q[l], plan)).collect())
            .collect();
        Ok(Self(Arc::new(Chain {
            name,
            n,
            plans,
            scale,
            per_special,
            per_step,
        })))
    }

    /// The set's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The ring degree `N`.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.0.n
    }

    /// The number of slots, `N / 2`.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.0.n / 2
    }

    /// The highest level `L`, which is the number of rescalings.
    #[must_use]
    pub fn max_level(&self) -> usize {
        self.0.plans.len() - 2
    }

    /// The scale at which values are encoded by default.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.0.scale
    }

    /// `log2 QP`.
    #[must_use]
    pub fn log_qp(&self) -> f64 {
        let logs = self.0.plans.iter().map(|plan| plan.modulus().q() as f64);
        logs.map(f64::log2).sum()
    }

    /// `q_0, ..., q_L, P`.
    #[must_use]
    pub fn primes(&self) -> Vec<u64> {
        self.0.plans.iter().map(|plan| plan.modulus().q()).collect()
    }

    /// The transform modulo `q_j`.
    pub(super) fn plan(&self, j: usize) -> &Plan {
        &self.0.plans[j]
    }

    /// The transforms modulo `q_0, ..., q_level`.
    pub(super) fn plans(&self, level: usize) -> &[Plan] {
        &self.0.plans[..=level]
    }

    /// The transforms modulo all primes, `P` last.
    pub(super) fn all_plans(&self) -> &[Plan] {
        &self.0.plans
    }

    /// `1 / P` mod `q_j` in every value.
    pub(super) fn per_special(&self, j: usize) -> &[u64] {
        &self.0.per_special[j]
    }

    /// `1 / q_l` mod `q_j` in every value.
    pub(super) fn per_step(&self, l: usize, j: usize) -> &[u64] {
        &self.0.per_step[l - 1][j]
    }

    pub(super) fn check_same(&self, other: &Self) -> Result<(), Error> {
        if Arc::ptr_eq(&self.0, &other.0) || self.primes() == other.primes() {
            return Ok(());
        }
        Err(Error::Mismatch {
            what: "parameter sets",
            found: self.0.n,
            expected: other.0.n,
        })
    }
}

/// Rounds a positive number of bits up, for an error's text.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of bits"
)]
fn ceiling(bits: f64) -> u32 {
    bits.ceil() as u32
}
