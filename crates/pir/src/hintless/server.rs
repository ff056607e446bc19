//! The server: expands a query and multiplies it with the records.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::products::Operands;
use sordino_lattice::sample::residue;
use sordino_lattice::threads;

use super::database::{Database, width};
use super::expand::{Expansion, Selectors};
use super::keys::Evaluation;
use super::message::{Answer, Query, check, epoch};
use super::ring::{N, modulus, plan};
use crate::Error;
use crate::bits::pack;

/// Polynomials of a unit that share the loads of selectors.
const SHARED: usize = 4;

/// Answers queries for the records of a database.
#[derive(Debug)]
pub struct Server {
    database: Database,
}

impl From<Database> for Server {
    fn from(database: Database) -> Self {
        Self { database }
    }
}

impl Server {
    /// The records.
    #[must_use]
    pub const fn database(&self) -> &Database {
        &self.database
    }

    /// The records, to be changed.
    pub const fn database_mut(&mut self) -> &mut Database {
        &mut self.database
    }

    /// The answer to a query, under the keys that it names.
    ///
    /// # Errors
    /// [`Error::LayoutMismatch`] or [`Error::VersionMismatch`] if the query is for another layout or seed,
    /// [`Error::SessionMismatch`] if it names other keys.
    pub fn answer(&self, keys: &Evaluation, query: &Query) -> Result<Answer, Error> {
        let (params, epoch) = (self.database.params(), epoch(self.database.seed()));
        check((&query.params, query.epoch), (params, epoch))?;
        if query.session != *keys.digest() {
            return Err(Error::SessionMismatch);
        }
        let selectors = self.expand(keys, query);
        let sums = self.multiply(&selectors);
        Ok(Answer {
            params: *params,
            epoch,
            body: self.round(sums),
        })
    }

    /// The selectors of all slots.
    pub(crate) fn expand(&self, keys: &Evaluation, query: &Query) -> Selectors {
        let params = self.database.params();
        let mut selectors = Selectors::new(params.selectors(), width(params));
        let mut expansion = Expansion::new(keys, params.depth);
        let mut ciphertext = Aligned::new(2 * N);
        for v in 0..params.ciphertexts() {
            let (b, a) = ciphertext.split_at_mut(N);
            query.coefficients(v, b);
            plan().forward(b);
            residue::fill_vartime(&query.seed, v as u64, modulus(), a);
            expansion.expand(&ciphertext, v << params.depth, &mut selectors);
        }
        selectors
    }

    /// `A_0` and `A_1` of every polynomial of every slot, in NTT form.
    pub(crate) fn multiply(&self, selectors: &Selectors) -> Vec<Aligned<u64>> {
        let params = self.database.params();
        let (polys, width) = (params.unit_polys(), width(params));
        let count = params.slots() * polys;
        let tiles = threads::map(
            vec![(); N / width],
            || (),
            |(), tile, ()| self.multiply_tile(tile, selectors.tile(tile)),
        );
        let mut sums: Vec<_> = (0..count).map(|_| Aligned::new(2 * N)).collect();
        for (tile, values) in tiles.iter().enumerate() {
            let (first, second) = values.split_at(count * width);
            let parts = first.chunks_exact(width).zip(second.chunks_exact(width));
            for (sum, (first, second)) in sums.iter_mut().zip(parts) {
                sum[tile * width..][..width].copy_from_slice(first);
                sum[N + tile * width..][..width].copy_from_slice(second);
            }
        }
        sums
    }

    /// One tile of all sums: first all of `A_0`, then all of `A_1`.
    fn multiply_tile(&self, tile: usize, selectors: &[u64]) -> Vec<u64> {
        let params = self.database.params();
        let (polys, width) = (params.unit_polys(), width(params));
        let together = if width == sordino_lattice::products::LANES {
            SHARED
        } else {
            1
        };
        let row_len = self.database.row_len();
        let rows = self.database.tile(tile);
        let mut sums = vec![0; 2 * params.slots() * row_len];
        let (first, second) = sums.split_at_mut(params.slots() * row_len);
        let pair = 2 * width;
        let slots = self.database.slots().iter().zip(
            selectors.chunks_exact(params.columns() * pair).zip(
                first
                    .chunks_exact_mut(row_len)
                    .zip(second.chunks_exact_mut(row_len)),
            ),
        );
        for (columns, (selectors, (first, second))) in slots {
            for t in (0..polys).step_by(together) {
                let values = t * width..(t + together).min(polys) * width;
                let operands = Operands {
                    x: &rows[values.start..],
                    x_step: row_len,
                    rows: columns,
                    y: selectors,
                    y_step: pair,
                    second: width,
                    shared: together > 1,
                };
                operands.add_to(modulus(), &mut first[values.clone()], &mut second[values]);
            }
        }
        sums
    }

    /// The sums as coefficients, rounded.
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
                    #[expect(clippy::cast_possible_truncation, reason = "at most 20 bits")]
                    pack(half.iter().map(|word| *word as u32), bits, &mut out);
                }
                out
            },
        );
        parts.concat()
    }
}
