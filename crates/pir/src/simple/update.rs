//! Changing records, and bringing clients up to date without a new hint.
//!
//! Changing column `j` of `D` by `delta` changes `H` by `delta A_j`. The server sends `delta`, two
//! bytes for a byte of the record; clients have `A` and change their own hint. The change is exact,
//! so that the rounding errors of the hint that a client started from stay what they were, and with
//! them the failure bound.

use super::{Client, Server};
use crate::database::CENTRE;
use crate::lwe::{self, Domain};
use crate::wire::{self, Kind, check_params, check_scheme, check_version};
use crate::{Error, Params, Scheme};

/// A change of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Record `index` becomes `record`, followed by zeros if it is shorter than declared.
    Replace {
        /// Which record.
        index: usize,
        /// Its new bytes.
        record: Vec<u8>,
    },
    /// A new record behind the last one.
    Append {
        /// Its bytes.
        record: Vec<u8>,
    },
    /// Record `index` becomes zeros. Its index stays, since an index is a place in the matrix.
    Delete {
        /// Which record.
        index: usize,
    },
}

/// What brings a client from one version of the database to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Layouts before and after.
    from: Params,
    to: Params,
    /// The version before; the one after is the next number.
    version: u64,
    /// Records and the differences of their digits, `record_len` for each.
    deltas: Vec<(usize, Vec<i16>)>,
}

/// Bytes in front of the deltas: the number of records before.
const HEAD: usize = 8;

impl Server {
    /// Makes the changes in order and moves to the next version.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`], [`Error::RecordTooLong`], or [`Error::TooLarge`] if an appended
    /// record does not fit within the failure bound of the present hint. Then nothing is changed.
    pub fn update(&mut self, changes: &[Change]) -> Result<Update, Error> {
        let (mut records, record_len) = (self.params.records(), self.params.record_len());
        let mut placed = Vec::with_capacity(changes.len());
        for change in changes {
            let (index, record) = match change {
                Change::Replace { index, record } => (*index, record.as_slice()),
                Change::Append { record } => (records, record.as_slice()),
                Change::Delete { index } => (*index, [].as_slice()),
            };
            records += usize::from(matches!(change, Change::Append { .. }));
            if index >= records {
                return Err(Error::IndexOutOfRange { records });
            }
            if record.len() > record_len {
                let (found, expected) = (record.len(), record_len);
                return Err(Error::RecordTooLong {
                    index,
                    found,
                    expected,
                });
            }
            placed.push((index, record));
        }
        let from = self.params;
        let to = from.grown(records)?;
        self.database.digits()?;
        let (matrix, params) = self.database.parts_mut();
        if to.columns() > from.columns() {
            matrix.widen(to.columns());
        }
        *params = to;
        let mut deltas = Vec::with_capacity(placed.len());
        for (index, record) in placed {
            let (column, slot) = to.locate(index);
            let zeros = std::iter::repeat(&0);
            let bytes = record.iter().chain(zeros).take(record_len).enumerate();
            let delta = bytes.map(|(i, byte)| {
                let row = slot * record_len + i;
                let old = i16::from(matrix.digit(row, column));
                let new = (byte ^ CENTRE).cast_signed();
                *matrix.digit_mut(row, column) = new.cast_unsigned();
                i16::from(new) - old
            });
            deltas.push((index, delta.collect()));
        }
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
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the update does not start where
    /// this client is. Then nothing is changed.
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

    /// The records that change and the differences of their digits.
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

    /// Reads a wire form, for a client whose parameters are `params`.
    ///
    /// # Errors
    /// If the bytes are not an update that starts from `params`.
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self, Error> {
        check_scheme(params, Scheme::Simple)?;
        let (to, version, payload) = wire::decode(Kind::SimpleUpdate, bytes)?;
        let (head, entries) = payload.split_first_chunk::<HEAD>().ok_or(Error::Length {
            found: payload.len(),
            expected: HEAD,
        })?;
        if u64::from_le_bytes(*head) != params.records() as u64 {
            return Err(Error::Header("an update of another number of records"));
        }
        if to.records() < params.records() {
            return Err(Error::Header("an update to fewer records"));
        }
        check_params(&params.grown(to.records())?, &to)?;
        let entry = entry_len(&to);
        if !entries.len().is_multiple_of(entry) {
            return Err(Error::Length {
                found: entries.len(),
                expected: entries.len().next_multiple_of(entry),
            });
        }
        let deltas = entries.chunks_exact(entry).map(|entry| {
            let (index, digits) = entry.split_at(8);
            let index = index
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte));
            let index = usize::try_from(index).unwrap_or(usize::MAX);
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

/// Bytes of one change on the wire.
const fn entry_len(params: &Params) -> usize {
    8 + 2 * params.record_len()
}
