//! Writes segments: turns records into what a server gets.
//!
//! Records of a segment are in the order of their ids; masked mode stores them in a secret order. Everything secret in
//! a segment is under keys of its id. The id is a keyed digest of fresh randomness and of the whole content of the
//! segment. So contents under one id are equal, and two contents never share pads or nonces, which also depend on
//! version and place.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::code::Codec;
use sordino_index::columns::Scheme;
use sordino_index::digest::Coded;
use sordino_index::manifest::{Checking, Deleted, FramePart, SHARED, Segment};
use sordino_index::{Error, columns, digest};
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::content_ids::ContentIds;
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::joined;
use sordino_vault::frame::Frame;
use sordino_vault::keys::OwnerKeys;
use sordino_vault::numbers::{self, Numbers};
use sordino_vault::purpose::Purpose;
use sordino_vectors::u32_of;

use crate::binding::{Binding, Content};
use crate::plan::Plan;
use crate::rows::Rows;
use crate::scaled_rows::ScaledRows;

/// The keys and facts with which one version's segments are written.
pub(crate) struct SegmentWriter<'a> {
    /// The owner's keys. `None` for a writer, which has only the keys of its labels.
    keys: Option<&'a OwnerKeys>,
    ids: ContentIds,
    /// The content key for new content, and its number.
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
    /// The bases and scales of rows, if a server scores the rows.
    pub(crate) scales: Option<Vec<u8>>,
    /// The sums of open rows that readers hold, if the mode has them.
    pub(crate) sums: Option<Vec<u8>>,
}

impl WrittenSegment {
    /// The parts, for storing.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let parts = [
            Some(&self.rows),
            Some(&self.ids),
            self.attributes.as_ref(),
            self.scales.as_ref(),
            self.sums.as_ref(),
        ];
        parts.into_iter().flatten().map(Vec::as_slice)
    }
}

impl<'a> SegmentWriter<'a> {
    pub(crate) fn new(keys: &'a OwnerKeys, version: u64, index: Binding) -> Self {
        Self {
            keys: Some(keys),
            ids: keys.ids(),
            key: keys.shared(),
            number: SHARED,
            version,
            index,
        }
    }

    /// A writer of segments without the owner's keys, under this content key.
    pub(crate) fn without_owner(
        ids: ContentIds,
        (number, key): (u32, ContentKey),
        version: u64,
        index: Binding,
    ) -> Self {
        Self {
            keys: None,
            ids,
            key,
            number,
            version,
            index,
        }
    }

    /// A writer under another content key.
    pub(crate) fn under(&self, number: u32, key: ContentKey) -> Self {
        Self {
            keys: self.keys,
            ids: self.ids.clone(),
            key,
            number,
            version: self.version,
            index: self.index.clone(),
        }
    }

    /// The owner's keys.
    ///
    /// # Panics
    /// Panics for a writer, which has none: only an owner makes lists, readers and signatures of versions.
    pub(crate) fn keys(&self) -> &OwnerKeys {
        self.keys.expect("the owner's work is done with its keys")
    }

    pub(crate) fn key(&self) -> &ContentKey {
        &self.key
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Open rows: residuals at their scales in the order of their ids, with sealed sums of them, if sums check the
    /// scores.
    pub(crate) fn open<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        scaled: &ScaledRows,
        scheme: Scheme,
    ) -> Result<WrittenSegment, Error> {
        let (units, width) = (&scaled.units[..], rows.vectors.dim());
        let words = units.iter().map(|x| x.to_bits());
        let bound = [&rows.code()[..], &scaled.code].concat();
        let id = self.id(rng, &Content::Open, &bound, words);
        // The codes, as large as the rows, are dropped before the rows are encoded.
        let sums = match scheme.checking {
            Checking::Sums => {
                let codes = scheme.params().real_codes(units, width)?;
                let sums = self.key.signs(&id).sums(&codes, width);
                let seal = self.key.seal(Purpose::Sums, &id, self.version);
                Some(seal.seal(0, &[], &sums))
            }
            Checking::None | Checking::Exact => None,
        };
        let mut written = self.written(id, rows, columns::open_rows(units));
        self.seal_scales(&mut written, &scaled.code);
        written.sums = sums;
        Ok(written)
    }

