//! Opens the pages of payloads, and the records in them.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::content_key::ContentKey;
use crate::contents::{ContentKeys, split};
use crate::decompression::Decompressor;
use crate::filler::filler;
use crate::numbers::Numbers;
use crate::order::RowOrder;
use crate::page_list::PageList;
use crate::purpose::Purpose;
use crate::seal::Seal;
use crate::select::mask;
use sordino_index::Error;
use sordino_index::manifest::Manifest;
use sordino_index::payload::{Carried, Extent, MOST_PAYLOAD, PageForm, PageGroup, Payloads};
use zeroize::Zeroizing;

impl ContentKey {
    /// The order of `records` records of payloads: the record at `position` has the place with rank `order.row(position)`.
    #[must_use]
    pub fn payload_order(&self, payloads: &Payloads, records: u32) -> RowOrder {
        self.slot_order(&payloads.id, records)
    }

    /// The cipher of the pages of payloads.
    #[must_use]
    pub fn payload_seal(&self, payloads: &Payloads) -> Seal {
        self.seal(Purpose::Payload, &payloads.id, payloads.version)
    }
}

/// The places, orders and ciphers that open payloads, for all pages whose keys the reader has.
pub struct Opener {
    groups: Vec<Group>,
    form: PageForm,
    /// The bytes to which the seals of pages are bound.
    shape: Vec<u8>,
}

/// Pages under one key.
struct Group {
    /// The first page, and the number of pages.
    first: u32,
    pages: u32,
    places: Numbers,
    order: RowOrder,
    /// The position of each record. It is computed when a caller that sends no request afterwards first asks for records.
    table: OnceLock<Option<Zeroizing<Vec<u32>>>>,
    /// The extent of each record, in the secret order.
    extents: Vec<Extent>,
    seal: Seal,
    decompressor: Mutex<Decompressor>,
}

impl Group {
    fn new(
        payloads: &Payloads,
        group: &PageGroup,
        first: u32,
        key: &ContentKey,
        sealed: &[u8],
    ) -> Result<Self, Error> {
        let code = key.open_part(Purpose::Ids, &payloads.id, payloads.version, sealed)?;
        let list = PageList::read(&payloads.form, group, &code)?;
        let extents = list.extents(&payloads.form, group, first);
        if extents.iter().any(|extent| extent.count > payloads.longest) {
            return Err(Error::Malformed {
                what: "payload places",
                why: format!("a record of more than {} pages", payloads.longest),
            });
        }
        Ok(Self {
            first,
            pages: group.pages,
            extents,
            decompressor: Mutex::new(Decompressor::new(&list.dictionary)?),
            places: list.places,
            order: key.payload_order(payloads, group.records),
            table: OnceLock::new(),
            seal: key.payload_seal(payloads),
        })
    }

    fn has(&self, page: u32) -> bool {
        page.checked_sub(self.first)
            .is_some_and(|at| at < self.pages)
    }

    /// The extents of the records in these places. The work is the same for every place. The addresses that are read depend
    /// on the places. Other programs on this processor can observe these addresses, but a server cannot.
    fn extents(&self, places: &[Option<u32>]) -> Vec<Option<Extent>> {
        // If a place is absent, the first place is looked up instead.
        let first = self.places.number(0);
        let ranks = places.iter().map(|place| {
            let rank = self.places.rank(place.map_or(first, u64::from));
            place.and(rank)
        });
        let ranks: Vec<Option<u32>> = ranks.collect();
        let known: Vec<u32> = ranks.iter().map(|rank| rank.unwrap_or(0)).collect();
        let positions = self.order.positions(&known);
        let extents = ranks.iter().zip(positions).map(|(rank, position)| {
            let extent = self.extents[position as usize];
            rank.map(|_| extent)
        });
        extents.collect()
    }

