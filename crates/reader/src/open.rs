//! Open mode: the server holds the vectors and scores all of them under encryption. The client compares the scores with
//! sums of the vectors that the server does not know.

use rand_core::CryptoRng;
use sordino_ckks::column::{Reply, SecretKey};
use sordino_index::Error;
use sordino_index::columns::Rows;
use sordino_index::manifest::Columns;
use sordino_vault::frame::FrameQuery;
use zeroize::Zeroizing;

use crate::column::{ScoredSegments, score};
use crate::question::Wanted;
use crate::round::Round;
use crate::stages::{Stages, time};
use crate::sums::SumCheck;
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::{Ranked, Wrong};

/// Reads all scores: it encrypts queries, decrypts replies and ranks.
pub(crate) struct Scorer {
    rows: ScoredSegments,
    sums: Option<SumCheck>,
}

/// Rows are in the order of their ids.
fn row(_segment: usize, position: u32) -> u32 {
    position
}

impl Scorer {
    pub(crate) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            rows: ScoredSegments::new(mode, Rows::Open, width)?,
            sums: SumCheck::new(mode),
        })
    }

    pub(crate) fn update(&mut self, mode: &Columns, update: Update<'_>) -> Result<(), Error> {
        let (kept, width, keys) = (update.kept, self.rows.column.dim(), update.keys);
        let sums = self.sums.as_ref();
        let sums = sums.map(|_| SumCheck::fresh(mode, width, keys, update.download));
        let sums = sums.transpose()?;
        self.rows.update(mode, update, row)?;
        if let (Some(check), Some(sums)) = (&mut self.sums, sums) {
            let params = self.rows.column.params();
            check.follow(params, width, kept, sums, &self.rows.segments)?;
        }
        Ok(())
    }

    pub(crate) async fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        asked: &FrameQuery,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Ranked, Error> {
        let column = &self.rows.column;
        let (secret, sent) = time(&mut stages.encrypt, || {
            column.encrypt(round.rng, asked.unit())
        })?;
        let scored = score(round, &self.rows, &sent, stages).await?;
        Ok(scored.map_or_else(
            |Wrong| Ranked::nothing(),
            |reply| self.best(asked, secret, &reply, wanted, stages),
        ))
    }

    /// The best of these scores.
    fn best(
        &self,
        asked: &FrameQuery,
        secret: SecretKey,
        reply: &Reply,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Ranked {
        let column = &self.rows.column;
        let steps = time(&mut stages.decrypt, || {
            column.decrypt_real_steps(secret, reply)
        });
        let Ok(steps) = steps.map(Zeroizing::new) else {
            return Ranked::nothing();
        };
        let held = time(&mut stages.open, || self.held(asked.unit(), &steps));
        let score = |position: usize| column.params().score(steps[position].into());
        let mut best = time(&mut stages.rank, || {
            self.rows.best(asked, wanted, score, row)
        });
        best.right &= held.unwrap_or(false);
        best
    }

    /// True if the sums of the scores are right, or there are no sums.
    fn held(&self, query: &[f32], steps: &[i32]) -> Result<bool, Error> {
        let Some(sums) = &self.sums else {
            return Ok(true);
        };
        let column = &self.rows.column;
        let messages = column.messages(query)?;
        sums.hold(column.params(), steps, &messages, &self.rows.segments)
    }
}
