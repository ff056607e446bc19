//! The client of one mode.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::manifest::Mode;
use sordino_index::payload::Fetch;
use sordino_index::sketch::Sketch;
use sordino_index::{Error, SignedManifest};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::{Frame, FrameQuery};

use crate::chunks::Chunks;
use crate::download::Download;
use crate::pir_session::Sessions;
use crate::question::{Passing, Wanted};
use crate::round::Round;
use crate::stages::{Stages, time};
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::Ranked;
use crate::{masked, open, routed, sealed};

/// The client of the index's mode.
pub(crate) enum Kind {
    Sealed(Box<sealed::Fetcher>),
    /// The client has the whole index.
    Local(Chunks),
    Open(Box<open::Scorer>),
    Masked(Box<masked::Scorer>),
    Routed(Box<routed::Scorer>),
}

impl Kind {
    /// Makes a client without segments. In sealed and routed mode it has the base, but no added segments.
    pub(crate) fn new(
        manifest: &SignedManifest,
        keys: &ContentKeys,
        frame: &Frame,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let width = manifest.stored_dim() as usize;
        Ok(match &manifest.mode {
            Mode::Sealed(mode) => {
                let fetcher =
                    sealed::Fetcher::new(mode, frame, keys.need(&mode.base)?, sessions, download)?;
                Self::Sealed(Box::new(fetcher))
            }
            Mode::Local(mode) => Self::Local(Chunks::new(frame, mode.codec)),
            Mode::Open(mode) => Self::Open(Box::new(open::Scorer::new(mode, width)?)),
            Mode::Masked(mode) => Self::Masked(Box::new(masked::Scorer::new(mode, width)?)),
            Mode::Routed(mode) => {
                let scorer = routed::Scorer::new(mode, width, keys.need(&mode.base)?, download)?;
                Self::Routed(Box::new(scorer))
            }
        })
    }

    /// Updates the index to this manifest's version. After an error nothing has changed.
    pub(crate) fn update(
        &mut self,
        manifest: &SignedManifest,
        update: Update<'_>,
    ) -> Result<(), Error> {
        match (self, &manifest.mode) {
            (Self::Sealed(fetcher), Mode::Sealed(mode)) => fetcher.update(mode, update),
            (Self::Local(chunks), Mode::Local(mode)) => {
                let payloads = manifest.payloads.as_ref().map(|payloads| &payloads.fetch);
                let sketch = first_stage(payloads, mode.sketch);
                chunks.update(&mode.segments, sketch, update)
            }
            (Self::Open(scorer), Mode::Open(mode)) => scorer.update(mode, update),
            (Self::Masked(scorer), Mode::Masked(mode)) => scorer.update(mode, update),
            (Self::Routed(scorer), Mode::Routed(mode)) => scorer.update(mode, update),
            (_, mode) => Err(Error::Mode {
                found: mode.kind().name(),
                expected: "the client's",
            }),
        }
    }

    /// The best records for this query, as places with their keys.
    pub(crate) async fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        query: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Ranked, Error> {
        match self {
            Self::Sealed(fetcher) => fetcher.search(round, query, wanted, stages).await,
            Self::Local(chunks) => Ok(Ranked {
                hits: time(&mut stages.rank, || chunks.nearest(query, wanted)),
                right: true,
            }),
            Self::Open(scorer) => scorer.search(round, query, wanted, stages).await,
            Self::Masked(scorer) => scorer.search(round, query, wanted, stages).await,
            Self::Routed(scorer) => scorer.search(round, query, wanted, stages).await,
        }
    }

    /// The scorer of rows under pads, if the mode has one.
    pub(crate) fn masked(&mut self) -> Option<&mut masked::Scorer> {
        match self {
            Self::Masked(scorer) => Some(scorer),
            Self::Routed(scorer) => Some(scorer.tail()),
            Self::Sealed(_) | Self::Local(_) | Self::Open(_) => None,
        }
    }

    /// The flags of the records that pass, in the order in which the mode reads rows.
    pub(crate) fn arranged(&self, rows: Passing) -> Passing {
        match self {
            Self::Masked(scorer) => scorer.arranged(&rows),
            Self::Routed(scorer) => scorer.arranged(rows),
            Self::Sealed(_) | Self::Local(_) | Self::Open(_) => rows,
        }
    }
}

/// The first stage of a search over vectors that the client holds. There is no first stage if the client then asks the
/// server for payloads. The server knows nothing about filters, so the time of that request must not reveal whether a
/// filter was given, or how many records pass it.
fn first_stage(payloads: Option<&Fetch>, sketch: Option<Sketch>) -> Option<Sketch> {
    let nothing_follows = payloads.is_none_or(|fetch| *fetch == Fetch::Download);
    sketch.filter(|_| nothing_follows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out_before_a_message() {
        let sketch = Some(Sketch::new(256, 100));
        let by_hint = Fetch::Pir {
            per_column: 1,
            seed: [0; 32],
            hint: [0; 32],
        };
        for message in [by_hint, Fetch::Hintless { seed: [0; 32] }] {
            assert_eq!(first_stage(Some(&message), sketch), None);
        }
        for none in [None, Some(&Fetch::Download)] {
            assert_eq!(first_stage(none, sketch), sketch);
            assert_eq!(first_stage(none, None), None);
        }
    }
}
