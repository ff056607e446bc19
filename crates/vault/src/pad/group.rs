//! Coordinates of a query next to the counters of their pads, as registers hold them.

use sordino_vectors::u32_of;
use zeroize::{Zeroize, Zeroizing};

use super::{first_block, shift};

/// Registers that are encrypted together: a round takes four cycles, and two begin in each.
pub(super) const LANES: usize = 8;

/// Rounds of AES-256.
pub(super) const ROUNDS: usize = 14;

/// The part of eight registers' worth of coordinates that every row has in common. A register has `WIDTH` words.
#[derive(Zeroize)]
pub(super) struct Group<const WIDTH: usize> {
    /// The counters of row 0.
    pub(super) counters: [[u32; WIDTH]; LANES],
    /// The query, with zeros after its end.
    pub(super) query: [[u32; WIDTH]; LANES],
}

/// What a row's counters have more than the counters of row 0: bits that are clear there.
pub(super) fn row_block(row: u32, width: usize) -> [u32; 4] {
    let [a, b, c, d, e, f, g, h] = first_block(row, shift(width)).to_be_bytes();
    let word = u32::from_le_bytes;
    [0, 0, word([a, b, c, d]), word([e, f, g, h])]
}

/// A query's groups, in order.
pub(super) fn groups<const WIDTH: usize>(
    version: u64,
    query: &[i32],
) -> Zeroizing<Vec<Group<WIDTH>>> {
    let groups = query.chunks(WIDTH * LANES).enumerate();
    Zeroizing::new(
        groups
            .map(|(at, part)| Group::new(version, at, part))
            .collect(),
    )
}

impl<const WIDTH: usize> Group<WIDTH> {
    #[expect(clippy::cast_possible_truncation, reason = "halves of a version")]
    fn new(version: u64, at: usize, coordinates: &[i32]) -> Self {
        let [low, high] = [version, version >> 32].map(|half| half as u32);
        let word = |at: usize| [low, high, 0, u32_of(at / 4).swap_bytes()][at % 4];
        let counters = std::array::from_fn(|lane| {
            let first = (at * LANES + lane) * WIDTH;
            std::array::from_fn(|i| word(first + i))
        });
        let mut query = [[0; WIDTH]; LANES];
        for (word, &x) in query.as_flattened_mut().iter_mut().zip(coordinates) {
            *word = x.cast_unsigned();
        }
        Self { counters, query }
    }
}
