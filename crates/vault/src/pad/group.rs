//! Coordinates of a query together with the counters of their pads, laid out for registers.

use sordino_vectors::u32_of;
use zeroize::{Zeroize, Zeroizing};

use super::{first_block, shift};

/// The number of registers that are encrypted together: a round takes four cycles, and two can start in each cycle.
pub(super) const LANES: usize = 8;

/// The number of rounds of AES-256.
pub(super) const ROUNDS: usize = 14;

/// The data that all rows share, for the coordinates that fill eight registers. A register has `WIDTH` words.
#[derive(Zeroize)]
pub(super) struct Group<const WIDTH: usize> {
    /// The counters of row 0.
    pub(super) counters: [[u32; WIDTH]; LANES],
    /// The query, with zeros after its end.
    pub(super) query: [[u32; WIDTH]; LANES],
}

/// The bits in which a row's counters differ from the counters of row 0. In the counters of row 0 they are clear.
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
