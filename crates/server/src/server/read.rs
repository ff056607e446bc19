//! The source of a server's parts.

use sordino_index::folder::{Folder, Span};
use sordino_index::manifest::Part;
use sordino_index::{Bytes, Disk, Error};

use super::encodings::Shelf;

/// Reads the parts of a served index.
pub(super) trait Read {
    /// The bytes of a part, in reused memory.
    fn bytes(&mut self, part: &Part, span: Span, room: Vec<u8>) -> Result<Bytes, Error>;

    /// Passes bytes of a part to `take`, piece by piece. The caller must not use the pieces if this fails.
    fn pieces(
        &mut self,
        part: &Part,
        span: Span,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        take(&self.bytes(part, span, Vec::new())?);
        Ok(())
    }
}

/// The sources of a version's data.
pub(super) struct Source<'a, 'b> {
    /// The parts.
    pub(super) read: &'a mut dyn Read,
    /// The databases that were encoded earlier.
    pub(super) shelf: &'a mut Shelf<'b>,
}

/// Reads all of a part.
pub(super) fn all(read: &mut dyn Read, part: &Part) -> Result<Bytes, Error> {
    read.bytes(part, Span::from(0..part.len), Vec::new())
}

/// The parts of an index in memory. Each is taken once, as a whole.
pub(super) struct Taken(pub(super) Vec<(Part, Bytes)>);

impl Read for Taken {
    fn bytes(&mut self, part: &Part, _: Span, _: Vec<u8>) -> Result<Bytes, Error> {
        let here = self.0.iter().position(|(here, _)| here == part);
        let here = here.ok_or_else(|| Error::Malformed {
            what: "index",
            why: format!("no {}", part.kind.name()),
        })?;
        Ok(self.0.swap_remove(here).1)
    }
}

impl<D: Disk> Read for &Folder<D> {
    fn bytes(&mut self, part: &Part, span: Span, room: Vec<u8>) -> Result<Bytes, Error> {
        match span.is_whole(part) {
            true => self.part_into(part, room),
            false => self.part_range(part, &span, room),
        }
    }

    fn pieces(
        &mut self,
        part: &Part,
        span: Span,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        self.part_pieces(part, &span, take)
    }
}
