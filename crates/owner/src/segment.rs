//! Writing segments: what the owner makes of records before a server gets them.
//!
//! Records of a segment are in the order of their ids; masked mode stores them in a secret order.
//! Everything secret in a segment is under keys of its id, and its id is a keyed digest of fresh
//! randomness and of all that goes into it. So contents under one id are equal, and pads and nonces,
//! which also carry version and place, never meet two contents.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::code::Codec;
use sordino_index::columns::Scheme;
use sordino_index::content_key::ContentKey;
use sordino_index::contents::joined;
use sordino_index::digest::Coded;
use sordino_index::keys::OwnerKeys;
use sordino_index::manifest::{Checking, Deleted, SHARED, Segment};
use sordino_index::numbers::{self, Numbers};
use sordino_index::purpose::Purpose;
use sordino_index::{Error, columns, digest};
use sordino_vectors::Vectors;
use sordino_vectors::u32_of;

use crate::binding::{Binding, Content};
use crate::plan::Plan;
use crate::rows::Rows;

/// The keys and facts that one version's segments are written with.
pub(crate) struct SegmentWriter<'a> {
    keys: &'a OwnerKeys,
    /// The content key that is written under, and its number.
    key: ContentKey,
    number: u32,
    version: u64,
    /// The public facts that all segments of the index share.
    index: Binding,
}

/// A segment and its parts.
pub(crate) struct WrittenSegment {
    pub(crate) segment: Segment,
    pub(crate) rows: Vec<u8>,
    pub(crate) ids: Vec<u8>,
    /// The attributes, if there are any.
    pub(crate) attributes: Option<Vec<u8>>,
    /// The sums that readers hold of open rows, if they do.
    pub(crate) sums: Option<Vec<u8>>,
}

impl WrittenSegment {
    /// The parts, to be stored.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let parts = [
            Some(&self.rows),
            Some(&self.ids),
            self.attributes.as_ref(),
            self.sums.as_ref(),
        ];
        parts.into_iter().flatten().map(Vec::as_slice)
    }
}

impl<'a> SegmentWriter<'a> {
    pub(crate) fn new(keys: &'a OwnerKeys, version: u64, index: Binding) -> Self {
        Self {
            keys,
            key: keys.shared(),
            number: SHARED,
            version,
            index,
        }
    }

    /// A writer under another content key.
    pub(crate) fn under(&self, number: u32, key: ContentKey) -> Self {
        Self {
            keys: self.keys,
            key,
            number,
            version: self.version,
            index: self.index.clone(),
        }
    }

    pub(crate) fn keys(&self) -> &OwnerKeys {
        self.keys
    }

    pub(crate) fn key(&self) -> &ContentKey {
        &self.key
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Open rows: the rotated unit vectors in the order of their ids; with sealed sums of them, if these check scores.
    pub(crate) fn open<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        scheme: Scheme,
    ) -> Result<WrittenSegment, Error> {
        let (units, width) = (rows.vectors.as_slice(), rows.vectors.dim());
        let words = units.iter().map(|x| x.to_bits());
        let id = self.id(rng, &Content::Open, &rows.code(), words);
        let mut written = self.written(id, rows, columns::open_rows(units));
        if scheme.checking == Checking::Sums {
            let codes = scheme.params().real_codes(units, width)?;
            let sums = self.key.signs(&id).sums(&codes, width);
            let seal = self.key.seal(Purpose::Sums, &id, self.version);
            written.sums = Some(seal.seal(0, &[], &sums));
        }
        Ok(written)
    }

