//! Pages of payloads that a writer added.

use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Payloads};
use sordino_index::{Error, look};

use crate::opener::Opener;

impl Opener {
    /// Reads all records of a part that a writer added, with their places, in order.
    ///
    /// # Errors
    /// [`Error`] if a page does not open, if a record of the addition is empty, or if an exact vector is
    /// malformed.
    pub fn open_added(
        &self,
        manifest: &Manifest,
        payloads: &Payloads,
        content: &[u8],
    ) -> Result<Vec<(u64, Carried)>, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "payloads",
            why: why.to_owned(),
        };
        let all = self.open_all(content)?;
        if !all
            .iter()
            .map(|(place, _)| *place)
            .eq(manifest.places_of(payloads))
        {
            return Err(malformed("of other records than were added"));
        }
        let mut exact = all
            .iter()
            .map(|(_, carried)| look::residual(&carried.exact));
        if manifest.second_look().is_some() && exact.any(|exact| exact.is_none()) {
            return Err(malformed("an exact vector that is none"));
        }
        Ok(all)
    }
}
