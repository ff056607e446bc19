//! Fetches the pages of the records that a search found, with payloads and exact vectors. A search always fetches the
//! same number of pages, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::look;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Extent, PageForm};
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vault::opener::Opener;
use sordino_vectors::recall::Scored;
use sordino_vectors::u32_of;

use crate::download::Download;
use crate::local_pages::LocalPages;
use crate::pir_session::Sessions;
use crate::remote_pages::RemotePages;
use crate::retrieval::Retrieval;
use crate::round::Round;
use crate::transport::AsyncTransport;
use crate::verdict::{Verdict, Wrong};

/// The pages of one version, or how to fetch them.
pub(crate) struct Client {
    /// The number of records of a search.
    pub(crate) records: usize,
    form: PageForm,
    main: Source,
    /// The parts that changes have added, oldest first.
    recent: Vec<LocalPages>,
}

/// The pages of all records that changes have not added.
enum Source {
    Here(LocalPages),
    There(RemotePages),
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
        let main = match Retrieval::new(payloads, sessions, download)? {
            None => Source::Here(LocalPages::new(manifest, payloads, keys, download)?),
            Some(retrieval) => {
                let places = download.take(&payloads.places.digest)?;
                Source::There(RemotePages {
                    opener: Opener::new(manifest, payloads, keys, &places)?,
                    fetched: payloads.fetched as usize,
                    longest: payloads.longest as usize,
                    retrieval,
                })
            }
        };
        Ok(Some(Self {
            records: payloads.form.records(manifest.k as usize),
            form: payloads.form,
            main,
            recent: LocalPages::recent(manifest, keys, 0, download)?,
        }))
    }

    /// Updates the parts after a change: the oldest `kept` stay, and these follow them.
    pub(crate) fn follow(&mut self, kept: usize, recent: Vec<LocalPages>) {
        self.recent.truncate(kept);
        self.recent.extend(recent);
    }

    /// The number of candidates of a search, if it has a second look.
    pub(crate) fn candidates(&self) -> Option<usize> {
        self.form.look.map(|_| self.records)
    }

    /// True if a search may return shortened payloads.
    pub(crate) fn shortens(&self) -> bool {
        let short =
            |there: &RemotePages| there.fetched < self.records.saturating_mul(there.longest);
        self.has_payloads() && matches!(&self.main, Source::There(there) if short(there))
    }

    /// True if records have payloads.
    pub(crate) fn has_payloads(&self) -> bool {
        self.form.payloads
    }

    /// Fetches what `hits` carry, in their order. The server always sees the same number of queries, even if nothing was found
    /// because an earlier reply was wrong.
    ///
    /// # Errors
    /// The errors of the transport. A page that is not the owner's gives [`Wrong`].
    pub(crate) async fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        hits: &[Scored],
    ) -> Result<Verdict<Vec<Carried>>, Error> {
        let places: Vec<Option<u32>> = hits.iter().map(|hit| Some(hit.id)).collect();
        let read = self.read(round, &places).await?;
        Ok(read.and_then(|read| {
            let found = read.into_iter().map(|it| it.ok_or(Wrong));
            found.collect()
        }))
    }

    /// The second look at candidates: replaces their keys by the keys of their exact vectors.
    ///
    /// # Errors
    /// The errors of [`fetch`](Self::fetch).
    pub(crate) async fn look<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        frame: &Frame,
        asked: &FrameQuery,
        candidates: &[Scored],
    ) -> Result<Verdict<Vec<(Scored, Carried)>>, Error> {
        let all = self.fetch(round, candidates).await?;
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

    /// Reads the records in these places, up to a search's number. `None` if there is no record. Long ones are shortened. The
    /// server sees the same as in a search.
    ///
    /// # Errors
    /// The errors of [`fetch`](Self::fetch).
    async fn read<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        places: &[Option<u32>],
    ) -> Result<Verdict<Vec<Option<Carried>>>, Error> {
        let fetched = self.ask(round, places).await?;
        Ok(self.decoded(fetched))
    }

    /// Fetches the pages of the records in these places, like a search.
    async fn ask<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        places: &[Option<u32>],
    ) -> Result<Fetched, Error> {
        let Source::There(there) = &self.main else {
            return Ok(Fetched::only(self.here(places)));
        };
        // Absent places are looked up, too, because the time before the request must not depend on the number of places.
        let looked_up = padded(places, self.records.max(places.len()));
        let here = self.here(&looked_up);
        let mut extents = there.opener.extents(&looked_up);
        hide(&mut extents, &here);
        let fetched = there.fetched.max(extents.len());
        let shares = shares(&extents, fetched);
        let wanted = extents.iter().zip(&shares);
        let wanted = wanted.flat_map(|(extent, &share)| {
            let first = extent.map_or(0, |extent| extent.page);
            (0..share).map(move |at| extent.map(|_| first + at))
        });
        let wanted: Vec<Option<u32>> = wanted.collect();
        let pages = there.pages(round, &padded(&wanted, fetched)).await?;
        let records = here.into_iter().zip(extents).zip(shares);
        let records = records.map(|((here, there), share)| Found { here, there, share });
        Ok(Fetched {
            records: records.take(places.len()).collect(),
            pages,
        })
    }

    /// The positions of the records in these places among downloaded pages: the number of the part, from the newest on, and the
    /// extent in it.
    fn here(&self, places: &[Option<u32>]) -> Vec<Option<(usize, Extent)>> {
        let mut all = vec![None; places.len()];
        let in_open = matches!(self.main, Source::Here(_));
        for (at, part) in self.local().enumerate() {
            for (found, extent) in all.iter_mut().zip(part.extents(places, in_open)) {
                *found = extent.map(|extent| (at, extent)).or(*found);
            }
        }
        all
    }

    /// The downloaded parts, oldest first.
    fn local(&self) -> impl Iterator<Item = &LocalPages> {
        let main = match &self.main {
            Source::Here(pages) => Some(pages),
            Source::There(_) => None,
        };
        main.into_iter().chain(&self.recent)
    }

    /// Reads the records in downloaded pages, and opens each page once for all its records. This happens after the last message,
    /// so no server can observe how long it takes.
    fn read_here(&self, records: &[Found]) -> Verdict<Vec<Option<Carried>>> {
        let here = records.iter().enumerate();
        let here = here.filter_map(|(at, found)| Some((found.here?, at)));
        let mut here: Vec<((usize, Extent), usize)> = here.collect();
        here.sort_unstable_by_key(|((part, extent), _)| (*part, extent.page, extent.offset));
        let parts: Vec<&LocalPages> = self.local().collect();
        let mut carried = vec![None; records.len()];
        for some in here.chunk_by(|((part, _), _), ((other, _), _)| part == other) {
            let mut last = None;
            for ((part, extent), at) in some {
                let part = parts.get(*part).ok_or(Wrong)?;
                carried[*at] = Some(part.carried(extent, &mut last)?);
            }
        }
        Ok(carried)
    }

    /// Reads the records found in downloaded pages, and those in fetched pages.
    fn decoded(&self, fetched: Fetched) -> Verdict<Vec<Option<Carried>>> {
        let pages = fetched.pages?;
        let mut rest = &pages[..];
        let here = self.read_here(&fetched.records)?;
        let carried = fetched.records.iter().zip(here).map(|(found, here)| {
            let (own, after) = rest.split_at(found.share as usize);
            rest = after;
            match (here, &self.main) {
                (Some(here), _) => Ok(Some(here)),
                (None, Source::There(there)) => {
                    let read = |extent: &Extent| {
                        let own = &own[..own.len().min(extent.count as usize)];
                        there.opener.carried(extent, &own.concat()).ok_or(Wrong)
                    };
                    found.there.as_ref().map(read).transpose()
                }
                (None, Source::Here(_)) => Ok(None),
            }
        });
        carried.collect()
    }

    /// Reads the whole records in these places. The server sees the requests for this number of records, each with the pages of
    /// the longest record.
    ///
    /// # Errors
    /// The errors of [`fetch`](Self::fetch).
    pub(crate) async fn read_whole<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        places: &[Option<u32>],
    ) -> Result<Verdict<Vec<Option<Carried>>>, Error> {
        // Every record takes the pages of the longest one, one after the other, in requests of the same number of pages. All
        // messages are sent even after a wrong reply: an early end would reveal which records were wanted.
        let here = self.here(places);
        let Source::There(there) = &self.main else {
            return Ok(round.latch.checked(self.decoded(Fetched::only(here))));
        };
        let mut extents = there.opener.extents(places);
        hide(&mut extents, &here);
        let wanted = extents.iter().flat_map(|extent| {
            let (first, count) = extent.map_or((0, 0), |it| (it.page, it.count as usize));
            (0..there.longest).map(move |at| (at < count).then(|| first + u32_of(at)))
        });
        let wanted: Vec<Option<u32>> = wanted.collect();
        let mut pages = Vec::new();
        for some in wanted.chunks(there.fetched) {
            let some = padded(some, there.fetched);
            let some = there.pages(round, &some).await;
            pages.push(round.told(some)?);
        }
        let pages: Verdict<Vec<Vec<Vec<u8>>>> = pages.into_iter().collect();
        let share = u32_of(there.longest);
        let records = here.into_iter().zip(extents);
        let records = records.map(|(here, there)| Found { here, there, share });
        // Records are read after the last message, because the time for it depends on them.
        let read = self.decoded(Fetched {
            records: records.collect(),
            pages: pages.map(|pages| pages.into_iter().flatten().collect()),
        });
        // By the owner's list, no record has more pages than were fetched.
        let whole = read.and_then(|read| {
            let cut = read.iter().flatten().any(|carried| carried.truncated);
            if cut { Err(Wrong) } else { Ok(read) }
        });
        Ok(round.latch.checked(whole))
    }
}