    /// Masked rows, of codes in the order of their ids, and their check rows, if these check scores.
    pub(crate) fn masked<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        codes: &[i32],
        checking: Checking,
    ) -> WrittenSegment {
        let words = codes.iter().map(|x| x.cast_unsigned());
        let id = self.id(rng, &Content::Masked, &rows.code(), words);
        let (n, width) = (u32_of(rows.ids.len()), rows.vectors.dim());
        let (order, pad) = (self.key.row_order(&id, n), self.key.pad(&id, self.version));
        let row = |position: u32| &codes[order.row(position) as usize * width..][..width];
        let checks = match checking {
            Checking::Sums => {
                let checks = self.key.checks(&id, width);
                checks.rows(n as usize, width, |position| row(u32_of(position)))
            }
            Checking::None | Checking::Exact => Vec::new(),
        };
        let records = (0..n).into_par_iter().map(row);
        let masked = records
            .chain(checks.par_chunks_exact(width))
            .enumerate()
            .flat_map_iter(|(position, codes)| {
                let mut codes = codes.to_vec();
                pad.mask(u32_of(position), &mut codes);
                columns::masked_rows(&codes)
            })
            .collect();
        self.written(id, rows, masked)
    }

    /// Sealed chunks, of unit vectors in the order of their ids.
    pub(crate) fn chunks<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        codec: Codec,
    ) -> WrittenSegment {
        let words = rows.vectors.as_slice().iter().map(|x| x.to_bits());
        let id = self.id(rng, &Content::Chunks(codec), &rows.code(), words);
        self.written(id, rows, self.chunk_bytes(&id, &rows.vectors, codec))
    }

    /// The id of a sealed index's base: buckets, centroids and chunks share it.
    pub(crate) fn base_id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        plan: &Plan,
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        self.id(rng, &Content::Base(plan.chosen()), &rows.code(), words)
    }

    /// Chunks under a segment's id.
    pub(crate) fn chunk_bytes(&self, id: &[u8; 16], units: &Vectors, codec: Codec) -> Vec<u8> {
        let seal = self.key.seal(Purpose::Chunk, id, self.version);
        let n = u32_of(units.len());
        let segment = Segment::new(*id, self.version, n, [0; 32], Coded::default());
        let layout = segment.layout(u32_of(units.dim()), codec);
        let rows: Vec<u32> = (0..n).collect();
        rows.par_chunks(layout.slots as usize)
            .enumerate()
            .flat_map_iter(|(chunk, rows)| {
                let entries = rows.iter().map(|&row| (row, units.row(row as usize)));
                let plain = layout.write(&[], &entries.collect::<Vec<_>>());
                layout.seal(&seal, u32_of(chunk), &plain)
            })
            .collect()
    }

    /// A segment with its vectors in this form, its ids and attributes sealed.
    pub(crate) fn written(&self, id: [u8; 16], rows: &Rows, vectors: Vec<u8>) -> WrittenSegment {
        let mut code = Vec::new();
        rows.ids.write(&mut code);
        let ids = self.sealed(Purpose::Ids, &id, code);
        let attributes = (!rows.attributes.is_none()).then(|| {
            let mut code = Vec::new();
            rows.attributes.write(&mut code);
            self.sealed(Purpose::Attributes, &id, code)
        });
        let n = u32_of(rows.ids.len());
        let rows = digest::of(&vectors);
        let mut segment = Segment::new(id, self.version, n, rows, Coded::of(&ids));
        segment.key = self.number;
        segment.attributes = attributes.as_deref().map(Coded::of);
        WrittenSegment {
            segment,
            rows: vectors,
            ids,
            attributes,
            sums: None,
        }
    }

    /// A code, filled to its class and sealed under the id of what it belongs to.
    pub(crate) fn sealed(&self, purpose: Purpose, id: &[u8; 16], mut code: Vec<u8>) -> Vec<u8> {
        numbers::fill(&mut code);
        self.key.seal(purpose, id, self.version).seal(0, &[], &code)
    }

    /// The list of deleted rows by segment, one for each content key, of an index with readers of its own or without.
    pub(crate) fn deleted<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        lists: &[(u32, ContentKey, Vec<&Numbers>)],
        own: bool,
    ) -> (Deleted, Vec<u8>) {
        let codes = lists.iter().map(|(_, _, dead)| {
            let mut code = Vec::new();
            dead.iter().for_each(|rows| rows.write(&mut code));
            code
        });
        let codes: Vec<Vec<u8>> = codes.collect();
        let numbers = lists.iter().map(|(number, ..)| *number);
        let bound = bound(numbers.zip(&codes), own);
        let id = self.id(rng, &Content::Deleted, &bound, std::iter::empty());
        let sealed = lists.iter().zip(codes).map(|((number, key, _), code)| {
            let writer = self.under(*number, key.clone());
            writer.sealed(Purpose::Deleted, &id, code)
        });
        let part = joined(sealed.collect(), own);
        let deleted = Deleted::new(id, self.version, Coded::of(&part));
        (deleted, part)
    }

    /// The id of content of this kind, bound to fresh randomness and to all that goes into it: a code and
    /// words.
    pub(crate) fn id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        content: &Content<'_>,
        code: &[u8],
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut fresh = [0; 32];
        rng.fill_bytes(&mut fresh);
        let binding = self.index.clone().with(content, self.version);
        self.keys
            .content_id(&fresh, binding.as_bytes(), code, words)
    }
}

/// The codes of several content keys as one, to which an id is bound: of an index without readers of its own it is the
/// code.
pub(crate) fn bound<'a>(codes: impl Iterator<Item = (u32, &'a Vec<u8>)>, own: bool) -> Vec<u8> {
    let mut all = Vec::new();
    for (number, code) in codes {
        if own {
            all.extend(number.to_le_bytes());
            all.extend((code.len() as u64).to_le_bytes());
        }
        all.extend_from_slice(code);
    }
    all
}
