//! Masked mode: the server holds the vectors under pads and scores all of them under encryption; the
//! client takes the pads' part off the scores.

use std::time::Instant;

use rand_core::CryptoRng;
use sordino_ckks::column;
use zeroize::Zeroizing;

use super::Stages;
use super::column::{best, client, score};
use crate::keys::ReaderKeys;
use crate::manifest::{Manifest, Masked};
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::recall::Scored;
use crate::transport::Transport;
use crate::{Error, residue};

pub(super) struct Client {
    column: column::Client,
    pad: Pad,
    order: RowOrder,
}

impl Client {
    pub(super) fn new(
        manifest: &Manifest,
        mode: &Masked,
        keys: &ReaderKeys,
        setup: &[u8],
    ) -> Result<Self, Error> {
        let params = mode.columns.packing.masked();
        Ok(Self {
            column: client(manifest, &mode.columns, &params, setup)?,
            pad: keys.pad(&manifest.index, mode.row_version),
            order: keys.row_order(&manifest.index, manifest.n),
        })
    }

    pub(super) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        query: &[f32],
        k: usize,
    ) -> Result<(Vec<Scored>, Stages), Error> {
        let mut stages = Stages::default();
        let start = Instant::now();
        let codes = Zeroizing::new(residue::codes(query).collect::<Vec<_>>());
        let (secret, query) = self.column.encrypt_modular(rng, &codes)?;
        stages.encrypt = start.elapsed();

        let reply = score(transport, &self.column, &query, &mut stages)?;

        let start = Instant::now();
        let products = self
            .column
            .decrypt_modular(secret, &reply)
            .map_err(|_| Error::Search)?;
        stages.decrypt = start.elapsed();

        let start = Instant::now();
        let mut pads = Zeroizing::new(vec![0; products.len()]);
        self.pad.products(&codes, &mut pads);
        stages.open = start.elapsed();

        let start = Instant::now();
        let scores = products
            .iter()
            .zip(pads.iter())
            .map(|(&product, &pad)| residue::score(low(product).wrapping_sub(pad.cast_signed())));
        let mut hits = best(scores, k)?;
        for hit in &mut hits {
            hit.id = self.order.row(hit.id);
        }
        hits.sort_by(Scored::rank);
        stages.rank = start.elapsed();
        Ok((hits, stages))
    }
}

/// The low 32 bits: only the residue mod P counts, and P divides 2^32.
#[expect(clippy::cast_possible_truncation, reason = "it is what it is for")]
fn low(product: i64) -> i32 {
    product as i32
}
