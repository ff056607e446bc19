//! Records on their way into a segment.

use sordino_index::attributes::Attributes;
use sordino_index::ids::Ids;
use sordino_vectors::Vectors;

/// Records in the order of their ids.
pub(crate) struct Rows {
    pub(crate) ids: Ids,
    /// The vectors that came or, once they are ready to be written, the rotated unit vectors.
    pub(crate) vectors: Vectors,
    pub(crate) attributes: Attributes,
}

impl Rows {
    /// The encoding of everything but the vectors, to which a segment's id is bound.
    pub(crate) fn code(&self) -> Vec<u8> {
        let mut ids = Vec::new();
        self.ids.write(&mut ids);
        let mut code = (ids.len() as u64).to_le_bytes().to_vec();
        code.append(&mut ids);
        self.attributes.write(&mut code);
        code
    }
}
