//! Changes to the records of a database; both schemes share them.

use crate::wire::{self, Kind, check_params};
use crate::{Error, Params, Protocol};

/// One change of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Record `index` becomes `record`, followed by zeros if it is shorter than declared.
    Replace {
        /// The index of the record.
        index: usize,
        /// The record's new bytes.
        record: Vec<u8>,
    },
    /// A new record behind the last one.
    Append {
        /// The record's bytes.
        record: Vec<u8>,
    },
    /// Record `index` becomes zeros. Its index stays, since an index is a place in the matrix.
    Delete {
        /// The index of the record.
        index: usize,
    },
}

/// The index of a record, and the bytes that a change writes there.
type Placed<'a> = (usize, &'a [u8]);

/// The number of records after the changes, and for each change the index and the bytes that it
/// writes.
pub(crate) fn place<'a, P: Protocol>(
    params: &Params<P>,
    changes: &'a [Change],
) -> Result<(usize, Vec<Placed<'a>>), Error> {
    let (mut records, expected) = (params.records(), params.record_len());
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
        if record.len() > expected {
            let found = record.len();
            return Err(Error::RecordTooLong {
                index,
                found,
                expected,
            });
        }
        placed.push((index, record));
    }
    Ok((records, placed))
}

/// The number of bytes in front of the entries of an update. They hold the number of records before it.
pub(crate) const HEAD: usize = 8;

/// The layout after an update, the version before it, and its entries, for a client whose parameters
/// are `params`. Every entry has a length of `entry_len`.
pub(crate) fn decode<'a, P: Protocol>(
    kind: Kind,
    params: &Params<P>,
    entry_len: usize,
    bytes: &'a [u8],
) -> Result<(Params<P>, u64, std::slice::ChunksExact<'a, u8>), Error> {
    let (to, version, payload) = wire::decode(kind, bytes)?;
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
    if !entries.len().is_multiple_of(entry_len) {
        return Err(Error::Length {
            found: entries.len(),
            expected: entries.len().next_multiple_of(entry_len),
        });
    }
    Ok((to, version, entries.chunks_exact(entry_len)))
}

/// The index in front of an entry, and the bytes that follow it.
pub(crate) fn decode_entry(entry: &[u8]) -> (usize, &[u8]) {
    let (number, rest) = entry.split_at(8);
    let bytes = number.iter().rev();
    let number = bytes.fold(0, |all, byte| all << 8 | u64::from(*byte));
    (usize::try_from(number).unwrap_or(usize::MAX), rest)
}
