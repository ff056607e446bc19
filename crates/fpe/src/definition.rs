//! The components of SP 800-38G, Section 4, on integers of any size, as byte strings with the most
//! significant byte first. [`crate::ff1::definition`] and `ff3::definition` use them. Tests compare
//! all fast code with these; they are slow, and not in constant time.

use sordino_aes::Key;

use crate::feistel::Direction;
use alloc::{vec, vec::Vec};

/// Algorithm 1: `NUM_radix(X)`, as `[x]^b`.
///
/// # Panics
/// Panics if the number does not fit into `b` bytes.
pub(crate) fn num(x: &[u16], radix: u32, b: usize) -> Vec<u8> {
    let mut number = vec![0; b];
    for &numeral in x {
        let mut carry = u64::from(numeral);
        for byte in number.iter_mut().rev() {
            carry += u64::from(*byte) * u64::from(radix);
            *byte = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        assert_eq!(carry, 0, "the number fits b bytes");
    }
    number
}

/// Algorithm 3: `STR^m_radix(y mod radix^m)`, for `y = NUM(S)` of Algorithm 2.
pub(crate) fn str(y: &[u8], radix: u32, m: usize) -> Vec<u16> {
    let (mut y, mut x) = (y.to_vec(), vec![0; m]);
    for numeral in x.iter_mut().rev() {
        let mut remainder = 0;
        for byte in &mut y {
            let dividend = remainder * 256 + u32::from(*byte);
            *byte = u8::try_from(dividend / radix).expect("the remainder is below the radix");
            remainder = dividend % radix;
        }
        *numeral = u16::try_from(remainder).expect("a radix is at most 65536");
    }
    x
}

/// `STR^m((NUM(a) + y) mod radix^m)`, or with a minus sign to decrypt, for `a` of `m` numerals. It
/// works numeral by numeral, as on paper.
pub(crate) fn mix<const D: Direction>(a: &[u16], y: &[u8], radix: u32) -> Vec<u16> {
    let (mut c, y) = (a.to_vec(), str(y, radix, a.len()));
    let (radix, mut carry) = (i64::from(radix), 0);
    for (c, &y) in c.iter_mut().zip(&y).rev() {
        let y = if D { i64::from(y) } else { -i64::from(y) };
        let sum = i64::from(*c) + y + carry;
        *c = u16::try_from(sum.rem_euclid(radix)).expect("a radix is at most 65536");
        carry = sum.div_euclid(radix);
    }
    c
}

/// `b = ceil(ceil(n LOG(radix)) / 8)`: the bytes of the largest number that `n` numerals can
/// represent, `radix^n - 1`, which has `ceil(n LOG(radix))` bits.
pub(crate) fn bytes(radix: u32, n: usize) -> usize {
    let largest = vec![u16::try_from(radix - 1).expect("a radix is at most 65536"); n];
    let number = num(&largest, radix, 2 * n);
    2 * n - number.iter().take_while(|&&byte| byte == 0).count()
}

/// `CIPH_K` on one block.
pub(crate) fn ciph(k: &Key, x: [u8; 16]) -> [u8; 16] {
    k.block(u128::from_be_bytes(x)).to_be_bytes()
}

/// Algorithm 6: `PRF(X)`, the last block of the CBC-MAC of whole blocks.
pub(crate) fn prf(k: &Key, x: &[u8]) -> [u8; 16] {
    let (blocks, rest) = x.as_chunks::<16>();
    assert!(rest.is_empty(), "whole blocks");
    let mut y = [0; 16];
    for block in blocks {
        y.iter_mut().zip(block).for_each(|(y, x)| *y ^= x);
        y = ciph(k, y);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feistel::{DECRYPT, ENCRYPT};

    /// The examples of SP 800-38G, Section 4.
    #[test]
    fn published_examples() {
        assert_eq!(num(&[0, 0, 0, 1, 1, 0, 1, 0], 5, 2), 755u16.to_be_bytes());
        assert_eq!(str(&559u16.to_be_bytes(), 12, 4), [0, 3, 10, 7]);
        // Floating point gets this LOG(radix^v) wrong: 256^29 - 1 has 29 bytes, not 30.
        assert_eq!(bytes(256, 29), 29);
        assert_eq!((bytes(10, 5), bytes(2, 8), bytes(2, 9)), (3, 1, 2));
    }

    #[test]
    fn sums_wrap_in_both_directions() {
        assert_eq!(mix::<ENCRYPT>(&[9, 9], &[0x00, 0x02], 10), [0, 1]);
        assert_eq!(mix::<DECRYPT>(&[0, 1], &[0x00, 0x02], 10), [9, 9]);
        assert_eq!(mix::<ENCRYPT>(&[1, 2], &[0x01, 0x00], 10), [6, 8]);
    }
}
