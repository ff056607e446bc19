//! Non-negative fixed-point numbers below 2^32 with 224 fractional bits. After losing 2^10 units in
//! the last place, they still give a probability to 2^-128.

/// Eight 32-bit limbs, the least significant first; the last one is the integer part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed([u32; 8]);

impl Fixed {
    pub(super) const ZERO: Self = Self([0; 8]);
    pub(super) const ONE: Self = Self([0, 0, 0, 0, 0, 0, 0, 1]);

    pub(super) fn add(&self, other: &Self) -> Self {
        let mut carry = false;
        Self(std::array::from_fn(|i| {
            let (sum, first) = self.0[i].overflowing_add(other.0[i]);
            let (sum, second) = sum.overflowing_add(u32::from(carry));
            carry = first | second;
            sum
        }))
    }

    fn sub(&self, other: &Self) -> Self {
        let mut borrow = false;
        Self(std::array::from_fn(|i| {
            let (difference, first) = self.0[i].overflowing_sub(other.0[i]);
            let (difference, second) = difference.overflowing_sub(u32::from(borrow));
            borrow = first | second;
            difference
        }))
    }

    /// The product, rounded down.
    pub(super) fn mul(&self, other: &Self) -> Self {
        let mut product = [0u32; 16];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (j, b) in other.0.iter().enumerate() {
                let word = u64::from(*a) * u64::from(*b) + u64::from(product[i + j]) + carry;
                (product[i + j], carry) = halves(word);
            }
            product[i + 8] = halves(carry).0;
        }
        Self(std::array::from_fn(|i| product[i + 7]))
    }

    /// `self * numerator / denominator`, rounded down; the quotient must be below 2^32.
    fn scale(&self, numerator: u32, denominator: u32) -> Self {
        let mut product = [0u32; 9];
        let mut carry = 0;
        for (word, limb) in product.iter_mut().zip(self.0) {
            (*word, carry) = halves(u64::from(limb) * u64::from(numerator) + carry);
        }
        product[8] = halves(carry).0;
        let mut remainder = 0;
        for word in product.iter_mut().rev() {
            let dividend = remainder << 32 | u64::from(*word);
            *word = halves(dividend / u64::from(denominator)).0;
            remainder = dividend % u64::from(denominator);
        }
        Self(std::array::from_fn(|i| product[i]))
    }

    /// `exp(-a / (2 b))` for `a <= b`, by its power series.
    pub(super) fn exp_minus(a: u32, b: u32) -> Self {
        let (mut positive, mut negative) = (Self::ZERO, Self::ZERO);
        let mut term = Self::ONE;
        let mut n = 0;
        while term != Self::ZERO {
            positive = positive.add(&term);
            std::mem::swap(&mut positive, &mut negative);
            n += 1;
            term = term.scale(a, b).scale(1, 2 * n);
        }
        // After an odd number of terms the two sums have changed places.
        let (even, odd) = if n % 2 == 0 {
            (positive, negative)
        } else {
            (negative, positive)
        };
        even.sub(&odd)
    }

    /// `floor(2^128 self / total)` as high and low words, for `self < total`.
    pub(super) fn ratio(&self, total: &Self) -> (u64, u64) {
        let mut remainder = *self;
        let mut word = || {
            let mut quotient = 0u64;
            for _ in 0..64 {
                remainder = remainder.add(&remainder);
                quotient <<= 1;
                if remainder.at_least(total) {
                    remainder = remainder.sub(total);
                    quotient |= 1;
                }
            }
            quotient
        };
        (word(), word())
    }

    fn at_least(&self, other: &Self) -> bool {
        self.0.iter().rev().ge(other.0.iter().rev())
    }
}

/// The low and the high half of a word.
fn halves(word: u64) -> (u32, u64) {
    ((word & 0xffff_ffff) as u32, word >> 32)
}
