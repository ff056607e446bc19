//! Factors in the order in which the kernels read them.

use sordino_cpu::Avx512Ifma;

use super::field::{Factor, LANES, get, splat};
use crate::aligned::Aligned;
use crate::modulus::Modulus;
use crate::ntt::quotient;

/// Factors `w` and `floor(w 2^52 / q)`, in two arrays that start on cache lines.
#[derive(Clone)]
struct Pairs {
    w: Aligned<u64>,
    quotient: Aligned<u64>,
}

impl Pairs {
    fn new(w: &[u64], modulus: Modulus) -> Self {
        let quotients: Vec<u64> = w.iter().map(|&w| quotient(w, 52, modulus.q())).collect();
        Self {
            w: Aligned::from(w),
            quotient: Aligned::from(quotients.as_slice()),
        }
    }

    /// Factor `m group + i` in the stage with `m` groups, as number `m + i`, in every lane.
    #[inline(always)]
    fn tree<const R: usize>(&self, token: Avx512Ifma, group: usize) -> [Factor; R] {
        let mut factors = [unused(token); R];
        let mut groups = 1;
        while groups < R {
            let w = &self.w[groups * group..][..groups];
            let quotient = &self.quotient[groups * group..][..groups];
            for i in 0..groups {
                factors[groups + i] = Factor {
                    w: splat(token, w[i]),
                    quotient: splat(token, quotient[i]),
                };
            }
            groups *= 2;
        }
        factors
    }

    /// Factors from `8 at` on, eight in each of `R` registers.
    #[inline(always)]
    fn eights<const R: usize>(&self, token: Avx512Ifma, at: usize) -> [Factor; R] {
        let w = &self.w.as_chunks::<LANES>().0[at..][..R];
        let quotient = &self.quotient.as_chunks::<LANES>().0[at..][..R];
        let mut factors = [unused(token); R];
        for (k, factor) in factors.iter_mut().enumerate() {
            *factor = Factor {
                w: get(token, &w[k]),
                quotient: get(token, &quotient[k]),
            };
        }
        factors
    }

    /// Register `i` of each of `R` rows of eight registers, from row `row` on.
    #[inline(always)]
    fn column<const R: usize>(&self, token: Avx512Ifma, row: usize, i: usize) -> [Factor; R] {
        let w = &self.w.as_chunks::<ROW>().0[row..][..R];
        let quotient = &self.quotient.as_chunks::<ROW>().0[row..][..R];
        let mut factors = [unused(token); R];
        for (k, factor) in factors.iter_mut().enumerate() {
            *factor = Factor {
                w: get(token, &w[k].as_chunks().0[i]),
                quotient: get(token, &quotient[k].as_chunks().0[i]),
            };
        }
        factors
    }
}

/// The number of words that eight registers hold.
const ROW: usize = LANES * LANES;

/// A placeholder for the numbers that no butterfly uses.
#[inline(always)]
fn unused(token: Avx512Ifma) -> Factor {
    Factor {
        w: splat(token, 0),
        quotient: splat(token, 0),
    }
}

/// The factors of one plan. Factors of the registers of a network have the numbers that [`super::network`] expects.
#[derive(Clone)]
pub(in crate::ntt) struct Tables {
    /// `psi^brv(i)`.
    forward: Pairs,
    /// The factors of the last three stages of each 64 values: the seven factors of each group of eight, with one
    /// group in each lane.
    last: Pairs,
    /// `psi^-brv(i)`.
    backward: Pairs,
    /// Factors of cyclic inverses: `psi^(-j n / h)` is factor `h + j`, for the stage of distance `h`.
    cyclic: Pairs,
    /// Factors that turn cyclic inverses into parts of a negacyclic one. For a negacyclic inverse of length `len`, they
    /// start with factor `len`; see [`twists`].
    twists: Pairs,
}

/// The length of the cyclic inverses that an inverse of length `len` starts with.
pub(super) const fn cyclic_length(len: usize) -> usize {
    if len < LONGEST { len } else { LONGEST }
}

/// The length of the longest cyclic inverse.
const LONGEST: usize = 512;

