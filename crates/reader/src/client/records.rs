//! Payloads and attributes of records with given ids.

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
    /// The attributes of the record with this id: a row of them, or `None` if there is no such record. It asks the server for
    /// nothing.
    #[must_use]
    pub fn attributes(&self, id: &Id) -> Option<Attributes> {
        self.records.attributes(id)
    }

    /// One attribute of all records, or of those that pass a filter: their ids, and a value or none for each, in pieces. It asks
    /// the server for nothing.
    ///
    /// # Errors
    /// Fails if the filter does not fit the attributes.
    pub fn column(
        &self,
        name: &str,
        filter: Option<&Filter>,
    ) -> Result<Vec<(Vec<Id>, Column)>, Error> {
        let hidden = self.manifest.readers.is_some();
        let chosen = filter.map(|filter| self.records.passing(filter, hidden));
        Ok(self.records.column(name, chosen.transpose()?.as_deref()))
    }

    /// True if a search may return shortened payloads, because some are longer than the pages of a search.
    #[must_use]
    pub fn shortens(&self) -> bool {
        self.payloads
            .as_ref()
            .is_some_and(payload::Client::shortens)
    }

    /// The payloads of these records, without a search. `None` for a record that does not exist, or for all if the index has no
    /// payloads.
    ///
    /// # Security
    /// The server learns that payloads were fetched and roughly how many, but not which. Each record takes the pages of the
    /// longest one, in messages like a search's last. If clients have downloaded all payloads, the server sees nothing.
    ///
    /// # Errors
    /// - [`Error::Stale`] if the server no longer serves this client's version
    /// - [`Error::BadReply`] if a reply does not belong to this index
    /// - [`Error::AfterBadReply`] if a message failed after that
    pub fn payloads<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        transport: &mut impl Transport,
        ids: &[Id],
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        at_once(self.payloads_async(rng, transport, ids))
    }

    /// Like [`payloads`](Self::payloads), over an asynchronous transport.
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
