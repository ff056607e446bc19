//! Words of a few bits each, packed without gaps, the least significant bit first.

/// The number of bytes that `count` words of `width` bits take.
pub(crate) const fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends the low `width <= 32` bits of every word to `out`.
pub(crate) fn pack(words: impl IntoIterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    if width.is_multiple_of(8) {
        let bytes = width as usize / 8;
        return words
            .into_iter()
            .for_each(|word| out.extend_from_slice(&word.to_le_bytes()[..bytes]));
    }
    let mask = (1u64 << width) - 1;
    let (mut pending, mut held) = (0u64, 0);
    for word in words {
        pending |= (u64::from(word) & mask) << held;
        held += width;
        if held >= 32 {
            out.extend_from_slice(&pending.to_le_bytes()[..4]);
            pending >>= 32;
            held -= 32;
        }
    }
    out.extend_from_slice(&pending.to_le_bytes()[..held.div_ceil(8) as usize]);
}

/// Reads `count` words of `width <= 32` bits. `bytes` must be [`packed_len`] long.
pub(crate) fn unpack(bytes: &[u8], count: usize, width: u32) -> impl Iterator<Item = u32> {
    debug_assert_eq!(bytes.len(), packed_len(count, width));
    let mask = (1u64 << width) - 1;
    let (mut pending, mut held) = (0u64, 0);
    let mut rest = bytes;
    (0..count).map(move |_| {
        while held < width {
            if let Some((four, after)) = rest.split_first_chunk::<4>() {
                pending |= u64::from(u32::from_le_bytes(*four)) << held;
                (rest, held) = (after, held + 32);
            } else if let Some((byte, after)) = rest.split_first() {
                pending |= u64::from(*byte) << held;
                (rest, held) = (after, held + 8);
            } else {
                break;
            }
        }
        let word = pending & mask;
        pending >>= width;
        held = held.saturating_sub(width);
        #[expect(clippy::cast_possible_truncation, reason = "width <= 32")]
        let word = word as u32;
        word
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_undone_at_every_width_and_length() {
        for width in 1..=32 {
            for count in [0, 1, 2, 3, 7, 8, 9, 33] {
                let words: Vec<u32> = (0..count)
                    .map(|i: u32| i.wrapping_mul(0x9e37_79b9) >> (32 - width))
                    .collect();
                let mut bytes = Vec::new();
                pack(words.iter().copied(), width, &mut bytes);
                let count = words.len();
                assert_eq!(bytes.len(), packed_len(count, width));
                assert!(unpack(&bytes, count, width).eq(words));
            }
        }
    }

    #[test]
    fn twelve_bits_are_laid_out_as_documented() {
        let mut bytes = Vec::new();
        pack([0xabc, 0x123], 12, &mut bytes);
        assert_eq!(bytes, [0xbc, 0x3a, 0x12]);
    }
}
