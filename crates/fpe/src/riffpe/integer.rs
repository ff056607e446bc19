//! Integers below the product of the bases, as digits of mixed radix.

use super::{DigitOrder, RiffpeX};
use crate::{
    Error,
    reciprocal::{Divisor64, Divisor128},
};
use alloc::{vec, vec::Vec};
use zeroize::Zeroizing;

/// The bases as divisors of secret integers.
#[derive(Clone)]
pub(super) struct Divisors {
    /// The largest integer: the product minus one.
    last: u128,
    list: List,
}

#[derive(Clone)]
enum List {
    /// The product is at most `2^64`.
    Word(Vec<Divisor64>),
    Double(Vec<Divisor128>),
}

impl Divisors {
    /// `None` if the product is above `2^128`.
    pub(super) fn new(bases: &[u32]) -> Option<Self> {
        // The product minus one: last n + (n - 1).
        let last = bases.iter().try_fold(0u128, |last, &n| {
            last.checked_mul(n.into())?.checked_add(u128::from(n) - 1)
        })?;
        let list = if last <= u64::MAX.into() {
            List::Word(bases.iter().map(|&n| Divisor64::new(n.into())).collect())
        } else {
            List::Double(bases.iter().map(|&n| Divisor128::new(n.into())).collect())
        };
        Some(Self { last, list })
    }
}

impl RiffpeX {
    /// Writes `x` as digits, beginning with the one that `order` says. Then it applies `cipher`,
    /// and reads the digits as an integer again.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a digit is below 2^20; the product is at most 2^64 where said"
    )]
    pub(super) fn integer(
        &self,
        x: u128,
        order: DigitOrder,
        cipher: impl FnOnce(&mut [u32]),
    ) -> Result<u128, Error> {
        let divisors = self.divisors.as_ref().ok_or(Error::Domain {
            found: u128::MAX,
            min: 1,
            max: u128::MAX,
        })?;
        if x > divisors.last {
            return Err(Error::OutOfRange);
        }
        let mut digits = Zeroizing::new(vec![0; self.bases.len()]);
        let big = order == DigitOrder::Big;
        match &divisors.list {
            List::Word(list) => {
                let mut x = x as u64;
                let mut put = |(digit, divisor): (&mut u32, &Divisor64)| {
                    let (q, r) = divisor.div_rem(x);
                    (*digit, x) = (r as u32, q);
                };
                let pairs = digits.iter_mut().zip(list);
                if big {
                    pairs.rev().for_each(&mut put);
                } else {
                    pairs.for_each(&mut put);
                }
            }
            List::Double(list) => {
                let mut x = x;
                let mut put = |(digit, divisor): (&mut u32, &Divisor128)| {
                    let (q, r) = divisor.div_rem(x);
                    (*digit, x) = (r as u32, q);
                };
                let pairs = digits.iter_mut().zip(list);
                if big {
                    pairs.rev().for_each(&mut put);
                } else {
                    pairs.for_each(&mut put);
                }
            }
        }
        cipher(&mut digits);
        let add = |x: u128, (&digit, &n): (&u32, &u32)| x * u128::from(n) + u128::from(digit);
        let pairs = digits.iter().zip(&self.bases);
        Ok(if big {
            pairs.fold(0, add)
        } else {
            pairs.rev().fold(0, add)
        })
    }
}
