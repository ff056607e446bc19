//! Lists of numbers of a few bits each, one after another, lowest bit first.

/// The widths of the numbers of a list, in eighths of a bit. Number `i` lies at bits `floor(i e / 8)..floor((i + 1) e /
/// 8)`. If a width is not a whole number of bits, the numbers alternate between the next smaller and the next larger
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    eighths: usize,
}

impl Width {
    /// `w` bits each.
    pub(crate) const fn bits(w: u32) -> Self {
        Self {
            eighths: 8 * w as usize,
        }
    }

    /// Eight numbers share `eighths` bits.
    pub(crate) const fn eighths(eighths: usize) -> Self {
        Self { eighths }
    }

    /// The width of the widest numbers.
    #[expect(clippy::cast_possible_truncation, reason = "at most 56")]
    pub(crate) const fn most(self) -> u32 {
        self.eighths.div_ceil(8) as u32
    }

    /// The width of number `i`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 56")]
    pub(crate) const fn of(self, i: usize) -> u32 {
        (self.start(i + 1) - self.start(i)) as u32
    }

    /// The first bit of number `i`.
    #[inline]
    const fn start(self, i: usize) -> usize {
        i * self.eighths / 8
    }

    /// The length in bytes of `count` numbers.
    pub(crate) const fn len(self, count: usize) -> usize {
        self.start(count).div_ceil(8)
    }

    /// Writes `numbers`; the unused bits of the last byte are 0.
    pub(crate) fn write(self, numbers: &[u64], out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.len(numbers.len()));
        let (mut held, mut bits) = (0u64, 0);
        let mut rest = out;
        for (i, &number) in numbers.iter().enumerate() {
            let w = self.of(i);
            held |= number << bits;
            bits += w;
            if bits >= u64::BITS
                && let Some((word, after)) = std::mem::take(&mut rest).split_first_chunk_mut()
            {
                *word = held.to_le_bytes();
                rest = after;
                bits -= u64::BITS;
                // The part of the number that did not fit into the word, or 0 if the number ended with the word.
                held = number >> (w - bits);
            }
        }
        rest.copy_from_slice(&held.to_le_bytes()[..rest.len()]);
    }

    /// Reads numbers of at most 56 bits from `bytes` until `out` is full.
    pub(crate) fn read(self, bytes: &[u8], out: &mut [u64]) {
        debug_assert!(bytes.len() >= self.len(out.len()) && self.most() <= 56);
        for (i, number) in out.iter_mut().enumerate() {
            let bit = self.start(i);
            let rest = &bytes[bit / 8..];
            let word = match rest.first_chunk() {
                Some(word) => u64::from_le_bytes(*word),
                None => {
                    let mut word = [0; 8];
                    word[..rest.len()].copy_from_slice(rest);
                    u64::from_le_bytes(word)
                }
            };
            *number = (word >> (bit % 8)) & ((1 << self.of(i)) - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reading_inverts_writing(
            numbers in prop::collection::vec(any::<u64>(), 0..70),
            eighths in 8..=448usize,
        ) {
            let width = Width::eighths(eighths);
            let numbers: Vec<u64> =
                numbers.iter().enumerate().map(|(i, x)| x & ((1 << width.of(i)) - 1)).collect();
            let mut bytes = vec![0xff; width.len(numbers.len())];
            width.write(&numbers, &mut bytes);
            let mut found = vec![0; numbers.len()];
            width.read(&bytes, &mut found);
            prop_assert_eq!(&found, &numbers);
            // Decodes bit by bit, as the definition says.
            for (i, &number) in numbers.iter().enumerate() {
                let first = i * eighths / 8;
                for j in 0..width.of(i) as usize {
                    let bit = first + j;
                    prop_assert_eq!(u64::from(bytes[bit / 8] >> (bit % 8) & 1), number >> j & 1);
                }
            }
        }
    }

    #[test]
    fn widths_alternate_between_whole_ones() {
        let width = Width::eighths(159);
        let widths: Vec<u32> = (0..16).map(|i| width.of(i)).collect();
        assert_eq!(widths, [[19, 20, 20, 20, 20, 20, 20, 20]; 2].concat());
        assert_eq!((width.most(), width.len(2048)), (20, 5088));
        assert_eq!(Width::bits(15), Width::eighths(120));
        assert_eq!(Width::bits(15).len(3), 6);
    }
}