    /// Masked rows, from codes in the order of their ids, and their check rows, if these check the scores.
    pub(crate) fn masked<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        codes: &[i32],
        scaled: &ScaledRows,
        checking: Checking,
    ) -> WrittenSegment {
        let words = codes.iter().map(|x| x.cast_unsigned());
        let bound = [&rows.code()[..], &scaled.code].concat();
        let id = self.id(rng, &Content::Masked, &bound, words);
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
        let codes = |position: usize| match position.checked_sub(n as usize) {
            None => row(u32_of(position)),
            Some(check) => &checks[check * width..][..width],
        };
        // The buffer has its full size from the start. Joining pieces later would need twice the memory.
        let mut masked = vec![0; (n as usize * width + checks.len()) * size_of::<i32>()];
        masked
            .par_chunks_exact_mut(width * size_of::<i32>())
            .enumerate()
            .for_each(|(position, masked)| {
                let mut codes = codes(position).to_vec();
                pad.mask(u32_of(position), &mut codes);
                masked.copy_from_slice(&columns::masked_rows(&codes));
            });
        let mut written = self.written(id, rows, masked);
        self.seal_scales(&mut written, &scaled.code);
        written
    }

    /// Seals the bases and scales of a segment's rows.
    fn seal_scales(&self, written: &mut WrittenSegment, code: &[u8]) {
        let id = &written.segment.id;
        let seal = self.key.seal(Purpose::Scales, id, self.version);
        let sealed = seal.seal(0, &[], code);
        written.segment.scales = Some(digest::of(&sealed));
        written.scales = Some(sealed);
    }

    /// The sealed frame of an index.
    pub(crate) fn frame<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        frame: &Frame,
    ) -> (FramePart, Vec<u8>) {
        let code = frame.to_bytes();
        let id = self.id(rng, &Content::Frame, &code, std::iter::empty());
        let seal = self.key.seal(Purpose::Frame, &id, self.version);
        let sealed = seal.seal(0, &[], &code);
        let part = FramePart::new(id, self.version, self.number, Coded::of(&sealed));
        (part, sealed)
    }

    /// The number of the content key for new content.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Sealed chunks, of residuals in the order of their ids.
    pub(crate) fn chunks<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        rows: &Rows,
        codec: Codec,
    ) -> WrittenSegment {
        let words = rows.vectors.as_slice().iter().map(|x| x.to_bits());
        let id = self.id(rng, &Content::Chunks(codec), &rows.code(), words);
        self.written(id, rows, self.chunk_bytes(&id, rows, codec))
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

    /// Writes all rows as chunks, and seals them with a key bound to the segment's id.
    pub(crate) fn chunk_bytes(&self, id: &[u8; 16], all: &Rows, codec: Codec) -> Vec<u8> {
        let seal = self.key.seal(Purpose::Chunk, id, self.version);
        let n = u32_of(all.vectors.len());
        let segment = Segment::new(*id, self.version, n, [0; 32], Coded::default());
        let layout = segment.layout(u32_of(all.vectors.dim()), codec);
        let mut sealed = vec![0; segment.chunks() as usize * layout.sealed_len()];
        let chunks = sealed.par_chunks_exact_mut(layout.sealed_len());
        chunks.zip(0..segment.chunks()).for_each(|(sealed, chunk)| {
            let first = chunk * layout.slots;
            let rows = first..n.min(first.saturating_add(layout.slots));
            let entries = rows.map(|row| all.entry(row as usize, &[]));
            let plain = BucketCodec(layout).write(&[], &entries.collect::<Vec<_>>());
            sealed.copy_from_slice(&BucketCodec(layout).seal(&seal, chunk, &plain));
        });
        sealed
    }

    /// A segment with its vectors in this form, and with sealed ids and attributes.
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
            scales: None,
            sums: None,
        }
    }

    /// Fills a code up to its class, and seals it under the id of the content to which it belongs.
    pub(crate) fn sealed(&self, purpose: Purpose, id: &[u8; 16], mut code: Vec<u8>) -> Vec<u8> {
        numbers::fill(&mut code);
        self.key.seal(purpose, id, self.version).seal(0, &[], &code)
    }

    /// The lists of deleted rows by segment, one for each content key, for an index with or without readers of its own.
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

    /// The id of content of this kind. It is bound to fresh randomness and to the whole content: a code and words.
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
        self.ids.id(&fresh, binding.as_bytes(), code, words)
    }
}

/// Joins the codes of several content keys into one code, to which an id is bound. Without readers of its own, an index
/// has only one code.
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
