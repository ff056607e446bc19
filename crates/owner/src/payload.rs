//! Writes payloads: compresses them, lays them into pages, and seals the pages.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::digest::{self, Coded};
use sordino_index::look::SecondLook;
use sordino_index::payload::{
    Fetch, LENGTH_LEN, MOST_PAGE_BYTES, MOST_PAYLOAD, PAGE_STEP, PageForm, PageGroup, Payloads,
};
use sordino_pir::{Database, Seed, simple};
use sordino_vault::contents::joined;
use sordino_vault::page_list::PageList;
use sordino_vault::purpose::Purpose;
use sordino_vectors::u32_of;

use crate::binding::Content;
use crate::encoded_group::{EncodedGroup, Group};
use crate::laying::Laying;
use crate::pages::{self, Laid};
use crate::plan::{Conditions, Way, best_pages};
use crate::room;
use crate::segment::{SegmentWriter, bound};

/// Payloads in their stored form, with their hint and their records' places.
pub(crate) struct WrittenPayloads {
    pub(crate) payloads: Payloads,
    pub(crate) content: Vec<u8>,
    pub(crate) places: Vec<u8>,
    pub(crate) hint: Option<Vec<u8>>,
}

/// All records, and how clients should fetch what they carry.
pub(crate) struct Contents {
    pub(crate) groups: Vec<Group>,
    /// True for an index with readers of its own.
    pub(crate) own: bool,
    /// True if records have payloads.
    pub(crate) payloads: bool,
    pub(crate) look: Option<SecondLook>,
    /// The number of results of a search.
    pub(crate) k: usize,
    pub(crate) laying: Laying,
}

/// The size in bytes of a page for the records of a change, unless an exact vector needs more.
const RECENT_PAGE: usize = 1 << 10;

/// The pages of the records under one content key.
struct LaidGroup {
    laid: Laid,
    /// The record at each position of the secret order.
    order: Vec<u32>,
}

impl LaidGroup {
    fn new(group: &EncodedGroup, payloads: &Payloads) -> Self {
        let n = u32_of(group.records.len());
        let order = group.key.payload_order(payloads, n);
        let order: Vec<u32> = (0..n).map(|at| order.row(at)).collect();
        let lens = order.iter().map(|&row| group.records[row as usize].len());
        let lens: Vec<usize> = lens.collect();
        let laid = Laid::stepped(&lens, &payloads.form);
        Self { laid, order }
    }
}

impl SegmentWriter<'_> {
    /// Writes what records carry, by content key. It chooses the page length and the way of fetching with which a
    /// client waits the shortest time.
    ///
    /// # Errors
    /// [`Error::Payload`] if a payload is longer than the limit. The errors of private retrieval if its hint cannot
    /// be made.
    pub(crate) fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        contents: Contents,
    ) -> Result<WrittenPayloads, Error> {
        let Contents {
            groups,
            own,
            payloads,
            look,
            k,
            laying,
        } = contents;
        let mut all = groups.iter().flat_map(|group| &group.carried);
        let long = all.find(|it| it.payload.len() > MOST_PAYLOAD);
        let too_long = |found| Error::Payload {
            found,
            most: MOST_PAYLOAD,
        };
        if let Some(long) = long {
            return Err(too_long(long.payload.len()));
        }
        let groups = groups.into_iter();
        let groups = groups.map(|group| EncodedGroup::new(group, payloads, laying));
        let groups: Vec<EncodedGroup> = groups.collect::<Result<_, _>>()?;
        let mut form = PageForm {
            page_len: 0,
            payloads,
            look,
        };
        let lens: Vec<Vec<usize>> = groups.iter().map(|group| group.lens().collect()).collect();
        let records = form.records(k);
        form.page_len = match laying {
            Laying::All(conditions) => {
                let choice = best_pages(rng, &lens, records, (look, &conditions));
                let longest = || lens.iter().flatten().copied().max().unwrap_or(0);
                choice.ok_or_else(|| too_long(longest()))?.len
            }
            Laying::Recent => {
                let room = (form.vector_len() + LENGTH_LEN).max(RECENT_PAGE);
                u32_of(room).next_multiple_of(PAGE_STEP)
            }
        };

        let mut written = self.named(rng, &groups, own, form);
        let laid: Vec<LaidGroup> = groups
            .iter()
            .map(|group| LaidGroup::new(group, &written))
            .collect();
        count(rng, &mut written, &laid, records);
        if u64::from(written.pages) * u64::from(form.page_len) > MOST_PAGE_BYTES {
            let (n, dim) = (written.records as usize, form.vector_len());
            return Err(Error::TooLarge { n, dim });
        }
        if own {
            let groups = groups.iter().zip(&laid).map(|(group, it)| PageGroup {
                key: group.number,
                records: u32_of(group.records.len()),
                pages: it.laid.pages,
            });
            written.groups = groups.collect();
        }
        let lists = groups.iter().zip(&laid);
        let lists = lists.map(|(group, it)| self.list(&written, group, &it.laid));
        let places = joined(lists.collect(), own);
        let content = sealed(&written, groups, laid)?;
        written.content = digest::of(&content);
        written.places = Coded::of(&places);
        let (fetch, hint) = match laying {
            Laying::All(conditions) => offered(rng, &written, &content, &conditions)?,
            Laying::Recent => (Fetch::Download, None),
        };
        written.fetch = fetch;
        Ok(WrittenPayloads {
            payloads: written,
            content,
            places,
            hint,
        })
    }

    /// The sealed list of the positions of a group's records.
    fn list(&self, payloads: &Payloads, group: &EncodedGroup, laid: &Laid) -> Vec<u8> {
        let list = PageList {
            places: group.places.clone(),
            starts: laid.starts.clone(),
            dictionary: group.dictionary.clone(),
        };
        let code = list.to_bytes(&payloads.form, laid.pages);
        let seal = group.key.seal(Purpose::Ids, &payloads.id, self.version());
        seal.seal(0, &[], &code)
    }

    /// Payloads with an id that is bound to their whole content.
    fn named<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        groups: &[EncodedGroup],
        own: bool,
        form: PageForm,
    ) -> Payloads {
        let codes = groups.iter().map(|group| {
            let mut code = Vec::new();
            group.places.write(&mut code);
            code
        });
        let codes: Vec<Vec<u8>> = codes.collect();
        let contents = groups.iter().flat_map(|group| {
            let records = group.records.iter().map(Vec::as_slice);
            std::iter::once(&group.dictionary[..]).chain(records)
        });
        let numbers = groups.iter().map(|group| group.number);
        let bound = bound(numbers.zip(&codes), own);
        let words = contents.flat_map(words);
        let id = self.id(rng, &Content::Payloads(form), &bound, words);
        Payloads::new(id, self.version(), form, 0)
    }
}