    /// The extents of the records in these places, by a table. Time and memory accesses depend on the places.
    fn extents_in_open(&self, places: &[Option<u32>]) -> Vec<Option<Extent>> {
        let table = self.table.get_or_init(|| self.order.table());
        let extents = places.iter().map(|place| {
            let rank = self.places.rank((*place)?.into())?;
            let position = match table {
                Some(table) => table[rank as usize],
                None => self.order.positions(&[rank])[0],
            };
            Some(self.extents[position as usize])
        });
        extents.collect()
    }

    /// Reads the record at the start of these bytes. The bytes may end before the record does.
    fn carried(&self, form: &PageForm, bytes: &[u8]) -> Option<Carried> {
        let (exact, rest) = bytes.split_at_checked(form.vector_len())?;
        let mut carried = Carried {
            exact: exact.to_vec(),
            ..Carried::default()
        };
        if !form.payloads {
            return Some(carried);
        }
        let mut rest = rest;
        let head = crate::numbers::read_varint(&mut rest)?;
        let (len, compressed) = (usize::try_from(head >> 1).ok()?, head & 1 == 1);
        if len > MOST_PAYLOAD {
            return None;
        }
        carried.truncated = rest.len() < len;
        let bytes = &rest[..len.min(rest.len())];
        let payload = match compressed {
            false => bytes.to_vec(),
            true => {
                let mut decompressor = self
                    .decompressor
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                decompressor.read(bytes, carried.truncated)?
            }
        };
        carried.payload = match carried.truncated {
            true => whole_characters(payload),
            false => payload,
        };
        Some(carried)
    }
}

/// Bytes that may have been cut anywhere. If they are text, an incomplete character at the end is removed.
fn whole_characters(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    bytes
}

impl Opener {
    /// An opener of a version's payloads with these keys. It needs the part that says where each record is.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed.
    pub fn new(
        manifest: &Manifest,
        payloads: &Payloads,
        keys: &ContentKeys,
        places: &[u8],
    ) -> Result<Self, Error> {
        let all = payloads.groups();
        // A part that a writer added has no entries for earlier records.
        let own = manifest.places_of(payloads);
        let mut first = 0;
        let mut groups = Vec::new();
        for (group, places) in all
            .iter()
            .zip(split(places, all.len(), manifest.readers.is_some())?)
        {
            if let Some(key) = keys.get(group.key) {
                let group = Group::new(payloads, group, first, key, places)?;
                let (least, most) = (group.places.number(0), group.places.last());
                if least < own.start || most >= Some(own.end) {
                    return Err(Error::Malformed {
                        what: "payload places",
                        why: "records of segments that it was not added with".to_owned(),
                    });
                }
                groups.push(group);
            }
            first += group.pages;
        }
        Ok(Self {
            groups,
            form: payloads.form,
            shape: payloads.form.shape(),
        })
    }

    /// The extents of the records in these places, or `None` for an absent place. An absent place takes the same work as a
    /// present one.
    #[must_use]
    pub fn extents(&self, places: &[Option<u32>]) -> Vec<Option<Extent>> {
        let mut extents = vec![None; places.len()];
        for group in &self.groups {
            for (extent, own) in extents.iter_mut().zip(group.extents(places)) {
                *extent = extent.or(own);
            }
        }
        extents
    }

    /// Like [`extents`](Self::extents), but faster, for callers that send no request to a server afterwards.
    #[must_use]
    pub fn extents_in_open(&self, places: &[Option<u32>]) -> Vec<Option<Extent>> {
        let mut extents = vec![None; places.len()];
        for group in &self.groups {
            for (extent, own) in extents.iter_mut().zip(group.extents_in_open(places)) {
                *extent = extent.or(own);
            }
        }
        extents
    }

