//! Ids that a file has and nobody asked for, or that are others than were meant.

use super::exported::{ID, VECTOR};
use super::{Input, Records};
use crate::index::ids::Ids;
use crate::{Error, Output};
use sordino_search::vectors::Reader;

impl Input {
    /// Refuses to leave out the ids of a file that has what an exported one has, unless its vectors are named.
    pub(super) fn check_ids_taken(&self, reader: &Reader) -> Result<(), Error> {
        let has = |wanted: &str| reader.columns().iter().any(|name| name == wanted);
        if self.has_ids() || self.vector_column.is_some() || !has(ID) || !has(VECTOR) {
            return Ok(());
        }
        Err(Error::Columns {
            path: self.file.clone(),
            why: "it has id and vector, and nothing says what becomes of the ids: add --exported if `sordino index export` \
                  wrote it, --id-column id to take them, or --vector-column vector to leave them out"
                .to_owned(),
        })
    }
}

impl Records {
    /// A warning of ids that may not be what was meant, from a file that is older than its escapes.
    pub(in crate::index) fn warn_of_ids(&self, output: Output) {
        if let Some(warning) = self.ids.as_ref().and_then(Ids::warning) {
            output.note(&warning);
        }
    }
}
