//! Payloads: bytes that records carry in addition to vectors. Clients fetch them without revealing which.
//!
//! Payloads are packed into pages. They are compressed one by one, and laid one after the other into pages of the same
//! length, in a secret order of the present records. Each page is sealed. A client knows from a sealed list where the
//! records are. After it has ranked its hits, it asks for exactly the manifest's number of pages, in one message, by
//! private information retrieval. Some of these pages are not needed. A record that is longer than the pages of a
//! search arrives shortened, and the client reports that.
//!
//! Retrieval needs a hint, which clients download once, or keys, which they upload. Small payloads are all downloaded.
//!
//! If searches have a [second look](crate::look), pages hold the records' exact vectors, too. Then a client asks for
//! the pages of all candidates, and ranks them.
//!
//! # Pages
//! | symbol | meaning |
//! |---|---|
//! | `L` | bytes of a page's content, [`PageForm::page_len`](crate::payload::PageForm::page_len) |
//! | `P` | pages, [`Payloads::pages`](crate::payload::Payloads::pages) |
//! | `F` | pages that a search fetches, [`Payloads::fetched`](crate::payload::Payloads::fetched) |
//!
//! The records of each content key lie in separate pages. A record that fits into the rest of a page begins there; any
//! other begins with the next page. A record that is longer than a page takes whole pages, and later records may use
//! the rest of its last page.
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

/// The size in bytes of the longest payload.
pub const MOST_PAYLOAD: usize = (1 << 20) - 4;

/// The smallest and the largest number of bytes of a page's content.
pub const PAGE_LENS: std::ops::RangeInclusive<u32> = 16..=1 << 20;

/// The length of a page's content is a multiple of this.
pub const PAGE_STEP: u32 = 16;

/// The largest number of bytes of a payload's length, which comes before the payload.
pub const LENGTH_LEN: usize = 5;

/// The largest number of bytes of all pages. The position of a record's first byte has 32 bits, in steps of 16 bytes.
pub const MOST_PAGE_BYTES: u64 = 1 << 36;

/// The largest number of parts of payloads that changes have added.
pub const MOST_RECENT: usize = 24;

/// The largest number of bytes of a dictionary.
pub const MOST_DICTIONARY: usize = 1 << 16;

/// The content of an index's pages: payloads, exact vectors, or both.
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
    /// The code of the record's vector, empty without a second look.
    pub exact: Vec<u8>,
    /// Its payload, empty if records have none.
    pub payload: Vec<u8>,
    /// True if the payload is longer than the fetched part of it.
    pub truncated: bool,
}

/// The position of a record among the pages of its content key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The page that it begins in.
    pub page: u32,
    /// Its first byte in that page's content.
    pub offset: u32,
    /// The number of pages that it touches.
    pub count: u32,
}

impl PageForm {
    /// True if pages hold something, and have an allowed length.
    #[must_use]
    pub fn exists(&self) -> bool {
        // The page in which a record begins also holds its vector and the bytes of its length.
        let room = self.vector_len() + LENGTH_LEN;
        let is_page = PAGE_LENS.contains(&self.page_len) && self.page_len.is_multiple_of(PAGE_STEP);
        (self.payloads || self.look.is_some()) && is_page && self.page_len as usize >= room
    }

    /// The size in bytes of a sealed page.
    #[must_use]
    pub fn sealed_len(&self) -> usize {
        self.page_len as usize + TAG_LEN
    }

    /// The number of records whose pages a search of `k` results fetches.
    #[must_use]
    pub fn records(&self, k: usize) -> usize {
        self.look.map_or(k, |look| look.candidates as usize)
    }

    /// The bytes to which every page's seal is bound.
    #[must_use]
    pub fn shape(&self) -> Vec<u8> {
        let mut shape = self.page_len.to_le_bytes().to_vec();
        shape.push(self.payloads.into());
        shape.extend(self.look.iter().flat_map(|look| look.width.to_le_bytes()));
        shape
    }

    /// The size in bytes of an exact vector, with which a record begins.
    #[must_use]
    pub fn vector_len(&self) -> usize {
        self.look.map_or(0, SecondLook::vector_len)
    }

