//! Pages of payloads that are at the server, which are asked for without telling which.

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::wire::Message;
use sordino_vault::opener::Opener;

use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::transport::AsyncTransport;
use crate::verdict::{Verdict, Wrong};

/// Pages at the server, and the way to them.
pub(crate) struct RemotePages {
    pub(crate) opener: Opener,
    /// Pages of a request.
    pub(crate) fetched: usize,
    /// Pages that the longest record touches.
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
        // All are opened, also where none was wanted: a message that follows does not tell by its time how many were.
        let opened = sealed.and_then(|sealed: Vec<Vec<u8>>| {
            let opened = pages.iter().zip(&sealed).map(|(&page, sealed)| {
                let content = self.opener.open(page, sealed);
                // A reader without a key of any page opens no page.
                match self.opener.has_key() {
                    false => Ok(Vec::new()),
                    true => content.ok_or(Wrong),
                }
            });
            // All are opened before any error is looked at.
            let opened: Vec<Verdict<_>> = opened.collect();
            opened.into_iter().collect()
        });
        Ok(round.latch.checked(opened))
    }
}
