//! Pages of payloads on the server, which a client fetches without revealing which.

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::wire::Message;
use sordino_vault::opener::Opener;

use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::transport::AsyncTransport;
use crate::verdict::{Verdict, Wrong};

/// Pages on the server, and how to fetch them.
pub(crate) struct RemotePages {
    pub(crate) opener: Opener,
    /// The number of pages of a request.
    pub(crate) fetched: usize,
    /// The number of pages that the longest record touches.
    pub(crate) longest: usize,
    pub(crate) retrieval: Retrieval,
}

impl RemotePages {
    /// The contents of the pages of one request.
    pub(crate) async fn pages<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        wanted: &[Option<u32>],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        let pages = self.opener.filled(wanted, || round.rng.next_u64());
        let asked: Vec<usize> = pages.iter().map(|&page| page as usize).collect();
        let sealed = self
            .retrieval
            .fetch(round, Message::FetchPayloads, &asked)
            .await?;
        // All pages are opened, even if none was wanted: the time of a following message must not reveal how many
        // were.
        let opened = sealed.and_then(|sealed: Vec<Vec<u8>>| {
            let opened = pages.iter().zip(&sealed).map(|(&page, sealed)| {
                let content = self.opener.open(page, sealed);
                // A reader who has the key of no page opens none.
                match self.opener.has_key() {
                    false => Ok(Vec::new()),
                    true => content.ok_or(Wrong),
                }
            });
            // All pages are opened before any error is reported.
            let opened: Vec<Verdict<_>> = opened.collect();
            opened.into_iter().collect()
        });
        Ok(round.latch.checked(opened))
    }
}
