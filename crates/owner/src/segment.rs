//! Writing segments: what the owner makes of records before a server gets them.
//!
//! Records of a segment are in the order of their ids; masked mode stores them in a secret order.
//! Everything secret in a segment is under keys of its id, and its id is a keyed digest of fresh
//! randomness and of all that goes into it. So contents under one id are equal, and pads and nonces,
//! which also carry version and place, never meet two contents.

use rand_core::CryptoRng;
use rayon::prelude::*;
use sordino_index::code::Codec;
use sordino_index::digest::Coded;
use sordino_index::ids::{self, IdSet};
use sordino_index::keys::{OwnerKeys, ReaderKeys};
use sordino_index::manifest::{Deleted, Segment};
use sordino_index::purpose::Purpose;
use sordino_index::{columns, digest};
use sordino_vectors::Vectors;
use sordino_vectors::recall::number;

use crate::binding::{Binding, Content};
use crate::plan::Plan;

/// The keys and facts that one version's segments are written with.
pub(crate) struct SegmentWriter<'a> {
    keys: &'a OwnerKeys,
    reader: ReaderKeys,
    version: u64,
    /// The public facts that all segments of the index share.
    index: Binding,
}

/// A segment and its parts.
pub(crate) struct Written {
    pub(crate) segment: Segment,
    pub(crate) rows: Vec<u8>,
    pub(crate) ids: Vec<u8>,
}

impl<'a> SegmentWriter<'a> {
    pub(crate) fn new(keys: &'a OwnerKeys, version: u64, index: Binding) -> Self {
        Self {
            keys,
            reader: keys.reader(),
            version,
            index,
        }
    }

    pub(crate) fn reader(&self) -> &ReaderKeys {
        &self.reader
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Open rows: the rotated unit vectors in the order of their ids.
    pub(crate) fn open<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        ids: &IdSet,
        units: &[f32],
    ) -> Written {
        let id = self.id(rng, &Content::Open, ids, units.iter().map(|x| x.to_bits()));
        self.written(id, ids, columns::open_rows(units))
    }

    /// Masked rows, of codes in the order of their ids.
    pub(crate) fn masked<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        ids: &IdSet,
        codes: &[i32],
        width: usize,
    ) -> Written {
        let id = self.id(
            rng,
            &Content::Masked,
            ids,
            codes.iter().map(|x| x.cast_unsigned()),
        );
        let n = number(ids.len());
        let (order, pad) = (
            self.reader.row_order(&id, n),
            self.reader.pad(&id, self.version),
        );
        let rows = (0..n)
            .into_par_iter()
            .flat_map_iter(|position| {
                let row = order.row(position) as usize;
                let mut codes = codes[row * width..][..width].to_vec();
                pad.mask(position, &mut codes);
                columns::masked_rows(&codes)
            })
            .collect();
        self.written(id, ids, rows)
    }

    /// Sealed chunks, of unit vectors in the order of their ids.
    pub(crate) fn chunks<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        ids: &IdSet,
        units: &Vectors,
        codec: Codec,
    ) -> Written {
        let words = units.as_slice().iter().map(|x| x.to_bits());
        let id = self.id(rng, &Content::Chunks(codec), ids, words);
        self.written(id, ids, self.chunk_bytes(&id, ids, units, codec))
    }

    /// The id of a sealed index's base: buckets, centroids and chunks share it.
    pub(crate) fn base_id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        ids: &IdSet,
        plan: &Plan,
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        self.id(rng, &Content::Base(plan.chosen()), ids, words)
    }

    /// Chunks under a segment's id.
    pub(crate) fn chunk_bytes(
        &self,
        id: &[u8; 16],
        ids: &IdSet,
        units: &Vectors,
        codec: Codec,
    ) -> Vec<u8> {
        let seal = self.reader.seal(Purpose::Chunk, id, self.version);
        let records = self.reader.ids(id);
        let segment = self.segment(*id, ids, [0; 32], &[]);
        let layout = segment.layout(number(units.dim()), codec);
        let rows: Vec<u32> = (0..segment.n).collect();
        rows.par_chunks(layout.slots as usize)
            .enumerate()
            .flat_map_iter(|(chunk, rows)| {
                let entries = rows
                    .iter()
                    .map(|&row| (records.hide(ids.id(row)), units.row(row as usize)));
                let plain = layout.write(&[], &entries.collect::<Vec<_>>());
                layout.seal(&seal, number(chunk), &plain)
            })
            .collect()
    }

    /// A segment with these rows, its ids sealed.
    pub(crate) fn written(&self, id: [u8; 16], ids: &IdSet, rows: Vec<u8>) -> Written {
        let sealed = self.sealed_ids(&id, ids);
        Written {
            segment: self.segment(id, ids, digest::of(&rows), &sealed),
            rows,
            ids: sealed,
        }
    }

    /// Record ids, sealed under the id of what they belong to.
    pub(crate) fn sealed_ids(&self, id: &[u8; 16], ids: &IdSet) -> Vec<u8> {
        let mut code = Vec::new();
        ids.write(&mut code);
        ids::fill(&mut code);
        let seal = self.reader.seal(Purpose::Ids, id, self.version);
        seal.seal(0, &[], &code)
    }

    fn segment(&self, id: [u8; 16], ids: &IdSet, rows: [u8; 32], sealed: &[u8]) -> Segment {
        let n = number(ids.len());
        Segment::new(id, self.version, n, rows, Coded::of(sealed))
    }

    /// The list of deleted records, by segment.
    pub(crate) fn deleted<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        dead: &[IdSet],
    ) -> (Deleted, Vec<u8>) {
        let mut code = Vec::new();
        for ids in dead {
            ids.write(&mut code);
        }
        ids::fill(&mut code);
        let words = code.as_chunks().0.iter().copied().map(u32::from_le_bytes);
        let id = self.id(rng, &Content::Deleted, &IdSet::default(), words);
        let seal = self.reader.seal(Purpose::Deleted, &id, self.version);
        let sealed = seal.seal(0, &[], &code);
        let deleted = Deleted::new(id, self.version, Coded::of(&sealed));
        (deleted, sealed)
    }

    /// The id of content of this kind, bound to fresh randomness and to all that goes into it.
    pub(crate) fn id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        content: &Content<'_>,
        ids: &IdSet,
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut fresh = [0; 32];
        rng.fill_bytes(&mut fresh);
        let binding = self.index.clone().with(content, self.version);
        let mut code = Vec::new();
        ids.write(&mut code);
        self.keys
            .content_id(&fresh, binding.as_bytes(), &code, words)
    }
}
