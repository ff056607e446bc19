//! Converts decimal digits in ASCII to integers and back, eight digits at a time in a 64-bit
//! register.

use crate::reciprocal::Divisor64;

/// The largest number of digits that always fit in 64 bits: `10^19 < 2^64`.
pub(crate) const MAX_LEN: usize = 19;

const ZEROS: u64 = 0x3030_3030_3030_3030;
const E8: u64 = 100_000_000;

/// Checks that all bytes are decimal digits. The error has the index of the first byte that is not.
pub(crate) fn check(x: &[u8]) -> Result<(), usize> {
    let bad = |x: u8| x.wrapping_sub(b'0') > 9;
    if x.iter().fold(false, |any, &x| any | bad(x)) {
        return Err(x.iter().position(|&x| bad(x)).unwrap_or_default());
    }
    Ok(())
}

/// The number that up to [`MAX_LEN`] digits represent, and whether all bytes were digits.
#[inline(always)]
pub(crate) fn parse(x: &[u8]) -> (u64, bool) {
    let (head, rest) = x.split_at(x.len() % 8);
    let (mut number, mut good) = if head.is_empty() {
        (0, true)
    } else {
        // Zeros go in front of the digits, which are the low bytes in little-endian order.
        let shift = 64 - 8 * head.len();
        few(
            (load(head) << shift) | (ZEROS & !(u64::MAX << shift)),
            head.len(),
        )
    };
    for chunk in rest.as_chunks::<8>().0 {
        let (next, all) = eight(u64::from_le_bytes(*chunk));
        number = number.wrapping_mul(E8).wrapping_add(next);
        good &= all;
    }
    (number, good)
}

/// Writes `number < 10^n` as `n = out.len() <= MAX_LEN` digits.
#[inline(always)]
pub(crate) fn format(mut number: u64, out: &mut [u8]) {
    const BY: Divisor64 = Divisor64::new(E8);
    let (head, rest) = out.split_at_mut(out.len() % 8);
    for chunk in rest.as_chunks_mut::<8>().0.iter_mut().rev() {
        let (q, r) = BY.div_rem(number);
        *chunk = digits(r).to_le_bytes();
        number = q;
    }
    if !head.is_empty() {
        store(
            few_digits(number, head.len()) >> (64 - 8 * head.len()),
            head,
        );
    }
}

/// Like [`parse`], with the digits in reverse order.
#[cfg(feature = "legacy-ff3")]
#[inline(always)]
pub(crate) fn parse_reversed(x: &[u8]) -> (u64, bool) {
    let (rest, head) = x.split_at(x.len() - x.len() % 8);
    let (mut number, mut good) = if head.is_empty() {
        (0, true)
    } else {
        let text = load(head) | (ZEROS << (8 * head.len()));
        few(text.swap_bytes(), head.len())
    };
    for chunk in rest.as_chunks::<8>().0.iter().rev() {
        let (next, all) = eight(u64::from_be_bytes(*chunk));
        number = number.wrapping_mul(E8).wrapping_add(next);
        good &= all;
    }
    (number, good)
}

/// Like [`format`], with the digits in reverse order.
#[cfg(feature = "legacy-ff3")]
#[inline(always)]
pub(crate) fn format_reversed(mut number: u64, out: &mut [u8]) {
    const BY: Divisor64 = Divisor64::new(E8);
    let (rest, head) = out.split_at_mut(out.len() - out.len() % 8);
    for chunk in rest.as_chunks_mut::<8>().0 {
        let (q, r) = BY.div_rem(number);
        *chunk = digits(r).to_be_bytes();
        number = q;
    }
    if !head.is_empty() {
        store(few_digits(number, head.len()).swap_bytes(), head);
    }
}

/// Loads fewer than eight bytes, the first lowest, by loads of four, two and one.
#[inline(always)]
fn load(x: &[u8]) -> u64 {
    let (mut number, mut at) = (0, 0);
    for width in [4, 2, 1] {
        if x.len() & width != 0 {
            let part = match *x[at..at + width].as_ref() {
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
                [a, b] => u16::from_le_bytes([a, b]).into(),
                [a] => a.into(),
                _ => 0u64,
            };
            number |= part << (8 * at);
            at += width;
        }
    }
    number
}

