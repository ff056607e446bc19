//! Masked mode: the server holds the vectors under pads and scores all of them under encryption; the
//! client takes the pads' part off the scores.

use std::time::Instant;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Stages;
use super::column::{Fresh, View, score};
use super::download::Download;
use crate::ids::IdSet;
use crate::keys::ReaderKeys;
use crate::manifest::{Columns, Segment};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::recall::Scored;
use crate::transport::Transport;
use crate::wire::Edition;
use crate::{Error, residue};

pub(super) struct Client {
    view: View,
    /// Of each segment.
    masks: Vec<Mask>,
}

struct Mask {
    pad: Pad,
    order: RowOrder,
}

impl Mask {
    fn new(keys: &ReaderKeys, segment: &Segment) -> Self {
        Self {
            pad: keys.pad(&segment.id, segment.version),
            order: keys.row_order(&segment.id, segment.n),
        }
    }
}

impl Client {
    pub(super) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            view: View::new(mode, &mode.packing.masked(), width)?,
            masks: Vec::new(),
        })
    }

    pub(super) fn update(
        &mut self,
        mode: &Columns,
        keys: &ReaderKeys,
        kept: usize,
        dead: &[IdSet],
        download: &mut Download,
    ) -> Result<(), Error> {
        let columns = mode.segments.iter().skip(kept);
        let fresh: Result<Vec<_>, _> = columns
            .clone()
            .map(|column| Fresh::new(column, keys, download))
            .collect();
        let fresh = fresh?;
        self.masks.truncate(kept);
        self.masks
            .extend(columns.map(|column| Mask::new(keys, &column.segment)));
        let masks = &self.masks;
        self.view.update(kept, fresh, dead, |segment, position| {
            masks[segment].order.row(position)
        })
    }

    pub(super) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        query: &[f32],
        k: usize,
    ) -> Result<(Vec<Scored>, Stages), Error> {
        let mut stages = Stages::default();
        let start = Instant::now();
        let codes = Zeroizing::new(residue::codes(query).collect::<Vec<_>>());
        let (secret, query) = self.view.column.encrypt_modular(rng, &codes)?;
        stages.encrypt = start.elapsed();

        let reply = score(transport, edition, &self.view.column, &query, &mut stages)?;

        let start = Instant::now();
        let products = self.view.column.decrypt_modular(secret, &reply);
        let products = Zeroizing::new(products.map_err(|_| Error::Search)?);
        stages.decrypt = start.elapsed();

        let start = Instant::now();
        let mut pads = Zeroizing::new(vec![0; products.len()]);
        for (positions, mask) in self.view.segments.iter().zip(&self.masks) {
            let pads = &mut pads[positions.first..][..positions.segment.n as usize];
            mask.pad.products(&codes, pads);
        }
        stages.open = start.elapsed();

        let start = Instant::now();
        let score = |position: usize| {
            let pad = pads[position].cast_signed();
            residue::score(low(products[position]).wrapping_sub(pad))
        };
        let row = |segment: usize, position| self.masks[segment].order.row(position);
        let hits = self.view.best(k, score, row)?;
        stages.rank = start.elapsed();
        Ok((hits, stages))
    }
}

/// The low 32 bits: only the residue mod P counts, and P divides 2^32.
#[expect(clippy::cast_possible_truncation, reason = "it is what it is for")]
fn low(product: i64) -> i32 {
    product as i32
}