/// Part `g` of `parts` of a polynomial's values are its values at `s` times the roots of unity whose order is the
/// part's length. Here `s = psi^(2 brv(g) + 1)`. A cyclic inverse finds coefficient `j` times `s^j`. So the twist is
/// `s^-j / n`, for `psi` of the order `2 len`. `powers(i)` is `psi^-i`, for `psi` of the order `2n`.
fn twists(n: usize, powers: impl Fn(usize) -> u64, per_n: u64, modulus: Modulus) -> Vec<u64> {
    let mut twists = vec![0; 2 * n];
    let mut len = 1;
    while len <= n {
        let cyclic = cyclic_length(len);
        let parts = len / cyclic;
        for part in 0..parts {
            let brv = part
                .reverse_bits()
                .unbounded_shr(usize::BITS - parts.ilog2());
            for j in 0..cyclic {
                let exponent = n / len * (2 * brv + 1) * j % (2 * n);
                let twist = modulus.mul(powers(exponent % n), per_n);
                // psi^n = -1.
                twists[len + cyclic * part + j] = if exponent < n {
                    twist
                } else {
                    modulus.sub(0, twist)
                };
            }
        }
        len *= 2;
    }
    twists
}

impl Tables {
    /// The tables, computed from `psi^brv(i)`, `psi^-brv(i)` and `1 / n`.
    pub(in crate::ntt) fn new(
        forward: &[u64],
        backward: &[u64],
        per_n: u64,
        modulus: Modulus,
    ) -> Self {
        let n = forward.len();
        let mut last = vec![0; n.max(LANES * LANES)];
        for group in 0..n / LANES {
            let (block, lane) = (group / LANES, group % LANES);
            for k in 1..LANES {
                let groups = 1 << k.ilog2();
                let factor = groups * (n / LANES + group) + k - groups;
                last[LANES * (LANES * block + k) + lane] = forward[factor];
            }
        }
        let powers = |i: usize| backward[i.reverse_bits() >> (usize::BITS - n.ilog2())];
        let mut cyclic = vec![0; n.min(LONGEST)];
        for (i, factor) in cyclic.iter_mut().enumerate().skip(1) {
            let h = 1 << i.ilog2();
            *factor = powers((i - h) * (n / h));
        }
        let pairs = |w: &[u64]| Pairs::new(w, modulus);
        Self {
            forward: pairs(forward),
            last: pairs(&last),
            backward: pairs(backward),
            cyclic: pairs(&cyclic),
            twists: pairs(&twists(n, powers, per_n, modulus)),
        }
    }

    /// The factors for stages that start with group `group` of all groups, counted from the number of groups on.
    #[inline(always)]
    pub(super) fn forward<const R: usize>(&self, token: Avx512Ifma, group: usize) -> [Factor; R] {
        self.forward.tree(token, group)
    }

    /// The factors for the last three stages of 64 values.
    #[inline(always)]
    pub(super) fn last(&self, token: Avx512Ifma, block: usize) -> [Factor; LANES] {
        self.last.eights(token, LANES * block)
    }

    /// The factors for stages of an inverse, whose stages with fewer groups come later.
    #[inline(always)]
    pub(super) fn backward<const R: usize>(&self, token: Avx512Ifma, group: usize) -> [Factor; R] {
        self.backward.tree(token, group)
    }

    /// The factors for the first stage of an inverse of `registers` registers, on pairs of register `at`.
    #[inline(always)]
    pub(super) fn pairs(&self, token: Avx512Ifma, registers: usize, at: usize) -> Factor {
        let [factor] = self.backward.eights(token, registers / 2 + at);
        factor
    }

    /// The factors for the first three stages of a cyclic inverse.
    #[inline(always)]
    pub(super) fn first(&self, token: Avx512Ifma) -> [Factor; LANES] {
        // Factor `m + i` is number `m + i` of group 1.
        self.cyclic.tree(token, 1)
    }

    /// The factors for stages of cyclic inverses from a distance of one register on.
    #[inline(always)]
    pub(super) fn near<const R: usize>(&self, token: Avx512Ifma) -> [Factor; R] {
        self.cyclic.eights(token, 0)
    }

    /// The factors for stages of cyclic inverses from a distance of eight registers on, at register `i` of eight.
    #[inline(always)]
    pub(super) fn far<const R: usize>(&self, token: Avx512Ifma, i: usize) -> [Factor; R] {
        self.cyclic.column(token, 0, i)
    }

    /// The factors for the coefficients of a cyclic inverse of `R` registers that is the whole inverse.
    #[inline(always)]
    pub(super) fn short_twists<const R: usize>(&self, token: Avx512Ifma) -> [Factor; R] {
        self.twists.eights(token, R)
    }

    /// The factors for coefficients of cyclic inverse `part` of an inverse of `registers` registers. They belong to
    /// register `i` of each of the part's `R` rows of eight registers.
    #[inline(always)]
    pub(super) fn twists<const R: usize>(
        &self,
        token: Avx512Ifma,
        registers: usize,
        part: usize,
        i: usize,
    ) -> [Factor; R] {
        self.twists.column(token, registers / LANES + R * part, i)
    }
}
