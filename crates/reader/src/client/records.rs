//! Payloads and attributes of records that are named.

use rand_core::CryptoRng;
use sordino_index::{Error, Id};
use sordino_vault::attributes::Attributes;

use super::Client;
use crate::transport::Transport;
use crate::verdict::{Verdict, Wrong};

impl Client {
    /// The attributes of the record with this id: a row of them, `None` if there is no such record. Nothing is
    /// asked of the server.
    #[must_use]
    pub fn attributes(&self, id: &Id) -> Option<Attributes> {
        self.records.attributes(id)
    }

    /// The payloads of these records, without a search: `None` for one that is not there, or for all where
    /// the index has no payloads.
    ///
    /// # Security
    /// The server sees a message like a search's last for every `k` of them, or for the number of a second look's candidates, begun or whole, so it learns
    /// that payloads were fetched and about how many, not which. Where clients have downloaded all
    /// payloads it sees nothing.
    ///
    /// # Errors
    /// [`Error::Stale`]; [`Error::BadReply`] if what the server sent does not belong to this index, [`Error::AfterBadReply`] if a message
    /// failed after that.
    pub fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        ids: &[Id],
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let client = self.payloads.as_ref();
        let Some(client) = client.filter(|client| client.has_payloads()) else {
            return Ok(vec![None; ids.len()]);
        };
        let round = &mut self.round(rng, transport);
        let places: Vec<Option<u32>> = ids.iter().map(|id| self.records.place(id)).collect();
        // After a wrong reply, too, all messages are sent: where they ended would tell which records were wanted.
        let chunks = places.chunks(client.fetched);
        let read = chunks.map(|places| {
            let read = round.step(|round| client.read(round, places))?;
            Ok(round.latch.checked(read))
        });
        let read: Vec<Verdict<_>> = read.collect::<Result<_, Error>>()?;
        let read: Verdict<Vec<Vec<_>>> = read.into_iter().collect();
        let payloads = read.map_err(|Wrong| Error::BadReply)?;
        let payloads = payloads.into_iter().flatten();
        Ok(payloads.map(|slot| Some(slot?.payload)).collect())
    }
}
