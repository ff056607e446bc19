//! A share of a part's bytes.

use std::ops::Range;

use blake3::Hasher;

use super::{Folder, names};
use crate::manifest::Part;
use crate::{Bytes, Disk, Error};

impl<D: Disk> Folder<D> {
    /// Some bytes of a part, in memory that is there as far as it goes. All of the part is read and checked, but no more
    /// of it is in memory at a time than these bytes and some megabytes.
    ///
    /// # Errors
    /// Those of [`part`](Self::part), and if the range ends beyond the last byte.
    pub fn part_range(
        &self,
        part: &Part,
        range: Range<u64>,
        room: Vec<u8>,
    ) -> Result<Bytes, Error> {
        let path = self.parts().join(names::of_digest(&part.digest));
        let expected = range.end.min(part.len).saturating_sub(range.start);
        let (mut hasher, mut at, mut own) = (Hasher::new(), 0, room);
        own.clear();
        own.reserve_exact(usize::try_from(expected).unwrap_or(0));
        let streamed = self.disk.stream(&path, part.len, &mut |bytes| {
            hasher.update_rayon(bytes);
            // The place of a byte of the part in these, or the nearest.
            let place = |byte: u64| {
                let place = usize::try_from(byte.saturating_sub(at)).unwrap_or(usize::MAX);
                place.min(bytes.len())
            };
            let (start, end) = (place(range.start), place(range.end));
            own.extend_from_slice(&bytes[start..end.max(start)]);
            at += bytes.len() as u64;
        });
        self.run(&path, streamed)?;
        check_len(part, at)?;
        let what = part.kind.name();
        if *hasher.finalize().as_bytes() != part.digest {
            return Err(Error::Digest { what });
        }
        if own.len() as u64 != range.end.saturating_sub(range.start) {
            let why = format!("{} bytes, and a share ends at {}", part.len, range.end);
            return Err(Error::Malformed { what, why });
        }
        Ok(Bytes::from(own))
    }
}

/// Refuses a part of another length than the manifest says.
pub(super) fn check_len(part: &Part, found: u64) -> Result<(), Error> {
    if found == part.len {
        return Ok(());
    }
    let longer = if found > part.len { " and more" } else { "" };
    Err(Error::Malformed {
        what: part.kind.name(),
        why: format!(
            "{} bytes{longer}, expected {}",
            found.min(part.len + 1),
            part.len
        ),
    })
}
