//! Lists of `w`-bit numbers, one after another, lowest bit first.

/// Bytes of `count` numbers of `w` bits.
pub(crate) const fn len(count: usize, w: u32) -> usize {
    (count * w as usize).div_ceil(8)
}

/// Writes the `w`-bit `numbers`; the unused bits of the last byte are 0.
pub(crate) fn write(numbers: &[u64], w: u32, out: &mut [u8]) {
    debug_assert_eq!(out.len(), len(numbers.len(), w));
    let (mut held, mut bits) = (0u64, 0);
    let mut rest = out;
    for &number in numbers {
        held |= number << bits;
        bits += w;
        if bits >= u64::BITS
            && let Some((word, after)) = std::mem::take(&mut rest).split_first_chunk_mut()
        {
            *word = held.to_le_bytes();
            rest = after;
            bits -= u64::BITS;
            // The part of the number that did not fit; none if it ended with the word.
            held = number >> (w - bits);
        }
    }
    rest.copy_from_slice(&held.to_le_bytes()[..rest.len()]);
}

/// Reads `w`-bit numbers, `w <= 56`, from `bytes` until `out` is full.
pub(crate) fn read(bytes: &[u8], w: u32, out: &mut [u64]) {
    debug_assert!(bytes.len() >= len(out.len(), w) && w <= 56);
    let mask = (1 << w) - 1;
    for (i, number) in out.iter_mut().enumerate() {
        let bit = i * w as usize;
        let rest = &bytes[bit / 8..];
        let word = match rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        *number = (word >> (bit % 8)) & mask;
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
            w in 1..=56u32,
        ) {
            let numbers: Vec<u64> = numbers.iter().map(|x| x & ((1 << w) - 1)).collect();
            let mut bytes = vec![0xff; len(numbers.len(), w)];
            write(&numbers, w, &mut bytes);
            let mut found = vec![0; numbers.len()];
            read(&bytes, w, &mut found);
            prop_assert_eq!(&found, &numbers);
            // Bit by bit, by the definition.
            for (i, &number) in numbers.iter().enumerate() {
                for j in 0..w as usize {
                    let bit = i * w as usize + j;
                    prop_assert_eq!(u64::from(bytes[bit / 8] >> (bit % 8) & 1), number >> j & 1);
                }
            }
        }
    }
}