/// Stores the lowest bytes of `number`. `out` has fewer than eight bytes.
#[inline(always)]
fn store(mut number: u64, mut out: &mut [u8]) {
    for width in [4, 2, 1] {
        if out.len() & width != 0 {
            let (part, rest) = out.split_at_mut(width);
            part.copy_from_slice(&number.to_le_bytes()[..width]);
            number >>= 8 * width;
            out = rest;
        }
    }
}

/// The number that eight digits represent, the first digit lowest, and whether all bytes were
/// digits.
#[inline(always)]
fn eight(x: u64) -> (u64, bool) {
    let (fours, good) = fours(x);
    let number = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (number, good)
}

/// Like [`eight`], where all but the last `len` digits are zero. Up to four digits need one product
/// less.
#[inline(always)]
fn few(x: u64, len: usize) -> (u64, bool) {
    if len > 4 {
        return eight(x);
    }
    let (fours, good) = fours(x);
    (fours >> 32, good)
}

/// The two numbers that four and four digits represent, and whether all bytes were digits.
/// Neighbouring digits are joined to pairs, and the pairs to fours.
#[inline(always)]
fn fours(x: u64) -> (u64, bool) {
    let x = x ^ ZEROS;
    let over = (x.wrapping_add(0x7676_7676_7676_7676) | x) & 0x8080_8080_8080_8080;
    let pairs = (x.wrapping_mul(10).wrapping_add(x >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours, over == 0)
}

/// The eight digits of `x < 10^8`, the first lowest: the inverse of [`eight`].
#[inline(always)]
fn digits(x: u64) -> u64 {
    let high = x.wrapping_mul(109_951_163) >> 40;
    digits_of_fours((x << 32).wrapping_sub(high.wrapping_mul((10_000 << 32) - 1)))
}

/// Like [`digits`], for a number below `10^len`.
#[inline(always)]
fn few_digits(x: u64, len: usize) -> u64 {
    if len > 4 {
        return digits(x);
    }
    digits_of_fours(x << 32)
}

/// The inverse of [`fours`]. The products are exact for their operands: `floor(x / 10000)` for
/// eight digits, then `/ 100` below 10000, `/ 10` below 100. A part `x` is replaced by its quotient
/// and, above that, its remainder, in one subtraction: `x 2^k - high (d 2^k - 1)`. Nothing here
/// overflows. Wrapping operations are used because overflow checks would be branches.
#[inline(always)]
fn digits_of_fours(fours: u64) -> u64 {
    let high = (fours.wrapping_mul(10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = (fours << 16).wrapping_sub(high.wrapping_mul((100 << 16) - 1));
    let high = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    let digits = (pairs << 8).wrapping_sub(high.wrapping_mul((10 << 8) - 1));
    digits.wrapping_add(ZEROS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eight_digits_are_exact_where_products_round() {
        // Tests every pair of four digits, on which the three divisions depend.
        for four in 0..10_000u64 {
            for x in [
                four,
                four * 10_000,
                four * 10_000 + 9_999,
                99_990_000 + four,
            ] {
                let text = std::format!("{x:08}");
                assert_eq!(&digits(x).to_le_bytes(), text.as_bytes());
                assert_eq!(parse(text.as_bytes()), (x, true));
            }
        }
        for x in (0..E8).step_by(997) {
            assert_eq!((x * 109_951_163) >> 40, x / 10_000);
        }
    }

    #[test]
    fn all_lengths() {
        for len in 0..=MAX_LEN {
            let max = 10u64.checked_pow(u32::try_from(len).unwrap()).unwrap() - 1;
            for x in [0, 1, max / 3, max / 7, max - max / 9, max] {
                let x = x.min(max);
                let mut out = std::vec![0; len];
                format(x, &mut out);
                if len > 0 {
                    assert_eq!(out, std::format!("{x:0len$}").as_bytes());
                }
                assert_eq!(parse(&out), (x, true));
                for i in 0..len {
                    for bad in [b'0' - 1, b'9' + 1, 0, 0xff, b'a', 0x80 | b'5'] {
                        let mut text = out.clone();
                        text[i] = bad;
                        assert!(!parse(&text).1);
                        assert_eq!(check(&text), Err(i));
                    }
                }
            }
        }
    }
}
