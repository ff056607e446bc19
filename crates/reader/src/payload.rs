//! The pages of what a search found, with payloads and exact vectors: always the same number, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::look;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Extent, Fetch, PageForm, Payloads};
use sordino_index::wire::Message;
use sordino_pir::{Seed, hintless, simple};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::opener::Opener;
use sordino_vectors::recall::Scored;
use sordino_vectors::u32_of;

use crate::download::Download;
use crate::pir_session::Sessions;
use crate::retrieval::{PageReader, Retrieval};
use crate::round::Round;
use crate::transport::Transport;
use crate::verdict::{Verdict, Wrong};

/// The pages of one version, or the way to them.
pub(crate) struct Client {
    opener: Opener,
    form: PageForm,
    /// Pages of a request.
    fetched: usize,
    /// Records of a search.
    pub(crate) records: usize,
    /// Pages that the longest record touches.
    longest: usize,
    source: Source,
}

enum Source {
    /// All sealed pages.
    Here { content: Vec<u8>, page_len: usize },
    /// The server.
    There(Retrieval),
}

impl Client {
    /// A client of the manifest's payloads, if it has any.
    pub(crate) fn new(
        manifest: &Manifest,
        keys: &ContentKeys,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Option<Self>, Error> {
        let Some(payloads) = &manifest.payloads else {
            return Ok(None);
        };
        let places = download.take(&payloads.places.digest)?;
        let opener = Opener::new(manifest, payloads, keys, &places)?;
        Ok(Some(Self {
            opener,
            form: payloads.form,
            fetched: payloads.fetched as usize,
            records: payloads.form.records(manifest.k as usize),
            longest: payloads.longest as usize,
            source: Source::new(payloads, sessions, download)?,
        }))
    }

    /// Candidates of a search, if it takes a second look at them.
    pub(crate) fn candidates(&self) -> Option<usize> {
        self.form.look.map(|_| self.records)
    }

    /// True if a search may bring payloads that are shortened.
    pub(crate) fn shortens(&self) -> bool {
        let all = self.records.saturating_mul(self.longest);
        self.has_payloads() && matches!(self.source, Source::There(_)) && self.fetched < all
    }

    /// True if records have payloads.
    pub(crate) fn has_payloads(&self) -> bool {
        self.form.payloads
    }

    /// Fetches what `hits` carry, in their order. The server sees the same number of queries whatever was found, also
    /// where nothing was because an earlier reply was wrong.
    ///
    /// # Errors
    /// The transport's. A page that is not the owner's is [`Wrong`].
    pub(crate) fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        hits: &[Scored],
    ) -> Result<Verdict<Vec<Carried>>, Error> {
        let places: Vec<Option<u32>> = hits.iter().map(|hit| Some(hit.id)).collect();
        let read = self.read(round, &places)?;
        Ok(read.and_then(|read| {
            let found = read.into_iter().map(|it| it.ok_or(Wrong));
            found.collect()
        }))
    }

