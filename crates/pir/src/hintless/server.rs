//! The server: it expands a query, multiplies it with the records, and folds the rows.

use std::sync::Mutex;

use sordino_lattice::aligned::Aligned;
use sordino_lattice::pages::Pages;
use sordino_lattice::products::{LANES, Operands};
use sordino_lattice::sample::residue;
use sordino_lattice::threads;

use super::database::{Database, SHARED};
use super::digits::Digits;
use super::fold::{Bits, fold};
use super::keys::Evaluation;
use super::message::{Answer, Query, check, epoch};
use super::params::Params;
use super::ring::{N, modulus, plan};
use super::selectors::Selectors;
use crate::Error;
use crate::bits::pack;

/// Answers queries for the records of a database.
#[derive(Debug)]
pub struct Server {
    database: Database,
    /// The memory of the previous answer, kept because allocating it costs about as much time as the products.
    room: Mutex<Option<Room>>,
}

/// Working memory of an answer.
#[derive(Debug)]
pub(crate) struct Room {
    params: Params,
    pub(crate) selectors: Selectors,
    pub(crate) bits: Bits,
    /// The sums of all rows, in NTT form, tile after tile. Within a tile the order is slot, polynomial of a unit, row.
    /// Each entry has eight values of `A_0`, then eight of `A_1`.
    sums: Pages,
}

impl Room {
    fn new(params: &Params) -> Self {
        let sums = params.slots() * params.unit_polys() * params.rows();
        Self {
            params: *params,
            selectors: Selectors::new(params),
            bits: Bits::new(params.slots() * params.fold as usize),
            sums: Pages::zeroed_words(2 * N * sums),
        }
    }
}

impl From<Database> for Server {
    fn from(database: Database) -> Self {
        let room = Mutex::new(None);
        Self { database, room }
    }
}

impl Server {
    /// The records.
    #[must_use]
    pub const fn database(&self) -> &Database {
        &self.database
    }

    /// The records, for changes.
    pub const fn database_mut(&mut self) -> &mut Database {
        &mut self.database
    }

