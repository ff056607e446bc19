//! Opening what the owner sealed in segments.

use crate::Error;
use crate::ids::IdSet;
use crate::keys::ReaderKeys;
use crate::manifest::{Deleted, Segment};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::purpose::Purpose;

impl ReaderKeys {
    /// The record ids of a segment, from its sealed part.
    ///
    /// # Errors
    /// If the part is not what the owner sealed, or has another number of ids than the segment.
    pub fn open_ids(&self, segment: &Segment, sealed: &[u8]) -> Result<IdSet, Error> {
        self.open_id_set(&segment.id, segment.version, segment.n, sealed)
    }

    /// So many record ids, from the part that was sealed under this id.
    ///
    /// # Errors
    /// Those of [`Self::open_ids`].
    pub fn open_id_set(
        &self,
        id: &[u8; 16],
        version: u64,
        count: u32,
        sealed: &[u8],
    ) -> Result<IdSet, Error> {
        let code = self.seal(Purpose::Ids, id, version).open(0, &[], sealed);
        let code = code.ok_or_else(|| unsealed("record ids"))?;
        let ids = IdSet::read(&mut &code[..])?;
        if ids.len() == count as usize {
            return Ok(ids);
        }
        Err(Error::Ids {
            found: ids.len(),
            expected: count as usize,
        })
    }

    /// The records that count no more, by segment.
    ///
    /// # Errors
    /// If the part is not what the owner sealed.
    pub fn open_deleted(
        &self,
        deleted: &Deleted,
        segments: usize,
        sealed: &[u8],
    ) -> Result<Vec<IdSet>, Error> {
        let seal = self.seal(Purpose::Deleted, &deleted.id, deleted.version);
        let code = seal.open(0, &[], sealed);
        let code = code.ok_or_else(|| unsealed("deleted"))?;
        let mut rest = &code[..];
        (0..segments).map(|_| IdSet::read(&mut rest)).collect()
    }

    /// The codes of a masked segment in the order of their ids: the pads come off.
    #[must_use]
    pub fn unmask(&self, segment: &Segment, width: usize, rows: &[u8]) -> Vec<i32> {
        let order: RowOrder = self.row_order(&segment.id, segment.n);
        let pad: Pad = self.pad(&segment.id, segment.version);
        let mut codes = vec![0; segment.n as usize * width];
        let stored = rows.as_chunks().0.chunks_exact(width);
        for (position, stored) in (0..).zip(stored) {
            let row = order.row(position) as usize;
            let codes = &mut codes[row * width..][..width];
            for (code, &bytes) in codes.iter_mut().zip(stored) {
                *code = i32::from_le_bytes(bytes);
            }
            pad.unmask(position, codes);
        }
        codes
    }
}

fn unsealed(what: &'static str) -> Error {
    Error::Malformed {
        what,
        why: "not sealed with this index's key".to_owned(),
    }
}
