//! Payloads and attributes of records that are named.

use rand_core::CryptoRng;
use sordino_index::{Error, Id};
use sordino_vault::attributes::Attributes;
use sordino_vectors::column::Column;

use super::Client;
use crate::filter::Filter;
use crate::payload;
use crate::transport::{AsyncTransport, Transport, at_once};
use crate::verdict::Wrong;

impl Client {
    /// The attributes of the record with this id: a row of them, `None` if there is no such record. The server is not
    /// asked.
    #[must_use]
    pub fn attributes(&self, id: &Id) -> Option<Attributes> {
        self.records.attributes(id)
    }

    /// One attribute of all records that pass a filter, or of all: their ids, and a value or none for each, in pieces. Nothing is asked of
    /// the server.
    ///
    /// # Errors
    /// If the filter does not fit the attributes.
    pub fn column(
        &self,
        name: &str,
        filter: Option<&Filter>,
    ) -> Result<Vec<(Vec<Id>, Column)>, Error> {
        let hidden = self.manifest.readers.is_some();
        let chosen = filter.map(|filter| self.records.passing(filter, hidden));
        Ok(self.records.column(name, chosen.transpose()?.as_deref()))
    }

    /// True if a search may bring payloads that are shortened: some are longer than what it has room for.
    #[must_use]
    pub fn shortens(&self) -> bool {
        self.payloads
            .as_ref()
            .is_some_and(payload::Client::shortens)
    }

    /// The payloads of these records, without a search: `None` for one that is not there, or for all where
    /// the index has no payloads.
    ///
    /// # Security
    /// The server learns that payloads were fetched and about how many, not which. Each record takes the pages of the
    /// longest one, in messages like a search's last. Where clients have downloaded all payloads, it sees nothing.
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
        at_once(self.payloads_async(rng, transport, ids))
    }

    /// [`payloads`](Self::payloads) over a transport that is waited for.
    ///
    /// # Errors
    /// The errors of [`payloads`](Self::payloads).
    pub async fn payloads_async<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl AsyncTransport,
        ids: &[Id],
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let client = self.payloads.as_ref();
        let Some(client) = client.filter(|client| client.has_payloads()) else {
            return Ok(vec![None; ids.len()]);
        };
        let round = &mut self.round(rng, transport);
        let places: Vec<Option<u32>> = ids.iter().map(|id| self.records.place(id)).collect();
        let read = client.read_whole(round, &places).await?;
        let read = read.map_err(|Wrong| Error::BadReply)?.into_iter();
        Ok(read.map(|carried| Some(carried?.payload)).collect())
    }
}
