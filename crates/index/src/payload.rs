//! Payloads: what a record carries next to its vector, fetched after a search without telling which.
//!
//! Payloads are packed. They are compressed one by one, and laid one after the other into pages of one length, in a
//! secret order of the present records. Each page is sealed. A client knows from a sealed list where the records are.
//! When it has ranked its hits, it asks for exactly the manifest's number of pages, in one message, by private
//! information retrieval. It asks for pages that it does not need as well. A record that is longer than the pages of a
//! search comes shortened, and the client says so.
//!
//! Retrieval needs a hint, downloaded once, or keys, which go up. Small payloads are downloaded, and nothing is asked.
//!
//! Where searches have a [second look](crate::look), pages hold the records' exact vectors too. Then a client asks for
//! the pages of all candidates, and ranks them.
//!
//! # Pages
//! | symbol | meaning |
//! |---|---|
//! | `L` | bytes of a page's content, [`PageForm::page_len`](crate::payload::PageForm::page_len) |
//! | `P` | pages, [`Payloads::pages`](crate::payload::Payloads::pages) |
//! | `F` | pages that a search fetches, [`Payloads::fetched`](crate::payload::Payloads::fetched) |
//!
//! The records of one content key lie in their own pages. A record that fits into the rest of a page begins there; any
//! other begins with the next page. A record that is longer than a page takes whole pages, and the rest of its last
//! page is for records after it.
//!
//! ```text
//! record: exact vector, if there is a second look | if there are payloads: 2 bytes + compressed: varint | bytes
//! ```

use serde::{Deserialize, Serialize};
use sordino_pir::hintless;
use sordino_pir::simple::Params;

use crate::digest::{Coded, Digest};
use crate::elias_fano::EliasFano;
use crate::look::SecondLook;
use crate::page_scan::PageScan;
use crate::secret_packing::SecretPacking;
use crate::{Error, TAG_LEN};

/// Bytes of the longest payload.
pub const MOST_PAYLOAD: usize = (1 << 20) - 4;

/// Bytes of a page's content, at least and at most.
pub const PAGE_LENS: std::ops::RangeInclusive<u32> = 16..=1 << 20;

/// The length of a page's content is a multiple of this.
pub const PAGE_STEP: u32 = 16;

/// Bytes of a payload's length at most, which stands before it.
pub const LENGTH_LEN: usize = 5;

/// Bytes of all pages at most: first bytes of records have 32 bits, in steps of 16 bytes.
pub const MOST_PAGE_BYTES: u64 = 1 << 36;

/// Parts of payloads that changes have brought, at most.
pub const MOST_RECENT: usize = 24;

/// Bytes of a dictionary at most.
pub const MOST_DICTIONARY: usize = 1 << 16;

/// The form of an index's pages: payloads, exact vectors, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageForm {
    /// `L`, the bytes of a page's content.
    pub page_len: u32,
    /// True if records have payloads.
    pub payloads: bool,
    /// The second look, if searches have one.
    pub look: Option<SecondLook>,
}

/// A record's payload and exact vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The code of the record's vector; empty without a second look.
    pub exact: Vec<u8>,
    /// Its payload; empty where records have none.
    pub payload: Vec<u8>,
    /// True if the payload is longer than what was fetched of it.
    pub truncated: bool,
}

/// Where a record lies among the pages of its content key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The page that it begins in.
    pub page: u32,
    /// Its first byte in that page's content.
    pub offset: u32,
    /// Pages that it touches.
    pub count: u32,
}

impl PageForm {
    /// True if pages hold something, and have a length that pages may have.
    #[must_use]
    pub fn exists(&self) -> bool {
        // A record begins in one page with its vector and the bytes of its length.
        let room = self.vector_len() + LENGTH_LEN;
        let is_page = PAGE_LENS.contains(&self.page_len) && self.page_len.is_multiple_of(PAGE_STEP);
        (self.payloads || self.look.is_some()) && is_page && self.page_len as usize >= room
    }

    /// Bytes of a sealed page.
    #[must_use]
    pub fn sealed_len(&self) -> usize {
        self.page_len as usize + TAG_LEN
    }

    /// The number of records that a search of `k` results fetches something of.
    #[must_use]
    pub fn records(&self, k: usize) -> usize {
        self.look.map_or(k, |look| look.candidates as usize)
    }

    /// The bytes that every page's seal is bound to.
    #[must_use]
    pub fn shape(&self) -> Vec<u8> {
        let mut shape = self.page_len.to_le_bytes().to_vec();
        shape.push(self.payloads.into());
        shape.extend(self.look.iter().flat_map(|look| look.width.to_le_bytes()));
        shape
    }

    /// Bytes of an exact vector, which a record begins with.
    #[must_use]
    pub fn vector_len(&self) -> usize {
        self.look.map_or(0, SecondLook::vector_len)
    }

    /// The list of the first bytes of `records` records in `pages` pages, and the bytes of a step of its numbers. A
    /// step is 1 byte up to 4 GiB, and longer above.
    #[must_use]
    pub fn starts(&self, records: u32, pages: u32) -> (EliasFano, u64) {
        let bytes = u64::from(pages) * u64::from(self.page_len);
        let step = ((bytes >> 32) + 1).next_power_of_two();
        let most = u32::try_from(bytes / step).unwrap_or(u32::MAX);
        (EliasFano::new(records as usize, most), step)
    }
}

