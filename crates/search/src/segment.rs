//! Writing segments: what the owner makes of records before a server gets them.
//!
//! Records of a segment are in the order of their ids; masked mode stores them in a secret order.
//! Everything secret in a segment is under keys of its id, and its id is a keyed digest of fresh
//! randomness and of all that goes into it. So contents under one id are equal, and pads and nonces,
//! which also carry version and place, never meet two contents.

use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::code::Codec;
use crate::ids::{self, IdSet};
use crate::index::digest;
use crate::keys::{OwnerKeys, ReaderKeys};
use crate::manifest::{Coded, Deleted, Segment};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::plan::Plan;
use crate::recall::number;
use crate::{Error, Vectors, columns};

/// What one version's segments are written with.
pub(crate) struct Scribe<'a> {
    keys: &'a OwnerKeys,
    reader: ReaderKeys,
    version: u64,
    /// What is public about the index and shapes its segments.
    form: String,
}

/// A segment and its parts.
pub(crate) struct Written {
    pub(crate) segment: Segment,
    pub(crate) rows: Vec<u8>,
    pub(crate) ids: Vec<u8>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(keys: &'a OwnerKeys, version: u64, form: String) -> Self {
        Self {
            keys,
            reader: keys.reader(),
            version,
            form,
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
        let id = self.id(rng, "open", ids, units.iter().map(|x| x.to_bits()));
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
        let id = self.id(rng, "masked", ids, codes.iter().map(|x| x.cast_unsigned()));
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
        let id = self.id(rng, &format!("chunks {codec:?}"), ids, words);
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
        self.id(rng, &format!("base {:?}", plan.chosen()), ids, words)
    }

    /// Chunks under a segment's id.
    pub(crate) fn chunk_bytes(
        &self,
        id: &[u8; 16],
        ids: &IdSet,
        units: &Vectors,
        codec: Codec,
    ) -> Vec<u8> {
        let seal = self.reader.seal("chunk", id, self.version);
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
            segment: self.segment(id, ids, digest(&rows), &sealed),
            rows,
            ids: sealed,
        }
    }

    /// Record ids, sealed under the id of what they belong to.
    pub(crate) fn sealed_ids(&self, id: &[u8; 16], ids: &IdSet) -> Vec<u8> {
        let mut code = Vec::new();
        ids.write(&mut code);
        ids::pad(&mut code);
        let seal = self.reader.seal("ids", id, self.version);
        seal.seal(0, &[], &code)
    }

    fn segment(&self, id: [u8; 16], ids: &IdSet, rows: [u8; 32], sealed: &[u8]) -> Segment {
        Segment {
            id,
            version: self.version,
            n: number(ids.len()),
            rows,
            ids: Coded::of(sealed),
        }
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
        ids::pad(&mut code);
        let words = code.as_chunks().0.iter().copied().map(u32::from_le_bytes);
        let id = self.id(rng, "deleted", &IdSet::default(), words);
        let seal = self.reader.seal("deleted", &id, self.version);
        let sealed = seal.seal(0, &[], &code);
        let deleted = Deleted {
            id,
            version: self.version,
            ids: Coded::of(&sealed),
        };
        (deleted, sealed)
    }

    /// The id of content of this kind, bound to fresh randomness and to all that goes into it.
    pub(crate) fn id<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        kind: &str,
        ids: &IdSet,
        words: impl Iterator<Item = u32>,
    ) -> [u8; 16] {
        let mut fresh = [0; 32];
        rng.fill_bytes(&mut fresh);
        let form = format!("{kind} {} {}", self.version, self.form);
        let mut code = Vec::new();
        ids.write(&mut code);
        self.keys.content_id(&fresh, &form, &code, words)
    }
}

impl Coded {
    /// How a manifest names a sealed part.
    pub(crate) fn of(sealed: &[u8]) -> Self {
        Self {
            len: number(sealed.len()),
            digest: digest(sealed),
        }
    }
}

impl ReaderKeys {
    /// The record ids of a segment, from its sealed part.
    ///
    /// # Errors
    /// If the part is not what the owner sealed, or has another number of ids than the segment.
    pub(crate) fn open_ids(&self, segment: &Segment, sealed: &[u8]) -> Result<IdSet, Error> {
        self.open_id_set(&segment.id, segment.version, segment.n, sealed)
    }

    /// As many record ids, from the part that was sealed under this id.
    ///
    /// # Errors
    /// As [`Self::open_ids`].
    pub(crate) fn open_id_set(
        &self,
        id: &[u8; 16],
        version: u64,
        count: u32,
        sealed: &[u8],
    ) -> Result<IdSet, Error> {
        let code = self.seal("ids", id, version).open(0, &[], sealed);
        let code = code.ok_or_else(|| unsealed("record ids"))?;
        let ids = IdSet::read(&mut &code[..])?;
        if ids.len() == count as usize {
            return Ok(ids);
        }
        Err(Error::Ids {
            found: ids.len(),
            expected: count as usize,
        })
    }

    /// The records that count no more, by segment.
    ///
    /// # Errors
    /// If the part is not what the owner sealed.
    pub(crate) fn open_deleted(
        &self,
        deleted: &Deleted,
        segments: usize,
        sealed: &[u8],
    ) -> Result<Vec<IdSet>, Error> {
        let seal = self.seal("deleted", &deleted.id, deleted.version);
        let code = seal.open(0, &[], sealed);
        let code = code.ok_or_else(|| unsealed("deleted"))?;
        let mut rest = &code[..];
        (0..segments).map(|_| IdSet::read(&mut rest)).collect()
    }

    /// The codes of a masked segment in the order of their ids: the pads come off.
    pub(crate) fn unmask(&self, segment: &Segment, width: usize, rows: &[u8]) -> Vec<i32> {
        let order: RowOrder = self.row_order(&segment.id, segment.n);
        let pad: Pad = self.pad(&segment.id, segment.version);
        let mut codes = vec![0; segment.n as usize * width];
        let stored = rows.as_chunks().0.chunks_exact(width);
        for (position, stored) in (0..).zip(stored) {
            let row = order.row(position) as usize;
            let codes = &mut codes[row * width..][..width];
            for (code, &bytes) in codes.iter_mut().zip(stored) {
                *code = i32::from_le_bytes(bytes);
            }
            pad.unmask(position, codes);
        }
        codes
    }
}

fn unsealed(what: &'static str) -> Error {
    Error::Malformed {
        what,
        why: "not sealed with this index's key".to_owned(),
    }
}
