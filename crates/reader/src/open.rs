//! Open mode: the server holds the vectors and scores all of them under encryption.

use rand_core::CryptoRng;
use sordino_ckks::column::{Reply, SecretKey};
use sordino_index::Error;
use sordino_index::columns::Rows;
use sordino_index::manifest::Columns;
use sordino_index::numbers::Numbers;
use sordino_index::wire::Edition;
use sordino_vectors::recall::Scored;
use zeroize::Zeroizing;

use crate::checked::{Checked, Wrong};
use crate::column::{View, fresh, score};
use crate::download::Download;
use crate::question::Wanted;
use crate::stages::{Stages, time};
use crate::transport::Transport;

pub(crate) struct Client {
    view: View,
}

/// Rows lie in the order of their ids.
fn row(_segment: usize, position: u32) -> u32 {
    position
}

impl Client {
    pub(crate) fn new(mode: &Columns, width: usize) -> Result<Self, Error> {
        Ok(Self {
            view: View::new(mode, Rows::Open, width)?,
        })
    }

    pub(crate) fn update(
        &mut self,
        mode: &Columns,
        kept: usize,
        dead: &[Numbers],
        download: &mut Download,
    ) -> Result<(), Error> {
        let fresh = fresh(mode, kept, download)?;
        self.view.update(kept, fresh, dead, row)
    }

    pub(crate) fn search<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        edition: Edition,
        query: &[f32],
        wanted: Wanted<'_>,
        stages: &mut Stages,
    ) -> Result<Checked<Vec<Scored>>, Error> {
        let (secret, query) = time(&mut stages.encrypt, || self.view.column.encrypt(rng, query))?;
        let reply = score(transport, edition, &self.view.column, &query, stages)?;
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
            self.view.column.decrypt(secret, reply)
        });
        let scores = Zeroizing::new(scores.map_err(|_| Wrong)?);
        time(&mut stages.rank, || {
            self.view.best(wanted, |position| scores[position], row)
        })
    }
}
