//! Changing records, and bringing clients up to date without a new hint.
//!
//! Changing column `j` of `D` by `delta` changes `H` by `delta A_j`. The server sends `delta`, two bytes for a byte of
//! the record. Clients have `A`, and change their own hint. The change is exact. So a client keeps the rounding errors
//! of its first hint, and the failure bound stays the same.

use super::{Client, Params, Server};
use crate::Error;
use crate::change::{self, Change, HEAD};
use crate::lwe::{self, Domain};
use crate::wire::{self, Kind, check_params, check_version};

/// The message that brings a client from one version of the database to the next.
#[derive(Clone, PartialEq, Eq)]
pub struct Update {
    /// The layouts before and after the update.
    from: Params,
    to: Params,
    /// The version before the update. The version after it has the next number.
    version: u64,
    /// The changed records, each with `record_len` differences of digits.
    deltas: Vec<(usize, Vec<i16>)>,
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
        let deltas = placed
            .into_iter()
            .map(|(index, record)| (index, self.database.write(index, record)))
            .collect();
        let version = self.version;
        self.params = to;
        self.version += 1;
        Ok(Update {
            from,
            to,
            version,
            deltas,
        })
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
        let mut row_of_a = lwe::rows_of_a(&self.seed, Domain::Simple);
        self.a.extend(update.to.columns(), &mut row_of_a);
        let mut a_j = vec![0; self.params.n()];
        for (index, delta) in &update.deltas {
            let (column, slot) = update.to.locate(*index);
            row_of_a(column, &mut a_j);
            for (i, delta) in delta.iter().enumerate() {
                let delta = i32::from(*delta).cast_unsigned();
                self.h.update_row(slot * delta_len(update) + i, |h_i| {
                    for (h, a) in h_i.iter_mut().zip(&a_j) {
                        *h = h.wrapping_add(delta.wrapping_mul(*a));
                    }
                });
            }
        }
        self.params = update.to;
        self.version += 1;
        Ok(())
    }
}

const fn delta_len(update: &Update) -> usize {
    update.to.record_len()
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

    /// The changed records with the differences of their digits.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = (usize, &[i16])> {
        let deltas = self.deltas.iter();
        deltas.map(|(index, delta)| (*index, delta.as_slice()))
    }

    /// The version that the update starts from.
    pub(crate) const fn base(&self) -> (&Params, u64) {
        (&self.from, self.version)
    }

    /// The wire form: 56 bytes, and for each change 8 bytes and two for each byte of a record.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = HEAD + self.deltas.len() * entry_len(&self.to);
        wire::encode(Kind::SimpleUpdate, &self.to, self.version, length, |out| {
            out.extend((self.from.records() as u64).to_le_bytes());
            for (index, delta) in &self.deltas {
                out.extend((*index as u64).to_le_bytes());
                out.extend(delta.iter().flat_map(|digit| digit.to_le_bytes()));
            }
        })
    }

    /// Reads the wire form of an update, for a client whose parameters are `params`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not an update that starts from `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        let (kind, entry_len) = (Kind::SimpleUpdate, entry_len(params));
        let (to, version, entries) = change::decode(kind, params, entry_len, bytes)?;
        let deltas = entries.map(|entry| {
            let (index, digits) = change::decode_entry(entry);
            if index >= to.records() {
                let records = to.records();
                return Err(Error::IndexOutOfRange { records });
            }
            let (digits, _) = digits.as_chunks();
            let delta: Vec<_> = digits
                .iter()
                .map(|digit| i16::from_le_bytes(*digit))
                .collect();
            if delta.iter().any(|digit| digit.unsigned_abs() > 255) {
                return Err(Error::Header("a difference that no two bytes have"));
            }
            Ok((index, delta))
        });
        Ok(Self {
            from: *params,
            to,
            version,
            deltas: deltas.collect::<Result<_, _>>()?,
        })
    }
}

/// The size in bytes of one change on the wire.
const fn entry_len(params: &Params) -> usize {
    8 + 2 * params.record_len()
}