    /// The format for the first bytes of `records` records in `pages` pages, and the bytes of a step of its numbers. A
    /// step is 1 byte up to 4 GiB, and longer above.
    #[must_use]
    pub fn starts(&self, records: u32, pages: u32) -> (EliasFano, u64) {
        let bytes = u64::from(pages) * u64::from(self.page_len);
        let step = ((bytes >> 32) + 1).next_power_of_two();
        let most = u32::try_from(bytes / step).unwrap_or(u32::MAX);
        (EliasFano::new(records as usize, most), step)
    }
}

/// How clients get payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetch {
    /// Clients download all pages once.
    Download,
    /// Clients fetch each page of a search by private information retrieval. [`Payloads::fetched`] is their number.
    Pir {
        /// The number of pages of a column of the PIR matrix.
        per_column: u32,
        /// The seed of the PIR matrix A.
        seed: [u8; 32],
        /// The digest of the hint.
        hint: Digest,
    },
    /// Clients fetch all pages of a search in one query, by private information retrieval without a hint.
    Hintless {
        /// The seed of the public streams and of the slots of requests.
        seed: [u8; 32],
    },
    /// Clients fetch all pages of a search in one query, by a scan of all pages with a [short hint](PageScan).
    Scan {
        /// The packing of the product of hint and secret.
        packing: SecretPacking,
        /// The number of copies of every page, which are dealt into slots, or 0 if all pages are one table.
        copies: u8,
        /// The seed of the public polynomials of queries.
        seed: [u8; 32],
        /// The seed of the public polynomials of encrypted secrets.
        hint_seed: [u8; 32],
        /// The digest of the hint that clients download.
        hint: Digest,
    },
}

/// The ways for clients to get payloads.
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

    /// The name in reports.
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
    /// The kind of this way.
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
    /// Random and bound to the content, like a segment's id. The keys are derived from it.
    pub id: [u8; 16],
    /// The version of the index in which they were written.
    pub version: u64,
    /// The number of present records.
    pub records: u32,
    /// `P`, the number of pages.
    pub pages: u32,
    /// The form of a page's content.
    pub form: PageForm,
    /// `F`, the number of pages that a search fetches.
    pub fetched: u32,
    /// The number of pages that the longest record touches.
    pub longest: u32,
    /// How clients get the payloads.
    pub fetch: Fetch,
    /// The digest of all pages, one after the other.
    pub content: Digest,
    /// The sealed places of the present records, which say where each record is. A record's place is its row, after the
    /// rows of all segments before its own.
    pub places: Coded,
    /// Groups of consecutive pages, one for each content key, if the index has readers of its own.
    #[serde(skip)]
    pub groups: Vec<PageGroup>,
}

/// Pages under one content key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageGroup {
    /// The number of the key.
    pub key: u32,
    /// The number of records in these pages.
    pub records: u32,
    /// The number of pages, which follow the pages of the groups before.
    pub pages: u32,
}

impl Payloads {
    /// Payloads for download. The digests are zeros, which the caller replaces.
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

    /// The keys of pages: one key, or the keys of an index with readers of its own.
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

    /// The size in bytes of all pages.
    #[must_use]
    pub(crate) fn content_len(&self) -> usize {
        (self.pages as usize).saturating_mul(self.form.sealed_len())
    }

    /// True if the digest names a part of these payloads.
    #[must_use]
    pub fn has(&self, part: &Digest) -> bool {
        let hint = match &self.fetch {
            Fetch::Pir { hint, .. } | Fetch::Scan { hint, .. } => Some(hint),
            Fetch::Download | Fetch::Hintless { .. } => None,
        };
        [Some(&self.content), Some(&self.places.digest), hint].contains(&Some(part))
    }

    /// The layout of retrieval without a hint, for all pages of a search, if they are fetched in this way.
    ///
    /// # Errors
    /// [`Error`] if no layout serves pages of this number or length.
    pub fn hintless_params(&self) -> Result<Option<hintless::Params>, Error> {
        let Fetch::Hintless { .. } = self.fetch else {
            return Ok(None);
        };
        let (pages, len) = (self.pages as usize, self.form.sealed_len());
        let fetched = self.fetched as usize;
        Ok(Some(hintless::Params::new(pages, len, fetched)?))
    }

    /// The sizes of the table of scanned pages, if they are fetched in this way.
    ///
    /// # Errors
    /// [`Error`] if no table has pages of this number or length.
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
    /// [`Error`] if no parameter set serves pages of this number or length in this layout.
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
