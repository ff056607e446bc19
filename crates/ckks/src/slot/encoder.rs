//! The canonical embedding: converts real slots to a polynomial and back.

use std::f64::consts::PI;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::rounding::nearest;

use super::ciphertext::Plaintext;
use super::params::Params;
use crate::Error;

#[derive(Clone, Copy, Debug, Default)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn unit(angle: f64) -> Self {
        let (im, re) = angle.sin_cos();
        Self { re, im }
    }

    fn conj(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }
}

impl std::ops::Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl std::ops::Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl std::ops::Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Tables of the transform for one parameter set.
///
/// With `M = N / 2` and `p_k = m_k + i m_(k + M)`, a real polynomial `m` takes the value
/// `sum_k (p_k zeta^k) omega^(i k)` at `zeta^(4 i + 1)`, where `omega = zeta^4`: a transform of length
/// `M` over twisted coefficients. Powers of five are the exponents that are 1 mod 4.
pub struct Encoder {
    params: Params,
    /// `zeta^k` for `k < M`.
    twist: Vec<Complex>,
    /// `omega^k` for `k < M / 2`.
    roots: Vec<Complex>,
    /// For each slot `j`, the number of its value: `(5^j mod 2N - 1) / 4`.
    position: Vec<usize>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// The encoder of a parameter set.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let (n, slots) = (params.degree(), params.slots());
        let zeta = |k: usize| Complex::unit(PI * k as f64 / n as f64);
        let mut power = 1;
        let position = (0..slots)
            .map(|_| {
                let position = (power - 1) / 4;
                power = 5 * power % (2 * n);
                position
            })
            .collect();
        Self {
            params: params.clone(),
            twist: (0..slots).map(zeta).collect(),
            roots: (0..slots / 2).map(|k| zeta(4 * k)).collect(),
            position,
        }
    }

    /// Encodes `values`, one per slot from slot 0 on, at the set's scale and highest level.
    ///
    /// # Errors
    /// The errors of [`encode_at`](Self::encode_at).
    pub fn encode(&self, values: &[f64]) -> Result<Plaintext, Error> {
        self.encode_at(values, self.params.max_level(), self.params.scale())
    }

    /// Encodes `values` at a given level and scale.
    ///
    /// # Errors
    /// - [`Error::Length`] if there are more values than slots
    /// - [`Error::NotFinite`] if a value is infinite or NaN
    /// - [`Error::Level`] if the set has no such level
    /// - [`Error::Scale`] if the scale is not from 1 to a quarter of `q_0`
    /// - [`Error::ValueRoom`] if a scaled value is not below that quarter
    pub fn encode_at(&self, values: &[f64], level: usize, scale: f64) -> Result<Plaintext, Error> {
        let (n, slots) = (self.params.degree(), self.params.slots());
        if values.len() > slots {
            return Err(Error::Length {
                found: values.len(),
                expected: slots,
            });
        }
        if let Some(index) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { index });
        }
        if level > self.params.max_level() {
            return Err(Error::Level {
                found: level,
                most: self.params.max_level(),
            });
        }
        // Coefficients are means of values, so they are no larger.
        let largest = values
            .iter()
            .fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let base = self.params.plan(0).modulus().q() as f64;
        if !(scale >= 1.0 && largest * scale < base / 4.0) {
            return Err(match scale >= 1.0 && scale < base / 4.0 {
                true => Error::ValueRoom,
                false => Error::Scale,
            });
        }
        let mut embedded = vec![Complex::default(); slots];
        for (&position, &re) in self.position.iter().zip(values) {
            // Conjugated, so that the transform below is the inverse one.
            embedded[position] = Complex { re, im: 0.0 };
        }
        self.transform(&mut embedded);
        let per = scale / slots as f64;
        let mut limbs = Aligned::new((level + 1) * n);
        for (limb, plan) in limbs.chunks_exact_mut(n).zip(self.params.plans(level)) {
            let (low, high) = limb.split_at_mut(slots);
            let coefficients = embedded.iter().zip(&self.twist);
            for ((low, high), (&x, &twist)) in low.iter_mut().zip(high).zip(coefficients) {
                let p = (x * twist).conj();
                *low = plan.modulus().reduce_signed(nearest(p.re * per));
                *high = plan.modulus().reduce_signed(nearest(p.im * per));
            }
            plan.forward(limb);
        }
        Ok(Plaintext {
            params: self.params.clone(),
            level,
            scale,
            limbs,
        })
    }

    /// Decodes the values of all slots. The scaled values of the plaintext must stay below half of `q_0`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the plaintext belongs to another parameter set.
    pub fn decode(&self, plaintext: &Plaintext) -> Result<Vec<f64>, Error> {
        plaintext.params.check_same(&self.params)?;
        let (n, slots) = (self.params.degree(), self.params.slots());
        let plan = self.params.plan(0);
        let mut coefficients = Aligned::from(&plaintext.limbs[..n]);
        plan.inverse(&mut coefficients);
        let centred = |x: u64| plan.modulus().centred(x) as f64;
        let (low, high) = coefficients.split_at(slots);
        let mut values: Vec<_> = low
            .iter()
            .zip(high)
            .zip(&self.twist)
            .map(|((&low, &high), &twist)| {
                let p = Complex {
                    re: centred(low),
                    im: centred(high),
                };
                p * twist
            })
            .collect();
        self.transform(&mut values);
        let slots = self.position.iter();
        Ok(slots.map(|&i| values[i].re / plaintext.scale).collect())
    }

    /// `x_i = sum_k x_k omega^(i k)`, by the algorithm of Cooley and Tukey on bit-reversed input.
    fn transform(&self, x: &mut [Complex]) {
        let unused = usize::BITS - x.len().ilog2();
        for i in 0..x.len() {
            let j = i.reverse_bits() >> unused;
            if i < j {
                x.swap(i, j);
            }
        }
        let mut half = 1;
        while half < x.len() {
            let step = self.roots.len() / half;
            for pair in x.chunks_exact_mut(2 * half) {
                let (upper, lower) = pair.split_at_mut(half);
                let roots = self.roots.iter().step_by(step);
                for ((x, y), &root) in upper.iter_mut().zip(lower).zip(roots) {
                    let product = *y * root;
                    (*x, *y) = (*x + product, *x - product);
                }
            }
            half *= 2;
        }
    }
}
