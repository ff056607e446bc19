//! The client of one mode.

use rand_core::CryptoRng;
use sordino_index::manifest::Mode;
use sordino_index::numbers::Numbers;
use sordino_index::wire::Edition;
use sordino_index::{Error, ReaderKeys, SignedManifest};
use sordino_vectors::recall::Scored;

use crate::checked::Checked;
use crate::download::Download;
use crate::question::Wanted;
use crate::stages::Stages;
use crate::transport::Transport;
use crate::{local, masked, open, routed, sealed};

/// The client of the index's mode.
pub(crate) enum Kind {
    Sealed(Box<sealed::Client>),
    Local(local::Client),
    Open(Box<open::Client>),
    Masked(Box<masked::Client>),
    Routed(Box<routed::Client>),
}

impl Kind {
    /// A client without segments, or with sealed or routed mode's base alone.
    pub(crate) fn new(
        manifest: &SignedManifest,
        keys: &ReaderKeys,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let width = manifest.width() as usize;
        Ok(match &manifest.mode {
            Mode::Sealed(mode) => {
                let client = sealed::Client::new(mode, width, keys, download)?;
                Self::Sealed(Box::new(client))
            }
            Mode::Local(_) => Self::Local(local::Client::default()),
            Mode::Open(mode) => Self::Open(Box::new(open::Client::new(mode, width)?)),
            Mode::Masked(mode) => Self::Masked(Box::new(masked::Client::new(mode, width)?)),
            Mode::Routed(mode) => {
                let client = routed::Client::new(mode, width, keys, download)?;
                Self::Routed(Box::new(client))
            }
        })
    }

    /// Keeps the first `kept` segments, adds what was downloaded, and learns what is deleted. What can
    /// fail comes before what changes anything.
    pub(crate) fn update(
        &mut self,
        manifest: &SignedManifest,
        keys: &ReaderKeys,
        kept: usize,
        dead: &[Numbers],
        download: &mut Download,
    ) -> Result<(), Error> {
        match (self, &manifest.mode) {
            (Self::Sealed(client), Mode::Sealed(mode)) => {
                client.update(mode, keys, kept, dead, download)
            }
            (Self::Local(client), Mode::Local(mode)) => {
                let width = manifest.width() as usize;
                client.chunks.sketch = mode.sketch;
                client.chunks.update(
                    &mode.segments,
                    (width, mode.codec),
                    keys,
                    kept,
                    dead,
                    download,
                )
            }
            (Self::Open(client), Mode::Open(mode)) => client.update(mode, kept, dead, download),
            (Self::Masked(client), Mode::Masked(mode)) => {
                client.update(mode, keys, kept, dead, download)
            }
            (Self::Routed(client), Mode::Routed(mode)) => {
                client.update(mode, keys, kept, dead, download)
            }
            (_, mode) => Err(Error::Mode {
                found: mode.name(),
                expected: "the client's",
            }),
        }
    }

    /// The best records for this query, as places.
    pub(crate) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        query: &[f32],
        (edition, wanted): (Edition, Wanted<'_>),
        stages: &mut Stages,
    ) -> Result<Checked<Vec<Scored>>, Error> {
        match self {
            Self::Sealed(it) => it.search(rng, transport, edition, query, wanted, stages),
            Self::Local(it) => Ok(Ok(it.search(query, wanted, stages))),
            Self::Open(it) => it.search(rng, transport, edition, query, wanted, stages),
            Self::Masked(it) => it.search(rng, transport, edition, query, wanted, stages),
            Self::Routed(it) => it.search(rng, transport, edition, query, wanted, stages),
        }
    }

    /// A truth about each row, in the order in which the mode looks at rows.
    pub(crate) fn arranged(&self, rows: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
        match self {
            Self::Masked(client) => client.arranged(&rows),
            Self::Routed(client) => client.arranged(rows),
            Self::Sealed(_) | Self::Local(_) | Self::Open(_) => rows,
        }
    }
}