/// Fills in the numbers of records and pages, and the number of pages that a search of `records` records fetches.
fn count<R: CryptoRng + ?Sized>(
    rng: &mut R,
    payloads: &mut Payloads,
    laid: &[LaidGroup],
    records: usize,
) {
    // The counts are in the order of places, because records that follow one another there are often similar.
    let counts = laid.iter().flat_map(|it| {
        let mut counts = vec![1; it.order.len()];
        for (&row, &count) in it.order.iter().zip(&it.laid.counts) {
            counts[row as usize] = count;
        }
        counts
    });
    let counts: Vec<u32> = counts.collect();
    payloads.records = u32_of(counts.len());
    payloads.pages = laid.iter().map(|it| it.laid.pages).sum();
    payloads.fetched = pages::fetched(rng, &counts, records).min(pages::most_fetched(records));
    payloads.longest = counts.iter().copied().max().unwrap_or(1);
}

/// The way in which clients fetch pages, and its hint.
fn offered<R: CryptoRng + ?Sized>(
    rng: &mut R,
    payloads: &Payloads,
    content: &[u8],
    conditions: &Conditions,
) -> Result<(Fetch, Option<Vec<u8>>), Error> {
    let (form, pages) = (&payloads.form, payloads.pages as usize);
    let sizes = (pages, form.sealed_len(), payloads.fetched as usize);
    let way = conditions.quickest(sizes, form.look.is_some());
    // Seeds are drawn after the pages are sealed, so that no one can choose records to fit them.
    Ok(match way.map(|(way, _)| way) {
        None | Some(Way::Download) => (Fetch::Download, None),
        Some(Way::Hintless(_)) => {
            let seed = Seed::random(rng).0;
            (Fetch::Hintless { seed }, None)
        }
        Some(Way::Scan(scan)) => {
            // A table has places for the copies of all pages, and empty ones.
            room::check(content.len(), 1 + usize::from(scan.copies().max(1)))?;
            let (seed, hint_seed) = (Seed::random(rng).0, Seed::random(rng).0);
            let made = scan.downloaded(&scan.table(seed, content)?, hint_seed)?;
            let fetch = Fetch::Scan {
                packing: scan.packing(),
                copies: scan.copies(),
                seed,
                hint_seed,
                hint: digest::of(&made),
            };
            (fetch, Some(made))
        }
        Some(Way::Simple(params)) => {
            room::check(content.len(), 2)?;
            let seed = Seed::random(rng);
            let database = Database::from_slice(&params, content)?;
            let (_, made) = simple::Server::setup(database, &params, &seed)?;
            let made = made.to_bytes();
            let fetch = Fetch::Pir {
                per_column: u32_of(params.per_column()),
                seed: seed.0,
                hint: digest::of(&made),
            };
            (fetch, Some(made))
        }
    })
}

/// All pages, sealed, one after the other.
fn sealed(
    payloads: &Payloads,
    groups: Vec<EncodedGroup>,
    laid: Vec<LaidGroup>,
) -> Result<Vec<u8>, Error> {
    // Pages are also held in clear.
    room::check_bytes(2 * payloads.content_part().len)?;
    let form = &payloads.form;
    let (len, sealed_len, shape) = (form.page_len as usize, form.sealed_len(), form.shape());
    let mut content = vec![0; payloads.pages as usize * sealed_len];
    let (mut rest, mut first) = (&mut content[..], 0);
    for (group, LaidGroup { laid, order }) in groups.into_iter().zip(laid) {
        let mut plain = vec![0; laid.pages as usize * len];
        for (&row, &start) in order.iter().zip(&laid.starts) {
            let record = &group.records[row as usize];
            let start = usize::try_from(start).expect("pages in memory");
            plain[start..start + record.len()].copy_from_slice(record);
        }
        drop(group.records);
        let seal = group.key.payload_seal(payloads);
        let (own, after) = rest.split_at_mut(laid.pages as usize * sealed_len);
        (first..first + laid.pages)
            .into_par_iter()
            .zip(own.par_chunks_exact_mut(sealed_len))
            .zip(plain.par_chunks_exact(len))
            .for_each(|((page, sealed), plain)| {
                sealed.copy_from_slice(&seal.seal(page, &shape, plain));
            });
        (rest, first) = (after, first + laid.pages);
    }
    Ok(content)
}

/// Bytes as words, after their number.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().copied().chain([last]).map(u32::from_le_bytes);
    std::iter::once(u32_of(bytes.len())).chain(words)
}