    /// The answer to a query, under the keys that the query names.
    ///
    /// # Errors
    /// [`Error::LayoutMismatch`] or [`Error::VersionMismatch`] if the query is for another layout or seed.
    /// [`Error::SessionMismatch`] if the query names other keys.
    pub fn answer(&self, keys: &Evaluation, query: &Query) -> Result<Answer, Error> {
        let (params, epoch) = (self.database.params(), epoch(self.database.seed()));
        check((&query.params, query.epoch), (params, epoch))?;
        if query.session != *keys.digest() {
            return Err(Error::SessionMismatch);
        }
        // A poisoned lock is harmless: the memory behind it is written before it is read.
        let lock = || {
            self.room
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let held = lock().take().filter(|room| room.params == *params);
        let mut room = held.unwrap_or_else(|| Room::new(params));
        self.expand(keys, query, &mut room);
        self.multiply(&mut room);
        let body = self.round(self.fold(&room));
        *lock() = Some(room);
        Ok(Answer {
            params: *params,
            epoch,
            body,
        })
    }

    /// Allocates working memory for one answer.
    #[cfg(test)]
    pub(crate) fn room(&self) -> Room {
        Room::new(self.database.params())
    }

    /// The selectors of all slots, and the bits of their rows.
    pub(crate) fn expand(&self, keys: &Evaluation, query: &Query, room: &mut Room) {
        let params = self.database.params();
        let ciphertexts = threads::map(
            vec![(); params.ciphertexts()],
            || (),
            |(), v, ()| {
                let mut ciphertext = Aligned::new(2 * N);
                let (b, a) = ciphertext.split_at_mut(N);
                query.coefficients(v, b);
                plan().forward(b);
                residue::fill_vartime(&query.seed, v as u64, modulus(), a);
                ciphertext
            },
        );
        let (of_selectors, of_bits) = ciphertexts.split_at(params.of_selectors());
        room.selectors.fill(keys, params.depth, of_selectors);
        room.bits.fill(keys, params.fold_depth, of_bits);
    }

    /// The sums of all rows.
    pub(crate) fn multiply(&self, room: &mut Room) {
        let tile_len = room.sums.words().len() / (N / LANES);
        let tiles = room.sums.words_mut().chunks_exact_mut(tile_len);
        let selectors = &room.selectors;
        threads::for_each(
            tiles.collect(),
            || (),
            |(), tile, sums| self.multiply_tile(tile, selectors, sums),
        );
    }

    fn multiply_tile(&self, tile: usize, selectors: &Selectors, sums: &mut [u64]) {
        let params = self.database.params();
        let (polys, columns, rows) = (params.unit_polys(), params.columns(), params.rows());
        for t in (0..polys).step_by(SHARED) {
            let (values, held) = self.database.shared(tile, t);
            // Rows share the loads of selectors if the polynomials of a unit leave vector registers free.
            let together = (SHARED / held).min(rows);
            for row in (0..rows).step_by(together) {
                let together = together.min(rows - row);
                for (slot, units) in self.database.slots().iter().enumerate() {
                    let mut units = &units[row * columns..];
                    let (mut first, mut second) = ([0; SHARED * LANES], [0; SHARED * LANES]);
                    let len = together * held * LANES;
                    let of_slot = slot * columns..(slot + 1) * columns;
                    for selectors in selectors.tile(tile, of_slot) {
                        let terms = selectors.len() / (2 * LANES);
                        let operands = Operands {
                            x: values,
                            x_step: held * LANES,
                            rows: units,
                            terms,
                            list: columns,
                            width: held * LANES,
                            y: selectors,
                            y_step: 2 * LANES,
                            second: LANES,
                            shared: true,
                        };
                        operands.add_to(modulus(), &mut first[..len], &mut second[..len]);
                        units = &units[terms..];
                    }
                    let halves = first.chunks_exact(LANES).zip(second.chunks_exact(LANES));
                    for (i, (first, second)) in halves.take(together * held).enumerate() {
                        let (row, t) = (row + i / held, t + i % held);
                        let at = ((slot * polys + t) * rows + row) * 2 * LANES;
                        sums[at..at + LANES].copy_from_slice(first);
                        sums[at + LANES..at + 2 * LANES].copy_from_slice(second);
                    }
                }
            }
        }
    }

    /// For each slot and each polynomial of a unit, the sum of the row that the bits select.
    pub(crate) fn fold(&self, room: &Room) -> Vec<Aligned<u64>> {
        let params = self.database.params();
        let (polys, held) = (params.unit_polys(), params.fold as usize);
        let (sums, len) = (room.sums.words(), 2 * LANES * params.rows());
        let tile_len = sums.len() / (N / LANES);
        threads::map(
            vec![(); params.slots() * polys],
            || (Digits::new(), Aligned::new(2 * N * params.rows())),
            |(digits, rows): &mut (Digits, Aligned<u64>), i, ()| {
                for (tile, sums) in sums.chunks_exact(tile_len).enumerate() {
                    let sums = sums[i * len..][..len].chunks_exact(2 * LANES);
                    for (row, sums) in rows.chunks_exact_mut(2 * N).zip(sums) {
                        let (first, second) = row.split_at_mut(N);
                        first[tile * LANES..][..LANES].copy_from_slice(&sums[..LANES]);
                        second[tile * LANES..][..LANES].copy_from_slice(&sums[LANES..]);
                    }
                }
                fold(digits, room.bits.of(i / polys * held, held), rows);
                Aligned::from(&rows[..2 * N])
            },
        )
    }

    /// Converts the sums to coefficients and rounds them.
    fn round(&self, sums: Vec<Aligned<u64>>) -> Vec<u8> {
        let params = self.database.params();
        let switches = params.switches();
        let parts = threads::map(
            sums,
            || (),
            |(), _, mut sum: Aligned<u64>| {
                let mut out = Vec::with_capacity(params.reply_len());
                let halves = sum.chunks_exact_mut(N).zip(switches);
                for ((half, switch), bits) in halves.zip(params.answer_bits) {
                    plan().inverse(half);
                    switch.apply(half);
                    #[expect(clippy::cast_possible_truncation, reason = "at most 21 bits")]
                    pack(half.iter().map(|word| *word as u32), bits, &mut out);
                }
                out
            },
        );
        parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_an_answer_is_the_one_that_is_planned() {
        for (records, record_len, batch) in [
            (1, 1, 1),
            (700, 400, 64),
            (400, 32_768, 1),
            (1000, 13_000, 24),
            (20_000, 272, 32),
            (50_000, 1000, 10),
        ] {
            let params = Params::new(records, record_len, batch).unwrap();
            let room = Room::new(&params);
            let held = room.selectors.held_bytes() + room.bits.held_bytes() + room.sums.len();
            assert_eq!(held, params.room_bytes(), "{params:?}");
        }
    }
}
