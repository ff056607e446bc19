//! Changing records, and bringing clients up to date without a new hint.
//!
//! Suppose that byte `e` of the record in column `j` and slot `i` changes by `delta`. Then row `i` of that byte's `H1`
//! changes by `delta A1_j`, and so do the digits in column `i` of `G`. The server sends by how much each of the
//! `d kappa n` digits grows, in 9 bits each. This takes 4.6 KB for each byte of a record and each changed slot, however
//! many of the slot's records have changed. Clients have `A2` and change their own `H2` by the product of that column
//! and row `i` of `A2`. The change is exact. So the rounding errors of the hint that a client started from stay, and so
//! does the failure bound.

#![expect(
    clippy::cast_possible_truncation,
    reason = "differences of digits and their wire form have 9 bits"
)]

use std::collections::BTreeMap;

use super::{Client, Params, Server};
use crate::Error;
use crate::bits::{pack, packed_len, unpack};
use crate::change::{self, Change, HEAD};
use crate::database::CENTRE;
use crate::lwe::{self, Domain};
use crate::params::KAPPA;
use crate::wire::{self, Kind, check_params, check_version};

/// The largest amount by which a digit can grow.
const MAX_GROWTH: i16 = 255;
/// The number of bits of a digit's growth on the wire, where `MAX_GROWTH` is added to the growth.
const GROWTH_BITS: u32 = 9;

/// The message that brings a client from one version of the database to the next.
#[derive(Clone, PartialEq, Eq)]
pub struct Update {
    /// The layouts before and after the update.
    from: Params,
    to: Params,
    /// The version before the update. The version after it has the next number.
    version: u64,
    /// The slots in order, each with the growth of the digits in its column of `G`.
    slots: Vec<(usize, Vec<i16>)>,
}

impl std::fmt::Debug for Update {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        wire::describe(f, "Update", &self.to, self.version + 1)
    }
}

impl Server {
    /// Makes the changes in order and moves to the next version.
    ///
    /// # Errors
    /// - [`Error::IndexOutOfRange`] if there is no record of a number
    /// - [`Error::RecordTooLong`] if a record is too long
    /// - [`Error::NoRoom`] if an appended record does not fit within the failure bound of the present hint
    ///
    /// Nothing is changed after an error.
    pub fn update(&mut self, changes: &[Change]) -> Result<Update, Error> {
        let (records, placed) = change::place(&self.params, changes)?;
        let from = self.params;
        let to = from.grown(records)?;
        self.database.digits()?;
        self.database.grow(&to);
        let n = to.n();
        let mut row_of_a1 = lwe::rows_of_a(&self.seed, Domain::First);
        let mut a1_j = vec![0; n];
        // The growth of row i of every byte's H1, one row after the other.
        let mut growths = BTreeMap::new();
        for (index, record) in placed {
            let (column, slot) = to.locate(index);
            row_of_a1(column, &mut a1_j);
            let growth: &mut Vec<u32> = growths
                .entry(slot)
                .or_insert_with(|| vec![0; to.record_len() * n]);
            let delta = self.database.write(index, record);
            for (row, delta) in growth.chunks_exact_mut(n).zip(delta) {
                add_multiple(row, delta, &a1_j);
            }
        }
        let slots = growths.into_iter();
        let slots = slots.map(|(slot, growth)| (slot, self.grow_slot(slot, &growth)));
        let slots = slots.collect();
        let version = self.version;
        self.params = to;
        self.version += 1;
        Ok(Update {
            from,
            to,
            version,
            slots,
        })
    }

    /// Adds `growth` to the words behind column `slot` of `G`, and returns by how much their digits grow.
    fn grow_slot(&mut self, slot: usize, growth: &[u32]) -> Vec<i16> {
        let mut growths = Vec::with_capacity(KAPPA * growth.len());
        for (w, growth) in growth.iter().enumerate() {
            let digit = |k| self.g.digit(KAPPA * w + k, slot).cast_unsigned() ^ CENTRE;
            let old = u32::from_le_bytes(std::array::from_fn(digit));
            let new = old.wrapping_add(*growth).to_le_bytes();
            for (k, byte) in new.into_iter().enumerate() {
                let digit = (byte ^ CENTRE).cast_signed();
                growths.push(self.g.replace(KAPPA * w + k, slot, digit));
            }
        }
        growths
    }
}

