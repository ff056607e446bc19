//! Open mode: the server holds the vectors and scores all of them under encryption.

use rand_core::CryptoRng;
use sordino_ckks::column::{Reply, SecretKey};
use sordino_index::Error;
use sordino_index::columns::Rows;
use sordino_index::manifest::Columns;
use sordino_vectors::recall::Scored;
use zeroize::Zeroizing;

use crate::checked::{Checked, Wrong};
use crate::column::{ScoredSegments, score};
use crate::question::Wanted;
use crate::round::Round;
use crate::stages::{Stages, time};
use crate::transport::Transport;
use crate::update::Update;

/// The reader of all scores: it encrypts queries, decrypts replies, ranks.
pub(crate) struct Scorer {
    rows: ScoredSegments,
}

/// Rows lie in the order of their ids.
fn row(_segment: usize, position: u32) -> u32 {
    position
}

impl Scorer {
    pub(crate) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            rows: ScoredSegments::new(mode, Rows::Open, width)?,
        })
    }

    pub(crate) fn update(&mut self, mode: &Columns, update: Update<'_>) -> Result<(), Error> {
        self.rows.update(&mode.segments, update, row)
    }

    pub(crate) fn search<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        query: &[f32],
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Checked<Vec<Scored>>, Error> {
        let column = &self.rows.column;
        let (secret, query) = time(&mut stages.encrypt, || column.encrypt(round.rng, query))?;
        let reply = score(round, column, &query, stages)?;
        Ok(reply.and_then(|reply| self.best(secret, &reply, wanted, stages)))
    }

    /// The best of these scores.
    fn best(
        &self,
        secret: SecretKey,
        reply: &Reply,
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Checked<Vec<Scored>> {
        let scores = time(&mut stages.decrypt, || {
            self.rows.column.decrypt(secret, reply)
        });
        let scores = Zeroizing::new(scores.map_err(|_| Wrong)?);
        time(&mut stages.rank, || {
            self.rows.best(wanted, |position| scores[position], row)
        })
    }
}
