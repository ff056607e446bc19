//! Masked mode: the server holds the vectors under pads and scores all of them under encryption. The client subtracts
//! the pads' part from the scores, and compares the scores with those from check rows.

use rand_core::CryptoRng;
use sordino_ckks::column::{Query, Reply, SecretKey};
use sordino_index::Error;
use sordino_index::checks;
use sordino_index::columns::Rows;
use sordino_index::manifest::{Checking, Columns, Segment};
use sordino_vault::checks::Checks;
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::FrameQuery;
use sordino_vault::order::RowOrder;
use sordino_vault::pad::Pad;
use sordino_vault::residue;
use zeroize::Zeroizing;

use crate::column::{ScoredSegments, score};
use crate::question::{Passing, Wanted};
use crate::round::Round;
use crate::stages::{Stages, time};
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::{Ranked, Wrong};

/// Reads all scores: it encrypts queries, decrypts replies and ranks.
pub(crate) struct Scorer {
    rows: ScoredSegments,
    /// The mask of each segment.
    masks: Vec<Mask>,
}

/// A query that was sent, with the secret for reading its reply.
pub(crate) struct SentQuery {
    codes: Zeroizing<Vec<i32>>,
    secret: SecretKey,
}

struct Mask {
    pad: Pad,
    order: RowOrder,
    checks: Checks,
    /// False if the segment's key is not known. Its pad is then made from a public key. Scores stay hidden, and are
    /// computed in the same time.
    visible: bool,
}

impl Mask {
    fn new(keys: &ContentKeys, segment: &Segment, width: usize) -> Self {
        let public = ContentKey::from_bytes([0; 32]);
        let own = keys.of(segment);
        let key = own.unwrap_or(&public);
        Self {
            pad: key.pad(&segment.id, segment.version),
            order: key.row_order(&segment.id, segment.n),
            checks: key.checks(&segment.id, width),
            visible: own.is_some(),
        }
    }

    /// Products of rows mod P, from the products of rows under pads.
    fn bare(&self, codes: &[i32], products: &[i64], bare: &mut [i32]) {
        let mut pads = Zeroizing::new(vec![0; products.len()]);
        self.pad.products(codes, &mut pads);
        for ((bare, product), pad) in bare.iter_mut().zip(products).zip(pads.iter()) {
            *bare = low(*product).wrapping_sub(pad.cast_signed());
        }
    }
}

impl Scorer {
    pub(crate) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            rows: ScoredSegments::new(mode, Rows::Masked, width)?,
            masks: Vec::new(),
        })
    }

    pub(crate) fn update(&mut self, mode: &Columns, update: Update<'_>) -> Result<(), Error> {
        let width = self.rows.column.dim();
        // All masks are made again: keys of some segments may be new.
        let masks = mode.segments.iter();
        let masks = masks.map(|column| Mask::new(update.keys, &column.segment, width));
        let mut masks: Vec<Mask> = masks.collect();
        let row = |segment: usize, position| masks[segment].order.row(position);
        self.rows.update(mode, update, row)?;
        for (new, old) in masks.iter_mut().zip(&mut self.masks) {
            new.pad.keep_of(&mut old.pad);
        }
        self.masks = masks;
        Ok(())
    }

    /// The flags of the records that pass, by position.
    pub(crate) fn arranged(&self, rows: &[Vec<bool>]) -> Passing {
        let row = |segment: usize, position| self.masks[segment].order.row(position);
        self.rows.positions_of(rows, row)
    }

    pub(crate) async fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Ranked, Error> {
        let (sent, query) = self.encrypted(round.rng, asked, stages)?;
        let scored = score(round, &self.rows, &query, stages).await?;
        Ok(scored.map_or_else(
            |Wrong| Ranked::nothing(),
            |reply| self.best(sent, &reply, asked, wanted, stages),
        ))
    }

    /// The pads of each segment, and the number of its rows.
    pub(crate) fn pads(&mut self) -> (usize, impl Iterator<Item = (&mut Pad, usize)>) {
        let rows = self.rows.segments.iter().map(|it| it.stored);
        let pads = self.masks.iter_mut().map(|mask| &mut mask.pad);
        (self.rows.column.dim(), pads.zip(rows))
    }

    /// True if there are no segments.
    pub(crate) fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }

    /// The bytes of the encrypted scores of all segments, if there are any.
    pub(crate) fn reply_len(&self) -> Result<usize, Error> {
        if self.is_empty() {
            return Ok(0);
        }
        let column = &self.rows.column;
        Ok(Reply::encoded_len(
            column.params(),
            column.dim(),
            column.len(),
        )?)
    }

    /// The encrypted query, and what reads the reply.
    pub(crate) fn encrypted<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        asked: &FrameQuery,
        stages: &mut Stages,
    ) -> Result<(SentQuery, Query), Error> {
        let codes = Zeroizing::new(residue::codes(asked.unit()).collect::<Vec<_>>());
        let (secret, query) = time(&mut stages.encrypt, || {
            self.rows.column.encrypt_modular(rng, &codes)
        })?;
        Ok((SentQuery { codes, secret }, query))
    }

    /// The best of these scores, after the pads' products are subtracted.
    pub(crate) fn best(
        &self,
        SentQuery { codes, secret }: SentQuery,
        reply: &Reply,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Ranked {
        let products = time(&mut stages.decrypt, || {
            self.rows.column.decrypt_modular(secret, reply)
        });
        let Ok(products) = products.map(Zeroizing::new) else {
            return Ranked::nothing();
        };
        let mut bare = Zeroizing::new(vec![0; products.len()]);
        let held = time(&mut stages.open, || {
            let mut off = 0;
            for (positions, mask) in self.rows.segments.iter().zip(&self.masks) {
                let range = positions.first..positions.first + positions.stored;
                let bare = &mut bare[range.clone()];
                mask.bare(&codes, &products[range], bare);
                if self.rows.scheme.checking == Checking::Sums {
                    let n = positions.segment.n as usize;
                    let wrong = mask.checks.off(n, bare);
                    off = if mask.visible { wrong.max(off) } else { off };
                }
            }
            off <= self.tolerance()
        });
        let score = |position: usize| residue::score(bare[position]);
        let row = |segment: usize, position| self.masks[segment].order.row(position);
        let mut best = time(&mut stages.rank, || {
            self.rows.best(asked, wanted, score, row)
        });
        best.right &= held;
        best
    }

    /// The largest error of a check row in an honest reply.
    fn tolerance(&self) -> u32 {
        let (segments, column) = (&self.rows.segments, &self.rows.column);
        let checks = segments.iter().map(|it| it.stored - it.segment.n as usize);
        checks::tolerance(column.params(), column.dim(), checks.sum())
    }
}

/// The low 32 bits. Only the residue mod P counts, and P divides 2^32.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only the residue mod 2^32 counts"
)]
pub(crate) fn low(product: i64) -> i32 {
    product as i32
}
