//! Rows of 18-bit numbers in the form that a server stores and scans. Each number has 2 bytes of its own for its lower
//! bits. Eight numbers share 2 bytes for the 2 upper bits of each.
//!
//! ```text
//! block    64 bytes of upper bits, then up to 8 lines: 256 numbers or, in a row's last block, the rest
//! line     the lower 16 bits of 32 numbers, two bytes each, little-endian
//! upper    lane i, two bytes: bits 2 j and 2 j + 1 belong to number i of line j
//! ```
//!
//! A number in `[-2^17, 2^17)` is stored mod `2^18`, so a row of zero bytes is a row of zeros.

/// The number of numbers of a line. A line is a cache line of lower bits.
pub(crate) const LANES: usize = 32;
/// The size in bytes of a line, and of a block's upper bits.
pub(crate) const LINE: usize = 2 * LANES;
/// The number of lines of a block: the number of pairs of upper bits that fit into a lane.
pub(crate) const BLOCK: usize = 8;

/// The size in bytes of a row of `columns` numbers.
pub(crate) const fn stride(columns: usize) -> usize {
    let lines = columns.div_ceil(LANES);
    LINE * (lines + lines.div_ceil(BLOCK))
}

/// Writes a row of numbers, with zeros behind the last.
pub(crate) fn write(row: &mut [u8], numbers: &[i32]) {
    row.fill(0);
    let blocks = row.chunks_mut((1 + BLOCK) * LINE);
    for (block, numbers) in blocks.zip(numbers.chunks(BLOCK * LANES)) {
        let (upper, lines) = block.split_at_mut(LINE);
        let lines = lines.chunks_exact_mut(LINE).zip(numbers.chunks(LANES));
        for (j, (line, numbers)) in lines.enumerate() {
            let places = line.as_chunks_mut().0.iter_mut();
            let places = places.zip(upper.as_chunks_mut().0);
            for ((low, upper), number) in places.zip(numbers) {
                let [a, b, c, _] = number.to_le_bytes();
                *low = [a, b];
                let bits = u16::from_le_bytes(*upper) | u16::from(c & 3) << (2 * j);
                *upper = bits.to_le_bytes();
            }
        }
    }
}

/// Reads the numbers of a row, including the padding behind the last one.
pub(crate) fn read(row: &[u8]) -> impl Iterator<Item = i32> {
    let lines = row.len() / LINE;
    let count = LANES * (lines - lines.div_ceil(1 + BLOCK));
    (0..count).map(|at| {
        let (low, upper, shift) = places(at);
        let c = row[upper + shift / 8] >> (shift % 8) & 3;
        // The cast extends the sign, which is in the upper two of the 18 bits.
        i32::from_le_bytes([row[low], row[low + 1], c, 0]) << 14 >> 14
    })
}

/// The position of a number's lower bits, the position of its lane of upper bits, and the shift within that lane.
fn places(at: usize) -> (usize, usize, usize) {
    let (line, lane) = (at / LANES, 2 * (at % LANES));
    let (block, line) = (line / BLOCK, line % BLOCK);
    let block = block * (1 + BLOCK) * LINE;
    (block + (1 + line) * LINE + lane, block + lane, 2 * line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        for columns in [1, 31, 32, 33, 255, 256, 257, 300, 2048, 8192] {
            let number = |at: i32| (at.wrapping_mul(0x9e37_79b1_u32.cast_signed())) >> 14;
            let numbers: Vec<i32> = (0..).take(columns).map(number).collect();
            let mut row = vec![9; stride(columns)];
            write(&mut row, &numbers);
            let back: Vec<i32> = read(&row).collect();
            assert_eq!(back.len(), columns.next_multiple_of(LANES));
            assert_eq!(back[..columns], numbers);
            assert!(back[columns..].iter().all(|&number| number == 0));
        }
        assert_eq!(stride(256), 576);
        assert_eq!(stride(257), 576 + 128);
    }

    #[test]
    fn the_ends_of_the_range_and_zero_are_themselves() {
        let numbers = [
            -(1 << 17),
            (1 << 17) - 1,
            -1,
            0,
            1,
            1 << 16,
            -(1 << 16),
            0x7fff,
            0x8000,
        ];
        let mut row = vec![0; stride(9)];
        write(&mut row, &numbers);
        assert!(read(&row).take(9).eq(numbers));
    }
}
