//! Pages of payloads that the client has downloaded as a whole, so it asks no server for them.

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
    /// [`Error`] if the part was not downloaded, or is not what the owner sealed.
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

    /// The parts that changes have added, without the oldest `kept`.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new). [`Error::Addition`] if an addition of a writer does not open.
    ///
    /// # Security
    /// Opens all additions of writers before any search. Otherwise a thief of a writer's key could add a record that does not
    /// open. The client's refusal would then reveal that a query comes near it.
    pub(crate) fn recent(
        manifest: &Manifest,
        keys: &ContentKeys,
        kept: usize,
        download: &mut Download,
    ) -> Result<Vec<Self>, Error> {
        let recent = manifest.recent.iter().skip(kept);
        let recent = recent.map(|payloads| {
            let part = Self::new(manifest, payloads, keys, download);
            let opened = part.and_then(|part| {
                if manifest.was_added(payloads.version) && part.opener.has_key() {
                    let content = &part.content;
                    part.opener.open_added(manifest, payloads, content)?;
                }
                Ok(part)
            });
            opened.map_err(|fault| manifest.blamed(payloads.version, fault))
        });
        recent.collect()
    }

    /// The extents of the records in these places, or `None` for a record that is not here. The work depends on the places only
    /// if no request to a server follows.
    pub(crate) fn extents(&self, places: &[Option<u32>], in_open: bool) -> Vec<Option<Extent>> {
        match in_open {
            true => self.opener.extents_in_open(places),
            false => self.opener.extents(places),
        }
    }

    /// Reads a whole record. `last` is the page that was opened last, which neighbouring records share.
    pub(crate) fn carried(
        &self,
        extent: &Extent,
        last: &mut Option<(u32, Vec<u8>)>,
    ) -> Verdict<Carried> {
        let read = self.opener.read_after(&self.content, extent, last);
        read.ok_or(Wrong)
    }
}