/// A way for clients to get at payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetch {
    /// All pages are downloaded once.
    Download,
    /// Each page of a search, by private information retrieval; [`Payloads::fetched`] has their number.
    Pir {
        /// Pages of a column of the PIR matrix.
        per_column: u32,
        /// The seed of the PIR matrix A.
        seed: [u8; 32],
        /// The digest of the hint.
        hint: Digest,
    },
    /// By private information retrieval without a hint: all pages of a search in one query.
    Hintless {
        /// The seed of the pads and of the slots of requests.
        seed: [u8; 32],
    },
    /// By a scan of all pages: all pages of a search in one query, with a [short hint](PageScan).
    Scan {
        /// The packing of the product of hint and secret.
        packing: SecretPacking,
        /// Copies of every page, which are dealt into slots; 0 where all pages are one table.
        copies: u8,
        /// The seed of the public polynomials of queries.
        seed: [u8; 32],
        /// The seed of the public polynomials of encrypted secrets.
        hint_seed: [u8; 32],
        /// The digest of the hint that clients download.
        hint: Digest,
    },
}

/// The ways for clients to get at payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchKind {
    /// [`Fetch::Download`].
    Download,
    /// [`Fetch::Pir`].
    Pir,
    /// [`Fetch::Hintless`].
    Hintless,
    /// [`Fetch::Scan`].
    Scan,
}

impl FetchKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Download, Self::Pir, Self::Scan, Self::Hintless];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Download => "downloaded",
            Self::Pir => "PIR",
            Self::Hintless => "no hint",
            Self::Scan => "scan",
        }
    }
}

impl Fetch {
    /// The way.
    #[must_use]
    pub fn kind(&self) -> FetchKind {
        match self {
            Self::Download => FetchKind::Download,
            Self::Pir { .. } => FetchKind::Pir,
            Self::Hintless { .. } => FetchKind::Hintless,
            Self::Scan { .. } => FetchKind::Scan,
        }
    }
}

/// The payloads of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Payloads {
    /// Random and bound to the content, as a segment's id is: the keys are derived from it.
    pub id: [u8; 16],
    /// The version of the index that they were written for.
    pub version: u64,
    /// The number of present records.
    pub records: u32,
    /// `P`, the pages.
    pub pages: u32,
    /// The content of a page.
    pub form: PageForm,
    /// `F`, the pages that a search fetches.
    pub fetched: u32,
    /// Pages that the longest record touches.
    pub longest: u32,
    /// The way for clients to get at them.
    pub fetch: Fetch,
    /// The digest of all pages, one after the other.
    pub content: Digest,
    /// The places of the present records, sealed: they say which record is where. A record's place is its row, after
    /// the rows of all segments before its own.
    pub places: Coded,
    /// The content keys that pages are under, if the index has readers of its own: pages of one key follow one another.
    #[serde(skip)]
    pub groups: Vec<PageGroup>,
}

/// Pages under one content key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageGroup {
    /// The number of the key.
    pub key: u32,
    /// Records in them.
    pub records: u32,
    /// The number of pages, after the groups before.
    pub pages: u32,
}

impl Payloads {
    /// Payloads that are downloaded: the digests are zeros, to be filled in.
    #[must_use]
    pub fn new(id: [u8; 16], version: u64, form: PageForm, fetched: u32) -> Self {
        Self {
            id,
            version,
            records: 0,
            pages: 0,
            form,
            fetched,
            longest: 1,
            fetch: Fetch::Download,
            content: [0; 32],
            places: Coded::default(),
            groups: Vec::new(),
        }
    }

    /// The keys that pages are under: one key, or the keys of an index with readers of its own.
    #[must_use]
    pub fn groups(&self) -> Vec<PageGroup> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        vec![PageGroup {
            key: crate::SHARED,
            records: self.records,
            pages: self.pages,
        }]
    }

    /// Bytes of all pages.
    #[must_use]
    pub(crate) fn content_len(&self) -> usize {
        (self.pages as usize).saturating_mul(self.form.sealed_len())
    }

    /// True of the digests of these payloads' parts.
    #[must_use]
    pub fn has(&self, part: &Digest) -> bool {
        let hint = match &self.fetch {
            Fetch::Pir { hint, .. } | Fetch::Scan { hint, .. } => Some(hint),
            Fetch::Download | Fetch::Hintless { .. } => None,
        };
        [Some(&self.content), Some(&self.places.digest), hint].contains(&Some(part))
    }

    /// The layout of retrieval without a hint, of all pages of a search at once, if they are fetched in this way.
    ///
    /// # Errors
    /// If no layout serves pages of this number or length.
    pub fn hintless_params(&self) -> Result<Option<hintless::Params>, Error> {
        let Fetch::Hintless { .. } = self.fetch else {
            return Ok(None);
        };
        let (pages, len) = (self.pages as usize, self.form.sealed_len());
        let fetched = self.fetched as usize;
        Ok(Some(hintless::Params::new(pages, len, fetched)?))
    }

    /// The sizes of the table that pages are scanned in, if they are fetched in this way.
    ///
    /// # Errors
    /// If no table has pages of this number or length.
    pub fn scan(&self) -> Result<Option<PageScan>, Error> {
        let Fetch::Scan {
            packing, copies, ..
        } = self.fetch
        else {
            return Ok(None);
        };
        let (pages, len) = (self.pages as usize, self.form.sealed_len());
        let sizes = (pages, len, self.fetched as usize);
        Ok(Some(PageScan::new(sizes, packing, copies)?))
    }

    /// The PIR parameters, if pages are fetched with a hint.
    ///
    /// # Errors
    /// If no parameter set serves pages of this number or length in this layout.
    pub fn pir_params(&self) -> Result<Option<Params>, Error> {
        let Fetch::Pir { per_column, .. } = self.fetch else {
            return Ok(None);
        };
        let (pages, len) = (self.pages as usize, self.form.sealed_len());
        let security = sordino_pir::Security::default();
        let params = Params::with_layout(pages, len, per_column as usize, security)?;
        Ok(Some(params))
    }
}
