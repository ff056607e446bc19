//! Failure bounds of LWE decryption, as logarithms to base 2.
//!
//! | symbol | meaning |
//! |---|---|
//! | `q`, `p` | ciphertext and plaintext modulus, `Delta = floor(q / p)` |
//! | `sigma` | standard deviation of secret and error |
//! | `m` | terms of one sum, `|D_ij| <= p / 2` when digits are centred |
//! | `R` | decode radius: a digit is right while its noise is below |
//!
//! A sum of `m` discrete Gaussians with weights `D_i` is subgaussian with parameter `sigma ||D_i||`. So a digit is
//! wrong with probability at most `2 exp(-R^2 / (2 sigma^2 ||D_i||^2))`, for every database. For the parameters in
//! use, the bound is about four bits above the exact value.

use std::f64::consts::LN_2;

/// `log2` of the bound `2 exp(-radius^2 / (2 variance))`. A bound above 1 counts as 1.
#[must_use]
pub fn log2_tail(radius: f64, variance: f64) -> f64 {
    if radius <= 0.0 {
        return 0.0;
    }
    (1.0 - radius * radius / (2.0 * LN_2 * variance)).min(0.0)
}

/// `R` is half of `Delta`, minus the amount that rounding to the nearest multiple loses if `p` does not divide `q`.
#[must_use]
pub fn radius(q: u64, p: u64) -> f64 {
    (q / p) as f64 / 2.0 - (q % p) as f64
}

/// The bound for one digit of the worst row. A digit is a sum over `m` columns.
///
/// Digits are in `[-p/2, p/2)` if `centred`, otherwise in `[0, p)`.
#[must_use]
pub fn log2_fail_entry(q: u64, p: u64, sigma: f64, m: u64, centred: bool) -> f64 {
    let digit = if centred { p / 2 } else { p - 1 } as f64;
    log2_tail(radius(q, p), sigma * sigma * m as f64 * digit * digit)
}

/// The bound for a record of `digits` digits, as a union bound.
#[must_use]
pub fn log2_fail_record(q: u64, p: u64, sigma: f64, m: u64, digits: u64, centred: bool) -> f64 {
    log2_union(log2_fail_entry(q, p, sigma, m, centred), digits as f64)
}

/// The bound for `events` events with bound `log2_fail` each.
#[must_use]
pub fn log2_union(log2_fail: f64, events: f64) -> f64 {
    (log2_fail + events.log2()).min(0.0)
}

/// The bound for either of two events.
#[must_use]
pub fn log2_either(a: f64, b: f64) -> f64 {
    let max = a.max(b);
    (max + ((a - max).exp2() + (b - max).exp2()).log2()).min(0.0)
}

/// `kappa`: the number of digits base `p` that hold a word mod `q`.
#[must_use]
pub fn kappa(q: u64, p: u64) -> u32 {
    let mut power = 1u128;
    let mut digits = 0;
    while power < u128::from(q) {
        power *= u128::from(p);
        digits += 1;
    }
    digits
}

/// DoublePIR's bound for one record of `entries` digits from an `l x m` matrix. The first level sums over `m`
/// columns, and the second over `l / entries` rows for `kappa (n + 1)` digits.
#[must_use]
pub fn log2_fail_double(q: u64, p: u64, sigma: f64, m: u64, l: u64, n: u64, entries: u64) -> f64 {
    let first = log2_fail_entry(q, p, sigma, m, true);
    let second = log2_fail_entry(q, p, sigma, l.div_ceil(entries), true);
    let second = second + (f64::from(kappa(q, p)) * (n + 1) as f64).log2();
    log2_union(log2_either(first, second.min(0.0)), entries as f64)
}

/// The largest `p` with centred digits and a bound of `2^log2_delta` for each digit.
#[must_use]
pub fn max_p(q: u64, sigma: f64, m: u64, log2_delta: f64) -> u64 {
    largest(
        |p| log2_fail_entry(q, p, sigma, m, true) <= log2_delta,
        1 << 32,
    )
}

/// The largest `m` for which a record of `digits` digits has the bound `2^log2_delta`.
#[must_use]
pub fn max_m(q: u64, p: u64, sigma: f64, log2_delta: f64, digits: u64, centred: bool) -> u64 {
    largest(
        |m| log2_fail_record(q, p, sigma, m, digits, centred) <= log2_delta,
        1 << 40,
    )
}

/// The largest number from 1 to `end` for which `holds` is true, or 0 if there is none. If `holds` is true for a
/// number, it must be true for all smaller numbers.
fn largest(holds: impl Fn(u64) -> bool, end: u64) -> u64 {
    let (mut low, mut high) = (0, end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