/// The position of a record.
struct Found {
    /// The number of a downloaded part, and the extent in it.
    here: Option<(usize, Extent)>,
    /// The extent among the server's pages.
    there: Option<Extent>,
    /// The number of pages that were fetched for it.
    share: u32,
}

/// Records, and the pages that were fetched for them.
struct Fetched {
    records: Vec<Found>,
    pages: Verdict<Vec<Vec<u8>>>,
}

impl Fetched {
    /// Records that lie completely in downloaded pages.
    fn only(here: Vec<Option<(usize, Extent)>>) -> Self {
        let records = here.into_iter().map(|here| Found {
            here,
            there: None,
            share: 0,
        });
        Self {
            records: records.collect(),
            pages: Ok(Vec::new()),
        }
    }
}

/// Removes the extents of records that are in downloaded pages.
fn hide(there: &mut [Option<Extent>], here: &[Option<(usize, Extent)>]) {
    for (there, here) in there.iter_mut().zip(here) {
        *there = there.filter(|_| here.is_none());
    }
}

/// Places or pages, padded to `count`.
fn padded(places: &[Option<u32>], count: usize) -> Vec<Option<u32>> {
    let rest = std::iter::repeat(None);
    places.iter().copied().chain(rest).take(count).collect()
}

/// The number of pages to fetch for each record, at least 1 and `fetched` in total. Earlier records get the pages that are left.
///
/// # Security
/// The same instructions run for every position and length of records.
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
