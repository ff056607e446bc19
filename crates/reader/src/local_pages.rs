//! Pages of payloads that are here: downloaded whole, so that no server is asked for any.

use sordino_index::Error;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Extent, Payloads};
use sordino_vault::contents::ContentKeys;
use sordino_vault::opener::Opener;

use crate::download::Download;
use crate::verdict::{Verdict, Wrong};

/// All sealed pages of one part of payloads.
pub(crate) struct LocalPages {
    opener: Opener,
    content: Vec<u8>,
}

impl LocalPages {
    /// The pages of one part of a version's payloads.
    ///
    /// # Errors
    /// If the part was not downloaded, or is not what the owner sealed.
    pub(crate) fn new(
        manifest: &Manifest,
        payloads: &Payloads,
        keys: &ContentKeys,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let places = download.take(&payloads.places.digest)?;
        Ok(Self {
            opener: Opener::new(manifest, payloads, keys, &places)?,
            content: download.take(&payloads.content)?,
        })
    }

    /// The parts that changes have brought, but for the oldest `kept`.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub(crate) fn recent(
        manifest: &Manifest,
        keys: &ContentKeys,
        kept: usize,
        download: &mut Download,
    ) -> Result<Vec<Self>, Error> {
        let recent = manifest.recent.iter().skip(kept);
        let recent = recent.map(|it| Self::new(manifest, it, keys, download));
        recent.collect()
    }

    /// Where the records in these places lie; `None` for one that is not there. The work depends on them only if nothing is asked of a
    /// server after it.
    pub(crate) fn extents(&self, places: &[Option<u32>], in_open: bool) -> Vec<Option<Extent>> {
        match in_open {
            true => self.opener.extents_in_open(places),
            false => self.opener.extents(places),
        }
    }

    /// Reads a record, whole. `last` is the page that was opened last, which records next to one another share.
    pub(crate) fn carried(
        &self,
        extent: &Extent,
        last: &mut Option<(u32, Vec<u8>)>,
    ) -> Verdict<Carried> {
        let read = self.opener.read_after(&self.content, extent, last);
        read.ok_or(Wrong)
    }
}