    /// True if the reader has the key of some page.
    #[must_use]
    pub fn has_key(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The pages to fetch. Each absent page is replaced by a random page that this reader can open. If one fixed page replaced
    /// all of them, a server that changes it would see whether pages are absent.
    ///
    /// # Security
    /// The same instructions run for all pages, and each page consumes one random number.
    pub fn filled(&self, wanted: &[Option<u32>], mut random: impl FnMut() -> u64) -> Vec<u32> {
        let groups = self.groups.iter().map(|group| (group.first, group.pages));
        let pages = wanted.iter().map(|page| {
            let (wanted, filler) = (mask(page.is_some()), filler(groups.clone(), random()));
            (wanted & page.unwrap_or(0)) | (!wanted & filler)
        });
        pages.collect()
    }

    /// The content of a page, if it is what the owner put there and the reader has its key.
    ///
    /// # Security
    /// A changed page takes the same work as an unchanged one.
    #[must_use]
    pub fn open(&self, page: u32, sealed: &[u8]) -> Option<Vec<u8>> {
        let group = self.groups.iter().find(|group| group.has(page))?;
        group.seal.open(page, &self.shape, sealed)
    }

    /// Reads the record in this extent from the contents of its first pages, one after the other. If the record touches
    /// more pages, it is shortened. `None` if the owner never wrote such a record.
    #[must_use]
    pub fn carried(&self, extent: &Extent, pages: &[u8]) -> Option<Carried> {
        let group = self.groups.iter().find(|group| group.has(extent.page))?;
        group.carried(&self.form, pages.get(extent.offset as usize..)?)
    }

    /// The places of the records whose keys the reader has.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().flat_map(|group| group.places.iter())
    }

    /// Reads the record in this extent from all sealed pages. `None` if a page that it touches is not what the owner sealed.
    #[must_use]
    pub fn read(&self, content: &[u8], extent: &Extent) -> Option<Carried> {
        self.read_after(content, extent, &mut None)
    }

    /// Like [`read`](Self::read), for one record after another. `last` is the page that was opened last, with its number, and is
    /// not opened again.
    pub fn read_after(
        &self,
        content: &[u8],
        extent: &Extent,
        last: &mut Option<(u32, Vec<u8>)>,
    ) -> Option<Carried> {
        let len = self.form.sealed_len();
        let mut pages = Vec::new();
        for page in (extent.page..).take(extent.count as usize) {
            let known = last.take().filter(|(known, _)| *known == page);
            let plain = match known {
                Some((_, plain)) => plain,
                None => {
                    let from = page as usize * len;
                    self.open(page, content.get(from..from + len)?)?
                }
            };
            let (_, plain) = last.insert((page, plain));
            if extent.count == 1 {
                return self.carried(extent, plain);
            }
            pages.extend_from_slice(plain);
        }
        self.carried(extent, &pages)
    }

    /// Reads all records whose keys the reader has, with their places, in order.
    ///
    /// # Errors
    /// [`Error`] if a page is not what the owner sealed.
    pub fn open_all(&self, content: &[u8]) -> Result<Vec<(u64, Carried)>, Error> {
        let malformed = || Error::Malformed {
            what: "payloads",
            why: "not sealed with this index's key".to_owned(),
        };
        let (sealed_len, len) = (self.form.sealed_len(), self.form.page_len as usize);
        let mut all = Vec::new();
        for group in &self.groups {
            let sealed = content.chunks_exact(sealed_len).skip(group.first as usize);
            let mut plain = Vec::with_capacity(group.pages as usize * len);
            for (page, sealed) in (group.first..).zip(sealed.take(group.pages as usize)) {
                plain.extend(self.open(page, sealed).ok_or_else(malformed)?);
            }
            for (at, extent) in (0..).zip(&group.extents) {
                let from = (extent.page - group.first) as usize * len;
                let to = from + extent.count as usize * len;
                let bytes = plain.get(from + extent.offset as usize..to);
                let carried = bytes.and_then(|bytes| group.carried(&self.form, bytes));
                let carried = carried
                    .filter(|carried| !carried.truncated)
                    .ok_or_else(malformed)?;
                all.push((group.places.number(group.order.row(at)), carried));
            }
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(all)
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}