    /// The second look at candidates: they get the keys of their exact vectors.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn look<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        frame: &Frame,
        asked: &FrameQuery,
        candidates: &[Scored],
    ) -> Result<Verdict<Vec<(Scored, Carried)>>, Error> {
        let all = self.fetch(round, candidates)?;
        Ok(all.and_then(|all| {
            let exact = candidates.iter().zip(all).map(|(candidate, carried)| {
                let (base, residual) = look::residual(&carried.exact).ok_or(Wrong)?;
                let score = frame.exact_key(asked, base, &residual);
                let id = candidate.id;
                Ok((Scored { id, score }, carried))
            });
            exact.collect()
        }))
    }

    /// Reads records in these places, no more than a search has: `None` where there is none, shortened where
    /// a search has too few pages. The server sees what a search sends.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    fn read<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
    ) -> Result<Verdict<Vec<Option<Carried>>>, Error> {
        let fetched = self.ask(round, places)?;
        Ok(self.decoded(fetched))
    }

    /// Fetches the pages of records in these places, as a search does.
    fn ask<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
    ) -> Result<Fetched, Error> {
        // A record is looked up in the place of every one that is not there: before the request nothing takes
        // longer where there are more places.
        let extents = self.opener.extents(&padded(places, self.records));
        let fetched = match &self.source {
            // Nothing is asked for, so everything is read.
            Source::Here { .. } => extents.iter().flatten().map(|it| it.count as usize).sum(),
            Source::There(_) => self.fetched,
        };
        let fetched = fetched.max(extents.len());
        let shares = shares(&extents, fetched);
        let wanted = extents.iter().zip(&shares);
        let wanted = wanted.flat_map(|(extent, &share)| {
            let first = extent.map_or(0, |extent| extent.page);
            (0..share).map(move |at| extent.map(|_| first + at))
        });
        let pages = self.pages(round, &padded_pages(wanted, fetched))?;
        let records = extents.into_iter().zip(shares).take(places.len());
        Ok(Fetched {
            records: records.collect(),
            pages,
        })
    }

    /// Reads the records in pages that were fetched for them.
    fn decoded(&self, fetched: Fetched) -> Verdict<Vec<Option<Carried>>> {
        let pages = fetched.pages?;
        let mut rest = &pages[..];
        let carried = fetched.records.iter().map(|(extent, share)| {
            let (own, after) = rest.split_at(*share as usize);
            rest = after;
            self.carried(extent.as_ref(), &own.concat())
        });
        carried.collect()
    }

    /// Reads the records in these places, whole. The server sees the requests that their number and the longest record of
    /// all need.
    ///
    /// # Errors
    /// Those of [`fetch`](Self::fetch).
    pub(crate) fn read_whole<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        places: &[Option<u32>],
    ) -> Result<Verdict<Vec<Option<Carried>>>, Error> {
        // After a wrong reply, too, all messages are sent: where they ended would tell which records were wanted. Records are
        // read after the last one: how long that takes depends on them.
        let mut all = Vec::new();
        if self.longest == 1 {
            for some in places.chunks(self.records) {
                all.push(round.step(|round| self.ask(round, some))?);
            }
        } else {
            for place in places {
                all.push(self.ask_whole(round, *place)?);
            }
        }
        if all.iter().any(|fetched| fetched.pages.is_err()) {
            return Ok(round.latch.checked(Err(Wrong)));
        }
        let read: Verdict<Vec<Vec<_>>> = all.into_iter().map(|it| self.decoded(it)).collect();
        let read = read.map(|read| read.into_iter().flatten().collect::<Vec<Option<Carried>>>());
        // The owner wrote that no record has more pages than were fetched.
        let whole = read.and_then(|read| {
            let cut = read.iter().flatten().any(|carried| carried.truncated);
            if cut { Err(Wrong) } else { Ok(read) }
        });
        Ok(round.latch.checked(whole))
    }

    /// Fetches the pages of the record in this place, by the requests that the longest of all needs.
    fn ask_whole<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        place: Option<u32>,
    ) -> Result<Fetched, Error> {
        let extent = self.opener.extents(&[place])[0];
        let (first, count) = extent.map_or((0, 0), |it| (it.page, it.count as usize));
        let mut read = Vec::new();
        for from in (0..self.longest).step_by(self.fetched) {
            let wanted =
                (from..from + self.fetched).map(|at| (at < count).then(|| first + u32_of(at)));
            let wanted: Vec<Option<u32>> = wanted.collect();
            read.push(round.step(|round| self.pages(round, &wanted))?);
        }
        let read: Verdict<Vec<Vec<Vec<u8>>>> = read.into_iter().collect();
        Ok(Fetched {
            records: vec![(extent, u32_of(count))],
            pages: read.map(|pages| pages.into_iter().flatten().collect()),
        })
    }

    /// Reads the record in an extent from its first pages; none where there is no record.
    fn carried(&self, extent: Option<&Extent>, pages: &[u8]) -> Verdict<Option<Carried>> {
        let carried = extent.map(|extent| self.opener.carried(extent, pages).ok_or(Wrong));
        carried.transpose()
    }

    /// The contents of the pages of one request.
    fn pages<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        wanted: &[Option<u32>],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        let pages = self.opener.filled(wanted, || round.rng.next_u64());
        let asked: Vec<usize> = pages.iter().map(|&page| page as usize).collect();
        let sealed = match &self.source {
            Source::Here { content, page_len } => {
                let pages = asked.iter().map(|&page| {
                    let sealed = content.chunks_exact(*page_len).nth(page);
                    sealed.unwrap_or_default().to_vec()
                });
                Ok(pages.collect())
            }
            Source::There(retrieval) => retrieval.fetch(round, Message::FetchPayloads, &asked)?,
        };
        // All are opened, also where none was wanted: a message that follows does not tell by its time how many were.
        let opened = sealed.and_then(|sealed: Vec<Vec<u8>>| {
            let opened = pages.iter().zip(&sealed).map(|(&page, sealed)| {
                let content = self.opener.open(page, sealed);
                // A reader without a key of any page opens none.
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

/// Pages that were fetched, and the records that they were fetched for: of each its extent, and how many of its pages are here.
struct Fetched {
    records: Vec<(Option<Extent>, u32)>,
    pages: Verdict<Vec<Vec<u8>>>,
}

/// Places filled up to `count`.
fn padded(places: &[Option<u32>], count: usize) -> Vec<Option<u32>> {
    let rest = std::iter::repeat(None);
    places.iter().copied().chain(rest).take(count).collect()
}

/// Pages filled up to `count`.
fn padded_pages(pages: impl Iterator<Item = Option<u32>>, count: usize) -> Vec<Option<u32>> {
    pages.chain(std::iter::repeat(None)).take(count).collect()
}

/// The pages that are fetched for each record, `fetched` in all: the first of every one, and more of those that come first.
///
/// # Security
/// The same instructions run wherever records lie, and however long they are.
fn shares(extents: &[Option<Extent>], fetched: usize) -> Vec<u32> {
    let mut left = u32_of(fetched.saturating_sub(extents.len()));
    let shares = extents.iter().map(|extent| {
        let more = extent.map_or(1, |extent| extent.count) - 1;
        let more = more.min(left);
        left -= more;
        1 + more
    });
    shares.collect()
}

impl Source {
    fn new(
        payloads: &Payloads,
        sessions: &Arc<Sessions>,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let (simple, hintless) = (payloads.pir_params()?, payloads.hintless_params()?);
        Ok(match (&payloads.fetch, simple, hintless) {
            (Fetch::Pir { seed, hint, .. }, Some(params), _) => {
                let hint = simple::Hint::from_bytes(&params, &download.take(hint)?)?;
                let pir = simple::Client::new(&params, &Seed(*seed), &hint)?;
                Self::There(Retrieval::Simple(Box::new(pir)))
            }
            (Fetch::Hintless { seed }, _, Some(params)) => {
                let pir = hintless::Client::new(&params, &Seed(*seed));
                Self::There(Retrieval::Hintless(Box::new(pir), Arc::clone(sessions)))
            }
            (
                Fetch::Scan {
                    seed,
                    hint_seed,
                    hint,
                    ..
                },
                ..,
            ) => {
                let scan = payloads.scan()?.ok_or(Error::BadReply)?;
                let hint = download.take(hint)?;
                let pages = PageReader::new(scan, (*seed, *hint_seed), &hint)?;
                Self::There(Retrieval::Scan(Box::new(pages)))
            }
            _ => Self::Here {
                content: download.take(&payloads.content)?,
                page_len: payloads.form.sealed_len(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_places_are_looked_up_whatever_was_found() {
        for found in 0..=8 {
            let places: Vec<Option<u32>> = (0..found).map(Some).collect();
            let padded = padded(&places, 8);
            assert_eq!(padded.len(), 8);
            assert!(padded.starts_with(&places));
            assert!(padded[places.len()..].iter().all(Option::is_none));
        }
    }

    #[test]
    fn every_record_has_its_first_page_and_the_first_ones_have_more() {
        let of = |counts: &[u32], fetched| {
            let extents = counts.iter().map(|&count| {
                let extent = Extent {
                    page: 7,
                    offset: 0,
                    count,
                };
                (count > 0).then_some(extent)
            });
            shares(&extents.collect::<Vec<_>>(), fetched)
        };
        assert_eq!(of(&[1, 1, 1], 3), [1, 1, 1]);
        assert_eq!(of(&[2, 9, 1, 0], 7), [2, 3, 1, 1]);
        assert_eq!(of(&[1, 1, 3], 9), [1, 1, 3]);
        assert_eq!(of(&[u32::MAX, 2], 2), [1, 1]);
        assert_eq!(of(&[0, 0], 5), [1, 1]);
    }
}