impl Client {
    /// Moves to the next version of the database. Secrets and prepared queries of the old version
    /// are refused from then on.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the update does not start from this client's version.
    /// Nothing is changed then.
    pub fn apply(&mut self, update: &Update) -> Result<(), Error> {
        check_params(&update.from, &self.params)?;
        check_version(update.version, self.version)?;
        let row_of_a1 = lwe::rows_of_a(&self.seed, Domain::First);
        self.a1.extend(update.to.columns(), row_of_a1);
        let mut row_of_a2 = lwe::rows_of_a(&self.seed, Domain::Second);
        let rows = update.slots.iter().map(|(slot, growths)| {
            let mut a2_i = vec![0; self.params.n()];
            row_of_a2(*slot, &mut a2_i);
            (growths, a2_i)
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            for r in 0..self.h2.rows() {
                self.h2.update_row(r, |h2_r| {
                    for (growths, a2_i) in &rows {
                        add_multiple(h2_r, growths[r], a2_i);
                    }
                });
            }
        }
        self.params = update.to;
        self.version += 1;
        Ok(())
    }
}

/// Adds `factor` times `words` to `row`.
fn add_multiple(row: &mut [u32], factor: i16, words: &[u32]) {
    let factor = i32::from(factor).cast_unsigned();
    for (to, word) in row.iter_mut().zip(words) {
        *to = to.wrapping_add(factor.wrapping_mul(*word));
    }
}

impl Update {
    /// The layout after the update.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.to
    }

    /// The version that the update leads to.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version + 1
    }

    /// The wire form: 56 bytes, and for each slot that changes 8 bytes and 9 bits for each of its
    /// digits.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = HEAD + self.slots.len() * entry_len(&self.to);
        wire::encode(Kind::DoubleUpdate, &self.to, self.version, length, |out| {
            out.extend((self.from.records() as u64).to_le_bytes());
            for (slot, growths) in &self.slots {
                out.extend((*slot as u64).to_le_bytes());
                let growths = growths.iter().map(|growth| growth + MAX_GROWTH);
                pack(
                    growths.map(|g| u32::from(g.unsigned_abs())),
                    GROWTH_BITS,
                    out,
                );
            }
        })
    }

    /// Reads the wire form of an update, for a client whose parameters are `params`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not an update that starts from `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        let (kind, entry_len) = (Kind::DoubleUpdate, entry_len(params));
        let (to, version, entries) = change::decode(kind, params, entry_len, bytes)?;
        let mut slots: Vec<(usize, Vec<i16>)> = Vec::with_capacity(entries.len());
        for entry in entries {
            let (slot, packed) = change::decode_entry(entry);
            if slot >= params.per_column() || slots.last().is_some_and(|(last, _)| slot <= *last) {
                return Err(Error::Header("slots out of order"));
            }
            let growths = unpack(packed, slot_len(params), GROWTH_BITS);
            let growths: Vec<_> = growths.map(|g| g as i16 - MAX_GROWTH).collect();
            if growths.iter().any(|growth| *growth > MAX_GROWTH) {
                return Err(Error::Header("a difference that no two bytes have"));
            }
            slots.push((slot, growths));
        }
        Ok(Self {
            from: *params,
            to,
            version,
            slots,
        })
    }
}

/// Digits in a column of `G`.
const fn slot_len(params: &Params) -> usize {
    params.record_len() * KAPPA * params.n()
}

/// The size in bytes of one slot on the wire.
const fn entry_len(params: &Params) -> usize {
    8 + packed_len(slot_len(params), GROWTH_BITS)
}
